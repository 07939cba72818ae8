/* print_clean.c - print text of an answer so that a terminal shows it as text
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/lib/print_clean.h"
#include "common/base/text.h"

int egs_print_clean(FILE *out, const char *text)
{
	char *copy = text ? strdup(text) : NULL;
	int rc;

	if (!copy)
		return text ? -1 : 0;
	egs_make_printable(copy);
	rc = fputs(copy, out) < 0 ? -1 : 0;
	free(copy);
	return rc;
}

int egs_print_clean_line(FILE *out, const char *label, const char *text)
{
	return egs_print_clean(out, label) < 0 ||
			       egs_print_clean(out, text) < 0 ||
			       fputc('\n', out) < 0
		       ? -1
		       : 0;
}
