/* phase_names.c - the phases that every site has, and other words for them */
#include <stddef.h>
#include <strings.h>

#include "common/conf/phase_names.h"

const struct egs_alias egs_phase_names[EGS_PHASE_NAMES] = {
	{ "prep", "prep" },	     { "train", "train" },
	{ "eval", "eval" },	     { "infer", "infer" },
	{ "retrain", "retrain" },    { "prepare", "prep" },
	{ "preparation", "prep" },   { "preprocess", "prep" },
	{ "preprocessing", "prep" }, { "training", "train" },
	{ "evaluate", "eval" },	     { "evaluation", "eval" },
	{ "inference", "infer" },    { "serve", "infer" },
	{ "serving", "infer" },	     { "retraining", "retrain" },
};

const char *egs_phase_names_find(const char *typed)
{
	for (size_t i = 0; i < EGS_PHASE_NAMES; i++)
		if (!strcasecmp(typed, egs_phase_names[i].typed))
			return egs_phase_names[i].means;
	return NULL;
}
