/* doctor_cmd.c - egsctl doctor: read the cluster, and give advice
 *
 * Slurm's own commands are asked: what they print is what slurmctld has in
 * force, whatever slurm.conf says by now.
 */
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/egsctl/doctor.h"
#include "cmd/egsctl/doctor_cmd.h"
#include "cmd/lib/find_daemon.h"
#include "common/conf/conf.h"

enum {
	TEXT_MAX = 64 << 20,
	INCLUDES_MAX = 4, /* files deep */
	PING_MS = 5000,
};

/* What 'command' prints; NULL if it fails.  free() it. */
static char *read_command(const char *command)
{
	FILE *in = popen(command, "re");
	char *text = NULL;
	size_t room = 0;
	ssize_t len;

	if (!in)
		return NULL;
	len = getdelim(&text, &room, '\0', in);
	if (pclose(in) == 0 && len > 0 && len < TEXT_MAX)
		return text;
	free(text);
	return NULL;
}

/* Append the file 'path', and those it includes, to 'out'. */
static void append_file(FILE *out, const char *path, int depth)
{
	FILE *in = depth < INCLUDES_MAX ? fopen(path, "re") : NULL;
	char line[4096], name[4096];
	glob_t found;
	size_t i;

	while (in && fgets(line, sizeof(line), in)) {
		fputs(line, out);
		if (sscanf(line, " %*[iI]nclude %4095s", name) != 1 ||
		    glob(name, 0, NULL, &found) != 0)
			continue;
		for (i = 0; i < found.gl_pathc; i++)
			append_file(out, found.gl_pathv[i], depth + 1);
		globfree(&found);
	}
	if (in)
		fclose(in);
}

/* All of it, "" if there is none.  NULL: out of memory. */
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

/* Beside slurm.conf where Slurm has no other path for it. */
static char *read_plugstack(const struct egs_doctor *d, const char *conf)
{
	char path[EGS_DOCTOR_VALUE_SIZE];
	const char *slash = strrchr(conf, '/');

	if (!*egs_doctor_get_value(d, "PlugStackConfig", path))
		snprintf(path, sizeof(path), "%.*s/plugstack.conf",
			 slash ? (int)(slash - conf) : 0, conf);
	return read_with_includes(path);
}

static bool has_accounting(const struct egs_doctor *d)
{
	char type[EGS_DOCTOR_VALUE_SIZE];

	egs_doctor_get_value(d, "AccountingStorageType", type);
	return strcmp(type, "accounting_storage/slurmdbd") == 0;
}

/* "Configuration data as of 2026-11-16T14:09:12": slurmctld's time. */
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

/* One request of our own, made and read again. */
static void check_munge(struct egs_doctor *d)
{
	const struct egs_cred_conf way = { .audience = "egsctl doctor" };
	struct egs_cred cred;
	struct egs_err err;
	char *text = NULL;
	int rc = egs_cred_encode(&way, "?", 1, &text, &err);

	if (rc == 0)
		rc = egs_cred_decode(&way, text, &cred, &err);
	if (rc == 0) {
		egs_cred_clear(&cred);
		egs_doctor_print(d, EGS_ADVICE_FINE, "munged answers");
	} else {
		egs_doctor_print(d, EGS_ADVICE_CHANGE, "munge: %s", err.msg);
	}
	free(text);
}

static void check_daemon(struct egs_doctor *d, const struct egsctl_options *ctl)
{
	struct egs_msg *request = egs_msg_new(), *answer = NULL;
	struct egs_daemon_addr place;
	struct egs_endpoint where;
	struct egs_err err = { "out of memory" };
	int rc = -1;

	if (request) {
		egs_msg_set_str(request, "verb", "ping");
		rc = egs_find_daemon(&place, ctl->address, ctl->cluster, &where,
				     &err);
	}
	if (rc == 0)
		rc = egs_client_call(&where, request, &answer, PING_MS, &err);
	if (rc == 0)
		egs_doctor_print(d, EGS_ADVICE_FINE, "%s",
				 egs_msg_get_str(answer, "message"));
	else
		egs_doctor_print(d, EGS_ADVICE_ADD,
				 "egs-policyd on the host of slurmctld: %s",
				 err.msg);
	egs_msg_free(request);
	egs_msg_free(answer);
}

/* NULL without a file, and with a bad one, of which every problem is told. */
static struct egs_conf *load_policy(struct egs_doctor *d, const char *path)
{
	static struct egs_conf_problems problems;
	struct egs_conf *conf = NULL;
	size_t i;

	if (!has_path(path))
		return NULL;
	if (egs_conf_load(&conf, path, &problems) == 0) {
		egs_doctor_print(d, EGS_ADVICE_FINE, "%s has no mistakes",
				 path);
		return conf;
	}
	for (i = 0; i < problems.stored; i++)
		egs_doctor_print(d, EGS_ADVICE_CHANGE, "%s",
				 problems.list[i].err.msg);
	return NULL;
}

static void examine_cluster(struct egs_doctor *d, const char *path,
			    const struct egsctl_options *ctl)
{
	struct egs_conf *conf = load_policy(d, path);
	char slurm_conf[EGS_DOCTOR_VALUE_SIZE];
	char *file, *plugstack, *assocs = NULL, *qos = NULL;

	egs_doctor_get_value(d, "SLURM_CONF", slurm_conf);
	file = read_with_includes(slurm_conf);
	plugstack = read_plugstack(d, slurm_conf);
	if (has_accounting(d)) {
		assocs = read_command("sacctmgr -nP show assoc "
				      "format=account,user,grptres");
		qos = read_command("sacctmgr -nP show qos format=name,grptres");
	}
	d->policy = conf ? egs_conf_policy(conf) : NULL;
	d->slurm_conf = file ? file : "";
	d->plugstack = plugstack ? plugstack : "";
	d->assocs = assocs;
	d->qos = qos;
	egs_doctor_check_all(d);
	check_munge(d);
	if (!d->preflight && d->policy)
		check_daemon(d, ctl);
	egs_conf_free(conf);
	free(file);
	free(plugstack);
	free(assocs);
	free(qos);
}

int egsctl_run_doctor(const char *name, char **operands,
		      const struct egsctl_options *ctl)
{
	const char *path =
		operands[0] ? operands[0] : EGS_SYSCONFDIR "/egs.conf";
	char *config = read_command("scontrol show config 2>/dev/null");
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
				 "scontrol show config has no answer: is "
				 "slurmctld up, and is this its host?");
		return EGSCTL_FAILED;
	}
	d.clock_skew_s = read_clock_skew(config);
	examine_cluster(&d, path, ctl);
	free(config);
	if (fflush(stdout) != 0)
		return EGSCTL_FAILED;
	return egs_doctor_is_ok(&d) ? EGSCTL_DONE : EGSCTL_FAILED;
}
