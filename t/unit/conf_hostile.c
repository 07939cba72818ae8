/* conf_hostile.c - egs.conf that is not a file, is endless or includes itself
 */
#include <sys/stat.h>

#include "common/conf/internal.h"
#include "t/lib/unit/conf_file.h"
#include "t/lib/unit/tap.h"

#define MIB (1u << 20)

static void refused_with(const char *sentence, const char *file)
{
	struct egs_conf *conf = NULL;

	is_int(egs_conf_load(&conf, "egs.conf", &conf_problems), -1,
	       "%s: refused", file);
	ok(!conf, "%s: there is no configuration", file);
	is_int((intmax_t)conf_problems.stored, 1, "%s: one problem", file);
	is_str(conf_problems.list[0].err.msg, sentence,
	       "%s: the sentence names the problem", file);
	unlink("egs.conf");
}

/* A file of 'size' times 'byte', and 'end'. */
static void fill_file(size_t size, char byte, const char *end)
{
	char *text = malloc(size + strlen(end) + 1);

	if (!text)
		err(1, "malloc");
	memset(text, byte, size);
	memcpy(text + size, end, strlen(end) + 1);
	conf_write("egs.conf", text);
	free(text);
}

static void no_files(void)
{
	refused_with("egs.conf cannot be read: No such file or directory",
		     "a missing file");
	if (mkfifo("egs.conf", 0600) < 0)
		err(1, "mkfifo");
	refused_with("egs.conf is not a regular file",
		     "a pipe without a writer");
	if (symlink("/dev/zero", "egs.conf") < 0)
		err(1, "symlink");
	refused_with("egs.conf is not a regular file", "an endless device");
	if (symlink("egs.conf", "egs.conf") < 0)
		err(1, "symlink");
	refused_with(
		"egs.conf cannot be read: Too many levels of symbolic links",
		"a link to itself");
	if (mkdir("dir", 0700) < 0 || symlink("dir", "egs.conf") < 0)
		err(1, "dir");
	refused_with("egs.conf is a directory, not a file", "a directory");
}

static void long_files(void)
{
	fill_file(MIB, 'x', "\n");
	refused_with("egs.conf:1: the line is longer than 65536 bytes",
		     "a line of 1 MiB");
	fill_file(MIB, 'x', "");
	refused_with("egs.conf:1: the line is longer than 65536 bytes",
		     "a line of 1 MiB without a newline");
	fill_file(EGS_CONF_BYTES_MAX, '\n', "\n");
	refused_with("egs.conf is too big, biggest is 4194304 bytes",
		     "a file of more than 4 MiB");
	fill_file(MIB, '\n', "=");
	refused_with("egs.conf:1048577: '=' needs a key before it",
		     "a mistake after a million lines");
	conf_write_bytes("egs.conf", "Port=1\nMode=\0observe\n", 20);
	refused_with("egs.conf has a NUL byte on line 2; it is not text",
		     "a NUL byte");
	fill_file(4, '\\', "\n");
	refused_with("egs.conf:1: '\\\\\\' is not Key=Value (lists have no "
		     "blanks)",
		     "a line of backslashes");
}

static void includes(void)
{
	char name[32];
	char text[32];

	conf_write("egs.conf", "\nInclude ./egs.conf\n");
	refused_with("egs.conf:2: Include ./egs.conf: the file includes itself",
		     "a file that includes itself");
	conf_write("a.conf", "Include b.conf\n");
	conf_write("b.conf", "Include egs.conf\n");
	conf_write("egs.conf", "Include a.conf\n");
	refused_with("b.conf:1: Include egs.conf: the file includes itself",
		     "three files in a circle");
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "d%d.conf", i);
		snprintf(text, sizeof(text), "Include d%d.conf\n", i + 1);
		conf_write(name, text);
	}
	conf_write("egs.conf", "Include d0.conf\n");
	refused_with("d7.conf:1: Include d8.conf exceeds the limit of 64 files "
		     "or 8 levels",
		     "files that include each other nine levels deep");
	conf_write("egs.conf", "Include dir\n");
	refused_with("egs.conf:1: dir is a directory, not a file",
		     "an included directory");
	conf_write("egs.conf", "Include \"no file\"\n");
	refused_with("egs.conf:1: no file cannot be read: No such file or "
		     "directory",
		     "an included file that is missing");
}

/* Eight files, each of which includes the next eight times. */
static void fan_out(void)
{
	struct egs_conf *conf = NULL;

	for (int i = 0; i < 8; i++) {
		char text[8 * 16 + 1];
		char name[] = "f0.conf";

		name[1] = (char)('0' + i + 1);
		for (int j = 0; j < 8; j++)
			snprintf(text + 16 * (size_t)j, 17, "Include %s\n",
				 name);
		name[1] = (char)('0' + i);
		conf_write(name, text);
	}
	conf_write("f8.conf", "\n");
	is_int(egs_conf_load(&conf, "f0.conf", &conf_problems), -1,
	       "16 million inclusions are refused");
	is_str(conf_problems.list[0].err.msg,
	       "f7.conf:3: Include f8.conf exceeds the limit of 64 files or "
	       "8 levels",
	       "the 65th file is refused");
}

static void relative(void)
{
	struct egs_conf *conf = NULL;

	conf_write("dir/egs.conf", "Include more.conf\n");
	conf_write("dir/more.conf", "Port=7000\n");
	conf_write("more.conf", "Port=7001\n");
	is_int(egs_conf_load(&conf, "dir/egs.conf", &conf_problems), 0,
	       "a relative Include is beside the file that names it");
	is_int(conf ? (intmax_t)egs_conf_policy(conf)->port : 0, 7000,
	       "a file of that name in the working directory is not read");
	egs_conf_free(conf);
	unlink("dir/egs.conf");
	unlink("dir/more.conf");
}

int main(void)
{
	plan_none();
	conf_enter();
	no_files();
	long_files();
	includes();
	relative();
	fan_out();
	conf_leave();
	return done_testing();
}
