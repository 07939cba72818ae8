/* remediation.c - report of what was done about GPUs, or would have been */
#include "policyd/report/report_internal.h"

/* A user may see what was done about the user's own jobs. */
int egs_report_remediation(struct egs_report *r, struct egs_err *err)
{
	const char *users = egs_msg_get_str(r->request, "users");
	sqlite3_str *sql = sqlite3_str_new(r->db);

	egs_report_set_columns(r,
			       "TIME,NODE,GPU,RULE,ON,VALUE,DO,HOW,JOBID,USER,"
			       "UNDONE,WHY,REASON",
			       "GPU,VALUE", "TIME,UNDONE");
	egs_report_set_view(
		r, "TIME,NODE,GPU,RULE,DO,HOW,JOBID,USER,UNDONE,REASON", "");
	sqlite3_str_appendf(
		sql,
		"SELECT at, node, gpu, rule, subject,"
		" iif(subject='xid', xid, value), remedy,"
		" iif(outcome='', 'sent', outcome), job_text, user, undone_at,"
		" undone, reason FROM remediation"
		" WHERE at>=%lld AND at<%lld",
		(long long)r->from, (long long)r->to + 1);
	if (users)
		sqlite3_str_appendf(
			sql, " AND instr(','||%Q||',', ','||user||',')", users);
	if (r->user)
		sqlite3_str_appendf(sql, " AND user=%Q", r->user);
	sqlite3_str_appendall(sql, " ORDER BY id");
	return egs_report_add_page(r, sql, err);
}
