/* private_data.c - PrivateData of slurm.conf: what users may not see */
#include "common/base/list.h"
#include "common/conf/slurm_conf.h"
#include "policyd/requests/requests.h"

struct egs_private_data egs_private_data_read(struct egs_daemon *d)
{
	struct egs_private_data *known = &d->requests->private_data;
	struct egs_slurm_conf slurm;
	bool all;

	egs_slurm_conf_read(&slurm, NULL);
	known->read_at = egs_daemon_now();
	if (!*slurm.cluster && !slurm.nhosts)
		return *known;
	all = egs_list_has_word(slurm.private_data, "all");
	known->any = *slurm.private_data != '\0';
	known->jobs = all || egs_list_has_word(slurm.private_data, "jobs");
	known->usage = all || egs_list_has_word(slurm.private_data, "usage");
	return *known;
}

struct egs_private_data egs_private_data_get(struct egs_daemon *d)
{
	const struct egs_private_data *known = &d->requests->private_data;

	return known->read_at == egs_daemon_now() ? *known
						  : egs_private_data_read(d);
}

static void forget_file(struct egs_daemon *d)
{
	d->requests->private_data.read_at = 0;
}

const struct egs_part egs_private_data_part = {
	.name = "private_data",
	.reloaded = forget_file,
};
