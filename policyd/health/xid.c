/* xid.c - errors that NVIDIA's driver reports, by class
 *
 * Source: NVIDIA's Xid catalogue, column "Resolution Bucket (Immediate
 * Action)": RESTART_APP is an application's fault; RESET_GPU and more are the
 * hardware's (docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html).
 * XID 46, 48 and 79 are reasons to drain in NVIDIA's Health Validation, too
 * (docs.nvidia.com/health-validation/reference/checks/xid.md).  A number that
 * is not here is unknown, and nothing but a note follows from it.
 */
#include <stddef.h>

#include "common/base/array.h"
#include "common/conf/policy_conf.h"
#include "policyd/health/xid.h"

static const struct {
	uint32_t number;
	enum egs_xid_class class;
	const char *words;
} xids[] = {
	{ 11, EGS_XID_APPLICATION, "invalid commands of the program" },
	{ 13, EGS_XID_APPLICATION, "exception in a kernel of the program" },
	{ 31, EGS_XID_APPLICATION, "invalid address in the program" },
	{ 43, EGS_XID_APPLICATION, "the program's work was stopped" },
	{ 45, EGS_XID_APPLICATION, "the program was cleaned up" },
	{ 46, EGS_XID_HARDWARE, "the GPU stopped processing" },
	{ 48, EGS_XID_HARDWARE, "uncorrected memory error" },
	{ 63, EGS_XID_HARDWARE, "a row of memory is to be remapped" },
	{ 64, EGS_XID_HARDWARE, "a row of memory could not be remapped" },
	{ 74, EGS_XID_HARDWARE, "NVLink failed" },
	{ 79, EGS_XID_HARDWARE, "the GPU has fallen off the bus" },
	{ 94, EGS_XID_CONTAINED, "contained memory error" },
	{ 95, EGS_XID_HARDWARE, "uncontained memory error" },
	{ 119, EGS_XID_HARDWARE, "the GPU's own processor does not answer" },
	{ 120, EGS_XID_HARDWARE, "the GPU's own processor has failed" },
};

enum egs_xid_class egs_xid_classify(uint32_t number)
{
	for (size_t i = 0; i < ARRAY_SIZE(xids); i++)
		if (xids[i].number == number)
			return xids[i].class;
	return EGS_XID_UNKNOWN;
}

const char *egs_xid_describe(uint32_t number)
{
	for (size_t i = 0; i < ARRAY_SIZE(xids); i++)
		if (xids[i].number == number)
			return xids[i].words;
	return "";
}

uint32_t egs_xid_allow(enum egs_xid_class class)
{
	static const uint32_t allowed[] = {
		[EGS_XID_UNKNOWN] = EGS_REMEDY_NOTE,
		[EGS_XID_APPLICATION] = EGS_REMEDY_NOTE,
		/* The driver has ended the program; others are intact. */
		[EGS_XID_CONTAINED] = ~(uint32_t)EGS_REMEDY_MOVE,
		[EGS_XID_HARDWARE] = UINT32_MAX,
	};

	return allowed[class];
}
