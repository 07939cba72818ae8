/* private_data.h - PrivateData of slurm.conf: what users may not see
 *
 * All answers of the daemon follow the file within a second after it is
 * written, and at once after egs.conf is loaded again.  A file without a
 * cluster changes nothing: an editor may be writing it.
 */
#ifndef EGS_REQUESTS_PRIVATE_DATA_H
#define EGS_REQUESTS_PRIVATE_DATA_H

#include <stdbool.h>

#include "common/base/clock.h"

struct egs_daemon;

struct egs_private_data {
	bool any;	    /* something is private */
	bool jobs;	    /* jobs of others */
	bool usage;	    /* sums of others */
	egs_time_t read_at; /* 0: not read since egs.conf was loaded */
};

/* What is private; of the last second, or read now. */
struct egs_private_data egs_private_data_get(struct egs_daemon *d);
struct egs_private_data egs_private_data_read(struct egs_daemon *d);

#endif
