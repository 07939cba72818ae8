/* dispatch.c - find the verb of a request and call it */
#include <string.h>

#include "common/base/array.h"
#include "common/base/suggest.h"
#include "policyd/server/dispatch.h"

enum { NAMES_MAX = 64 };

static int refuse_unknown_verb(const struct egs_server_conf *conf,
			       const char *typed, struct egs_err *err)
{
	const char *names[NAMES_MAX];
	struct egs_err why;
	size_t n = 0;

	while (n < conf->nverbs && n < NAMES_MAX) {
		names[n] = conf->verbs[n].name;
		n++;
	}
	egs_err_unknown_name(typed, "verb", names, n, &why);
	return egs_errf(err, "'%s' %s", egs_printable(typed).text, why.msg);
}

static bool may_call(const struct egs_server_conf *conf,
		     const struct egs_verb *verb, const struct egs_peer *peer)
{
	return verb->role != EGS_ROLE_OPERATOR || peer->uid == 0 ||
	       (conf->is_operator && conf->is_operator(conf->arg, peer->uid));
}

/* The user for whom a request is: the client, or who it names.  Returns 0, or
 * -1 with 'err' set.
 */
static int find_asker(const struct egs_server_conf *conf,
		      const struct egs_verb *verb, const struct egs_peer *peer,
		      const struct egs_msg *request, struct egs_peer *asker,
		      struct egs_err *err)
{
	int64_t uid;

	*asker = *peer;
	if (!egs_msg_get_int(request, "viewer", &uid))
		return 0;
	if (verb->role != EGS_ROLE_VIEWER || !peer->local || !conf->asks_for ||
	    !conf->asks_for(conf->arg, peer->uid) || uid <= 0 ||
	    uid >= UINT32_MAX)
		return egs_errf(err, "you may not ask '%s' for another user",
				verb->name);
	asker->uid = (uid_t)uid;
	asker->gid = (gid_t)-1;
	return 0;
}

static int call_verb(const struct egs_server_conf *conf,
		     const struct egs_peer *peer, const struct egs_msg *request,
		     struct egs_msg *answer, struct egs_err *err)
{
	const char *name = egs_msg_get_str(request, "verb");
	struct egs_peer asker;
	int rc;

	if (!name)
		return egs_errf(err, "the request has no verb");
	for (size_t i = 0; i < conf->nverbs; i++) {
		const struct egs_verb *verb = &conf->verbs[i];

		if (strcmp(name, verb->name) != 0)
			continue;
		if (!may_call(conf, verb, peer))
			return egs_errf(err, "'%s' is for operators", name);
		if (find_asker(conf, verb, peer, request, &asker, err) < 0)
			return -1;
		rc = verb->fn(conf->arg, &asker, request, answer, err);
		if (rc != EGS_REPLY_DEFERRED && conf->answered)
			conf->answered(conf->arg, verb->name);
		return rc;
	}
	return refuse_unknown_verb(conf, name, err);
}

struct egs_msg *egs_dispatch_refusal(const char *why)
{
	struct egs_msg *answer = egs_msg_new();

	if (answer)
		egs_msg_set_str(answer, "error", why);
	return answer;
}

int egs_dispatch_request(const struct egs_server_conf *conf,
			 const struct egs_peer *peer, const char *bytes,
			 size_t len, struct egs_msg **answer)
{
	struct egs_err err = { "out of memory" };
	struct egs_msg *request =
		egs_msg_parse(bytes, len, EGS_MSG_REQUEST_MAX, &err);
	int rc = -1;

	*answer = request ? egs_msg_new() : NULL;
	if (*answer) {
		egs_msg_set_bool(*answer, "ok", true);
		rc = call_verb(conf, peer, request, *answer, &err);
	}
	egs_msg_free(request);
	if (rc == 0)
		return 0;
	egs_msg_free(*answer);
	*answer = rc < 0 ? egs_dispatch_refusal(err.msg) : NULL;
	if (*answer && rc == EGS_REPLY_RETRY)
		egs_msg_set_bool(*answer, "again", true);
	return rc < 0 ? 0 : rc;
}
