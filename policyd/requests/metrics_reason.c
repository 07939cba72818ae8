/* metrics_reason.c - the label for Slurm's reason of a pending job
 *
 * slurmctld may give a sentence with names of nodes, accounts and reservations
 * instead of a reason.  As labels they would be new series without end, so a
 * label is always one of the tables below.
 */
#include <string.h>

#include "common/base/array.h"
#include "policyd/requests/metrics_file.h"

/* The first word of a text, which may end in a comma or a colon. */
static const char *const reasons[] = {
	"None",
	"Priority",
	"Resources",
	"Dependency",
	"DependencyNeverSatisfied",
	"BeginTime",
	"Reservation",
	"ReservationDeleted",
	"ReqNodeNotAvail",
	"NodeDown",
	"JobHeldAdmin",
	"JobHeldUser",
	"JobHoldMaxRequeue",
	"JobArrayTaskLimit",
	"PartitionDown",
	"PartitionInactive",
	"PartitionNodeLimit",
	"PartitionTimeLimit",
	"PartitionConfig",
	"BadConstraints",
	"Licenses",
	"Prolog",
	"Cleaning",
	"DeadLine",
	"SchedDefer",
	"BurstBufferResources",
	"BurstBufferStageIn",
	"BurstBufferOperation",
	"InvalidAccount",
	"InvalidQOS",
	"AccountNotAllowed",
	"QOSNotAllowed",
	"AccountingPolicy",
	"QOSGrpGRES",
	"QOSGrpGRESMinutes",
	"QOSGrpGRESRunMinutes",
	"QOSGrpJobsLimit",
	"QOSMaxGRESPerJob",
	"QOSMaxGRESPerNode",
	"QOSMaxGRESPerUser",
	"QOSMaxGRESMinutesPerJob",
	"QOSMaxJobsPerUserLimit",
	"QOSMinGRES",
	"AssocGrpGRES",
	"AssocGrpGRESMinutes",
	"AssocGrpGRESRunMinutes",
	"AssocGrpJobsLimit",
	"AssocMaxGRESPerJob",
	"AssocMaxGRESPerNode",
	"AssocMaxGRESMinutesPerJob",
	"AssocMaxJobsLimit",
	"MaxGRESPerAccount",
	"MaxJobsPerAccount",
};

/* The beginning of other texts. */
static const struct {
	const char *start, *label;
} families[] = {
	{ "QOS", "QOSLimit" },
	{ "Assoc", "AssocLimit" },
	{ "Max", "AccountLimit" },
	{ "Nodes required for job are", "ReqNodeNotAvail" },
	{ "Job is at or exceeds QOS", "QOSLimit" },
	{ "Job is at or exceeds assoc", "AssocLimit" },
};

const char *egs_metrics_reason_label(const char *reason)
{
	size_t len = strcspn(reason, " ,:");

	if (!*reason)
		return "None";
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (strlen(reasons[i]) == len &&
		    strncmp(reasons[i], reason, len) == 0)
			return reasons[i];
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (strncmp(families[i].start, reason,
			    strlen(families[i].start)) == 0)
			return families[i].label;
	return "other";
}
