/* parts.c - the parts of the daemon that answer requests */
#include <stdlib.h>

#include "policyd/requests/requests.h"
#include "policyd/server/rate_limit.h"

static int init_requests(struct egs_daemon *d, struct egs_err *err)
{
	d->requests = calloc(1, sizeof(*d->requests));
	if (d->requests)
		d->requests->rate_limit = egs_rate_limit_new();
	return d->requests && d->requests->rate_limit
		       ? 0
		       : egs_errf(err, "out of memory");
}

static void free_requests(struct egs_daemon *d)
{
	if (d->requests)
		egs_rate_limit_free(d->requests->rate_limit);
	free(d->requests);
	d->requests = NULL;
}

static const struct egs_part requests_part = {
	.name = "requests",
	.init = init_requests,
	.stop = free_requests,
};

/* The other parts store their state in d->requests, so requests_part is first.
 * The server is last, because it must start after all other parts.
 */
const struct egs_part *const egs_requests_parts[] = {
	&requests_part,
	&egs_resize_part,
	&egs_resize_unlock_part,
	&egs_shrink_part,
	&egs_node_part,
	&egs_node_addresses_part,
	&egs_gpu_samples_part,
	&egs_gpu_sums_part,
	&egs_gpu_advice_part,
	&egs_reclaim_part,
	&egs_remediate_part,
	&egs_predictor_part,
	&egs_report_part,
	&egs_private_data_part,
	&egs_metrics_part,
	&egs_server_part,
	NULL,
};
