/* egsctl.h - what the files of egsctl share */
#ifndef EGS_CMD_EGSCTL_H
#define EGS_CMD_EGSCTL_H

#include "policyd/cmd/listing.h"
#include "policyd/wire/conf.h"

/* Exit codes; 2 is kept for a daemon that cannot be reached. */
enum egsctl_exit {
	EGSCTL_DONE = 0,
	EGSCTL_FAILED = 1,
};

/* Print every value in force and where it came from. */
int egsctl_show_config(const struct egs_conf *conf,
		       const struct egs_listing_style *style);

/* Print who takes from whom. */
int egsctl_show_tiers(const struct egs_conf *conf,
		      const struct egs_listing_style *style);

#endif
