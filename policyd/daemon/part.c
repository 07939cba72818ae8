/* part.c - start and stop the parts */
#include "policyd/daemon/daemon.h"

int egs_parts_init(struct egs_daemon *d, struct egs_err *err)
{
	for (size_t i = 0; d->parts && d->parts[i]; i++)
		if (d->parts[i]->init && d->parts[i]->init(d, err) < 0)
			return -1;
	return 0;
}

int egs_parts_restore(struct egs_daemon *d, struct egs_err *err)
{
	for (size_t i = 0; d->parts && d->parts[i]; i++)
		if (d->parts[i]->restore && d->parts[i]->restore(d, err) < 0)
			return -1;
	return 0;
}

int egs_parts_start(struct egs_daemon *d, struct egs_err *err)
{
	for (size_t i = 0; d->parts && d->parts[i]; i++)
		if (d->parts[i]->start && d->parts[i]->start(d, err) < 0)
			return -1;
	return 0;
}

void egs_parts_stop(struct egs_daemon *d)
{
	size_t n = 0;

	while (d->parts && d->parts[n])
		n++;
	while (n-- > 0)
		if (d->parts[n]->stop)
			d->parts[n]->stop(d);
}
