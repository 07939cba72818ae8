/* ask_policyd.c - send a request to egs-policyd; find its address */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "noded/noded.h"

enum {
	/* Extra time for munged and name servers. */
	SLACK_MS = 5000,
	/* A host that is up accepts a connection at once. */
	CONNECT_MS = 3000,
	BACKOFF_MS = 500,
};

uint64_t egs_noded_backoff_ms(uint32_t failures, uint64_t max_ms)
{
	uint64_t ms = BACKOFF_MS;

	while (failures-- > 1 && ms < max_ms)
		ms *= 2;
	return ms + (uint64_t)random() % ms;
}

/* ---- address of egs-policyd ---- */

static void set_address(struct egs_noded *noded)
{
	const struct egs_slurm_conf *slurm = &noded->slurm;
	const char *host = slurm->nhosts ? slurm->host[noded->host_index] : "";
	bool is_ipv6 = strchr(host, ':') != NULL;

	snprintf(noded->policyd_addr, sizeof(noded->policyd_addr),
		 is_ipv6 ? "[%s]:%u" : "%s:%u", host, (unsigned)noded->port);
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

/* Read slurm.conf again, because it may have changed. */
void egs_noded_switch_host(struct egs_noded *noded)
{
	noded->host_index++;
	egs_noded_read_hosts(noded);
}

/* ---- one request ---- */

static void finish_call(struct egs_policyd_call *call, int rc,
			struct egs_msg *answer, const struct egs_err *err)
{
	egs_timer_stop(call->timer);
	call->busy = false;
	call->done(call->noded, rc, answer, err);
	egs_msg_free(answer);
}

/* The watch must be freed before its file is closed. */
static void stop_child(struct egs_policyd_call *call)
{
	egs_watch_free(call->child_watch);
	call->child_watch = NULL;
	egs_child_stop(&call->child);
}

static void on_child_output(void *arg, uint32_t events)
{
	struct egs_policyd_call *call = arg;
	struct egs_msg *answer = NULL;
	struct egs_err err;
	int rc = egs_client_receive(&call->child, &call->endpoint, &answer,
				    &call->noded->policyd_uid, &err);

	(void)events;
	if (rc > 0)
		return;
	call->noded->is_forged = rc == EGS_CLIENT_FORGED;
	if (rc == EGS_CLIENT_FORGED) /* as good as none */
		rc = EGS_CLIENT_UNREACHABLE;
	stop_child(call);
	finish_call(call, rc, answer, &err);
}

static void on_timeout(void *arg, uint32_t events)
{
	struct egs_policyd_call *call = arg;
	struct egs_err err = { "the request could not be sent" };

	(void)events;
	if (call->child_watch) {
		egs_errf(&err, "egs-policyd at %s: no answer",
			 call->endpoint.address);
		stop_child(call);
	}
	finish_call(call, EGS_CLIENT_UNREACHABLE, NULL, &err);
}

int egs_policyd_call_open(struct egs_policyd_call *call,
			  struct egs_noded *noded, struct egs_err *err)
{
	call->noded = noded;
	call->child.fd = -1;
	call->timer = egs_loop_add_timer(noded->loop, on_timeout, call, err);
	return call->timer ? 0 : -1;
}

void egs_policyd_call_close(struct egs_policyd_call *call)
{
	if (!call->timer)
		return;
	stop_child(call);
	egs_watch_free(call->timer);
}

void egs_policyd_call_start(struct egs_policyd_call *call,
			    const struct egs_msg *request, int timeout_ms)
{
	struct egs_noded *noded = call->noded;
	struct egs_err err;

	call->busy = true;
	call->endpoint =
		(struct egs_endpoint){ .address = noded->policyd_addr,
				       .slurm_user = noded->slurm.user,
				       .cred.audience = noded->audience,
				       .connect_ms = CONNECT_MS };
	if (egs_client_start(&call->child, &call->endpoint, request, timeout_ms,
			     &err) == 0)
		call->child_watch =
			egs_loop_add_fd(noded->loop, call->child.fd, EPOLLIN,
					on_child_output, call, &err);
	if (!call->child_watch)
		egs_child_stop(&call->child);
	/* Without a watch the call has failed; the timer reports that. */
	egs_timer_start(call->timer, call->child_watch
					     ? (uint64_t)timeout_ms + SLACK_MS
					     : 0);
}
