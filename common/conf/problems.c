/* problems.c - what is wrong with an egs.conf, all of it at once */
#include <string.h>

#include "common/base/read_file.h"
#include "common/conf/keys.h"
#include "common/conf/problems.h"

/* Room for one more behind everything that is earlier in the file. */
static struct egs_err *insert(struct egs_conf_problems *problems,
			      const struct egs_conf_item *at)
{
	size_t i = problems->kept;

	problems->count++;
	if (i == EGS_CONF_PROBLEMS_MAX)
		return NULL;
	while (i > 0 && problems->list[i - 1].at > at)
		i--;
	memmove(&problems->list[i + 1], &problems->list[i],
		(problems->kept - i) * sizeof(problems->list[0]));
	problems->kept++;
	problems->list[i].at = at;
	return &problems->list[i].err;
}

/* "Tier=prod: " in front of what is said about one of its keys. */
static struct egs_err label_of(const struct egs_conf_item *item)
{
	const struct egs_conf_item *head = egs_conf_doc_head(item);
	struct egs_err label = { "" };

	if (head != item && head->record && *head->record->name)
		egs_errf(&label, "%s=%s: ", egs_show(head->key).text,
			 egs_show(head->value).text);
	return label;
}

void egs_conf_complain(struct egs_conf_problems *problems,
		       const struct egs_conf_item *item, const char *predicate)
{
	struct egs_err *err = insert(problems, item);
	const char *file = egs_conf_path_tail(item->file);

	if (item->problem && !item->line)
		egs_errf(err, "%s", item->problem);
	else if (item->problem)
		egs_errf(err, "%s:%u: %s", file, item->line, item->problem);
	else
		egs_errf(err, "%s:%u: %s%s=%s %s", file, item->line,
			 label_of(item).msg, egs_show(item->key).text,
			 egs_show(item->value).text, predicate);
}

void egs_conf_complain_file(struct egs_conf_problems *problems,
			    const char *path, const char *sentence)
{
	egs_errf(insert(problems, NULL), "%s: %s", egs_conf_path_tail(path),
		 sentence);
}
