/* keys.h - the keys of egs.conf, one row each
 *
 * To add a key, add a field to policy_conf.h and its default to policy_conf.c.
 * Add a row to keys.c, a line to etc/egs.conf.example and a paragraph to
 * egs.conf(5).  The parser, `egsctl show config` and the tests walk these
 * tables.
 */
#ifndef EGS_CONF_KEYS_H
#define EGS_CONF_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/conf/policy_conf.h"

/* The syntax of a value, which also determines the C type of its field. */
enum egs_conf_kind {
	EGS_CONF_CHOICE,  /* one of 'choices'; int or an enum */
	EGS_CONF_YESNO,	  /* bool */
	EGS_CONF_SECONDS, /* uint32_t */
	EGS_CONF_SIZE,	  /* uint32_t in KiB */
	EGS_CONF_NUMBER,  /* uint32_t */
	EGS_CONF_PERCENT, /* uint32_t */
	EGS_CONF_MILLI,	  /* uint32_t in 1/EGS_MILLI_ONE */
	EGS_CONF_PRICE,	  /* uint64_t in 1/EGS_PRICE_ONE */
	EGS_CONF_RATE,	  /* struct egs_rate */
	EGS_CONF_LIMIT,	  /* struct egs_rate, of events */
	EGS_CONF_RANGE,	  /* struct egs_range */
	EGS_CONF_GPUS,	  /* uint32_t[EGS_TYPE_ROWS] */
	EGS_CONF_LIST,	  /* char *, names */
	EGS_CONF_GLOBS,	  /* char *, names and "x*" */
	EGS_CONF_TEXT,	  /* char *, anything without blanks */
	EGS_CONF_HOSTS,	  /* char *, nodes as Slurm writes them */
	EGS_CONF_PATH,	  /* char *, absolute */
	EGS_CONF_PROGRAM, /* char *, absolute, a program of the controller */
	EGS_CONF_ORDER,	  /* the tiers themselves */
	EGS_CONF_TIERS,	  /* uint32_t, a bit per tier */
	EGS_CONF_TIER,	  /* int, index */
	EGS_CONF_TEAM,	  /* int, index */
	EGS_CONF_PHASE,	  /* int, index */
	EGS_CONF_REMEDY,  /* struct egs_remedies */
	EGS_CONF_KINDS,	  /* the number of kinds */
};

/* A word and its value; a table ends with NULL.  A word beyond the first for
 * a value is an alias: read, never written.
 */
struct egs_conf_choice {
	const char *word;
	int value;
};

struct egs_conf_key {
	const char *name;
	size_t offset; /* of the field in its record's struct */

	/* The default as the manual writes it; the file may contain it, too.
	 * NULL: the key is required.
	 */
	const char *def;
	const struct egs_conf_choice *choices; /* CHOICE; TEXT if not NULL */
	enum egs_conf_kind kind;
	uint32_t min; /* bounds of a number; for PATH, 'max' is its length */
	uint32_t max;

	/* The number that 'def' stands for if it is a word; 0: none. */
	uint32_t def_value;
};

enum egs_conf_record_id {
	EGS_CONF_GLOBAL,
	EGS_CONF_GPUTYPE_RECORD,
	EGS_CONF_TIER_RECORD,
	EGS_CONF_TEAM_RECORD,
	EGS_CONF_PHASE_RECORD,
	EGS_CONF_WORKLOAD_RECORD,
	EGS_CONF_RULE_RECORD,
	EGS_CONF_RECORDS,
};

/* A kind of record: the global one, Tier=, Team=, ... */
struct egs_conf_record {
	enum egs_conf_record_id id;
	const char *name; /* "" for the global keys */
	const struct egs_conf_key *keys;
	size_t nkeys;
	size_t rows_offset;  /* of row 0 in struct egs_policy_conf */
	size_t row_size;     /* in bytes */
	size_t count_offset; /* of the number of rows; 0: one row */
	int rows_max;
	bool lowercase; /* names are read in lower case */

	/* Add a row; false when the table is full. */
	bool (*add_row)(struct egs_policy_conf *conf, const char *name);
	/* The row of that name, or -1.  NULL: several rows may have one name.
	 */
	int (*find_row)(const struct egs_policy_conf *conf, const char *name);
};

extern const struct egs_conf_record egs_conf_records[EGS_CONF_RECORDS];

/* The key of that name in any case, or NULL. */
const struct egs_conf_key *
egs_conf_find_key(const struct egs_conf_record *record, const char *name);

/* The record of that name in any case, or NULL.  The global record has none. */
const struct egs_conf_record *egs_conf_find_record(const char *name);

/* The number of rows of a record, and the fields of a row.  The first field is
 * the name of the row, except in the global record.
 */
int egs_conf_count_rows(const struct egs_policy_conf *conf,
			const struct egs_conf_record *record);
void *egs_conf_edit_row(struct egs_policy_conf *conf,
			const struct egs_conf_record *record, int row);
const void *egs_conf_get_row(const struct egs_policy_conf *conf,
			     const struct egs_conf_record *record, int row);

#endif
