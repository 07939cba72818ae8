/* settings.c - keys of egs.conf that plugins need inside slurmctld */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/conf.h"
#include "plugins/compat/compat.h"
#include "plugins/shared/settings.h"

#define CONF_PATH EGS_SYSCONFDIR "/egs.conf"

enum { LINE_SIZE = 4096 + 32, TEXT_SIZE = 3 * LINE_SIZE };

static void format_path(char *path, size_t size, const char *suffix)
{
	snprintf(path, size, "%s/egs_settings%s",
		 slurm_conf.state_save_location, suffix);
}

static void copy_policy(struct egs_settings *s,
			const struct egs_policy_conf *policy)
{
	s->run_dir = strdup(egs_conf_dir(policy, EGS_RUN_DIR));
	s->preempt_base =
		policy->preempt_base ? strdup(policy->preempt_base) : NULL;
	s->stale_after_s = policy->stale_after_s;
}

static void format_text(const struct egs_settings *s, char text[TEXT_SIZE])
{
	snprintf(text, TEXT_SIZE, "RunDir=%s\nStaleAfter=%u\nPreemptBase=%s\n",
		 s->run_dir ? s->run_dir : "", s->stale_after_s,
		 s->preempt_base ? s->preempt_base : "none");
}

/* Read the remembered file; "" if there is none. */
static void read_text(char text[TEXT_SIZE])
{
	char path[LINE_SIZE];
	FILE *in;
	size_t len = 0;

	format_path(path, sizeof(path), "");
	in = fopen(path, "re");
	if (in) {
		len = fread(text, 1, TEXT_SIZE - 1, in);
		fclose(in);
	}
	text[len] = '\0';
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	size_t len = strlen(text);
	bool failed;

	if (fd < 0)
		return -1;
	failed = write(fd, text, len) != (ssize_t)len || fsync(fd) < 0;
	return close(fd) < 0 || failed ? -1 : 0;
}

static void remember_settings(const struct egs_settings *s,
			      const char *plugin_name)
{
	char text[TEXT_SIZE], old[TEXT_SIZE], path[LINE_SIZE], new[LINE_SIZE];

	format_text(s, text);
	read_text(old);
	if (strcmp(text, old) == 0)
		return;
	format_path(path, sizeof(path), "");
	format_path(new, sizeof(new), ".new");
	if (write_text(new, text) < 0 || rename(new, path) < 0)
		error("%s: %s: %s; a mistake in " CONF_PATH
		      " would switch PreemptBase off at the next start",
		      plugin_name, path, strerror(errno));
}

/* The value of 'key' in the text, a new string; NULL: none. */
static char *find_value(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		if (strncmp(text, key, len) == 0 && text[len] == '=')
			return strndup(text + len + 1,
				       strcspn(text + len + 1, "\n"));
	return NULL;
}

static void recall_settings(struct egs_settings *s)
{
	char text[TEXT_SIZE];
	char *stale;

	read_text(text);
	s->run_dir = find_value(text, "RunDir");
	s->preempt_base = find_value(text, "PreemptBase");
	if (s->preempt_base && strcmp(s->preempt_base, "none") == 0) {
		free(s->preempt_base);
		s->preempt_base = NULL;
	}
	stale = find_value(text, "StaleAfter");
	s->stale_after_s = stale ? (uint32_t)strtoul(stale, NULL, 10) : 0;
	free(stale);
}

void egs_settings_load(struct egs_settings *s, const char *plugin_name,
		       bool missing_is_fine)
{
	bool missing = access(CONF_PATH, F_OK) < 0 && errno == ENOENT;
	struct egs_conf *file;
	struct egs_err err;

	file = missing && missing_is_fine ? NULL
					  : egs_conf_open(CONF_PATH, &err);
	if (file) {
		copy_policy(s, egs_conf_policy(file));
		remember_settings(s, plugin_name);
		egs_conf_free(file);
		return;
	}
	recall_settings(s);
	if (!missing || !missing_is_fine)
		error("%s: %s; %s", plugin_name, err.msg,
		      s->run_dir ? "the last valid RunDir and PreemptBase stay "
				   "in force"
				 : "deciding as stock Slurm would");
}
