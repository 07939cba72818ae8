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

/* "between TIME and TIME in 8 of 10 cases, likely TIME; by 12 runs of ..." */
void egs_predictor_format_end(const struct egs_estimate *e, egs_time_t now,
			      struct egs_text *text);

#endif
