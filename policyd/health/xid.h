/* xid.h - errors that NVIDIA's driver reports, by class
 *
 * An XID is a number.  Its class decides what a rule may do about it: an error
 * of a program must never take a node from other jobs.
 */
#ifndef EGS_HEALTH_XID_H
#define EGS_HEALTH_XID_H

#include <stdint.h>

enum egs_xid_class {
	EGS_XID_UNKNOWN,     /* not in the table: only noted */
	EGS_XID_APPLICATION, /* a fault of the program: only noted */
	EGS_XID_CONTAINED,   /* the GPU needs a reset; other jobs are intact */
	EGS_XID_HARDWARE,    /* the GPU, its memory or its links failed */
};

enum egs_xid_class egs_xid_classify(uint32_t number);

/* What the XID means, in words; "" if it is unknown. */
const char *egs_xid_describe(uint32_t number);

/* The remedies (common/conf/policy_conf.h) that a class allows, as bits. */
uint32_t egs_xid_allow(enum egs_xid_class class);

#endif
