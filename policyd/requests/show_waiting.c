/* show_waiting.c - show which jobs wait for GPUs, why, and until when
 *
 * The sentence of a job is the one of "egs why".  It takes time, so only the
 * jobs that have waited longest get one; the others are counted by team.  So
 * are jobs that the client may not see.
 */
#include <stdlib.h>

#include "common/base/array.h"
#include "policyd/requests/requests.h"

enum { EXPLAINED_MAX = 30 };

/* Jobs of a team that are only counted; row 'nteams' is for jobs without team,
 * and for all hidden jobs if Slurm hides jobs.
 */
struct waiting_sum {
	uint32_t jobs;
	uint64_t gpus;
	egs_time_t since; /* of the oldest */
};

struct waiting_view {
	struct egs_daemon *d;
	uid_t uid;	/* the client */
	bool hide_jobs; /* PrivateData=jobs */
	const struct egs_job *oldest[EXPLAINED_MAX];
	size_t noldest;
	struct waiting_sum *sum;
	struct egs_msg *answer;
};

static const char *team_name(const struct waiting_view *v, int team)
{
	const struct egs_policy_conf *c = egs_daemon_conf(v->d);

	return team >= 0 && team < c->nteams ? c->team[team].name : "-";
}

static void count_job(const struct waiting_view *v, const struct egs_job *j)
{
	const int nteams = egs_daemon_conf(v->d)->nteams;
	bool hidden = v->hide_jobs && !egs_requests_may_see(v->d, v->uid, j);
	struct waiting_sum *sum =
		&v->sum[hidden || j->facts.team < 0 ? nteams : j->facts.team];

	sum->jobs++;
	sum->gpus += egs_job_gpus_wanted(j);
	if (!sum->since || j->queued_at < sum->since)
		sum->since = j->queued_at;
}

static bool is_older(const struct egs_job *a, const struct egs_job *b)
{
	return a->queued_at != b->queued_at ? a->queued_at < b->queued_at
					    : a->ident.job_id < b->ident.job_id;
}

/* Keep the job among the oldest, in order; count the one that drops out. */
static void keep_oldest(struct waiting_view *v, const struct egs_job *j)
{
	size_t at = v->noldest;

	if (at == EXPLAINED_MAX) {
		if (!is_older(j, v->oldest[at - 1])) {
			count_job(v, j);
			return;
		}
		count_job(v, v->oldest[--at]);
	} else {
		v->noldest++;
	}
	for (; at > 0 && is_older(j, v->oldest[at - 1]); at--)
		v->oldest[at] = v->oldest[at - 1];
	v->oldest[at] = j;
}

static void add_since(const struct waiting_view *v, egs_time_t since)
{
	char text[EGS_TIME_TEXT_SIZE];
	egs_time_t waited = egs_daemon_now() - since;

	egs_msg_add_cell(v->answer, egs_daemon_format_time(since, text));
	egs_msg_add_cell_int(v->answer, waited > 0 ? waited : 0);
}

/* Until when a rule of EGS holds the job, else Slurm's estimate. */
static void add_until(const struct waiting_view *v, const struct egs_job *j,
		      const struct egs_why *why)
{
	struct egs_job_info known = { .expected_start = 0 };
	egs_time_t now = egs_daemon_now(), until = why->until;
	char text[EGS_TIME_TEXT_SIZE];

	egs_cluster_lookup(v->d->cluster, j->ident.job_id, &known);
	if (until <= now)
		until = known.expected_start;
	egs_msg_add_cell(v->answer,
			 until > now ? egs_daemon_format_time(until, text)
				     : "-");
}

static int add_explained(const struct waiting_view *v, const struct egs_job *j)
{
	const struct egs_policy_conf *c = egs_daemon_conf(v->d);
	struct egs_job_info known = { .user = "?" };
	char text[EGS_JOB_TEXT_SIZE];
	struct egs_err sentence;
	struct egs_why why;

	if (egs_policy_why(v->d->policy, j->ident.job_id, egs_daemon_now(),
			   &why) < 0)
		return -1;
	egs_why_format(&why, c, egs_daemon_now(), sentence.msg,
		       sizeof(sentence.msg));
	egs_cluster_lookup(v->d->cluster, j->ident.job_id, &known);
	egs_daemon_format_job_id(v->d, &j->ident, text);
	egs_msg_add_row(v->answer);
	egs_msg_add_cell(v->answer, text);
	egs_msg_add_cell(v->answer, known.user);
	egs_msg_add_cell(v->answer, team_name(v, j->facts.team));
	egs_msg_add_cell(v->answer, c->tier[j->facts.tier].name);
	egs_msg_add_cell(v->answer, j->facts.phase < 0
					    ? "-"
					    : c->phase[j->facts.phase].name);
	egs_msg_add_cell_int(v->answer, 1);
	egs_msg_add_cell_int(v->answer, egs_job_gpus_wanted(j));
	add_since(v, j->queued_at);
	add_until(v, j, &why);
	egs_msg_add_cell(v->answer, sentence.msg);
	return 0;
}

static void add_sum(const struct waiting_view *v, int team)
{
	const struct waiting_sum *sum = &v->sum[team];

	if (!sum->jobs)
		return;
	egs_msg_add_row(v->answer);
	egs_msg_add_cell(v->answer, "-");
	egs_msg_add_cell(v->answer, "-");
	egs_msg_add_cell(v->answer, team_name(v, team));
	egs_msg_add_cell(v->answer, "-");
	egs_msg_add_cell(v->answer, "-");
	egs_msg_add_cell_int(v->answer, sum->jobs);
	egs_msg_add_cell_int(v->answer, (int64_t)sum->gpus);
	add_since(v, sum->since);
	egs_msg_add_cell(v->answer, "-");
	egs_msg_add_cell(v->answer, "-");
}

static void sort_jobs(struct waiting_view *v)
{
	uint32_t slots = egs_policy_nslots(v->d->policy);

	for (uint32_t i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(v->d->policy, i);

		if (!egs_job_is_waiting(j) || j->facts.tier < 0 ||
		    !egs_job_gpus_wanted(j))
			continue;
		if (egs_requests_may_see(v->d, v->uid, j))
			keep_oldest(v, j);
		else
			count_job(v, j);
	}
}

int egs_show_waiting(struct egs_daemon *d, const struct egs_peer *peer,
		     struct egs_msg *answer)
{
	static const char *const columns[] = { "JOBID", "USER",	 "TEAM",
					       "TIER",	"PHASE", "JOBS",
					       "GPUS",	"SINCE", "WAITED",
					       "UNTIL", "WHY" };
	const int nteams = egs_daemon_conf(d)->nteams;
	struct waiting_view v = { .d = d,
				  .uid = peer->uid,
				  .hide_jobs = egs_private_data_get(d).jobs,
				  .answer = answer };

	v.sum = calloc((size_t)nteams + 1, sizeof(*v.sum));
	if (!v.sum)
		return -1;
	egs_msg_set_columns(answer, columns, ARRAY_SIZE(columns));
	egs_msg_set_str(answer, "units", "WAITED=s");
	sort_jobs(&v);
	for (size_t i = 0; i < v.noldest; i++)
		add_explained(&v, v.oldest[i]);
	for (int team = 0; team <= nteams; team++)
		add_sum(&v, team);
	free(v.sum);
	return 0;
}
