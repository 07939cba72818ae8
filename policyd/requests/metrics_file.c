/* metrics_file.c - write RunDir/metrics, and answer the verb "metrics"
 *
 * The file is replaced by rename(), so a reader never sees half of it.  If the
 * disk is full, the old file stays and its age shows in
 * egs_daemon_last_poll_timestamp_seconds.  When the daemon stops, only counters
 * stay in the file, for the next daemon.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/fd.h"
#include "common/base/log.h"
#include "common/base/read_file.h"
#include "policyd/requests/metrics_file.h"

enum { FILE_MAX = 64 << 20 };

static void make_path(const struct egs_daemon *d, const char *suffix,
		      char path[sizeof(d->run_dir) + 32])
{
	snprintf(path, sizeof(d->run_dir) + 32, "%s/metrics%s", d->run_dir,
		 suffix);
}

/* ---- what others may see ---- */

/* Set what the text tells, and to whom.  False: that has not changed. */
static bool set_privacy(struct egs_daemon *d, struct egs_metrics_file *f)
{
	const struct egs_private_data hidden = egs_private_data_get(d);
	enum egs_job_metrics jobs = egs_daemon_conf(d)->job_metrics;
	bool is_private, changed;

	if (jobs == EGS_JOB_METRICS_AUTO)
		jobs = hidden.any ? EGS_JOB_METRICS_NO : EGS_JOB_METRICS_YES;
	is_private = hidden.usage || (hidden.any && jobs != EGS_JOB_METRICS_NO);
	changed = f->jobs != jobs || f->is_private != is_private;
	f->jobs = jobs;
	f->is_private = is_private;
	return changed;
}

/* ---- the file ---- */

static int write_text(struct egs_daemon *d, const struct egs_metrics_file *f,
		      struct egs_err *err)
{
	char path[sizeof(d->run_dir) + 32], new[sizeof(d->run_dir) + 32];
	int fd, rc;

	make_path(d, "", path);
	make_path(d, ".new", new);
	unlink(new);
	fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		  0600);
	if (fd < 0)
		return egs_errf(err, "%s: %s", new, strerror(errno));
	rc = egs_write_all(fd, f->text.bytes, f->text.used);
	if (rc == 0)
		rc = fchmod(fd, f->is_private ? 0640 : 0644);
	if (close(fd) < 0 || rc < 0 || rename(new, path) < 0) {
		egs_errf(err, "%s: %s", new, strerror(errno));
		unlink(new);
		return -1;
	}
	return 0;
}

static void write_file(struct egs_daemon *d)
{
	struct egs_metrics_file *f = d->requests->metrics;
	struct egs_err err;
	int rc;

	f->text.used = 0;
	egs_metrics_format(f->set, &f->text);
	if (f->text.failed) {
		egs_buf_clear(&f->text);
		rc = egs_errf(&err, "metrics: out of memory");
	} else {
		rc = write_text(d, f, &err);
	}
	if (rc < 0 && !f->failed)
		egs_log_warn("%s; Prometheus sees old numbers", err.msg);
	if (rc == 0 && f->failed)
		egs_log_info("metrics: written again");
	f->failed = rc < 0;
}

static void write_metrics(struct egs_daemon *d)
{
	struct egs_metrics_file *f = d->requests->metrics;

	egs_private_data_read(d);
	set_privacy(d, f);
	egs_metrics_measure(d, f->jobs);
	write_file(d);
}

/* Nothing is measured any more: an old file would tell old numbers. */
static void remove_file(struct egs_daemon *d)
{
	struct egs_metrics_file *f = d->requests->metrics;
	char path[sizeof(d->run_dir) + 32];

	if (f->removed)
		return;
	make_path(d, "", path);
	f->removed = unlink(path) == 0 || errno == ENOENT;
	f->written_at = 0;
	egs_buf_clear(&f->text);
}

/* ---- the part ---- */

static int init_metrics(struct egs_daemon *d, struct egs_err *err)
{
	struct egs_metrics_file *f = calloc(1, sizeof(*f));

	d->requests->metrics = f;
	if (f)
		f->set = egs_metrics_new(egs_metrics_table, EGS_METRICS_ROWS);
	return f && f->set ? 0 : egs_errf(err, "out of memory");
}

/* Continue with the counters of the last file.  Not before the accounting is
 * loaded: it tells what was open.
 */
static void load_counters(struct egs_daemon *d)
{
	struct egs_metrics_file *f = d->requests->metrics;
	char path[sizeof(d->run_dir) + 32];
	struct egs_file_text file;

	if (f->loaded || !d->account)
		return;
	f->loaded = true;
	make_path(d, "", path);
	if (egs_read_file(&file, path, FILE_MAX, NULL) < 0)
		return;
	egs_metrics_count_restore(d, file.text, file.size);
	free(file.text);
}

static int start_metrics(struct egs_daemon *d, struct egs_err *err)
{
	(void)err;
	load_counters(d);
	return 0;
}

static void write_in_time(struct egs_daemon *d)
{
	struct egs_metrics_file *f = d->requests->metrics;
	egs_time_t interval = egs_daemon_conf(d)->metrics_every_s;
	egs_time_t now = egs_daemon_now();

	load_counters(d);
	if (!interval) {
		remove_file(d);
		return;
	}
	if (now - f->written_at < interval && now >= f->written_at)
		return;
	f->removed = false;
	f->written_at = now;
	write_metrics(d);
}

/* Keep the counters for the next daemon.  A daemon that never wrote the file
 * leaves an older one as it is.
 */
static void write_last(struct egs_daemon *d)
{
	struct egs_metrics_file *f = d->requests->metrics;

	if (!f->text.used)
		return;
	egs_metrics_begin(f->set);
	egs_metrics_add(f->set, EGS_METRICS_UP, 0, EGS_NO_LABELS);
	egs_metrics_add(f->set, EGS_METRICS_POLLED_AT, (double)d->polled_at,
			EGS_NO_LABELS);
	egs_metrics_count_open(d, d->polled_at);
	write_file(d);
}

/* JobMetrics= may have changed, and PrivateData= of Slurm. */
static void write_soon(struct egs_daemon *d)
{
	d->requests->metrics->written_at = 0;
}

static void stop_metrics(struct egs_daemon *d)
{
	struct egs_metrics_file *f = d->requests ? d->requests->metrics : NULL;

	if (!f)
		return;
	egs_metrics_free(f->set);
	egs_buf_clear(&f->text);
	free(f);
	d->requests->metrics = NULL;
}

const struct egs_part egs_metrics_part = {
	.name = "metrics",
	.init = init_metrics,
	.start = start_metrics,
	.ending = write_last,
	.stop = stop_metrics,
	.tick = write_in_time,
	.reloaded = write_soon,
	.run_began = egs_metrics_count_run,
	.span_ended = egs_metrics_count_span,
	.level_ended = egs_metrics_count_level,
	.preemption_recorded = egs_metrics_count_preemption,
};

/* ---- the verb ---- */

void egs_requests_count_verb(void *arg, const char *verb)
{
	const struct egs_daemon *d = arg;

	egs_metrics_add(d->requests->metrics->set, EGS_METRICS_REQUESTS, 1,
			EGS_LABELS(verb));
}

int egs_verb_metrics(void *arg, const struct egs_peer *peer,
		     const struct egs_msg *request, struct egs_msg *answer,
		     struct egs_err *err)
{
	struct egs_daemon *d = arg;
	struct egs_metrics_file *f = d->requests->metrics;

	(void)request;
	if (!egs_daemon_conf(d)->metrics_every_s)
		return egs_errf(err, "MetricsInterval= is 0: nothing is "
				     "measured");
	if (f->text.used && set_privacy(d, f))
		write_metrics(d);
	if (f->is_private && !egs_daemon_operator_name(d, peer->uid))
		return egs_errf(err, "metrics are for operators here, because "
				     "of PrivateData= in slurm.conf");
	if (!egs_buf_reserve(&f->text, 1) || !f->text.used) {
		egs_errf(err, "nothing is measured yet");
		return EGS_REPLY_RETRY;
	}
	f->text.bytes[f->text.used] = '\0';
	egs_msg_set_str(answer, "text", f->text.bytes);
	return 0;
}
