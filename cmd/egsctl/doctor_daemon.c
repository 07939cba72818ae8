/* doctor_daemon.c - egsctl doctor: does the daemon answer, and on its port?
 *
 * The answer on the Unix socket says nothing about the port: another program
 * may have it.  So the doctor asks each SlurmctldHost as a node would.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/egsctl/ask_cluster.h"
#include "cmd/egsctl/doctor.h"
#include "cmd/lib/find_daemon.h"

/* Ask one host.  Does the daemon serve its port? */
static bool check_host(struct egs_doctor *d, const struct egsctl_options *ctl,
		       const char *host, struct egs_err *why)
{
	struct egs_msg *answer = NULL;
	char at[EGS_SLURM_HOST_MAX + 16];
	int rc;

	snprintf(at, sizeof(at), strchr(host, ':') ? "[%s]:%u" : "%s:%u", host,
		 (unsigned)d->policy->port);
	rc = egs_ask_ping(ctl, at, &answer, why);
	if (rc == 0)
		egs_doctor_print(d, EGS_ADVICE_FINE,
				 "egs-policyd at %s: the answer is authentic",
				 at);
	if (rc == EGS_CLIENT_FORGED)
		egs_doctor_print(d, EGS_ADVICE_CHANGE,
				 "%s; ss -ltnp on that host shows who has the "
				 "port",
				 why->msg);
	egs_msg_free(answer);
	return rc == 0;
}

/* egs-policyd keeps room for clients with a port that only root can have. */
static void check_root_ports(struct egs_doctor *d)
{
	FILE *f = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "re");
	char line[16] = "";

	if (f && fgets(line, sizeof(line), f) && atoi(line) < IPPORT_RESERVED)
		egs_doctor_print(d, EGS_ADVICE_WORRY,
				 "net.ipv4.ip_unprivileged_port_start=%d on "
				 "this host: users here can use the room that "
				 "egs-policyd keeps for nodes; set %d",
				 atoi(line), IPPORT_RESERVED);
	if (f)
		fclose(f);
}

static void check_port(struct egs_doctor *d, const struct egsctl_options *ctl)
{
	struct egs_err why = { "no SlurmctldHost in slurm.conf" };
	struct egs_slurm_conf slurm;
	bool served = false;

	if (!d->policy->port) {
		egs_doctor_print(d, EGS_ADVICE_WORRY,
				 "egs.conf: Port=0, so nodes cannot reach "
				 "egs-policyd");
		return;
	}
	check_root_ports(d);
	egs_slurm_conf_read(&slurm, NULL);
	for (unsigned i = 0; i < slurm.nhosts; i++)
		served |= check_host(d, ctl, slurm.host[i], &why);
	if (!served)
		egs_doctor_print(d, EGS_ADVICE_ADD,
				 "egs-policyd serves no node on port %u: %s",
				 (unsigned)d->policy->port, why.msg);
}

static bool is_slurmctld_up(const struct egs_msg *ping)
{
	const char *state = egs_msg_get_str(ping, "slurmctld");

	return state && strcmp(state, "up") == 0;
}

void egs_doctor_check_daemon(struct egs_doctor *d,
			     const struct egsctl_options *ctl)
{
	struct egs_msg *answer = NULL;
	struct egs_err err;

	if (egs_ask_ping(ctl, ctl->address, &answer, &err) == 0)
		egs_doctor_print(d,
				 is_slurmctld_up(answer) ? EGS_ADVICE_FINE
							 : EGS_ADVICE_WORRY,
				 "%s", egs_msg_get_str(answer, "message"));
	else
		egs_doctor_print(d, EGS_ADVICE_ADD,
				 "egs-policyd on the host of slurmctld: %s",
				 err.msg);
	egs_msg_free(answer);
	check_port(d, ctl);
}
