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

static void set_place(struct egs_noded *noded)
{
	const struct egs_slurm_conf *slurm = &noded->slurm;
	const char *host = slurm->nhosts ? slurm->host[noded->host] : "";
	bool six = strchr(host, ':') != NULL;

	snprintf(noded->at, sizeof(noded->at), six ? "[%s]:%u" : "%s:%u", host,
		 (unsigned)noded->port);
	snprintf(noded->audience, sizeof(noded->audience),
		 EGS_CRED_AUDIENCE "%s", slurm->cluster);
}

void egs_noded_find_hosts(struct egs_noded *noded)
{
	egs_slurm_conf_read(&noded->slurm, NULL);
	if (noded->host >= noded->slurm.nhosts)
		noded->host = 0;
	set_place(noded);
}

/* The file may have changed meanwhile. */
void egs_noded_next_host(struct egs_noded *noded)
{
	noded->host++;
	egs_noded_find_hosts(noded);
}

/* ---- a question ---- */

static void end(struct egs_talk *talk, int rc, struct egs_msg *answer,
		const struct egs_err *err)
{
	egs_timer_stop(talk->deadline);
	talk->busy = false;
	talk->done(talk->noded, rc, answer, err);
	egs_msg_free(answer);
}

/* The watch goes before its file. */
static void stop(struct egs_talk *talk)
{
	egs_watch_free(talk->news);
	talk->news = NULL;
	egs_aside_end(&talk->aside);
}

static void on_news(void *arg, uint32_t events)
{
	struct egs_talk *talk = arg;
	struct egs_msg *answer = NULL;
	struct egs_err err;
	int rc = egs_client_finish(&talk->aside, &talk->where, &answer, &err);

	(void)events;
	if (rc > 0)
		return;
	stop(talk);
	end(talk, rc, answer, &err);
}

static void on_deadline(void *arg, uint32_t events)
{
	struct egs_talk *talk = arg;
	struct egs_err err = { "nothing was asked" };

	(void)events;
	if (talk->news) {
		egs_errf(&err, "egs-policyd at %s: no answer", talk->where.at);
		stop(talk);
	}
	end(talk, EGS_CLIENT_UNREACHABLE, NULL, &err);
}

int egs_talk_open(struct egs_talk *talk, struct egs_noded *noded,
		  struct egs_err *err)
{
	talk->noded = noded;
	talk->aside.fd = -1;
	talk->deadline = egs_loop_timer(noded->loop, on_deadline, talk, err);
	return talk->deadline ? 0 : -1;
}

void egs_talk_close(struct egs_talk *talk)
{
	if (!talk->deadline)
		return;
	stop(talk);
	egs_watch_free(talk->deadline);
}

void egs_talk_ask(struct egs_talk *talk, const struct egs_msg *request,
		  int timeout_ms)
{
	struct egs_noded *noded = talk->noded;
	struct egs_err err;

	talk->busy = true;
	talk->where = (struct egs_where){ .at = noded->at,
					  .cred.audience = noded->audience };
	if (egs_client_start(&talk->aside, &talk->where, request, timeout_ms,
			     &err) == 0)
		talk->news = egs_loop_fd(noded->loop, talk->aside.fd, EPOLLIN,
					 on_news, talk, &err);
	if (!talk->news)
		egs_aside_end(&talk->aside);
	/* Without one it has failed, which is told from the loop. */
	egs_timer_in(talk->deadline,
		     talk->news ? (uint64_t)timeout_ms + SLACK_MS : 0);
}
