/* wait_classes.h - how long jobs waited, counted by classes of length
 *
 * Waits below EGS_WAIT_EXACT_S seconds have a class for each second; longer
 * ones have 16 classes for each power of two.  Counts of a day are one text,
 * "CLASS:N CLASS:N ...", in the order of classes.
 */
#ifndef EGS_STORE_WAIT_CLASSES_H
#define EGS_STORE_WAIT_CLASSES_H

#include <stdint.h>

#define EGS_WAIT_EXACT_S 128
#define EGS_WAIT_CLASSES 1056

/* The class of a wait, and the longest wait of a class. */
uint32_t egs_wait_class_of(uint64_t wait_s);
uint64_t egs_wait_class_max_s(uint32_t class);

/* Read the first "CLASS:N" of 'text'.  Returns the text after it, or NULL if
 * there is none.
 */
const char *egs_wait_class_parse(const char *text, uint32_t *class,
				 uint64_t *n);

/* A text of all classes fits, with its end. */
#define EGS_WAIT_TEXT_SIZE 16384

/* Copy the counts 'from' to 'to', with one more wait of 'class'. */
void egs_wait_class_count(const char *from, uint32_t class,
			  char to[EGS_WAIT_TEXT_SIZE]);

#endif
