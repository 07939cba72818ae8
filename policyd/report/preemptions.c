/* preemptions.c - reports of preemptions, real and observed (observe mode) */
#include "policyd/report/report_internal.h"

/* A user may see preemptions of and for the user's own jobs. */
static void add_user_filter(const struct egs_report *r, sqlite3_str *sql)
{
	if (!r->user)
		return;
	sqlite3_str_appendf(sql, " AND (user=%Q", r->user);
	if (!r->hide_jobs)
		sqlite3_str_appendf(sql,
				    " OR EXISTS (SELECT 1 FROM run r JOIN kind"
				    " k ON k.id=r.kind WHERE r.job_id=requester"
				    " AND k.user=%Q)",
				    r->user);
	sqlite3_str_appendall(sql, ")");
}

int egs_report_preemptions(struct egs_report *r, struct egs_err *err)
{
	const char *users = egs_msg_get_str(r->request, "users");
	sqlite3_str *sql = sqlite3_str_new(r->db);

	egs_report_set_columns(r,
			       "ASKED,JOBID,USER,TEAM,TIER,GPUS,BYJOB,BYTEAM,"
			       "SAVED,YIELDED,GONE,RESTARTED,HOW,LOSTWORK,HELD,"
			       "RESTART,LOST,REASON",
			       "GPUS,LOSTWORK,HELD,RESTART,LOST",
			       "ASKED,SAVED,YIELDED,GONE,RESTARTED");
	sqlite3_str_appendf(
		sql,
		"SELECT requested_at, job_text, user, team, tier, gpus,"
		" iif(requester AND NOT %d, ''||requester, ''), requester_team,"
		" saved_at, yielded_at, departed_at, restarted_at, outcome,"
		" lost_work_s, held_s, restart_s,"
		" gpus*(lost_work_s+held_s+restart_s), reason FROM preemption"
		" WHERE requested_at>=%lld AND requested_at<%lld",
		r->hide_jobs, (long long)r->from, (long long)r->to + 1);
	if (users)
		sqlite3_str_appendf(
			sql, " AND instr(','||%Q||',', ','||user||',')", users);
	add_user_filter(r, sql);
	sqlite3_str_appendall(sql, " ORDER BY requested_at, job_id");
	return egs_report_add_page(r, sql, err);
}

/* In observe mode jobs are not preempted.  GPUSECONDS is what the job held
 * after the moment at which it would have been preempted.
 */
int egs_report_observed(struct egs_report *r, struct egs_err *err)
{
	sqlite3_str *sql = sqlite3_str_new(r->db);

	egs_report_set_columns(
		r, "TIME,JOBID,USER,TEAM,TIER,WHAT,GPUSECONDS,REASON",
		"GPUSECONDS", "TIME");
	sqlite3_str_appendf(
		sql,
		"SELECT d.at, ''||d.job_id, k.user, k.team, k.tier, d.event,"
		" ifnull((SELECT sum(s.gpus*(s.end-max(s.start, d.at))) FROM"
		" span s WHERE s.run=r.id AND s.end>d.at), 0)"
		"+ifnull((SELECT sum(o.gpus*(%lld-max(o.start, d.at))) FROM"
		" open_span o WHERE o.run=r.id), 0), d.reason FROM log d"
		" CROSS JOIN run r ON r.job_id=d.job_id AND r.nonce=d.nonce"
		" AND r.start<=d.at AND (r.end>=d.at OR r.end=0)"
		" CROSS JOIN kind k ON k.id=r.kind WHERE d.event LIKE 'would "
		"%%'"
		" AND d.at>=%lld AND d.at<=%lld",
		(long long)r->now, (long long)r->from, (long long)r->to);
	/* The index run_log has the kind, so other kinds cost one lookup. */
	sqlite3_str_appendall(sql,
			      " AND r.kind IN (SELECT id FROM kind k WHERE 1");
	egs_report_add_filter(r, sql, true);
	sqlite3_str_appendall(sql, ") ORDER BY d.at, d.id");
	return egs_report_add_page(r, sql, err);
}
