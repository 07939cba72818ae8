/* node_filter.c - the nodes that a job may use: sbatch -w, -x and -C */
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

char *egs_node_filter_format(const char *nodes, const char *excluded,
			     const char *features)
{
	char *text = NULL;

	nodes = nodes ? nodes : "";
	excluded = excluded ? excluded : "";
	features = features ? features : "";
	if ((!*nodes && !*excluded && !*features) ||
	    asprintf(&text, "%s\n%s\n%s", nodes, excluded, features) < 0)
		return NULL;
	return text;
}

static struct hostlist *parse_hostlist(const char *list)
{
	return list && *list ? slurm_hostlist_create(list) : NULL;
}

struct egs_node_filter *egs_node_filter_parse(const char *text)
{
	struct egs_node_filter *f = calloc(1, sizeof(*f));
	char *rest;

	if (!f)
		return NULL;
	rest = f->text = strdup(text);
	if (!f->text) {
		free(f);
		return NULL;
	}
	f->allowed = parse_hostlist(strsep(&rest, "\n"));
	f->excluded = parse_hostlist(strsep(&rest, "\n"));
	f->features = rest ? rest : "";
	return f;
}

void egs_node_filter_free(struct egs_node_filter *f)
{
	if (!f)
		return;
	if (f->allowed)
		slurm_hostlist_destroy(f->allowed);
	if (f->excluded)
		slurm_hostlist_destroy(f->excluded);
	free(f->text);
	free(f);
}

/* Is the word of 'len' bytes in the list "a,b"? */
static bool has_word(const char *list, const char *word, size_t len)
{
	const char *element;
	size_t n;

	while ((element = egs_list_next(&list, &n)))
		if (n == len && memcmp(element, word, len) == 0)
			return true;
	return false;
}

/* Does the list have all words of "a&b*2"?  The number of nodes is ignored. */
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

bool egs_node_filter_may_use(const struct egs_node_filter *f, const char *name,
			     const char *features)
{
	return (!f->allowed || slurm_hostlist_find(f->allowed, name) >= 0) &&
	       (!f->excluded || slurm_hostlist_find(f->excluded, name) < 0) &&
	       has_features(f->features, features);
}
