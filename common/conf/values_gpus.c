/* values_gpus.c - GPUs by type: type:N[,type:N], or N where there is one type
 */
#include <string.h>

#include "common/conf/keys.h"
#include "common/conf/names.h"
#include "common/conf/values.h"
#include "common/conf/values_gpus.h"

/* More GPUs than any cluster has. */
#define GPUS_MAX 10000000

/* A value being read. */
struct gpus_value {
	struct egs_policy_conf *conf;
	const char *text;
	bool types_declared;
	uint32_t seen_types; /* a bit per type */
	uint32_t counts[EGS_TYPE_ROWS];
};

static const struct egs_conf_record *get_type_record(void)
{
	return &egs_conf_records[EGS_CONF_GPUTYPE_RECORD];
}

static int add_type(struct gpus_value *gpus, const char *name, int *row,
		    struct egs_err *err)
{
	if (!egs_conf_add_type(gpus->conf, name))
		return egs_errf(err,
				"has '%s', one type more than %d, the "
				"most",
				name, EGS_TYPES_MAX);
	*row = get_type_record()->find_row(gpus->conf, name);
	return 0;
}

/* The row of a type that is written as "name:N". */
static int find_named_type(struct gpus_value *gpus, const char *typed, int *row,
			   struct egs_err *err)
{
	char name[EGS_NAME_SIZE];
	struct egs_err why;

	if (gpus->types_declared)
		return egs_conf_read_ref(gpus->conf, get_type_record(),
					 gpus->text, typed, row, err);
	if (egs_conf_read_name(get_type_record(), typed, name, &why) < 0)
		return egs_errf(err, "has '%s', which %s",
				egs_printable(typed).text, why.msg);
	return add_type(gpus, name, row, err);
}

/* The row of a plain "N". */
static int find_only_type(struct gpus_value *gpus, int *row,
			  struct egs_err *err)
{
	if (!gpus->types_declared)
		return add_type(gpus, "", row, err);
	if (gpus->conf->ntypes > 1)
		return egs_errf(err, "does not say which type; say %s:N",
				gpus->conf->type[0].name);
	*row = 0;
	return 0;
}

static int add_entry(void *arg, const char *entry, struct egs_err *err)
{
	struct gpus_value *gpus = arg;
	const char *colon = strchr(entry, ':');
	char name[EGS_NAME_SIZE] = "";
	uint32_t n;
	int row = 0;

	if (egs_conf_read_number(colon ? colon + 1 : entry, &n, NULL) < 0 ||
	    n > GPUS_MAX)
		return egs_errf(err, "is not accepted; say type:N, "
				     "type:N,type:N or none");
	if (colon)
		snprintf(name, sizeof(name), "%.*s", (int)(colon - entry),
			 entry);
	if ((colon ? find_named_type(gpus, name, &row, err)
		   : find_only_type(gpus, &row, err)) < 0)
		return -1;
	if (gpus->seen_types & 1u << row)
		return egs_errf(err, "has the same type twice");
	gpus->seen_types |= 1u << row;
	gpus->counts[row] = n;
	return 0;
}

int egs_conf_read_gpus(struct egs_policy_conf *conf, const char *text,
		       bool closed, uint32_t absent,
		       uint32_t out[EGS_TYPE_ROWS], struct egs_err *err)
{
	struct gpus_value gpus = { .conf = conf,
				   .text = text,
				   .types_declared = closed };

	for (int i = 0; i < EGS_TYPE_ROWS; i++)
		gpus.counts[i] = absent;
	if (egs_conf_for_each_entry(text, add_entry, &gpus, err) < 0)
		return -1;
	memcpy(out, gpus.counts, sizeof(gpus.counts));
	return 0;
}

bool egs_conf_write_gpus(const struct egs_policy_conf *conf,
			 const uint32_t gpus[EGS_TYPE_ROWS], uint32_t absent,
			 FILE *out)
{
	const char *comma = "";

	for (int i = 0; i < conf->ntypes; i++) {
		const char *name = conf->type[i].name;

		if (gpus[i] == absent)
			continue;
		fprintf(out, "%s%s%s%u", comma, name, *name ? ":" : "",
			gpus[i]);
		comma = ",";
	}
	return *comma;
}
