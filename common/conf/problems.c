/* problems.c - what is wrong with an egs.conf, all of it at once */
#include <string.h>

#include "common/base/read_file.h"
#include "common/conf/keys.h"
#include "common/conf/problems.h"

/* Room for one more behind everything that is earlier in the file. */
static struct egs_err *insert_problem(struct egs_conf_problems *problems,
				      const struct egs_conf_item *at)
{
	size_t i = problems->stored;

	problems->count++;
	if (i == EGS_CONF_PROBLEMS_MAX)
		return NULL;
	while (i > 0 && problems->list[i - 1].item > at)
		i--;
	memmove(&problems->list[i + 1], &problems->list[i],
		(problems->stored - i) * sizeof(problems->list[0]));
	problems->stored++;
	problems->list[i].item = at;
	return &problems->list[i].err;
}

/* "Tier=prod: " in front of what is said about one of its keys. */
static struct egs_err format_label(const struct egs_conf_item *item)
{
	const struct egs_conf_item *head = egs_conf_doc_line_start(item);
	struct egs_err label = { "" };

	if (head != item && head->record && *head->record->name)
		egs_errf(&label, "%s=%s: ", egs_printable(head->key).text,
			 egs_printable(head->value).text);
	return label;
}

void egs_conf_add_problem(struct egs_conf_problems *problems,
			  const struct egs_conf_item *item,
			  const char *predicate)
{
	struct egs_err *err = insert_problem(problems, item);
	const char *file = egs_path_tail(item->file);

	if (item->problem && !item->line)
		egs_errf(err, "%s", item->problem);
	else if (item->problem)
		egs_errf(err, "%s:%u: %s", file, item->line, item->problem);
	else
		egs_errf(err, "%s:%u: %s%s=%s %s", file, item->line,
			 format_label(item).msg, egs_printable(item->key).text,
			 egs_printable(item->value).text, predicate);
}

void egs_conf_add_file_problem(struct egs_conf_problems *problems,
			       const char *path, const char *sentence)
{
	egs_errf(insert_problem(problems, NULL), "%s: %s", egs_path_tail(path),
		 sentence);
}
