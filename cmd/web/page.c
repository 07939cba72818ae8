/* page.c - the files of the page, which the build puts into the programs */
#include <stdbool.h>
#include <string.h>

#include "cmd/web/page.h"
#include "cmd/web/page_bytes.h"
#include "common/base/array.h"

static const struct egs_page_file files[] = { EGS_PAGE_FILES };

const struct egs_page_file *egs_page_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (strcmp(files[i].name, name) == 0)
			return &files[i];
	return NULL;
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t len = strlen(name), tail = strlen(suffix);

	return len > tail && strcmp(name + len - tail, suffix) == 0;
}

static void write_policy(FILE *out)
{
	fputs("<meta http-equiv=\"Content-Security-Policy\" content=\""
	      "default-src 'none'; img-src data:; style-src",
	      out);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (has_suffix(files[i].name, ".css"))
			fprintf(out, " '%s'", files[i].hash);
	fputs("; script-src", out);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (has_suffix(files[i].name, ".js"))
			fprintf(out, " '%s'", files[i].hash);
	fputs("\">\n", out);
}

/* In a script element only '<' could end the data. */
static void write_data(FILE *out, const char *json)
{
	fputs("<script type=\"application/json\" id=\"egs-data\">", out);
	for (; *json; json++)
		if (*json == '<')
			fputs("\\u003c", out);
		else
			fputc(*json, out);
	fputs("</script>\n", out);
}

/* Write the file that a line of page.html names after 'before', in 'tag'.
 * False: the line names none.
 */
static bool write_named_file(FILE *out, const char *line, size_t len,
			     const char *before, const char *tag)
{
	const size_t skip = strlen(before);
	const struct egs_page_file *file;
	char name[64];
	size_t n = 0;

	if (len < skip || strncmp(line, before, skip) != 0)
		return false;
	while (skip + n < len && line[skip + n] != '"' && n < sizeof(name) - 1)
		n++;
	memcpy(name, line + skip, n);
	name[n] = '\0';
	file = egs_page_find(name);
	if (!file)
		return false;
	fprintf(out, "<%s>", tag);
	fwrite(file->bytes, 1, file->len, out);
	fprintf(out, "</%s>\n", tag);
	return true;
}

static void write_line(FILE *out, const char *line, size_t len,
		       const char *json)
{
	if (write_named_file(out, line, len, "<link rel=\"stylesheet\" href=\"",
			     "style") ||
	    write_named_file(out, line, len, "<script src=\"", "script"))
		return;
	fwrite(line, 1, len, out);
	if (len > 5 && strncmp(line, "<meta charset", 13) == 0)
		write_policy(out);
	if (len > 9 && strncmp(line, "<noscript", 9) == 0)
		write_data(out, json);
}

void egs_page_write(FILE *out, const char *json)
{
	const struct egs_page_file *page = egs_page_find("page.html");
	size_t at = 0;

	while (page && at < page->len) {
		const char *line = (const char *)page->bytes + at;
		const char *end = memchr(line, '\n', page->len - at);
		size_t len = end ? (size_t)(end - line) + 1 : page->len - at;

		write_line(out, line, len, json);
		at += len;
	}
}
