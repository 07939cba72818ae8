/* hostlist.c - lists of nodes with numbers in brackets */
#include <string.h>

#include "common/base/array.h"
#include "common/base/hostlist.h"
#include "t/lib/unit/tap.h"

static int join(void *arg, const char *name)
{
	char *all = arg;

	snprintf(all + strlen(all), 200 - strlen(all), "%s ", name);
	return 0;
}

static void test_names(void)
{
	static const struct {
		const char *text, *names;
	} cases[] = {
		{ "", "" },
		{ "n1", "n1 " },
		{ "n1,n2", "n1 n2 " },
		{ "/dev/nvidia[0-2]",
		  "/dev/nvidia0 /dev/nvidia1 /dev/nvidia2 " },
		{ "n[1,3-4],m", "n1 n3 n4 m " },
		{ "gpu[08-10]-ib", "gpu08-ib gpu09-ib gpu10-ib " },
		{ "n[1-2]g[0-1]", "n1g0 n1g1 n2g0 n2g1 " },
		{ "n[1-99999999]", "" },
		{ "n[", "n[ " },
		{ "n[x]", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char all[200] = "";

		egs_hostlist_each(cases[i].text, join, all);
		is_str(all, cases[i].names, "names of '%s'", cases[i].text);
	}
}

static void test_has(void)
{
	static const struct {
		const char *list, *name;
		bool has;
	} cases[] = {
		{ "n1", "n1", true },
		{ "n1", "n10", false },
		{ "n[1-4]", "n3", true },
		{ "n[1-4]", "n5", false },
		{ "n[1-4]", "n03", false },
		{ "n[8-12]", "n10", true },
		{ "n[08-12]", "n8", false },
		{ "n[08-12]", "n09", true },
		{ "n[1,7-9]-ib,m", "n8-ib", true },
		{ "n[1,7-9]-ib,m", "n8", false },
		{ "n[1,7-9]-ib,m", "m", true },
		{ "n[1-2]g[0-3]", "n2g3", true },
		{ "n[1-2]g[0-3]", "n3g3", false },
		{ "n[1-4", "n1", false },
		{ "", "n1", false },
		{ "n[1-4]", "", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		ok(egs_hostlist_has(cases[i].list, cases[i].name) ==
			   cases[i].has,
		   "'%s' is %sin '%s'", cases[i].name,
		   cases[i].has ? "" : "not ", cases[i].list);
}

static void test_check(void)
{
	static const struct {
		const char *list, *why; /* NULL: accepted */
	} cases[] = {
		{ "n1", NULL },
		{ "gpu[01-04],big1,r[1,3]n[1-2]", NULL },
		{ "n[1-4", "has a '[' without ']'" },
		{ "n1-4]", "has a ']' without '['" },
		{ "n[a]",
		  "has brackets with something else than numbers; write "
		  "n[1-4,7]" },
		{ "n[]", "has brackets with something else than numbers; write "
			 "n[1-4,7]" },
		{ "n[1-2-3]",
		  "has brackets with something else than numbers; write "
		  "n[1-4,7]" },
		{ "n[4-1]", "has the range 4-1, which is out of order" },
		{ "n1,,n2", "has an empty entry" },
		{ "n1,", "has an empty entry" },
		{ "", "has an empty entry" },
		{ "n[1-65536]", NULL },
		{ "n[1-65537]", "names more than 65536 nodes" },
		{ "n[1-300]g[1-300]", "names more than 65536 nodes" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct egs_err err = { "" };
		int rc = egs_hostlist_check(cases[i].list, &err);

		ok(rc == (cases[i].why ? -1 : 0), "'%s' is %s", cases[i].list,
		   cases[i].why ? "refused" : "accepted");
		is_str(err.msg, cases[i].why ? cases[i].why : "",
		       "the reason for '%s'", cases[i].list);
	}
}

int main(void)
{
	plan_none();
	test_names();
	test_has();
	test_check();
	return done_testing();
}
