/* wait_classes.c - how long jobs waited, counted by classes of length */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "policyd/store/wait_classes.h"

const char *egs_wait_class_parse(const char *text, uint32_t *class, uint64_t *n)
{
	char *end;

	*class = (uint32_t)strtoul(text, &end, 10);
	if (end == text || *end != ':')
		return NULL;
	*n = strtoull(end + 1, &end, 10);
	return end + (*end == ' ');
}

void egs_wait_class_count(const char *from, uint32_t class,
			  char to[EGS_WAIT_TEXT_SIZE])
{
	uint32_t each = 0;
	uint64_t n = 0;
	size_t at = 0;
	bool counted = false;

	while (at < EGS_WAIT_TEXT_SIZE - 64 &&
	       (from = egs_wait_class_parse(from, &each, &n))) {
		if (!counted && each > class)
			at += (size_t)snprintf(to + at, 64, "%u:1 ", class);
		counted |= each >= class;
		at += (size_t)snprintf(to + at, 64, "%u:%llu ", each,
				       (unsigned long long)n + (each == class));
	}
	if (!counted)
		at += (size_t)snprintf(to + at, 64, "%u:1 ", class);
	to[at] = '\0';
}

uint32_t egs_wait_class_of(uint64_t wait_s)
{
	uint32_t power = 0;

	if (wait_s < EGS_WAIT_EXACT_S)
		return (uint32_t)wait_s;
	while (wait_s >> (power + 1))
		power++;
	return EGS_WAIT_EXACT_S + (power - 7) * 16 +
	       (uint32_t)((wait_s >> (power - 4)) & 15);
}

uint64_t egs_wait_class_max_s(uint32_t class)
{
	uint32_t power, part;

	if (class < EGS_WAIT_EXACT_S)
		return class;
	power = (class - EGS_WAIT_EXACT_S) / 16 + 7;
	part = (class - EGS_WAIT_EXACT_S) % 16;
	return ((UINT64_C(17) + part) << (power - 4)) - 1;
}
