/* node_filter.c - nodes that a job has ruled out: sbatch -w, -x and -C */
#define _GNU_SOURCE
#include <slurm/slurm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/list.h"
#include "policyd/slurm/node_filter.h"

struct egs_node_filter {
	struct hostlist *allowed, *excluded; /* NULL: none */
	char *text;
	const char *features; /* in 'text' */
};

char *egs_node_filter_format(const char *with, const char *without,
			     const char *features)
{
	char *text = NULL;

	with = with ? with : "";
	without = without ? without : "";
	features = features ? features : "";
	if ((!*with && !*without && !*features) ||
	    asprintf(&text, "%s\n%s\n%s", with, without, features) < 0)
		return NULL;
	return text;
}

static struct hostlist *parse_hostlist(const char *list)
{
	return list && *list ? slurm_hostlist_create(list) : NULL;
}

struct egs_node_filter *egs_node_filter_parse(const char *text)
{
	struct egs_node_filter *w = calloc(1, sizeof(*w));
	char *rest;

	if (!w)
		return NULL;
	rest = w->text = strdup(text);
	if (!w->text) {
		free(w);
		return NULL;
	}
	w->allowed = parse_hostlist(strsep(&rest, "\n"));
	w->excluded = parse_hostlist(strsep(&rest, "\n"));
	w->features = rest ? rest : "";
	return w;
}

void egs_node_filter_free(struct egs_node_filter *w)
{
	if (!w)
		return;
	if (w->allowed)
		slurm_hostlist_destroy(w->allowed);
	if (w->excluded)
		slurm_hostlist_destroy(w->excluded);
	free(w->text);
	free(w);
}

/* Is the word of 'len' letters in "a,b"? */
static bool has_word(const char *list, const char *word, size_t len)
{
	const char *element;
	size_t n;

	while ((element = egs_list_next(&list, &n)))
		if (n == len && memcmp(element, word, len) == 0)
			return true;
	return false;
}

/* All words of one choice, "a&b*2": a number says on how many nodes. */
static bool has_all_words(const char *list, const char *at, const char *end)
{
	while (at < end) {
		size_t len = strcspn(at, "&,|[]*");

		if (len && !has_word(list, at, len))
			return false;
		at += len;
		if (*at == '*')
			at += 1 + strspn(at + 1, "0123456789");
		at += strspn(at, "&,[]");
	}
	return true;
}

static bool has_features(const char *wanted, const char *list)
{
	const char *at = wanted;

	if (!*wanted || strpbrk(wanted, "()"))
		return true;
	while (*at) {
		const char *end = at + strcspn(at, "|");

		if (has_all_words(list, at, end))
			return true;
		at = end + (*end == '|');
	}
	return false;
}

bool egs_node_filter_may_use(const struct egs_node_filter *w, const char *name,
			     const char *features)
{
	return (!w->allowed || slurm_hostlist_find(w->allowed, name) >= 0) &&
	       (!w->excluded || slurm_hostlist_find(w->excluded, name) < 0) &&
	       has_features(w->features, features);
}
