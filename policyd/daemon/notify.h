/* notify.h - pass warnings to the program of Notify=
 *
 *	egs_notify_send(d, &(struct egs_warning){
 *			.kind = "idle", .job = j, .text = sentence });
 *
 * Each warning is logged.  With Notify= a program gets it on its standard input
 * as one JSON object on one line:
 *
 *	{"kind":"idle","time":1763466600,"cluster":"c1","job":"901",
 *	 "user":"alice","team":"vision","node":"n7","gpu":3,"rule":"hot",
 *	 "text":"1 of 4 GPUs ...","dropped":12}
 *
 * Keys without a value are absent.  "observed":true means that EGS has only
 * recorded what it would do.  The loop never waits: one program runs at a time
 * and is killed after EGS_NOTIFY_LIMIT_MS.  Warnings beyond
 * EGS_NOTIFY_PER_MINUTE, or EGS_NOTIFY_QUEUE_MAX that wait, are only logged;
 * "dropped" of the next warning tells how many.
 */
#ifndef EGS_DAEMON_NOTIFY_H
#define EGS_DAEMON_NOTIFY_H

#include <stdbool.h>

#include "common/base/program.h"

struct egs_daemon;
struct egs_job;

enum {
	EGS_NOTIFY_LIMIT_MS = 10000,
	EGS_NOTIFY_PER_MINUTE = 30,
	EGS_NOTIFY_QUEUE_MAX = 60,
};

/* NULL: not given. */
struct egs_warning {
	const char *kind;	   /* one word: what it is about */
	const char *text;	   /* one sentence */
	const struct egs_job *job; /* whose job it is about */
	const char *node;
	int gpu; /* number of the GPU of 'node', -1: none */
	const char *rule;
	bool observed;
};

/* What waits for the program, and numbers for egsctl ping.  All zero: nothing.
 */
struct egs_notify {
	struct egs_program program;	   /* that runs */
	char *queue[EGS_NOTIFY_QUEUE_MAX]; /* JSON, oldest first */
	uint32_t nqueued;
	uint64_t minute_ms;		    /* when the present minute began */
	uint32_t in_minute;		    /* warnings accepted since then */
	uint32_t dropped;		    /* and not told yet */
	uint64_t sent, failed, all_dropped; /* since the start */
};

void egs_notify_send(struct egs_daemon *d, const struct egs_warning *warning);

/* The JSON of a warning, to be freed; NULL: out of memory.  'dropped' is 0, or
 * how many were not told before.
 */
char *egs_notify_format(const struct egs_daemon *d,
			const struct egs_warning *warning, uint32_t dropped);

/* Once a second: look after the program, and start the next. */
void egs_notify_tick(struct egs_daemon *d);

/* Kill the program and forget what waits. */
void egs_notify_free(struct egs_daemon *d);

#endif
