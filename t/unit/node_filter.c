/* node_filter.c - may a job use a node: -w, -x and -C */
#include <stdlib.h>

#include "common/base/array.h"
#include "policyd/slurm/node_filter.h"
#include "t/lib/unit/tap.h"

/* May a job use the node n7, which has the features fast and a100? */
static const struct {
	const char *with, *without, *features;
	bool fits;
} cases[] = {
	{ "n7", "", "", true },		  { "n[1-4,7]", "", "", true },
	{ "n[1-4]", "", "", false },	  { "", "n7", "", false },
	{ "", "n[8-9],n1", "", true },	  { "n7", "n7", "", false },
	{ "", "", "fast", true },	  { "", "", "fas", false },
	{ "", "", "faster", false },	  { "", "", "fast&a100", true },
	{ "", "", "fast&h100", false },	  { "", "", "h100|a100", true },
	{ "", "", "h100|big", false },	  { "", "", "big&fast|a100", true },
	{ "", "", "[h100|a100]", true },  { "", "", "[h100|big]", false },
	{ "", "", "a100*2", true },	  { "", "", "h100*2&a100", false },
	{ "", "", "h100&(a|b)", true }, /* not parsed */
	{ "n[6-8]", "n8", "a100", true }, { "n[6-8]", "n8", "h100", false },
};

int main(void)
{
	plan_none();
	ok(!egs_node_filter_format(NULL, NULL, NULL) &&
		   !egs_node_filter_format("", "", ""),
	   "a job without -w, -x and -C has no filter");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *text = egs_node_filter_format(
			cases[i].with, cases[i].without, cases[i].features);
		struct egs_node_filter *w = egs_node_filter_parse(text);

		ok(egs_node_filter_may_use(w, "n7", "fast,a100") ==
			   cases[i].fits,
		   "-w '%s' -x '%s' -C '%s': n7 is %s", cases[i].with,
		   cases[i].without, cases[i].features,
		   cases[i].fits ? "allowed" : "ruled out");
		egs_node_filter_free(w);
		free(text);
	}
	egs_node_filter_free(NULL);
	return done_testing();
}
