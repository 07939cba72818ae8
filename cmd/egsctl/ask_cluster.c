/* ask_cluster.c - describe the cluster for egsctl check and doctor */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/egsctl/ask_cluster.h"
#include "cmd/lib/find_daemon.h"
#include "cmd/lib/read_command.h"
#include "common/base/list.h"
#include "common/hint/gpu_count.h"

enum { PING_MS = 5000 };

#define WORD_SIZE 512

/* ---- what scontrol prints: a line each, "Key=value Key=value" ---- */

/* Copy the value of 'key' in the line 'at' into 'value'; false: none. */
static bool find_value(const char *at, const char *key, char value[WORD_SIZE])
{
	size_t len = strlen(key);

	while (*at && *at != '\n') {
		size_t word;

		at += strspn(at, " ");
		word = strcspn(at, " \n");
		if (word > len && strncmp(at, key, len) == 0 &&
		    at[len] == '=') {
			snprintf(value, WORD_SIZE, "%.*s",
				 (int)(word - len - 1), at + len + 1);
			return true;
		}
		at += word;
	}
	return false;
}

/* Call 'add' with each line that begins with "KEY=name", and the name up to one
 * of 'ends'.
 */
static void walk_lines(struct egs_judge_cluster *cluster, const char *text,
		       const char *key, const char *ends,
		       void (*add)(struct egs_judge_cluster *cluster,
				   const char *line, const char *name))
{
	size_t len = strlen(key);
	char name[WORD_SIZE];

	while (text && *text) {
		size_t end = strcspn(text, "\n");

		if (strncmp(text, key, len) == 0 && text[len] == '=' &&
		    find_value(text, key, name)) {
			name[strcspn(name, ends)] = '\0';
			add(cluster, text, name);
		}
		text += end + (text[end] == '\n');
	}
}

static void add_node(struct egs_judge_cluster *cluster, const char *line,
		     const char *name)
{
	struct egs_gpu_count gpus = { .ntypes = 0 };
	char gres[WORD_SIZE];

	egs_intern_add(&cluster->nodes, name);
	if (find_value(line, "Gres", gres))
		egs_gpu_count_add(&gpus, gres, 1);
	for (uint32_t i = 0; i < gpus.ntypes; i++)
		egs_judge_add_gpus(cluster, gpus.by_type[i].type,
				   gpus.by_type[i].count);
}

static void add_partition(struct egs_judge_cluster *cluster, const char *line,
			  const char *name)
{
	(void)line;
	egs_intern_add(&cluster->partitions, name);
}

static void add_qos(struct egs_judge_cluster *cluster, const char *line,
		    const char *name)
{
	(void)line;
	egs_intern_add(&cluster->qos, name);
}

void egs_ask_add_nodes(struct egs_judge_cluster *cluster, const char *text)
{
	walk_lines(cluster, text, "NodeName", "", add_node);
}

void egs_ask_add_partitions(struct egs_judge_cluster *cluster, const char *text)
{
	walk_lines(cluster, text, "PartitionName", "", add_partition);
}

/* "QOS=normal(1)" has the number of the QOS. */
void egs_ask_add_qos(struct egs_judge_cluster *cluster, const char *text)
{
	walk_lines(cluster, text, "QOS", "(", add_qos);
}

/* A ping fails at once; other commands try for MessageTimeout.  The exit code
 * is 1 if a backup controller is down.
 */
bool egs_ask_is_slurmctld_up(void)
{
	char *text = egs_read_command("scontrol ping 2>/dev/null | cat");
	bool up = text && strstr(text, " is UP");

	free(text);
	return up;
}

static void ask_slurmctld(struct egs_judge_cluster *cluster)
{
	char *nodes, *partitions, *qos;

	if (!egs_ask_is_slurmctld_up())
		return;
	nodes = egs_read_command("scontrol -a -o show nodes 2>/dev/null");
	egs_ask_add_nodes(cluster, nodes);
	free(nodes);
	partitions =
		egs_read_command("scontrol -a -o show partitions 2>/dev/null");
	qos = egs_read_command("scontrol -o show assoc_mgr flags=qos "
			       "2>/dev/null");
	egs_ask_add_partitions(cluster, partitions);
	egs_ask_add_qos(cluster, qos);
	free(partitions);
	free(qos);
}

/* ---- users ---- */

static void find_users(struct egs_judge_cluster *cluster, const char *list)
{
	char name[WORD_SIZE];
	const char *entry;
	size_t len;

	while ((entry = egs_list_next(&list, &len))) {
		snprintf(name, sizeof(name), "%.*s", (int)len, entry);
		if (getpwnam(name))
			egs_intern_add(&cluster->users, name);
	}
	cluster->users_known = true;
}

/* ---- the daemon ---- */

int egs_ask_ping(const struct egsctl_options *ctl, const char *address,
		 struct egs_msg **answer, struct egs_err *err)
{
	struct egs_msg *request = egs_msg_new();
	struct egs_daemon_addr addr;
	struct egs_endpoint daemon;
	int rc = egs_errf(err, "out of memory");

	if (request) {
		egs_msg_set_str(request, "verb", "ping");
		rc = egs_find_daemon(&addr, address, ctl->cluster, &daemon,
				     err);
	}
	if (rc == 0)
		rc = egs_client_call(&daemon, request, answer, PING_MS, err);
	egs_msg_free(request);
	return rc;
}

static bool has_value(const struct egs_msg *msg, const char *key,
		      const char *want)
{
	const char *value = egs_msg_get_str(msg, key);

	return value && strcmp(value, want) == 0;
}

static void ask_daemon(struct egs_judge_cluster *cluster,
		       const struct egsctl_options *ctl)
{
	struct egs_msg *answer = NULL;
	struct egs_err err;

	if (egs_ask_ping(ctl, ctl->address, &answer, &err) == 0) {
		cluster->enforcing = has_value(answer, "mode", "enforce");
		cluster->quotas_exceeded =
			has_value(answer, "quotas", "exceeded");
	}
	egs_msg_free(answer);
}

/* The programs of egs.conf are for the host of egs-policyd. */
static bool is_daemon_host(const struct egs_policy_conf *policy)
{
	struct egs_text path;

	egs_textf(&path, "%s/policyd.sock", egs_conf_dir(policy, EGS_RUN_DIR));
	return access(path.text, F_OK) == 0;
}

void egs_ask_judge(const struct egs_conf *conf,
		   const struct egsctl_options *ctl,
		   struct egs_judgement *judgement)
{
	struct egs_judge_cluster cluster = { .ntypes = 0 };

	ask_slurmctld(&cluster);
	find_users(&cluster, egs_conf_policy(conf)->operators);
	ask_daemon(&cluster, ctl);
	egs_judge_conf(conf, &cluster, judgement);
	egs_judge_clear(&cluster);
	egs_conf_check_programs(conf, is_daemon_host(egs_conf_policy(conf))
					      ? &judgement->refused
					      : &judgement->warnings);
}
