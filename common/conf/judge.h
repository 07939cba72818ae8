/* judge.h - does egs.conf fit its cluster?
 *
 * egsctl check, egsctl doctor and egs-policyd (egsctl reconfigure) describe the
 * cluster and call egs_judge_conf().  So all of them refuse the same mistakes.
 * Nothing is read here: the caller asks Slurm.
 *
 * Refused is what makes jobs wait for ever, quotas that the cluster cannot
 * have, and a file without tiers in enforce mode.  Names that the cluster does
 * not know are warnings, because a site may add the partition or the QOS later.
 */
#ifndef EGS_CONF_JUDGE_H
#define EGS_CONF_JUDGE_H

#include "common/base/intern.h"
#include "common/conf/conf.h"

/* Most GPU types of a cluster; further types count as the last one. */
#define EGS_JUDGE_TYPES_MAX 64

/* A cluster; { 0 } is one of which nothing is known.  A list without a name is
 * not known.
 */
struct egs_judge_cluster {
	struct egs_intern nodes, partitions, qos;
	struct egs_intern users; /* the users of Operators= that exist */
	bool users_known;
	struct {
		char name[EGS_NAME_SIZE];
		uint32_t gpus;
	} type[EGS_JUDGE_TYPES_MAX];
	int ntypes;
	bool enforcing; /* egs-policyd enforces now */
	/* The quotas in force exceed the GPUs: the cluster has lost nodes.
	 * Then quotas are not refused.
	 */
	bool quotas_exceeded;
};

/* Add GPUs of a node, which may be down; 'type' is "" if they have none. */
void egs_judge_add_gpus(struct egs_judge_cluster *cluster, const char *type,
			uint32_t gpus);
void egs_judge_clear(struct egs_judge_cluster *cluster);

struct egs_judgement {
	struct egs_conf_problems refused, warnings;
	/* What the file needs and the caller does not know, "nodes and QOS";
	 * "": nothing.
	 */
	struct egs_text not_asked;
};

/* Judge 'conf', which egs_conf_load() has accepted. */
void egs_judge_conf(const struct egs_conf *conf,
		    const struct egs_judge_cluster *cluster,
		    struct egs_judgement *judgement);

/* Do the quotas of all teams fit in the GPUs of 'type', a row of 'policy'?
 * Returns 0, or -1 with 'err' set.
 */
int egs_judge_quotas(const struct egs_policy_conf *policy, int type,
		     uint64_t gpus, struct egs_err *err);

#endif
