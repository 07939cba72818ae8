/* doctor.c - egsctl doctor: read the cluster, check plugins and clock
 *
 * The doctor runs Slurm's own commands.  They print the configuration that
 * slurmctld uses, even if slurm.conf has changed since.
 */
#include "egs_config.h"

#include <errno.h>
#include <glob.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "cmd/egsctl/ask_cluster.h"
#include "cmd/egsctl/doctor.h"
#include "cmd/lib/print_clean.h"
#include "cmd/lib/read_command.h"
#include "common/base/array.h"
#include "common/conf/conf.h"
#include "common/ipc/cred.h"

enum { INCLUDE_DEPTH_MAX = 4 };

void egs_doctor_print(struct egs_doctor *d, enum egs_doctor_advice advice,
		      const char *format, ...)
{
	static const char *const names[] = {
		[EGS_ADVICE_FINE] = "fine",
		[EGS_ADVICE_WORRY] = "worry",
		[EGS_ADVICE_ADD] = "add",
		[EGS_ADVICE_CHANGE] = "change",
	};
	char *text = NULL;
	va_list ap;

	d->line_count[advice]++;
	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		text = NULL;
	va_end(ap);
	fprintf(d->out, "%-7s ", names[advice]);
	egs_print_clean_line(d->out, NULL, text);
	free(text);
}

void egs_doctor_find_key(const char *text, const char *key,
			 char value[EGS_DOCTOR_VALUE_SIZE])
{
	size_t len = strlen(key);

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		const char *at = text + len;

		if (strncasecmp(text, key, len) != 0)
			continue;
		at += strspn(at, " ");
		if (*at++ != '=')
			continue;
		at += strspn(at, " ");
		len = strcspn(at, "\n#");
		while (len > 0 && strchr(" \t\r", at[len - 1]))
			len--;
		snprintf(value, EGS_DOCTOR_VALUE_SIZE, "%.*s", (int)len, at);
		return;
	}
}

/* slurmctld 22.05 does not report its site factor plugin. */
const char *egs_doctor_get_value(const struct egs_doctor *d, const char *key,
				 char value[EGS_DOCTOR_VALUE_SIZE])
{
	*value = '\0';
	egs_doctor_find_key(d->config, key, value);
	if (strcmp(value, "(null)") == 0 || strcmp(value, "N/A") == 0)
		*value = '\0';
	if (!*value && strcmp(key, "PrioritySiteFactorPlugin") == 0)
		egs_doctor_find_key(d->slurm_conf, key, value);
	return value;
}

bool egs_doctor_has_release(const struct egs_doctor *d, unsigned release)
{
	char value[EGS_DOCTOR_VALUE_SIZE];
	char *end;
	unsigned long major;

	egs_doctor_get_value(d, "SLURM_VERSION", value);
	major = strtoul(value, &end, 10);
	return 100 * major + (*end == '.' ? strtoul(end + 1, NULL, 10) : 0) >=
	       release;
}

static void check_version(struct egs_doctor *d)
{
	char running[EGS_DOCTOR_VALUE_SIZE];

	egs_doctor_get_value(d, "SLURM_VERSION", running);
	/* Plugins are checked by the number: 26.05.4-0pre1 is 26.05.4. */
	running[strcspn(running, "-")] = '\0';
	if (strcmp(running, d->built_for) == 0)
		egs_doctor_print(d, EGS_ADVICE_FINE,
				 "slurmctld is %s, EGS was built for it",
				 running);
	else
		egs_doctor_print(
			d, EGS_ADVICE_CHANGE,
			"slurmctld is %s, but EGS was built for %s: build "
			"EGS again",
			running, d->built_for);
}

/* The plugins of EGS that this host should have. */
static void check_plugin_files(struct egs_doctor *d)
{
	static const char *const all[] = { "spank_egs.so", "job_submit_egs.so",
					   "preempt_egs.so",
					   "site_factor_egs.so" };
	char path[EGS_DOCTOR_VALUE_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		snprintf(path, sizeof(path), "%s/%s", d->plugin_dir, all[i]);
		if (!d->has_path(path))
			egs_doctor_print(
				d, EGS_ADVICE_CHANGE,
				"%s is missing: run make install on this host, "
				"or build with --with-slurm-src",
				path);
	}
}

/* The number of directories in 'list' that are missing.  '*ours' becomes true
 * if the list has the plugin directory of EGS.
 */
static unsigned check_dirs(struct egs_doctor *d, const char *list, bool *ours)
{
	char dir[EGS_DOCTOR_VALUE_SIZE];
	unsigned missing = 0;

	while (*list) {
		size_t len = strcspn(list, ":");

		snprintf(dir, sizeof(dir), "%.*s", (int)len, list);
		list += len + (list[len] == ':');
		*ours |= strcmp(dir, d->plugin_dir) == 0;
		if (!*dir || d->has_path(dir))
			continue;
		missing++;
		egs_doctor_print(d, EGS_ADVICE_CHANGE,
				 "PluginDir: %s is missing; Slurm's commands "
				 "fail on this host",
				 dir);
	}
	return missing;
}

static void check_plugin_dir(struct egs_doctor *d)
{
	char list[EGS_DOCTOR_VALUE_SIZE];
	const char *select = egs_doctor_has_release(d, 2505) ? "" : "/select:";
	bool ours = false;

	egs_doctor_get_value(d, "PluginDir", list);
	if (check_dirs(d, list, &ours) > 0)
		return;
	if (ours)
		egs_doctor_print(d, EGS_ADVICE_FINE,
				 "PluginDir has %s; every host that reads "
				 "slurm.conf needs that directory",
				 d->plugin_dir);
	else
		egs_doctor_print(d, EGS_ADVICE_ADD, "PluginDir=%s%s%s%s%s",
				 *select ? d->plugin_dir : "", select,
				 d->plugin_dir, *list ? ":" : "", list);
}

/* Find the line that loads spank_egs.so; 'word' becomes its first word. */
static bool find_spank_line(const char *text, char word[32], bool *inert)
{
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		char line[1024];
		char *end;

		text += strspn(text, " \t");
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"),
			 text);
		if (*line == '#' || !strstr(line, "spank_egs.so"))
			continue;
		*inert = strstr(strstr(line, "spank_egs.so"), "inert") != NULL;
		end = line + strcspn(line, " \t");
		*end = '\0';
		snprintf(word, 32, "%.31s", line);
		return true;
	}
	return false;
}

static void check_plugstack(struct egs_doctor *d)
{
	char word[32];
	bool inert = false;

	if (!find_spank_line(d->plugstack, word, &inert))
		egs_doctor_print(d, EGS_ADVICE_ADD,
				 "in plugstack.conf: optional %s/spank_egs.so",
				 d->plugin_dir);
	else if (strcmp(word, "optional") != 0)
		egs_doctor_print(d, EGS_ADVICE_CHANGE,
				 "plugstack.conf: %s %s/spank_egs.so: write "
				 "optional; otherwise a node without the file "
				 "cannot run jobs",
				 word, d->plugin_dir);
	else if (inert)
		egs_doctor_print(
			d, EGS_ADVICE_WORRY,
			"plugstack.conf: spank_egs.so is inert; options "
			"of EGS are ignored");
	else
		egs_doctor_print(d, EGS_ADVICE_FINE,
				 "plugstack.conf has spank_egs.so, optional");
}

static void check_plugins(struct egs_doctor *d)
{
	check_version(d);
	check_plugin_files(d);
	check_plugin_dir(d);
	check_plugstack(d);
}

/* MUNGE accepts a credential for minutes, the daemon for one minute. */
static void check_clock(struct egs_doctor *d)
{
	long skew = labs(d->clock_skew_s);

	if (skew > 30)
		egs_doctor_print(
			d, EGS_ADVICE_CHANGE,
			"the clocks of slurmctld and of this host differ "
			"by %ld s: MUNGE refuses requests",
			skew);
	else if (skew > 3)
		egs_doctor_print(
			d, EGS_ADVICE_WORRY,
			"the clocks of slurmctld and of this host differ "
			"by %ld s",
			skew);
	else
		egs_doctor_print(d, EGS_ADVICE_FINE,
				 "the clocks of slurmctld and of this host "
				 "agree");
}

void egs_doctor_check_all(struct egs_doctor *d)
{
	check_plugins(d);
	egs_doctor_check_conf(d);
	egs_doctor_check_accounts(d);
	check_clock(d);
}

bool egs_doctor_is_ok(const struct egs_doctor *d)
{
	return !d->line_count[EGS_ADVICE_CHANGE] &&
	       (d->preflight || !d->line_count[EGS_ADVICE_ADD]);
}

/* ---- read the cluster ---- */

/* Append the file 'path', and the files it includes, to 'out'. */
static void append_file(FILE *out, const char *path, int depth)
{
	FILE *in = depth < INCLUDE_DEPTH_MAX ? fopen(path, "re") : NULL;
	char line[4096], name[4096];
	glob_t found;

	while (in && fgets(line, sizeof(line), in)) {
		fputs(line, out);
		if (sscanf(line, " %*[iI]nclude %4095s", name) != 1 ||
		    glob(name, 0, NULL, &found) != 0)
			continue;
		for (size_t i = 0; i < found.gl_pathc; i++)
			append_file(out, found.gl_pathv[i], depth + 1);
		globfree(&found);
	}
	if (in)
		fclose(in);
}

/* The file with its includes, "" if there is no file.  NULL: out of memory. */
static char *read_with_includes(const char *path)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	append_file(out, path, 0);
	fclose(out);
	return text;
}

/* PlugStackConfig, or plugstack.conf beside slurm.conf. */
static char *read_plugstack(const struct egs_doctor *d, const char *conf)
{
	char path[EGS_DOCTOR_VALUE_SIZE];
	const char *slash = strrchr(conf, '/');

	if (!*egs_doctor_get_value(d, "PlugStackConfig", path))
		snprintf(path, sizeof(path), "%.*s/plugstack.conf",
			 slash ? (int)(slash - conf) : 0, conf);
	return read_with_includes(path);
}

/* NULL: no file, or not readable for this user. */
static char *read_settings(const struct egs_doctor *d)
{
	char dir[EGS_DOCTOR_VALUE_SIZE], path[EGS_DOCTOR_VALUE_SIZE + 16];

	egs_doctor_get_value(d, "StateSaveLocation", dir);
	snprintf(path, sizeof(path), "%s/egs_settings", dir);
	return access(path, R_OK) == 0 ? read_with_includes(path) : NULL;
}

static bool has_accounting(const struct egs_doctor *d)
{
	char type[EGS_DOCTOR_VALUE_SIZE];

	egs_doctor_get_value(d, "AccountingStorageType", type);
	return strcmp(type, "accounting_storage/slurmdbd") == 0;
}

/* From slurmctld's time in "Configuration data as of 2026-11-16T14:09:12". */
static long read_clock_skew(const char *config)
{
	const char *at = strstr(config, "as of ");
	struct tm tm = { .tm_isdst = -1 };

	if (!at ||
	    sscanf(at, "as of %d-%d-%dT%d:%d:%d", &tm.tm_year, &tm.tm_mon,
		   &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec) != 6)
		return 0;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	return (long)(mktime(&tm) - time(NULL));
}

static bool has_path(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Encode a credential and decode it. */
static void check_munge(struct egs_doctor *d)
{
	const struct egs_cred_conf conf = { .audience = "egsctl doctor" };
	struct egs_cred cred;
	struct egs_err err;
	char *text = NULL;
	uint64_t id;
	int rc = egs_cred_encode(&conf, "?", 1, &text, &id, &err);

	if (rc == 0)
		rc = egs_cred_decode(&conf, text, &cred, &err);
	if (rc == 0) {
		egs_cred_clear(&cred);
		egs_doctor_print(d, EGS_ADVICE_FINE, "munged answers");
	} else {
		egs_doctor_print(d, EGS_ADVICE_CHANGE, "munge: %s", err.msg);
	}
	free(text);
}

static void print_problems(struct egs_doctor *d, enum egs_doctor_advice advice,
			   const struct egs_conf_problems *problems)
{
	for (size_t i = 0; i < problems->stored; i++)
		egs_doctor_print(d, advice, "%s", problems->list[i].err.msg);
}

/* NULL without a file.  NULL with a bad file too; its problems are printed. */
static struct egs_conf *load_policy(struct egs_doctor *d, const char *path)
{
	static struct egs_conf_problems problems;
	struct egs_conf *conf = NULL;

	if (access(path, F_OK) < 0 && errno == ENOENT)
		return NULL;
	d->has_policy_file = true;
	if (egs_conf_load(&conf, path, &problems) == 0) {
		egs_doctor_print(d, EGS_ADVICE_FINE, "%s is valid", path);
		return conf;
	}
	print_problems(d, EGS_ADVICE_CHANGE, &problems);
	return NULL;
}

/* Does the file fit the cluster? */
static void judge_policy(struct egs_doctor *d, const struct egs_conf *conf,
			 const struct egsctl_options *ctl)
{
	static struct egs_judgement judgement;

	if (!conf)
		return;
	egs_ask_judge(conf, ctl, &judgement);
	print_problems(d, EGS_ADVICE_CHANGE, &judgement.refused);
	print_problems(d, EGS_ADVICE_WORRY, &judgement.warnings);
	if (*judgement.not_asked.text)
		egs_doctor_print(d, EGS_ADVICE_WORRY,
				 "egs.conf: not checked, as Slurm did not "
				 "tell: %s",
				 judgement.not_asked.text);
}

static void examine_cluster(struct egs_doctor *d, const char *path,
			    const struct egsctl_options *ctl)
{
	struct egs_conf *conf = load_policy(d, path);
	char slurm_conf[EGS_DOCTOR_VALUE_SIZE];
	char *file, *plugstack, *settings, *assocs = NULL, *qos = NULL;

	egs_doctor_get_value(d, "SLURM_CONF", slurm_conf);
	file = read_with_includes(slurm_conf);
	plugstack = read_plugstack(d, slurm_conf);
	settings = read_settings(d);
	if (has_accounting(d)) {
		assocs = egs_read_command("sacctmgr -nP show assoc "
					  "format=account,user,grptres");
		qos = egs_read_command("sacctmgr -nP show qos "
				       "format=name,grptres");
	}
	d->policy = conf ? egs_conf_policy(conf) : NULL;
	d->slurm_conf = file ? file : "";
	d->plugstack = plugstack ? plugstack : "";
	d->settings = settings;
	d->assocs = assocs;
	d->qos = qos;
	judge_policy(d, conf, ctl);
	egs_doctor_check_all(d);
	check_munge(d);
	if (!d->preflight && d->policy) {
		egs_doctor_check_daemon(d, ctl);
		egs_doctor_check_gpus(d, ctl);
	}
	egs_conf_free(conf);
	free(file);
	free(plugstack);
	free(settings);
	free(assocs);
	free(qos);
}

int egsctl_run_doctor(const char *name, char **operands,
		      const struct egsctl_options *ctl)
{
	const char *path =
		operands[0] ? operands[0] : EGS_SYSCONFDIR "/egs.conf";
	char *config =
		egs_ask_is_slurmctld_up()
			? egs_read_command("scontrol show config 2>/dev/null")
			: NULL;
	struct egs_doctor d = {
		.preflight = ctl->preflight,
		.config = config,
		.built_for = EGS_SLURM_VERSION,
		.plugin_dir = EGS_PLUGIN_DIR,
		.has_path = has_path,
		.slurm_conf = "",
		.plugstack = "",
		.out = stdout,
	};

	(void)name;
	if (!config) {
		egs_doctor_print(&d, EGS_ADVICE_CHANGE,
				 "scontrol show config fails: slurmctld is "
				 "down, or this host is not of its cluster");
		return EGSCTL_FAILED;
	}
	d.clock_skew_s = read_clock_skew(config);
	examine_cluster(&d, path, ctl);
	free(config);
	if (fflush(stdout) != 0)
		return EGSCTL_FAILED;
	return egs_doctor_is_ok(&d) ? EGSCTL_DONE : EGSCTL_FAILED;
}
