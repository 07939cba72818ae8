/* node_filter.c - nodes that a job has ruled out: sbatch -w, -x and -C */
#define _GNU_SOURCE
#include "policyd/slurm/node_filter.h"
#include <slurm/slurm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct egs_where {
	struct hostlist *with, *without; /* NULL: none */
	char *text;
	const char *features; /* in 'text' */
};

char *egs_where_text(const char *with, const char *without,
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

static struct hostlist *hosts(const char *list)
{
	return list && *list ? slurm_hostlist_create(list) : NULL;
}

struct egs_where *egs_where_new(const char *text)
{
	struct egs_where *w = calloc(1, sizeof(*w));
	char *rest;

	if (!w)
		return NULL;
	rest = w->text = strdup(text);
	if (!w->text) {
		free(w);
		return NULL;
	}
	w->with = hosts(strsep(&rest, "\n"));
	w->without = hosts(strsep(&rest, "\n"));
	w->features = rest ? rest : "";
	return w;
}

void egs_where_free(struct egs_where *w)
{
	if (!w)
		return;
	if (w->with)
		slurm_hostlist_destroy(w->with);
	if (w->without)
		slurm_hostlist_destroy(w->without);
	free(w->text);
	free(w);
}

/* Is the word of 'len' letters in "a,b"? */
static bool has(const char *list, const char *word, size_t len)
{
	for (; list && *list; list += strcspn(list, ","), list += *list == ',')
		if (strcspn(list, ",") == len && strncmp(list, word, len) == 0)
			return true;
	return false;
}

/* All words of one choice, "a&b*2": a number says on how many nodes. */
static bool has_all(const char *list, const char *at, const char *end)
{
	while (at < end) {
		size_t len = strcspn(at, "&,|[]*");

		if (len && !has(list, at, len))
			return false;
		at += len;
		if (*at == '*')
			at += 1 + strspn(at + 1, "0123456789");
		at += strspn(at, "&,[]");
	}
	return true;
}

static bool features_fit(const char *wanted, const char *list)
{
	const char *at = wanted;

	if (!*wanted || strpbrk(wanted, "()"))
		return true;
	while (*at) {
		const char *end = at + strcspn(at, "|");

		if (has_all(list, at, end))
			return true;
		at = end + (*end == '|');
	}
	return false;
}

bool egs_where_fits(const struct egs_where *w, const char *name,
		    const char *features)
{
	return (!w->with || slurm_hostlist_find(w->with, name) >= 0) &&
	       (!w->without || slurm_hostlist_find(w->without, name) < 0) &&
	       features_fit(w->features, features);
}
