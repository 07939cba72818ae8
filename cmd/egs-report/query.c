/* query.c - get a report from the daemon, or from its file
 *
 * egs-policyd --report reads the file, because only egs-policyd knows its
 * tables.  The daemon runs it for its reports, too.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/egs-report/backup_import.h"
#include "cmd/egs-report/query.h"
#include "cmd/lib/find_daemon.h"
#include "common/base/buf.h"
#include "common/base/fd.h"
#include "common/conf/conf.h"
#include "common/ipc/client.h"

#define CONF_FILE EGS_SYSCONFDIR "/egs.conf"

static void exec_reader(const char *conf, int in, int out)
{
	if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
		egs_report_exec_policyd(conf, "--report", NULL);
	_exit(127);
}

static int start_reader(const char *conf, const char *text, size_t len,
			int *from, pid_t *pid, struct egs_err *err)
{
	int to[2], back[2];
	int rc;

	if (pipe(to) < 0 || pipe(back) < 0 || (*pid = fork()) < 0)
		return egs_errf(err, "cannot start egs-policyd --report: %s",
				strerror(errno));
	if (*pid == 0) {
		close(to[1]);
		close(back[0]);
		exec_reader(conf, to[0], back[1]);
	}
	close(to[0]);
	close(back[1]);
	rc = egs_write_all(to[1], text, len);
	close(to[1]);
	*from = back[0];
	return rc == 0 ? 0
		       : egs_errf(err, "egs-policyd --report did not read "
				       "the request");
}

static int query_state_file(const struct egs_report_source *source,
			    struct egs_msg *request, const char *dir,
			    struct egs_msg **answer, struct egs_err *err)
{
	const struct passwd *me = getpwuid(getuid());
	size_t len = 0;
	struct egs_buf got = { .used = 0 };
	const char *text;
	pid_t pid = -1;
	int from = -1;
	int rc;

	egs_msg_set_str(request, "dir", dir);
	egs_msg_set_str(request, "me", me ? me->pw_name : "?");
	text = egs_msg_to_text(request, &len);
	if (!text)
		return egs_errf(err, "out of memory");
	if (start_reader(source->conf_path, text, len, &from, &pid, err) < 0)
		return -1;
	rc = egs_buf_read_fd(&got, from, SIZE_MAX);
	close(from);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (rc == 0)
		*answer = egs_msg_parse(got.bytes, got.used, SIZE_MAX, err);
	else
		egs_errf(err, "the report could not be read");
	egs_buf_clear(&got);
	if (*answer && egs_msg_get_str(*answer, "error")) {
		egs_errf(err, "%s", egs_msg_get_str(*answer, "error"));
		egs_msg_free(*answer);
		*answer = NULL;
	}
	return *answer ? 0 : -1;
}

/* StateDir of the site; true if the user may read the file in it. */
static bool is_state_readable(char *dir, size_t size)
{
	struct egs_conf *conf = egs_conf_open(CONF_FILE, NULL);
	char path[4096 + 8];

	snprintf(dir, size, "%s",
		 egs_conf_dir(egs_conf_policy(conf), EGS_STATE_DIR));
	egs_conf_free(conf);
	snprintf(path, sizeof(path), "%s/state", dir);
	return access(path, R_OK) == 0;
}

int egs_report_query_send(const struct egs_report_source *source,
			  struct egs_msg *request, struct egs_msg **answer,
			  struct egs_err *err)
{
	struct egs_endpoint endpoint;
	struct egs_daemon_addr addr;
	char dir[4096];
	int rc;

	if (source->state_dir)
		return query_state_file(source, request, source->state_dir,
					answer, err);
	if (egs_find_daemon(&addr, source->address, source->cluster, &endpoint,
			    err) < 0)
		return -1;
	rc = egs_client_call(&endpoint, request, answer, source->timeout_ms,
			     err);
	if (rc == EGS_CLIENT_FORGED)
		rc = EGS_CLIENT_UNREACHABLE;
	if (rc != EGS_CLIENT_UNREACHABLE || source->address ||
	    !is_state_readable(dir, sizeof(dir)))
		return rc;
	fprintf(stderr, "egs-report: %s; reading %s/state\n", err->msg, dir);
	return query_state_file(source, request, dir, answer, err);
}
