/* dcgm_map.c - which jobs have which GPUs, in files for dcgm-exporter */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "noded/dcgm_map.h"
#include "t/lib/unit/conf_file.h"
#include "t/lib/unit/tap.h"

static struct egs_dcgm_map map;

/* The text of a file with '+' for newlines; "none" if it does not exist. */
static const char *read_map(const char *name)
{
	static char text[128];
	char path[64];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "map/%s", name);
	f = fopen(path, "re");
	if (!f)
		return "none";
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	for (char *at = text; (at = strchr(at, '\n'));)
		*at = '+';
	return text;
}

static ino_t get_inode(const char *name)
{
	struct stat is;
	char path[64];

	snprintf(path, sizeof(path), "map/%s", name);
	return stat(path, &is) == 0 ? is.st_ino : 0;
}

static int count_entries(void)
{
	DIR *dir = opendir("map");
	int n = -2; /* . and .. */

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static void test_files(void)
{
	struct egs_err why;
	ino_t first;

	ok(egs_dcgm_map_open(&map, "map", &why) == 0,
	   "a directory that is missing is made");
	egs_dcgm_map_begin(&map);
	egs_dcgm_map_add(&map, "0", 12);
	egs_dcgm_map_add(&map, "1", 12);
	egs_dcgm_map_add(&map, "3.5", 13);
	egs_dcgm_map_add(&map, "3.5", 14);
	egs_dcgm_map_add(&map, "3.5", 13);
	ok(egs_dcgm_map_end(&map, &why) == 0, "files are written");
	is_str(read_map("0"), "12+", "a GPU has the id of its job");
	is_str(read_map("3.5"), "13+14+",
	       "a GPU instance has the id of each of its jobs once");
	is_int(count_entries(), 3, "a GPU without a job has no file");
	first = get_inode("0");
	egs_dcgm_map_begin(&map);
	egs_dcgm_map_add(&map, "0", 12);
	egs_dcgm_map_add(&map, "1", 99);
	egs_dcgm_map_end(&map, &why);
	is_str(read_map("1"), "99+", "a GPU that changes hands has the new id");
	is_str(read_map("3.5"), "none",
	       "the file of a GPU that no job has any more is removed");
	ok(get_inode("0") == first, "a file that is right is not written");
}

static void test_names(void)
{
	static const char *const names[] = { "", "../x", "-1", "1/2", ".egs" };
	struct egs_err why;

	egs_dcgm_map_begin(&map);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		egs_dcgm_map_add(&map, names[i], 1);
	is_int(egs_dcgm_map_end(&map, &why), 0,
	       "a name that is not of a GPU is no error");
	is_int(count_entries(), 0, "a name that is not of a GPU has no file");
	for (uint32_t i = 0; i < 100; i++)
		egs_dcgm_map_add(&map, "7", i);
	egs_dcgm_map_end(&map, &why);
	is_str(read_map("7"), "0+1+2+3+4+5+6+7+",
	       "a GPU has eight jobs at most");
}

/* A directory in the place of a file cannot be replaced. */
static void test_failures(void)
{
	struct egs_err why = { "" };

	mkdir("map/2", 0700);
	egs_dcgm_map_begin(&map);
	egs_dcgm_map_add(&map, "2", 5);
	egs_dcgm_map_add(&map, "4", 5);
	is_int(egs_dcgm_map_end(&map, &why), -1,
	       "a file that cannot be written is told: %s", why.msg);
	is_str(read_map("4"), "5+", "other files are written all the same");
	is_int(count_entries(), 2, "nothing half written stays");
	rmdir("map/2");
	is_int(egs_dcgm_map_end(&map, &why), 0,
	       "a file that could not be written is tried again");
	is_str(read_map("2"), "5+", "a file is written when that is possible");
}

/* An egs-noded that was killed leaves its files. */
static void test_left_files(void)
{
	struct egs_dcgm_map next;
	struct egs_err why;

	conf_write("map/.egs-3", "half");
	conf_write("map/README", "of the site");
	is_int(egs_dcgm_map_open(&next, "map", &why), 0,
	       "a directory with files of a dead process is used");
	is_int(count_entries(), 1,
	       "files of a dead process are removed, and no others");
	egs_dcgm_map_begin(&next);
	egs_dcgm_map_add(&next, "0", 77);
	egs_dcgm_map_end(&next, &why);
	egs_dcgm_map_close(&next);
	is_str(read_map("0"), "none", "files are removed at the end");
	is_str(read_map("README"), "of the site",
	       "a file of the site is left alone");
	unlink("map/README");
}

static void test_refused(void)
{
	struct egs_dcgm_map bad;
	struct egs_err why;

	chmod("map", 0777);
	is_int(egs_dcgm_map_open(&bad, "map", &why), -1,
	       "a directory that others may write to is refused: %s", why.msg);
	is_int(bad.fd, -1, "a directory that is refused is not open");
	is_int(egs_dcgm_map_end(&bad, &why), 0,
	       "without a directory nothing is written");
	egs_dcgm_map_close(&bad);
	is_int(egs_dcgm_map_open(&bad, "no/where", &why), -1,
	       "a directory whose parent is missing is refused: %s", why.msg);
}

int main(void)
{
	plan_none();
	conf_enter();
	test_files();
	test_names();
	test_failures();
	test_left_files();
	test_refused();
	conf_leave();
	return done_testing();
}
