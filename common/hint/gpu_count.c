/* gpu_count.c - count the GPUs in a text of Slurm */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/hint/gpu_count.h"

/* One resource of a list; 'paren' is the text in parentheses after it. */
struct gres_item {
	char text[160];
	const char *paren;
};

/* Read the next resource.  A comma inside of parentheses does not end it. */
static const char *read_next_item(const char *s, struct gres_item *w)
{
	size_t n = 0;
	int depth = 0;

	w->paren = NULL;
	for (; *s && (depth || *s != ','); s++) {
		depth += (*s == '(') - (*s == ')');
		if (*s == '(' && depth == 1)
			w->paren = s + 1;
		else if (!depth && *s != ')' && n < sizeof(w->text) - 1)
			w->text[n++] = *s;
	}
	w->text[n] = '\0';
	return *s ? s + 1 : s;
}

static const char *skip_prefix(const char *s, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(s, prefix, n) == 0 ? s + n : s;
}

static uint32_t clamp_u32(uint64_t count)
{
	return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

static void add_count(struct egs_gpu_count *g, const char *type, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < g->ntypes; i++)
		if (strcmp(g->by_type[i].type, type) == 0)
			break;
	if (i == EGS_GPU_COUNT_TYPES_MAX)
		i--;
	if (i == g->ntypes) {
		snprintf(g->by_type[i].type, sizeof(g->by_type[i].type), "%s",
			 type);
		g->ntypes++;
	}
	g->by_type[i].count = clamp_u32((uint64_t)g->by_type[i].count + count);
}

/* "4", or "2k" for 2048, as Slurm parses it.  A number that is too large
 * becomes the largest.
 */
static uint32_t read_count(const char *s)
{
	static const char suffixes[] = "kmgtp";
	char *end;
	uint64_t n = clamp_u32(strtoull(s, &end, 10));
	const char *suffix =
		*end ? strchr(suffixes, tolower((unsigned char)*end)) : NULL;

	for (; suffix && suffix >= suffixes; suffix--)
		n = clamp_u32(n * 1024);
	return clamp_u32(n);
}

/* "IDX:0-1,3" is three; a text that is not a list of numbers is 0.  '*set' gets
 * the numbers below 64.
 */
static uint32_t read_indices(const char *s, uint64_t *set)
{
	uint32_t n = 0;

	if (strncmp(s, "IDX:", 4) != 0)
		return 0;
	for (s += 4; isdigit((unsigned char)*s); s++) {
		char *end;
		unsigned long first = strtoul(s, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (last >= first && last - first < 4096)
			n += (uint32_t)(last - first) + 1;
		for (; first <= last && first < 64; first++)
			*set |= UINT64_C(1) << first;
		s = end;
		if (*s != ',')
			break;
	}
	return n;
}

/* Is 's' a number, with or without a suffix, and not a GPU type? */
static bool is_count(const char *s)
{
	size_t digits = strspn(s, "0123456789");

	s += digits;
	if (digits && *s && strchr("kKmMgGtTpP", *s))
		s++;
	return digits && (!*s || !strcasecmp(s, "b") || !strcasecmp(s, "ib"));
}

static bool is_gpu(const char *name)
{
	return strncmp(name, "gpu", 3) == 0 &&
	       (!name[3] || strchr(":=", name[3]));
}

/* "gpu", "gpu:2", "gpu:a100", "gpu:a100:2", "gpu:a100=2" */
static void add_item(struct egs_gpu_count *g, struct gres_item *w,
		     uint32_t times)
{
	char *s = (char *)skip_prefix(skip_prefix(w->text, "gres:"), "gres/");
	char *count, *type;
	uint32_t n = 1;
	uint64_t set = 0;

	if (!is_gpu(s))
		return;
	type = s[3] ? s + 4 : s + 3;
	count = strpbrk(type, ":=");
	if (!count && is_count(type))
		count = type;
	if (count) {
		n = read_count(count + (count != type));
		*count = '\0';
	} else if (w->paren && strncmp(w->paren, "IDX:", 4) == 0) {
		n = read_indices(w->paren, &set);
	}
	add_count(g, type, clamp_u32((uint64_t)n * times));
}

void egs_gpu_count_add(struct egs_gpu_count *gpus, const char *text,
		       uint32_t times)
{
	struct gres_item w = { .text = "" };

	while (text && *text) {
		text = read_next_item(text, &w);
		add_item(gpus, &w, times);
	}
}

uint64_t egs_gpu_count_read_set(const char *text)
{
	struct gres_item w = { .text = "" };
	uint64_t set = 0;

	while (text && *text) {
		text = read_next_item(text, &w);
		if (is_gpu(w.text) && w.paren)
			read_indices(w.paren, &set);
	}
	return set;
}

uint32_t egs_gpu_count_total(const struct egs_gpu_count *gpus)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < gpus->ntypes; i++)
		total += gpus->by_type[i].count;
	return clamp_u32(total);
}
