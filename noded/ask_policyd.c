/* ask_policyd.c - a question to egs-policyd, and where that is */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "noded/noded.h"

enum {
	/* What munged and name servers may take beyond the time given. */
	SLACK_MS = 5000,
	BACKOFF_MS = 500,
	BACKOFF_MAX_MS = 15000,
};

uint64_t egs_noded_backoff_ms(uint32_t failures)
{
	uint64_t ms = BACKOFF_MS;

	while (failures-- > 1 && ms < BACKOFF_MAX_MS)
		ms *= 2;
	return ms + (uint64_t)random() % ms;
}

/* ---- where ---- */

static void set_address(struct egs_noded *noded)
{
	const struct egs_slurm_conf *slurm = &noded->slurm;
	const char *host = slurm->nhosts ? slurm->host[noded->host_index] : "";
	bool six = strchr(host, ':') != NULL;

	snprintf(noded->policyd_addr, sizeof(noded->policyd_addr),
		 six ? "[%s]:%u" : "%s:%u", host, (unsigned)noded->port);
	snprintf(noded->audience, sizeof(noded->audience),
		 EGS_CRED_AUDIENCE_PREFIX "%s", slurm->cluster);
}

void egs_noded_read_hosts(struct egs_noded *noded)
{
	egs_slurm_conf_read(&noded->slurm, NULL);
	if (noded->host_index >= noded->slurm.nhosts)
		noded->host_index = 0;
	set_address(noded);
}

/* The file may have changed meanwhile. */
void egs_noded_switch_host(struct egs_noded *noded)
{
	noded->host_index++;
	egs_noded_read_hosts(noded);
}

/* ---- a question ---- */

static void finish_call(struct egs_policyd_call *talk, int rc,
			struct egs_msg *answer, const struct egs_err *err)
{
	egs_timer_stop(talk->timer);
	talk->busy = false;
	talk->done(talk->noded, rc, answer, err);
	egs_msg_free(answer);
}

/* The watch goes before its file. */
static void stop_child(struct egs_policyd_call *talk)
{
	egs_watch_free(talk->child_watch);
	talk->child_watch = NULL;
	egs_child_stop(&talk->child);
}

static void on_child_output(void *arg, uint32_t events)
{
	struct egs_policyd_call *talk = arg;
	struct egs_msg *answer = NULL;
	struct egs_err err;
	int rc = egs_client_receive(&talk->child, &talk->endpoint, &answer,
				    &err);

	(void)events;
	if (rc > 0)
		return;
	stop_child(talk);
	finish_call(talk, rc, answer, &err);
}

static void on_timeout(void *arg, uint32_t events)
{
	struct egs_policyd_call *talk = arg;
	struct egs_err err = { "nothing was asked" };

	(void)events;
	if (talk->child_watch) {
		egs_errf(&err, "egs-policyd at %s: no answer",
			 talk->endpoint.address);
		stop_child(talk);
	}
	finish_call(talk, EGS_CLIENT_UNREACHABLE, NULL, &err);
}

int egs_policyd_call_open(struct egs_policyd_call *talk,
			  struct egs_noded *noded, struct egs_err *err)
{
	talk->noded = noded;
	talk->child.fd = -1;
	talk->timer = egs_loop_add_timer(noded->loop, on_timeout, talk, err);
	return talk->timer ? 0 : -1;
}

void egs_policyd_call_close(struct egs_policyd_call *talk)
{
	if (!talk->timer)
		return;
	stop_child(talk);
	egs_watch_free(talk->timer);
}

void egs_policyd_call_start(struct egs_policyd_call *talk,
			    const struct egs_msg *request, int timeout_ms)
{
	struct egs_noded *noded = talk->noded;
	struct egs_err err;

	talk->busy = true;
	talk->endpoint =
		(struct egs_endpoint){ .address = noded->policyd_addr,
				       .cred.audience = noded->audience };
	if (egs_client_start(&talk->child, &talk->endpoint, request, timeout_ms,
			     &err) == 0)
		talk->child_watch =
			egs_loop_add_fd(noded->loop, talk->child.fd, EPOLLIN,
					on_child_output, talk, &err);
	if (!talk->child_watch)
		egs_child_stop(&talk->child);
	/* Without one it has failed, which is told from the loop. */
	egs_timer_start(talk->timer, talk->child_watch
					     ? (uint64_t)timeout_ms + SLACK_MS
					     : 0);
}
