/* egsctl.h - what the files of egsctl share */
#ifndef EGS_EGSCTL_EGSCTL_H
#define EGS_EGSCTL_EGSCTL_H

#include "cmd/lib/listing.h"
#include "common/base/err.h"

enum egsctl_exit {
	EGSCTL_DONE = 0,
	EGSCTL_FAILED = 1,
	EGSCTL_UNREACHABLE = 2,
};

/* The values of the options. */
struct egsctl_options {
	struct egs_listing_style style;
	const char *address; /* of the daemon: PATH or HOST:PORT */
	const char *cluster; /* its cluster, for HOST:PORT */
	const char *timeout; /* in seconds */
	const char *reason;
	const char *gpus;	/* of shrink */
	const char *checkpoint; /* of abort, as the next two */
	const char *requeue;
	const char *dependents;
	bool dry_run;	   /* of abort, hold and release, as the next */
	bool yes;	   /* do not ask */
	bool preflight;	   /* of doctor */
	bool once;	   /* of top, as the next two */
	const char *delay; /* in seconds */
	const char *sort;
};

/* Print the sentence on standard error; returns EGSCTL_FAILED. */
int egsctl_print_error(const struct egs_err *err);

#endif
