/* loans.pml - model of loans, recall and claims under all events
 *
 * Three job ids, two teams, two tiers, two GPU types with two GPUs and one; a
 * job needs one GPU.  At any moment a job is submitted, starts, ends, is
 * requeued, or is preempted and exits, an id is reused for another job, the
 * quotas are reloaded, a node goes down or comes back, or time passes.  After
 * each of these the loans are walked, as in policyd/policy/loan_book.c, and a
 * pending job is evaluated as if it had started.
 *
 * True in every reachable state:
 *  - A pair does not change places twice within MinRuntime: if P has preempted
 *    V, and V got its place back, P does not preempt V again.  A job that is
 *    owned when it starts in the place of its victim never loses that place to
 *    the victim.  A requeue without a preemption, a reload or a change of a node
 *    may change which jobs are owned: each allows the pair to change places once
 *    more.  Only another job under the id resets the pair.
 *  - No claim is lost: GPUs that are free or held by preempted jobs cover all
 *    claims.
 *  - An owner gets its quota back: while it waits, a GPU is free, is held by a
 *    preempted job, or is on loan and can be recalled at once; or a GPU beyond
 *    the quotas is held by a job within its MinRuntime.
 *  - With EAGER, time passes only if no job can start, preempt or exit: then an
 *    owner waits for MinRuntime at most, whatever other jobs do, unless quotas
 *    or nodes change.
 *
 * One pair, or with EAGER one job, is watched at a time; the first choice of a
 * run decides which.
 *
 * With one wrong rule planted the model must fail, and t/1010-model.t checks
 * that: WRONG_BOUND (an owned job is on loan at once), WRONG_CLAIM (claims are
 * ignored), WRONG_RECALL (MinRuntime protects against an owner), WRONG_FLAGS (P
 * counts as owned whatever its team uses), WRONG_FOREVER (an owned job stays
 * owned).
 */
#define N     3 /* job ids */
#define TEAMS 2
#define TYPES 2
#define TIERS 2
#define M     2 /* MinRuntime in ticks */

#define NONE	0
#define PENDING 1
#define RUNNING 2
#define LEAVING 3 /* being preempted, still on its GPU */

typedef job_t {
	bit alt; /* which of its two jobs has the id, see identify() */
	bit team, tier, type;
	byte st;
	bit owned;
	byte age; /* ticks since its start, up to M */
	byte pos; /* among running jobs, by start */
	byte claim; /* the job it preempts, + 1 */
	bit owner;  /* it claims as an owner: its quota is reserved */
};

/* The watched pair: ticks until MinRuntime has passed since [0] preempted [1],
 * and since [1] preempted [0]; 0: long ago.
 */
typedef pair_t {
	byte id[2];
	byte ticks[2];
	bit as_owner[2];
	byte more; /* changes that are excused, see excuse() */
};

job_t j[N];
pair_t pair;
bit conf;  /* which quotas are in force */
bit lost;  /* a GPU of type 0 is down */
byte nrun; /* jobs on GPUs */
byte waits; /* ticks that the watched job has waited as an owner */

byte used, claimed, kind, crew, rank, k, q, ty, room, own, m;
byte would[N]; /* would be owned if it started now; see reckon() */
byte p, v;

#define holds(i)    (j[i].st == RUNNING || j[i].st == LEAVING)
#define young(i)    (j[i].age < M)
#define total(ty)   (ty == 0 -> 2 : 1)
#define up(ty)	    (ty == 0 -> 2 - lost : 1)
/* Reloading moves a GPU of type 0 from one team to the other. */
#define quota(te, ty) \
	(ty == 1 -> te == 0 : (conf == 0 -> 1 : (te == 0 -> 0 : 2)))
#define in_force(te, ty) (quota(te, ty) * up(ty) / total(ty))

#if defined(WRONG_BOUND)
#define bound(i) false
#elif defined(WRONG_FOREVER)
#define bound(i) (j[i].owned)
#else
#define bound(i) (j[i].owned && young(i))
#endif

/* GPUs of type ty that jobs are on. */
inline count_used(ty, out)
{
	out = 0;
	for (k : 0 .. N - 1) {
		if
		:: holds(k) && j[k].type == ty -> out++
		:: else
		fi
	}
}

/* A job that may preempt another is ahead of it in the queue, so that no victim
 * is ahead of its requester; then the order of the queue, here the id.
 */
#define ahead(q, i) \
	(would[q] != would[i] -> would[q] : \
	 (j[q].tier != j[i].tier -> j[q].tier < j[i].tier : q < i))

/* Claims on type ty: of jobs ahead of i, or of all with i = N. */
inline count_claims(ty, i, out)
{
	out = 0;
	for (k : 0 .. N - 1) {
		if
		:: j[k].claim && j[k].type == ty && k != i &&
		   (i == N || ahead(k, i)) -> out++
		:: else
		fi
	}
}

/* Walk every team and type by (tier, start), protected jobs first. */
inline walk()
{
	for (crew : 0 .. TEAMS - 1) {
		for (kind : 0 .. TYPES - 1) {
			room = in_force(crew, kind);
			for (k : 0 .. N - 1) {
				if
				:: holds(k) && j[k].team == crew &&
				   j[k].type == kind && bound(k) && room > 0 ->
					room--
				:: j[k].owner && j[k].team == crew &&
				   j[k].type == kind && room > 0 -> room--
				:: else
				fi
			}
			for (rank : 0 .. TIERS - 1) {
				for (q : 0 .. N - 1) {
					for (k : 0 .. N - 1) {
						if
						:: holds(k) && j[k].pos == q &&
						   j[k].team == crew &&
						   j[k].type == kind &&
						   j[k].tier == rank &&
						   !bound(k) ->
							if
							:: room > 0 ->
								j[k].owned = 1;
								room--
							:: else ->
								j[k].owned = 0
							fi
						:: else
						fi
					}
				}
			}
		}
	}
}

/* Would job i be owned if it started now?  out = 1. */
inline as_if(i, out)
{
	out = in_force(j[i].team, j[i].type);
	for (k : 0 .. N - 1) {
		if
		:: holds(k) && j[k].team == j[i].team &&
		   j[k].type == j[i].type && j[k].owned &&
		   (j[k].tier <= j[i].tier || bound(k)) && out > 0 -> out--
		:: j[k].owner && k != i && j[k].team == j[i].team &&
		   j[k].type == j[i].type && out > 0 -> out--
		:: else
		fi
	}
#ifdef WRONG_FLAGS
	out = 1;
#endif
}

inline reckon()
{
	for (m : 0 .. N - 1) {
		as_if(m, own);
		would[m] = own > 0
	}
}

/* May i preempt k?  own: i would be owned. */
#define stronger(own, i, k) \
	(own != j[k].owned -> own : j[i].tier < j[k].tier)
#ifdef WRONG_RECALL
#define may_take(own, i, k) (stronger(own, i, k) && !young(k))
#else
#define may_take(own, i, k) \
	(stronger(own, i, k) && ((own && !j[k].owned) || !young(k)))
#endif

/* The smallest is preempted first: loans, then the weaker tier. */
#define class(k) (2 * j[k].owned + 1 - j[k].tier)

inline stop(i)
{
	nrun--;
	for (k : 0 .. N - 1) {
		if
		:: holds(k) && j[k].pos > j[i].pos -> j[k].pos--
		:: else
		fi
	}
	j[i].pos = 0;
	j[i].age = 0;
	j[i].owned = 0
}

/* Another job has the id: forget what the pair did. */
inline forget(i)
{
	if
	:: i == pair.id[0] || i == pair.id[1] ->
		pair.ticks[0] = 0;
		pair.ticks[1] = 0;
		pair.as_owner[0] = 0;
		pair.as_owner[1] = 0;
		pair.more = 0
	:: else
	fi
}

/* An event outside the pair may change which jobs are owned. */
#define EXCUSES 2
inline excuse()
{
	waits = 0;
	if
	:: (pair.ticks[0] || pair.ticks[1]) && pair.more < EXCUSES ->
		pair.more++
	:: else
	fi
}

/* Claims that no longer fit end, from the back of the queue. */
inline trim(ty)
{
	count_used(ty, used);
	used = up(ty) - used; /* free */
	for (k : 0 .. N - 1) {
		if
		:: j[k].st == LEAVING && j[k].type == ty -> used++
		:: else
		fi
	}
	reckon();
	for (m : 0 .. 1) {
		for (rank : 0 .. TIERS - 1) {
			for (q : 0 .. N - 1) {
				if
				:: j[q].claim && j[q].type == ty &&
				   j[q].tier == rank && would[q] != m ->
					if
					:: used > 0 -> used--
					:: else -> j[q].claim = 0; j[q].owner = 0
					fi
				:: else
				fi
			}
		}
	}
}

/* Assertions, after every event. */
inline check()
{
	for (kind : 0 .. TYPES - 1) {
		count_used(kind, used);
		assert(used <= up(kind));
		room = up(kind) - used;
		for (k : 0 .. N - 1) {
			if
			:: j[k].st == LEAVING && j[k].type == kind -> room++
			:: else
			fi
		}
		count_claims(kind, N, claimed);
		assert(room >= claimed); /* no claim is lost */
	}
	for (q : 0 .. N - 1) {
		if
		:: j[q].st == PENDING && !j[q].claim ->
			as_if(q, own);
			ty = j[q].type;
			count_used(ty, used);
			claimed = 0; /* GPUs it can get, now or within MinRuntime */
			for (k : 0 .. N - 1) {
				if
				:: holds(k) && j[k].type == j[q].type &&
				   (j[k].st == LEAVING ||
				    may_take(1, q, k) ||
				    (j[k].owned && young(k))) -> claimed++
				:: else
				fi
			}
			/* an owner gets its quota back */
			assert(own == 0 || used < up(ty) || claimed > 0)
		:: else
		fi
	}
}

/* Reset scratch variables, so that equal states compare as equal. */
inline done()
{
	would[0] = 0;
	would[1] = 0;
	would[2] = 0;
	used = 0;
	claimed = 0;
	kind = 0;
	crew = 0;
	rank = 0;
	k = 0;
	q = 0;
	m = 0;
	ty = 0;
	room = 0;
	own = 0;
	p = 0;
	v = 0
}

/* Id 0 is a research job of team 0.  Id 1 is the same, or a prod job of team 1.
 * Id 2 is a research job of team 1 or, on the other type, of team 0.
 */
inline identify(i)
{
	j[i].team = (i == 1 && j[i].alt) || (i == 2 && !j[i].alt);
	j[i].tier = !(i == 1 && j[i].alt);
	j[i].type = (i == 2 && j[i].alt)
}

inline submit()
{
	d_step {
		j[p].st == NONE;
		printf("submit %d\n", p);
		identify(p);
		j[p].st = PENDING;
		done()
	}
}

/* Another job gets the id of a job that ended, or whose end was not seen: a
 * slurmctld restored from an older state reuses ids.
 */
inline reuse()
{
	d_step {
		p != 0;
		printf("reuse %d\n", p);
		if
		:: holds(p) -> stop(p)
		:: else
		fi;
		j[p].claim = 0;
		j[p].owner = 0;
		forget(p);
		j[p].alt = 1 - j[p].alt;
		identify(p);
		j[p].st = PENDING;
		walk();
		check();
		done()
	}
}

/* [x] of the pair has preempted the other one. */
inline exchange(x)
{
	if
	:: pair.ticks[x] || (pair.ticks[1 - x] && pair.as_owner[1 - x]) ->
		assert(pair.more > 0);
		pair.more--
	:: else
	fi;
	pair.ticks[x] = M;
	pair.as_owner[x] = j[p].owned
}

/* P has started in the place of V, unless V still has a GPU: then P or V found
 * another one.
 */
inline change()
{
	v = (j[p].claim -> j[p].claim - 1 : 0);
	if
	:: j[p].claim && j[v].st == PENDING ->
		if
		:: p == pair.id[0] && v == pair.id[1] -> exchange(0)
		:: p == pair.id[1] && v == pair.id[0] -> exchange(1)
		:: else
		fi
	:: else
	fi;
	j[p].claim = 0
}

inline start()
{
	d_step {
		j[p].st == PENDING;
		ty = j[p].type;
		reckon();
		count_used(ty, used);
		count_claims(ty, p, claimed);
#ifdef WRONG_CLAIM
		claimed = 0;
#endif
		if
		:: used + claimed < up(ty) ->
			printf("start %d\n", p);
			j[p].st = RUNNING;
			j[p].age = 0;
			j[p].owned = j[p].owner;
			j[p].owner = 0;
			j[p].pos = nrun;
			nrun++;
			walk();
			change();
#ifndef WRONG_CLAIM
			trim(ty);
#endif
			check()
		:: else
		fi;
		done()
	}
}

/* When no GPU is free, P preempts V, the first that it may preempt. */
inline take()
{
	d_step {
		j[p].st == PENDING && !j[p].claim && j[v].st == RUNNING &&
			j[p].type == j[v].type;
		as_if(p, own);
		own = (own > 0 -> 1 : 0);
		ty = j[p].type;
		count_used(ty, used);
		count_claims(ty, N, claimed);
		room = (used + claimed >= up(ty) && may_take(own, p, v));
		for (k : 0 .. N - 1) {
			if
			:: j[k].st == RUNNING && j[k].type == j[p].type &&
			   may_take(own, p, k) && class(k) < class(v) ->
				room = 0
			:: else
			fi
		}
		if
		:: room ->
			printf("take %d from %d, owned %d\n", p, v, own);
			j[p].claim = v + 1;
			j[p].owner = own;
			j[v].st = LEAVING;
			check()
		:: else
		fi;
		done()
	}
}

inline leave()
{
	d_step {
		j[p].st == LEAVING;
		printf("leave %d\n", p);
		stop(p);
		j[p].st = PENDING;
		walk();
		check();
		done()
	}
}

/* Without a preemption: an end (to NONE) or a requeue (to PENDING). */
inline end(to)
{
	d_step {
		j[p].st != NONE && j[p].st != to;
		printf("end %d (to %d)\n", p, to);
		if
		:: holds(p) -> stop(p)
		:: else
		fi;
		j[p].st = to;
		j[p].claim = 0;
		j[p].owner = 0;
		if
		:: to == NONE -> forget(p)
		:: to != NONE && (p == pair.id[0] || p == pair.id[1]) ->
			excuse()
		:: else
		fi;
		walk();
		check();
		done()
	}
}

inline reload()
{
	d_step {
		printf("reload\n");
		conf = 1 - conf;
		excuse();
		walk();
		check();
		done()
	}
}

/* A GPU goes down; its job is requeued. */
inline lose()
{
	d_step {
		!lost;
		printf("lose %d\n", p);
		count_used(0, used);
		if
		:: used < up(0) -> lost = 1
		:: else ->
			if
			:: holds(p) && j[p].type == 0 ->
				stop(p);
				j[p].st = PENDING;
				lost = 1
			:: else
			fi
		fi;
		excuse();
		trim(0);
		walk();
		check();
		done()
	}
}

inline back()
{
	d_step {
		lost;
		printf("back\n");
		lost = 0;
		excuse();
		walk();
		check();
		done()
	}
}

/* Is there anything a scheduler would do before time passes?  room = 1. */
inline busy()
{
	room = 0;
	reckon();
	for (q : 0 .. N - 1) {
		if
		:: j[q].st == LEAVING -> room = 1
		:: j[q].st == PENDING ->
			ty = j[q].type;
			count_used(ty, used);
			count_claims(ty, q, claimed);
			if
			:: used + claimed < up(ty) -> room = 1
			:: else
			fi;
			for (k : 0 .. N - 1) {
				if
				:: j[k].st == RUNNING && j[k].type == ty &&
				   !j[q].claim && may_take(would[q], q, k) ->
					room = 1
				:: else
				fi
			}
		:: else
		fi
	}
}

inline pass()
{
	for (k : 0 .. N - 1) {
		if
		:: holds(k) && j[k].age < M -> j[k].age++
		:: else
		fi
	}
	for (k : 0 .. 1) {
		if
		:: pair.ticks[k] > 0 -> pair.ticks[k]--
		:: else
		fi;
		if
		:: pair.ticks[k] == 0 -> pair.as_owner[k] = 0
		:: else
		fi
	}
	if
	:: pair.ticks[0] == 0 && pair.ticks[1] == 0 -> pair.more = 0
	:: else
	fi
}

/* The watched job has waited for another tick. */
inline wait()
{
	reckon();
	if
	:: j[pair.id[0]].st == PENDING && would[pair.id[0]] ->
		waits++;
		assert(waits <= M)
	:: else -> waits = 0
	fi
}

inline tick()
{
	d_step {
#ifdef EAGER
		busy();
		if
		:: room == 0 ->
			printf("tick\n");
			wait();
			pass();
			walk();
			check()
		:: else
		fi;
#else
		printf("tick\n");
		pass();
		walk();
		check();
#endif
		done()
	}
}

init
{
	atomic {
#ifdef EAGER
		select(p : 0 .. N - 1);
		pair.id[0] = p;
		pair.id[1] = p;
#else
		if
		:: pair.id[1] = 1
		:: pair.id[1] = 2
		:: pair.id[0] = 1; pair.id[1] = 2
		fi;
#endif
		p = 0
	}
	do
	:: atomic {
		select(p : 0 .. N - 1);
		select(v : 0 .. N - 1);
		if
		:: submit()
		:: reuse()
		:: start()
		:: take()
		:: leave()
		:: end(NONE)
		:: end(PENDING)
		:: reload()
		:: lose()
		:: back()
		:: tick()
		fi
	}
	od
}
