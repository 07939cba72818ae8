/* doctor.c - what a cluster's configuration lacks: plugins and the clock */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmd/egsctl/doctor.h"

void egs_doctor_print(struct egs_doctor *d, enum egs_doctor_advice advice,
		      const char *format, ...)
{
	static const char *const words[] = {
		[EGS_ADVICE_FINE] = "fine",
		[EGS_ADVICE_WORRY] = "worry",
		[EGS_ADVICE_ADD] = "add",
		[EGS_ADVICE_CHANGE] = "change",
	};
	va_list ap;

	d->line_count[advice]++;
	fprintf(d->out, "%-7s ", words[advice]);
	va_start(ap, format);
	vfprintf(d->out, format, ap);
	va_end(ap);
	fputc('\n', d->out);
}

/* "Key     = value": what stands behind the equals sign, without blanks. */
static void find_key(const char *text, const char *key,
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

/* 22.05's slurmctld never tells its site factor plugin. */
const char *egs_doctor_get_value(const struct egs_doctor *d, const char *key,
				 char value[EGS_DOCTOR_VALUE_SIZE])
{
	*value = '\0';
	find_key(d->config, key, value);
	if (strcmp(value, "(null)") == 0 || strcmp(value, "N/A") == 0)
		*value = '\0';
	if (!*value && strcmp(key, "PrioritySiteFactorPlugin") == 0)
		find_key(d->slurm_conf, key, value);
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
	/* Plugins go by the number: 26.05.4-0pre1 is 26.05.4. */
	running[strcspn(running, "-")] = '\0';
	if (strcmp(running, d->built_for) == 0)
		egs_doctor_print(d, EGS_ADVICE_FINE,
				 "slurmctld is %s, and so is EGS", running);
	else
		egs_doctor_print(
			d, EGS_ADVICE_CHANGE,
			"slurmctld is %s and EGS was built for %s: build "
			"it again",
			running, d->built_for);
}

/* The plugins of EGS that this host should have. */
static void check_plugin_files(struct egs_doctor *d)
{
	static const char *const all[] = { "spank_egs.so", "job_submit_egs.so",
					   "preempt_egs.so",
					   "site_factor_egs.so" };
	char path[EGS_DOCTOR_VALUE_SIZE];
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", d->plugin_dir, all[i]);
		if (d->has_path(path))
			continue;
		egs_doctor_print(
			d, EGS_ADVICE_CHANGE,
			"%s is not there: make install on this host, or "
			"build with --with-slurm-src",
			path);
	}
}

/* How many directories of the list are missing, and is ours among them? */
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
				 "PluginDir: %s is not there; Slurm's commands "
				 "fail on such a host",
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

/* The line that loads spank_egs.so: its first word, or "" without a line.
 * Slurm's other lines begin with a word, too, and comments with a '#'.
 */
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
				 "optional, or a node without the file is lost",
				 word, d->plugin_dir);
	else if (inert)
		egs_doctor_print(
			d, EGS_ADVICE_WORRY,
			"plugstack.conf: spank_egs.so is inert, options "
			"of EGS are ignored");
	else
		egs_doctor_print(d, EGS_ADVICE_FINE,
				 "plugstack.conf has spank_egs.so, optional");
}

void egs_doctor_check_plugins(struct egs_doctor *d)
{
	check_version(d);
	check_plugin_files(d);
	check_plugin_dir(d);
	check_plugstack(d);
}

/* A credential is good for minutes, a request to the daemon for one. */
static void check_clock(struct egs_doctor *d)
{
	long skew = labs(d->clock_skew_s);

	if (skew > 30)
		egs_doctor_print(
			d, EGS_ADVICE_CHANGE,
			"the clock of slurmctld is %ld s away from this "
			"host's: MUNGE refuses requests",
			skew);
	else if (skew > 3)
		egs_doctor_print(
			d, EGS_ADVICE_WORRY,
			"the clock of slurmctld is %ld s away from this "
			"host's",
			skew);
	else
		egs_doctor_print(d, EGS_ADVICE_FINE,
				 "slurmctld's clock and this host's agree");
}

void egs_doctor_check_all(struct egs_doctor *d)
{
	egs_doctor_check_plugins(d);
	egs_doctor_check_conf(d);
	egs_doctor_check_accounts(d);
	check_clock(d);
}

bool egs_doctor_is_ok(const struct egs_doctor *d)
{
	return !d->line_count[EGS_ADVICE_CHANGE] &&
	       (d->preflight || !d->line_count[EGS_ADVICE_ADD]);
}
