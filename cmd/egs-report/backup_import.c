/* backup_import.c - import, backup and rate of egs-report */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/egs-report/backup_import.h"
#include "common/base/array.h"
#include "common/conf/conf.h"

#define CONF_FILE EGS_SYSCONFDIR "/egs.conf"

static int print_error(const struct egs_err *err)
{
	fprintf(stderr, "egs-report: %s\n", err->msg);
	return EXIT_FAILURE;
}

/* The only operand.  Otherwise print why and return NULL. */
static const char *get_only_operand(char **operands, const char *what)
{
	struct egs_err err;

	if (operands[0] && !operands[1])
		return operands[0];
	if (operands[0])
		egs_errf(&err, "'%s' is one operand too many",
			 egs_printable(operands[1]).text);
	else
		egs_errf(&err, "a file is missing; use %s", what);
	print_error(&err);
	return NULL;
}

static int print_errno(const char *what)
{
	struct egs_err err;

	egs_errf(&err, "%s: %s", what, strerror(errno));
	return print_error(&err);
}

/* egs-policyd that was installed, or built, with this program. */
static void find_policyd(char *path, size_t size)
{
	static const char *const places[] = { "/../sbin/egs-policyd",
					      "/../../policyd/egs-policyd" };
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 64);
	char *slash;

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < ARRAY_SIZE(places); i++) {
		snprintf(slash, 64, "%s", places[i]);
		if (access(self, X_OK) == 0) {
			snprintf(path, size, "%s", self);
			return;
		}
	}
	snprintf(path, size, EGS_SBINDIR "/egs-policyd");
}

int egs_report_exec_policyd(const char *conf, const char *what,
			    const char *argument)
{
	char path[4096];

	find_policyd(path, sizeof(path));
	execl(path, "egs-policyd", "-f", conf ? conf : CONF_FILE, what,
	      argument, (char *)NULL);
	return print_errno(path);
}

int egs_report_run_import(char **operands, const char *conf)
{
	const char *file = get_only_operand(operands, "egs-report import FILE");
	int fd = STDIN_FILENO;

	if (!file)
		return EXIT_FAILURE;
	if (strcmp(file, "-") != 0)
		fd = open(file, O_RDONLY);
	if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
		return print_errno(file);
	return egs_report_exec_policyd(conf, "--import", NULL);
}

int egs_report_run_backup(char **operands, const char *conf)
{
	const char *file = get_only_operand(operands, "egs-report backup FILE");

	if (!file)
		return EXIT_FAILURE;
	return egs_report_exec_policyd(conf, "--backup", file);
}

/* ---- rate ---- */

/* Measured speed of a GPU type, in tokens per second, and its price. */
struct measured_type {
	char name[EGS_NAME_SIZE];
	double tokens, price;
};

/* TYPE=TOKENS or TYPE=TOKENS@PRICE */
static int parse_measured(const struct egs_policy_conf *conf, const char *text,
			  struct measured_type *m, struct egs_err *err)
{
	const char *equals = strchr(text, '=');
	int type;
	char *end;

	if (!equals || equals == text ||
	    (size_t)(equals - text) >= sizeof(m->name))
		return egs_errf(err,
				"'%s' is not TYPE=TOKENS or "
				"TYPE=TOKENS@PRICE",
				egs_printable(text).text);
	snprintf(m->name, sizeof(m->name), "%.*s", (int)(equals - text), text);
	m->tokens = strtod(equals + 1, &end);
	type = conf ? egs_conf_match_type(conf, m->name) : 0;
	m->price = conf && type < conf->ntypes
			   ? (double)conf->type[type].price / EGS_PRICE_ONE
			   : 0;
	if (*end == '@' && end[1])
		m->price = strtod(end + 1, &end);
	if (end == equals + 1 || !(m->tokens > 0) || !(m->tokens < 1e12))
		return egs_errf(err, "'%s': tokens per second must be above 0",
				egs_printable(text).text);
	if (*end || !(m->price >= 0) || !(m->price < 1e12))
		return egs_errf(err,
				"'%s' is not TYPE=TOKENS or "
				"TYPE=TOKENS@PRICE, a price per hour",
				egs_printable(text).text);
	return 0;
}

static void add_number_cell(struct egs_listing *list, int digits, double n)
{
	char text[64];

	snprintf(text, sizeof(text), "%.*f", digits, n);
	egs_listing_add_number(list, text);
}

/* A million tokens take 10^6 / tokens seconds of one GPU. */
static void add_measured_row(struct egs_listing *list,
			     const struct measured_type *m,
			     const struct measured_type *first)
{
	char line[256];

	snprintf(line, sizeof(line), "GpuType=%s Rating=%.3f Price=%.2f",
		 m->name, m->tokens / first->tokens, m->price);
	egs_listing_add(list, m->name);
	add_number_cell(list, 1, m->tokens);
	add_number_cell(list, 3, m->tokens / first->tokens);
	add_number_cell(list, 2, m->price);
	add_number_cell(list, 4, m->price / 3600 * 1e6 / m->tokens);
	egs_listing_add(list, line);
}

int egs_report_run_rate(char **operands, const char *path,
			const struct egs_listing_style *style)
{
	static const char *const columns[] = { "TYPE",	"TOKENS",  "RATING",
					       "PRICE", "MTOKENS", "LINE" };
	static struct egs_conf_problems problems;
	struct egs_listing list = EGS_LISTING("rate", columns);
	struct egs_conf *conf = NULL;
	struct measured_type first = { .tokens = 1 }, m = first;
	struct egs_err err;
	int rc = 0;

	if (egs_conf_load(&conf, path ? path : CONF_FILE, &problems) < 0 &&
	    path)
		rc = egs_errf(&err, "%s", problems.list[0].err.msg);
	else if (!operands[0])
		rc = egs_errf(&err, "rate: TYPE=TOKENS is missing, tokens per "
				    "second of one GPU");
	for (; rc == 0 && *operands; operands++) {
		rc = parse_measured(conf ? egs_conf_policy(conf) : NULL,
				    *operands, &m, &err);
		if (rc < 0)
			break;
		if (!list.ncells)
			first = m;
		add_measured_row(&list, &m, &first);
	}
	if (rc == 0)
		rc = egs_listing_print(&list, style, stdout, &err);
	egs_listing_clear(&list);
	egs_conf_free(conf);
	return rc == 0 ? EXIT_SUCCESS : print_error(&err);
}
