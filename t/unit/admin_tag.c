/* admin_tag.c - remarks in an AdminComment, and what only looks like one */
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "common/hint/admin_tag.h"
#include "t/lib/unit/tap.h"

static const struct {
	const char *comment, *found, *without;
} cases[] = {
	{ "", NULL, "" },
	{ "egs-left", "egs-left", "" },
	{ "a egs-left", "egs-left", "a" },
	{ "egs-left b", "egs-left b", "b" },
	{ "a egs-left:7 b", "egs-left:7 b", "a b" },
	{ "a-egs-left b", NULL, "a-egs-left b" },
	{ "aegs-left egs-left", "egs-left", "aegs-left" },
};

int main(void)
{
	char comment[64];

	ok(!egs_admin_tag_find(NULL, EGS_ADMIN_TAG_DEPARTED),
	   "no comment, no word");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(comment, sizeof(comment), "%s", cases[i].comment);
		is_str(egs_admin_tag_find(comment, EGS_ADMIN_TAG_DEPARTED),
		       cases[i].found, "found in '%s'", cases[i].comment);
		egs_admin_tag_remove(comment, EGS_ADMIN_TAG_DEPARTED);
		is_str(comment, cases[i].without, "'%s' without it",
		       cases[i].comment);
	}
	return done_testing();
}
