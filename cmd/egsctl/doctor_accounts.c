/* doctor_accounts.c - accounts without a team, and limits besides quotas */
#include <string.h>

#include "cmd/egsctl/doctor.h"

#define FIELD_COUNT 3
#define FIELD_SIZE  256

/* Split the line "a|b|c"; missing fields are "".  Returns the next line. */
static const char *read_next_row(const char *text,
				 char field[FIELD_COUNT][FIELD_SIZE])
{
	for (int i = 0; i < FIELD_COUNT; i++) {
		size_t len = strcspn(text, "|\n");

		snprintf(field[i], FIELD_SIZE, "%.*s", (int)len, text);
		text += len + (text[len] == '|');
	}
	text += strcspn(text, "\n");
	return text + (*text == '\n');
}

static int find_team(const struct egs_policy_conf *c, const char *account)
{
	for (int i = 0; i < c->nteams; i++)
		if (egs_conf_list_has(c->team[i].accounts, account))
			return i;
	return -1;
}

/* Does any team have Accounts=?  Teams of users do not concern accounts. */
static bool has_account_teams(const struct egs_policy_conf *c)
{
	for (int i = 0; i < c->nteams; i++)
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
				 "accounts in no team (their jobs are not "
				 "managed): %s",
				 list);
	else
		egs_doctor_print(d, EGS_ADVICE_FINE,
				 "every account is in a team");
}

/* Slurm holds a job that is over GrpTRES, even if EGS would lend it GPUs. */
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
			"account %s has GrpTRES=%s besides the quota of "
			"team %s: Slurm holds jobs that EGS would lend GPUs",
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
				"QOS %s has GrpTRES=%s besides the quotas "
				"of egs.conf: Slurm holds jobs that EGS would "
				"lend GPUs",
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
				 "AccountingStorageTRES has no gres/gpu: sacct "
				 "and sreport count no GPUs");
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
