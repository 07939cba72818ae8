/* teams.c - report of teams: used, lent, and how far below the share */
#include <stdio.h>
#include <string.h>

#include "policyd/report/report_internal.h"

#define NUMBER_COLUMNS \
	"USED,OWNED,LOAN,UNMANAGED,LENT,QUOTA,SHARE,USED_SHARE,BELOW_SHARE"

/* Share of a team: Share= of egs.conf, else the sum of quota times rating. */
static uint64_t compute_share(const struct egs_policy_conf *c, int team)
{
	uint64_t sum = 0;
	int type;

	if (c->team[team].share != EGS_UNSET)
		return c->team[team].share;
	for (type = 0; type <= c->ntypes; type++)
		sum += (uint64_t)c->team[team].quota[type] *
		       (type < c->ntypes ? c->type[type].rating
					 : EGS_MILLI_ONE) /
		       EGS_MILLI_ONE;
	return sum;
}

/* The teams of egs.conf as rows "(name, share)". */
static void add_teams(const struct egs_report *r, sqlite3_str *sql)
{
	sqlite3_str_appendall(sql, " conf (team, share) AS (VALUES ('', 0)");
	for (int i = 0; i < r->conf->nteams; i++)
		sqlite3_str_appendf(
			sql, ", (%Q, %llu)", r->conf->team[i].name,
			(unsigned long long)compute_share(r->conf, i));
	sqlite3_str_appendall(sql, ")");
}

static void add_tally_sum(const struct egs_report *r, sqlite3_str *sql,
			  const char *metric)
{
	char seconds[192];

	snprintf(seconds, sizeof(seconds),
		 "ifnull((SELECT sum(amount) FROM t WHERE metric='%s' AND "
		 "scope GLOB 'team/'||c.team||'/*'), 0)",
		 metric);
	sqlite3_str_appendall(sql, ", ");
	egs_report_add_in_unit(r, sql, seconds);
}

int egs_report_teams(struct egs_report *r, struct egs_err *err)
{
	sqlite3_str *sql;

	if (r->hide_usage)
		return egs_errf(err, "usage of others is private "
				     "(PrivateData=usage); use the report "
				     "usage or mine");
	sql = sqlite3_str_new(r->db);

	egs_report_set_columns(r, "TEAM," NUMBER_COLUMNS, NUMBER_COLUMNS, "");
	egs_report_set_view(r, NULL,
			    "USED=t,OWNED=t,LOAN=t,UNMANAGED=t,LENT=t,QUOTA=t");
	egs_report_add_parts(r, sql);
	sqlite3_str_appendall(sql, ", t AS (");
	egs_report_add_tallies(r, sql, "team/*");
	sqlite3_str_appendall(
		sql, "), used AS (SELECT k.team, sum(p.gpu_s) AS gpu_s,"
		     " sum(p.gpu_s*rating(k.type)) AS norm,"
		     " sum(iif(k.loan='owned', p.gpu_s, 0)) AS owned,"
		     " sum(iif(k.loan='loan', p.gpu_s, 0)) AS loan,"
		     " sum(iif(k.loan='-', p.gpu_s, 0)) AS unmanaged"
		     " FROM part p JOIN kind k ON k.id=p.kind GROUP BY"
		     " k.team),");
	add_teams(r, sql);
	sqlite3_str_appendall(sql,
			      ", sums AS (SELECT max(1, sum(share)) AS"
			      " share, (SELECT max(1, sum(norm)) FROM used)"
			      " AS norm FROM conf) SELECT c.team, ");
	egs_report_add_in_unit(r, sql, "ifnull(u.gpu_s, 0)");
	sqlite3_str_appendall(sql, ", ");
	egs_report_add_in_unit(r, sql, "ifnull(u.owned, 0)");
	sqlite3_str_appendall(sql, ", ");
	egs_report_add_in_unit(r, sql, "ifnull(u.loan, 0)");
	sqlite3_str_appendall(sql, ", ");
	egs_report_add_in_unit(r, sql, "ifnull(u.unmanaged, 0)");
	add_tally_sum(r, sql, "lent");
	add_tally_sum(r, sql, "quota");
	sqlite3_str_appendall(
		sql, ", printf('%.4f', 1.0*c.share/s.share),"
		     " printf('%.4f', 1.0*ifnull(u.norm, 0)/s.norm),"
		     " printf('%.4f', 1.0*c.share/s.share"
		     "-1.0*ifnull(u.norm, 0)/s.norm)"
		     " FROM conf c, sums s LEFT JOIN used u ON u.team=c.team"
		     " WHERE (c.team<>'' OR u.gpu_s>0)");
	if (r->user) {
		sqlite3_str_appendall(sql, " AND c.team IN ");
		egs_report_add_own_teams(r, sql);
	}
	sqlite3_str_appendall(sql, " ORDER BY ifnull(u.gpu_s, 0) DESC, c.team");
	return egs_report_add_rows(r, sql, err) < 0 ? -1 : 0;
}
