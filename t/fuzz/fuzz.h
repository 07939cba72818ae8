/* fuzz.h - what the fuzz targets share
 *
 * fuzz_text(data, size)	a copy with a NUL behind it; the caller frees
 *				it.  It has no spare byte, so ASan sees a read
 *				beyond
 * fuzz_file(data, size)	the path of a file with these bytes, until the
 *				next call
 * fuzz_check(claim)		the target ends with a report unless 'claim' is
 *				true
 */
#ifndef EGS_T_FUZZ_FUZZ_H
#define EGS_T_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define fuzz_check(claim) ((claim) ? (void)0 : abort())

static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	fuzz_check(text);
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

static inline const char *fuzz_file(const uint8_t *data, size_t size)
{
	static char path[64];
	static FILE *file;
	int fd;

	if (!file)
		file = tmpfile();
	fuzz_check(file);
	fd = fileno(file);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fuzz_check(ftruncate(fd, 0) == 0 &&
		   pwrite(fd, data, size, 0) == (ssize_t)size);
	return path;
}

#endif
