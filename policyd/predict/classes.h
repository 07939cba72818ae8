/* classes.h - the table of classes; for the files of predict/ only */
#ifndef EGS_PREDICT_CLASSES_H
#define EGS_PREDICT_CLASSES_H

#include "policyd/predict/histogram.h"
#include "policyd/predict/predict.h"

#define EGS_CLASS_LAST 5

struct egs_class {
	uint64_t key;
	uint32_t next;		       /* in its chain: slot + 1 */
	uint32_t runs;		       /* that ended */
	uint32_t failures;	       /* of them, early */
	uint32_t last[EGS_CLASS_LAST]; /* run times, a ring */
	struct egs_histogram times;
};

/* A user, an account or a partition owns its classes.  'owner' and 'used_at'
 * are apart from the rest, because the search for a class to forget reads all.
 */
struct egs_classes {
	struct egs_class slot[EGS_PREDICT_CLASSES];
	uint64_t owner[EGS_PREDICT_CLASSES];   /* a checksum */
	uint32_t used_at[EGS_PREDICT_CLASSES]; /* of 'clock', 0: free */
	uint32_t chain[EGS_PREDICT_CLASSES];   /* slot + 1 by key, 0: none */
	uint32_t clock;			       /* counts uses */
};

/* Key and owner of a class. */
struct egs_class_key {
	uint64_t key, owner;
};

/* The key of 'job' on a level.  Returns false if it has no class there. */
bool egs_classes_make_key(const struct egs_predict_job *job,
			  enum egs_predict_source level,
			  struct egs_class_key *key);

/* The class of a key; NULL: none. */
const struct egs_class *egs_classes_find(const struct egs_classes *c,
					 const struct egs_class_key *key);

/* The class of a key, an empty one if there is none; it is the last to be
 * forgotten now.
 */
struct egs_class *egs_classes_use(struct egs_classes *c,
				  const struct egs_class_key *key);

/* Run times that the class remembers one by one. */
static inline uint32_t egs_class_remembered(const struct egs_class *class)
{
	uint32_t n = class->runs - class->failures;

	return n < EGS_CLASS_LAST ? n : EGS_CLASS_LAST;
}

#endif
