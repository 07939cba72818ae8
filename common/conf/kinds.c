/* kinds.c - a field read and written as its key's kind says
 *
 * To add a kind: a name in enum egs_conf_kind, and a reader, a writer and a
 * row in kinds_number.c or kinds_text.c.
 */
#include <strings.h>

#include "common/conf/kinds.h"
#include "common/conf/kinds_internal.h"

static const struct egs_conf_ops *find_ops(const struct egs_conf_key *key)
{
	const struct egs_conf_ops *ops = &egs_conf_number_ops[key->kind];

	return ops->read ? ops : &egs_conf_text_ops[key->kind];
}

bool egs_conf_is_default(const struct egs_conf_key *key, const char *text)
{
	return key->def && strcasecmp(text, key->def) == 0;
}

int egs_conf_read_field(struct egs_policy_conf *conf, void *row,
			const struct egs_conf_key *key, const char *text,
			bool closed, struct egs_err *err)
{
	struct egs_conf_target to = { conf, key, (char *)row + key->offset,
				      closed };

	return find_ops(key)->read(&to, text, err);
}

void egs_conf_write_field(const struct egs_policy_conf *conf, const void *row,
			  const struct egs_conf_key *key, FILE *out)
{
	struct egs_conf_source from = { conf, key,
					(const char *)row + key->offset };

	find_ops(key)->write(&from, out);
}
