/* preemptions.c - report of preemptions */
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
	egs_report_set_view(r,
			    "ASKED,JOBID,USER,TEAM,TIER,GPUS,BYJOB,BYTEAM,HOW,"
			    "LOST",
			    "LOSTWORK=s,HELD=s,RESTART=s,LOST=GPU-s");
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
