/* fdinfo.c - which texts of the kernel tell of files registered with io_uring
 */
#include "common/node/fdinfo.h"
#include "common/base/array.h"
#include "t/lib/unit/tap.h"

#define HEAD "pos:\t0\nflags:\t02\nSqThreadCpu:\t-1\n"
#define TAIL "PollList:\nCqOverflowList:\n"

static const struct {
	unsigned kernel;
	bool has_registered;
	const char *text, *title;
} texts[] = {
	{ 6018, false, HEAD "UserFiles:\t0\nUserBufs:\t0\n" TAIL,
	  "an io_uring without a table has no registered file" },
	{ 6018, true, HEAD "UserFiles:\t2\n    1: /dev/full\n" TAIL,
	  "a row with a path is a registered file" },
	{ 6018, false, HEAD "UserFiles:\t2\nUserBufs:\t0\n" TAIL,
	  "from Linux 6.14 a table without rows is empty" },
	{ 6018, true, HEAD, "a kernel that says nothing hides a file" },
	{ 5015, true, HEAD "UserFiles:\t2\nUserBufs:\t0\n" TAIL,
	  "before Linux 6.14 a table without rows belongs to a busy ring" },
	{ 5015, false,
	  HEAD "UserFiles:\t2\n    0: <none>\n    1: <none>\nUserBufs:\t0\n",
	  "a table of empty places has no registered file" },
	{ 5015, false,
	  HEAD "UserFiles:\t1\n    0: <none>\nUserBufs:\t1\n"
	       "    0: 0x7f00/4096\n" TAIL,
	  "a registered buffer is no file" },
	{ 5015, true,
	  HEAD "UserFiles:\t2\n    0: <none>\n    1: full\nUserBufs:\t0\n",
	  "a row with a name is a registered file" },
	{ 5015, true,
	  HEAD "UserFiles:\t2\n    0: <none>\nUserBufs:\t0\n    1: full\n"
	       "UserBufs:\t0\n",
	  "a file name with line breaks does not hide the next row" },
};

int main(void)
{
	plan_none();
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		ok(egs_fdinfo_has_registered(texts[i].text, texts[i].kernel) ==
			   texts[i].has_registered,
		   "%s", texts[i].title);
	return done_testing();
}
