/* report.c - requests for reports, as egs-policyd --report reads them
 *
 * The state is small.  'dir' of the request is ours, as it is the daemon's.
 * runs: 5000, because each opens the state
 */
#include "policyd/report/report.h"
#include "common/ipc/msg.h"
#include "policyd/store/history.h"
#include "t/fuzz/fuzz.h"

static char dir[] = "/tmp/egs-fuzz-report.XXXXXX";

static void remove_files(void)
{
	static const char *const names[] = { "state", "state-wal", "state-shm",
					     "" };
	char path[64];

	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		remove(path);
	}
}

static void make_state(void)
{
	const struct egs_usage_kind kind = { .user = "alice",
					     .account = "red",
					     .team = "red",
					     .workload = "fraud/train",
					     .phase = "train",
					     .tier = "prod",
					     .partition = "gpu",
					     .qos = "normal",
					     .type = "a100",
					     .loan = "owned" };
	const struct egs_job_run run = { .job_id = 7,
					 .start = 1000000,
					 .end = 1090000,
					 .name = "a",
					 .end_state = "COMPLETED",
					 .wait_reason = "Resources" };
	const struct egs_span span = { 1000000, 1090000, 4, 8, 1, 100, false };
	char path[64];
	struct egs_store *s;
	struct egs_err err;
	bool hopeless;
	int64_t id;

	fuzz_check(mkdtemp(dir));
	atexit(remove_files);
	snprintf(path, sizeof(path), "%s/state", dir);
	s = egs_store_open(path, &hopeless, &err);
	fuzz_check(s && egs_store_begin(s, &err) == 0 &&
		   egs_history_run_save(s, &run, &kind, &id, &err) == 0 &&
		   egs_history_span_add(s, id, &kind, &span, &err) == 0 &&
		   egs_history_wait_add(s, &run, &kind, &err) == 0 &&
		   egs_store_commit(s, &err) == 0);
	egs_store_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool made;
	struct egs_err err;
	struct egs_msg *request;
	const char *text;
	size_t len = 0;

	if (!made)
		make_state();
	made = true;
	request = egs_msg_parse((const char *)data, size, EGS_MSG_REQUEST_MAX,
				&err);
	if (!request)
		return 0;
	egs_msg_set_str(request, "dir", dir);
	egs_msg_set_int(request, "limit_s", 1);
	text = egs_msg_to_text(request, &len);
	fuzz_check(text &&
		   freopen(fuzz_file((const uint8_t *)text, len), "r", stdin));
	egs_msg_free(request);
	fuzz_check(freopen("/dev/null", "w", stdout));
	fuzz_check(egs_report_main("/nonexistent") == EXIT_SUCCESS);
	return 0;
}
