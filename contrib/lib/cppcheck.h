/* cppcheck.h - read by cppcheck before each file: it does not parse _Generic */
#define _Generic(...) egs_grow_size
