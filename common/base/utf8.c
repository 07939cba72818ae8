/* utf8.c - decode UTF-8 character by character */
#include "common/base/utf8.h"

size_t egs_utf8_decode(const char *s, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *b = (const unsigned char *)s;
	size_t len = b[0] < 0x80   ? 1
		     : b[0] < 0xc2 ? 0
		     : b[0] < 0xe0 ? 2
		     : b[0] < 0xf0 ? 3
		     : b[0] < 0xf5 ? 4
				   : 0;

	if (len < 2) {
		*code = b[0];
		return len;
	}
	*code = b[0] & (0x7fU >> len);
	for (size_t i = 1; i < len; i++) {
		if ((b[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (b[i] & 0x3f);
	}
	if (*code < least[len] || *code > 0x10ffff ||
	    (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return len;
}

void egs_utf8_clean(char *text)
{
	while (*text) {
		uint32_t code;
		size_t len = egs_utf8_decode(text, &code);

		if (!len)
			*text = '?';
		text += len ? len : 1;
	}
}
