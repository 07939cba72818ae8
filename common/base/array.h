/* array.h - how many elements an array has */
#ifndef EGS_BASE_ARRAY_H
#define EGS_BASE_ARRAY_H

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
