/* utf8.h - decode UTF-8 character by character */
#ifndef EGS_BASE_UTF8_H
#define EGS_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Decode the character at 's'.  Returns its length, or 0 if it is not UTF-8.
 * Never reads beyond a NUL, because a NUL is not a continuation byte.
 */
size_t egs_utf8_decode(const char *s, uint32_t *code);

/* Make 'text' UTF-8 in place: every other byte becomes a '?'. */
void egs_utf8_clean(char *text);

#endif
