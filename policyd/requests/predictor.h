/* predictor.h - how long jobs run, learned from the history
 *
 * After a start the daemon reads jobs that have ended from the history, some
 * each second, then it learns from each job that ends.  When egs-report has
 * imported runs, it reads the history again.
 */
#ifndef EGS_REQUESTS_PREDICTOR_H
#define EGS_REQUESTS_PREDICTOR_H

#include "policyd/predict/predict.h"
#include "policyd/requests/requests.h"

/* Predict when a running job ends; 'source' EGS_PREDICT_NOTHING: unknown.
 * Returns 0, or -1 with 'err' set if the store fails.
 */
int egs_predictor_predict_end(struct egs_daemon *d, const struct egs_job *j,
			      struct egs_estimate *e, struct egs_err *err);

/* Predict how long a pending job with 'gpus' GPUs will run; returns as above.
 */
int egs_predictor_predict_run(struct egs_daemon *d, const struct egs_job *j,
			      uint32_t gpus, struct egs_estimate *e,
			      struct egs_err *err);

/* Predict when the jobs have ended that a pending job depends on, as if none of
 * them had to wait for GPUs (predict_start.c).  Returns false if it depends on
 * none, or on one that cannot be predicted.
 */
bool egs_predictor_predict_start(struct egs_daemon *d, const struct egs_job *j,
				 struct egs_estimate *e);

/* "from 50 min to 70 min in 8 of 10 cases, likely 1 h; by 12 runs of ..." */
void egs_predictor_format_run(const struct egs_estimate *e,
			      struct egs_text *text);

/* "between TIME and TIME in 8 of 10 cases, likely TIME; by 12 runs of ..." */
void egs_predictor_format_end(const struct egs_estimate *e, egs_time_t now,
			      struct egs_text *text);

#endif
