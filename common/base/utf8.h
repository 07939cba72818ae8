/* utf8.h - characters of UTF-8, one by one */
#ifndef EGS_BASE_UTF8_H
#define EGS_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Decode the character at 's'; its length, or 0 if it is not UTF-8.  Reads no
 * further than the first NUL, since a NUL is no continuation byte.
 */
size_t egs_utf8_decode(const char *s, uint32_t *code);

/* Make 'text' UTF-8 in place: each byte that is not becomes a '?'. */
void egs_utf8_clean(char *text);

#endif
