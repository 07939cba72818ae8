/* doctor_gpus.c - egsctl doctor: do the nodes measure their GPUs?
 *
 * A row of 'egsctl show gpus' has the driver, "-" if the node does not measure.
 * The first row of a node speaks for the node.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/egsctl/doctor.h"
#include "cmd/lib/find_daemon.h"
#include "common/base/array.h"

enum { ANSWER_MS = 10000, NODES_NAMED_MAX = 5 };

enum { COL_NODE, COL_DRIVER, COL_NOTE, COL_COUNT };

struct gpu_table {
	const struct egs_msg *answer;
	size_t rows;
	size_t column[COL_COUNT];
};

static struct egs_msg *ask_gpus(const struct egsctl_options *ctl)
{
	struct egs_msg *request = egs_msg_new(), *answer = NULL;
	struct egs_daemon_addr addr;
	struct egs_endpoint daemon;
	struct egs_err err;

	if (!request)
		return NULL;
	egs_msg_set_str(request, "verb", "show");
	egs_msg_set_str(request, "what", "gpus");
	if (egs_find_daemon(&addr, ctl->address, ctl->cluster, &daemon, &err) ==
	    0)
		egs_client_call(&daemon, request, &answer, ANSWER_MS, &err);
	egs_msg_free(request);
	return answer;
}

static const char *get_cell(const struct gpu_table *t, size_t row, int column)
{
	bool number;

	return egs_msg_get_cell(t->answer, row, t->column[column], &number);
}

/* Returns -1 if the answer has another form. */
static int find_columns(struct gpu_table *t)
{
	static const char *const names[COL_COUNT] = { "NODE", "DRIVER",
						      "NOTE" };
	size_t columns, found = 0;

	if (egs_msg_check_table(t->answer, &columns, &t->rows, NULL) < 0)
		return -1;
	for (size_t i = 0; i < columns; i++)
		for (size_t k = 0; k < COL_COUNT; k++)
			if (strcmp(egs_msg_get_column(t->answer, i),
				   names[k]) == 0) {
				t->column[k] = i;
				found++;
			}
	return found == COL_COUNT ? 0 : -1;
}

static bool is_first_of_node(const struct gpu_table *t, size_t row)
{
	return row == 0 || strcmp(get_cell(t, row, COL_NODE),
				  get_cell(t, row - 1, COL_NODE)) != 0;
}

static void append_driver(struct egs_text *list, const char *driver)
{
	if (!strstr(list->text, driver))
		egs_text_append(list, "%s%s", *list->text ? ", " : "", driver);
}

void egs_doctor_check_gpu_table(struct egs_doctor *d,
				const struct egs_msg *answer)
{
	struct gpu_table t = { .answer = answer };
	unsigned nodes = 0, sampled = 0, silent = 0;
	struct egs_text drivers = { "" };

	if (find_columns(&t) < 0)
		return;
	for (size_t i = 0; i < t.rows; i++) {
		const char *driver = get_cell(&t, i, COL_DRIVER);

		if (!is_first_of_node(&t, i))
			continue;
		nodes++;
		if (strcmp(driver, "-") != 0) {
			sampled++;
			append_driver(&drivers, driver);
		} else if (silent++ < NODES_NAMED_MAX) {
			egs_doctor_print(d, EGS_ADVICE_WORRY,
					 "%s does not measure its GPUs: %s",
					 get_cell(&t, i, COL_NODE),
					 get_cell(&t, i, COL_NOTE));
		}
	}
	if (silent > NODES_NAMED_MAX)
		egs_doctor_print(d, EGS_ADVICE_WORRY,
				 "%u more nodes do not measure their GPUs",
				 silent - NODES_NAMED_MAX);
	if (sampled)
		egs_doctor_print(d, EGS_ADVICE_FINE,
				 "%u of %u nodes measure their GPUs, with "
				 "driver %s",
				 sampled, nodes, drivers.text);
}

void egs_doctor_check_gpus(struct egs_doctor *d,
			   const struct egsctl_options *ctl)
{
	struct egs_msg *answer;

	if (!d->policy->sample_interval_s) {
		egs_doctor_print(d, EGS_ADVICE_FINE,
				 "egs.conf: SampleInterval=0, so nodes do not "
				 "measure their GPUs");
		return;
	}
	answer = ask_gpus(ctl);
	if (answer)
		egs_doctor_check_gpu_table(d, answer);
	egs_msg_free(answer);
}
