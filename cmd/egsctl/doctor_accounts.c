/* doctor_accounts.c - accounts in no team, and limits beside quotas */
#include <string.h>

#include "cmd/egsctl/doctor.h"

/* One line "a|b|c" cut into its fields; those that are missing are "". */
#define FIELD_COUNT 3
#define FIELD_SIZE  256

static const char *read_next_row(const char *text,
				 char field[FIELD_COUNT][FIELD_SIZE])
{
	int i;

	for (i = 0; i < FIELD_COUNT; i++) {
		size_t len = strcspn(text, "|\n");

		snprintf(field[i], FIELD_SIZE, "%.*s", (int)len, text);
		text += len + (text[len] == '|');
	}
	text += strcspn(text, "\n");
	return text + (*text == '\n');
}

static int find_team(const struct egs_policy_conf *c, const char *account)
{
	int i;

	for (i = 0; i < c->nteams; i++)
		if (egs_conf_list_has(c->team[i].accounts, account))
			return i;
	return -1;
}

/* Teams made of users say nothing about accounts. */
static bool has_account_teams(const struct egs_policy_conf *c)
{
	int i;

	for (i = 0; i < c->nteams; i++)
		if (c->team[i].accounts)
			return true;
	return false;
}

static void check_teams(struct egs_doctor *d)
{
	char field[FIELD_COUNT][FIELD_SIZE], list[EGS_DOCTOR_VALUE_SIZE] = "";
	const char *at = d->assocs;
	size_t used = 0;

	while (*at && used < sizeof(list)) {
		at = read_next_row(at, field);
		if (*field[1] || !*field[0] || strcmp(field[0], "root") == 0 ||
		    find_team(d->policy, field[0]) >= 0)
			continue;
		used += (size_t)snprintf(list + used, sizeof(list) - used,
					 "%s%s", used ? ", " : "", field[0]);
	}
	if (*list)
		egs_doctor_print(d, EGS_ADVICE_WORRY,
				 "accounts in no team, their jobs are not "
				 "managed: %s",
				 list);
	else
		egs_doctor_print(d, EGS_ADVICE_FINE,
				 "every account is in a team");
}

/* Slurm holds a job over GrpTRES whatever EGS would lend it. */
static void check_assocs(struct egs_doctor *d)
{
	char field[FIELD_COUNT][FIELD_SIZE];
	const char *at = d->assocs;

	while (*at) {
		int team;

		at = read_next_row(at, field);
		team = find_team(d->policy, field[0]);
		if (team < 0 || !strstr(field[2], "gres/gpu"))
			continue;
		egs_doctor_print(
			d, EGS_ADVICE_WORRY,
			"account %s has GrpTRES=%s beside the quota of "
			"team %s: Slurm holds what EGS would lend",
			field[0], field[2], d->policy->team[team].name);
	}
}

static void check_qos(struct egs_doctor *d)
{
	char field[FIELD_COUNT][FIELD_SIZE];
	const char *at = d->qos ? d->qos : "";

	while (*at) {
		at = read_next_row(at, field);
		if (strstr(field[1], "gres/gpu"))
			egs_doctor_print(
				d, EGS_ADVICE_WORRY,
				"QOS %s has GrpTRES=%s beside the quotas "
				"of egs.conf: Slurm holds what EGS would "
				"lend",
				field[0], field[1]);
	}
}

static void check_tres(struct egs_doctor *d)
{
	char list[EGS_DOCTOR_VALUE_SIZE];

	egs_doctor_get_value(d, "AccountingStorageTRES", list);
	if (strstr(list, "gres/gpu"))
		egs_doctor_print(d, EGS_ADVICE_FINE,
				 "AccountingStorageTRES has gres/gpu");
	else
		egs_doctor_print(d, EGS_ADVICE_WORRY,
				 "AccountingStorageTRES=gres/gpu is not there: "
				 "sacct and sreport count no GPUs");
}

void egs_doctor_check_accounts(struct egs_doctor *d)
{
	if (!d->assocs)
		return;
	check_tres(d);
	if (!d->policy)
		return;
	if (has_account_teams(d->policy))
		check_teams(d);
	check_assocs(d);
	check_qos(d);
}
