/* print_clean.h - print text of an answer so that a terminal shows it as text
 */
#ifndef EGS_LIB_PRINT_CLEAN_H
#define EGS_LIB_PRINT_CLEAN_H

#include <stdio.h>

/* Print 'text' without control characters (text.h), of any length.  NULL prints
 * nothing.  Returns 0, or -1 if that failed.
 */
int egs_print_clean(FILE *out, const char *text);

/* Print 'label', 'text' and a newline, both without control characters. */
int egs_print_clean_line(FILE *out, const char *label, const char *text);

#endif
