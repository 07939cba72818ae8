/* ask_cluster.h - describe the cluster for egsctl check and doctor
 *
 * Slurm's own commands are run, as in doctor.h.
 */
#ifndef EGS_EGSCTL_ASK_CLUSTER_H
#define EGS_EGSCTL_ASK_CLUSTER_H

#include "cmd/egsctl/egsctl.h"
#include "common/conf/judge.h"
#include "common/ipc/msg.h"

/* Judge 'conf' by what slurmctld, the users of this host and the daemon tell.
 * The judgement's 'not_asked' names what slurmctld did not tell.
 */
void egs_ask_judge(const struct egs_conf *conf,
		   const struct egsctl_options *ctl,
		   struct egs_judgement *judgement);

/* Add the output of "scontrol -o show" of nodes, partitions and QOS.  NULL is
 * no output.
 */
void egs_ask_add_nodes(struct egs_judge_cluster *cluster, const char *text);
void egs_ask_add_partitions(struct egs_judge_cluster *cluster,
			    const char *text);
void egs_ask_add_qos(struct egs_judge_cluster *cluster, const char *text);

/* Does slurmctld, or its backup, answer? */
bool egs_ask_is_slurmctld_up(void);

/* Ping the daemon at 'address', NULL: the site's.  Returns as
 * egs_client_call(), with '*answer' to be freed.
 */
int egs_ask_ping(const struct egsctl_options *ctl, const char *address,
		 struct egs_msg **answer, struct egs_err *err);

#endif
