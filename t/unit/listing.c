/* listing.c - tables for a person and for a script */
#include <stdlib.h>

#include "cmd/lib/listing.h"
#include "t/lib/unit/tap.h"

static const char *const columns[] = { "JOB", "NOTE", "GPUS", "COST" };

static struct egs_listing make_listing(const char *note)
{
	struct egs_listing list = EGS_LISTING("jobs", columns);

	egs_listing_add(&list, "7");
	egs_listing_add(&list, note);
	egs_listing_add_number(&list, "16");
	egs_listing_add_number(&list, "1.50");
	egs_listing_add(&list, "81_4");
	egs_listing_add(&list, "b");
	egs_listing_add_number(&list, "8");
	egs_listing_add(&list, "-");
	list.units = "GPU=x,COST=EUR";
	return list;
}

/* What is printed, malloc'ed. */
static char *print_listing(struct egs_listing *list,
			   struct egs_listing_style style)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct egs_err err = { "" };

	if (egs_listing_print(list, &style, out, &err) < 0)
		fprintf(out, "%s", err.msg);
	fclose(out);
	return text;
}

static void prints(const char *note, struct egs_listing_style style,
		   const char *want, const char *title)
{
	struct egs_listing list = make_listing(note);
	char *text = print_listing(&list, style);

	is_str(text, want, "%s", title);
	free(text);
	egs_listing_clear(&list);
}

static void for_a_person(void)
{
	prints("a", (struct egs_listing_style){ .fields = NULL },
	       "JOB  NOTE GPUS COST(EUR)\n"
	       "7    a      16      1.50\n"
	       "81_4 b       8         -\n",
	       "numbers are aligned right, and the header has units");
	prints("a", (struct egs_listing_style){ .fields = "cost,job" },
	       "COST(EUR) JOB\n"
	       "     1.50 7\n"
	       "        - 81_4\n",
	       "-o without a width aligns numbers right");
	prints("a", (struct egs_listing_style){ .fields = "cost%-5,job%3" },
	       "COST  JOB\n"
	       "1.50    7\n"
	       "-     81_\n",
	       "a header leaves out a unit that does not fit its width");
	prints("a", (struct egs_listing_style){ .bar = "GPUS" },
	       "JOB  NOTE GPUS COST(EUR)\n"
	       "7    a      16      1.50 "
	       "████████████████████\n"
	       "81_4 b       8         - ██████████\n",
	       "a bar shows the value of its column");
}

static void for_a_script(void)
{
	prints("a|b", (struct egs_listing_style){ .parsable = true },
	       "JOB|NOTE|GPUS|COST\n7|a?b|16|1.50\n81_4|b|8|-\n",
	       "a parsable header has no units");
	prints("=a", (struct egs_listing_style){ .csv = true },
	       "JOB,NOTE,GPUS,COST\n7,'=a,16,1.50\n81_4,b,8,-\n",
	       "a CSV header has no units");
	prints("a",
	       (struct egs_listing_style){ .json = true, .fields = "cost" },
	       "{\"jobs\": [\n  {\"cost\": 1.50},\n  {\"cost\": \"-\"}\n]}\n",
	       "JSON has no units");
}

static void long_texts(void)
{
	char note[201], cut[512];
	struct egs_listing list;
	char *text;

	memset(note, 'x', sizeof(note) - 1);
	note[sizeof(note) - 1] = '\0';
	snprintf(cut, sizeof(cut), "7    %.*s+   16      1.50\n", 99, note);
	list = make_listing(note);
	text = print_listing(&list,
			     (struct egs_listing_style){ .no_header = true });
	ok(strstr(text, cut) == text, "a text is cut so that the line fits");
	is_int((intmax_t)strcspn(text, "\n"), EGS_LISTING_WIDTH,
	       "the line has exactly the width");
	free(text);
	list.shown = "JOB,COST";
	text = print_listing(&list, (struct egs_listing_style){ .all = false });
	is_str(text, "JOB  COST(EUR)\n7         1.50\n81_4         -\n",
	       "a person sees the columns that are shown");
	free(text);
	text = print_listing(&list, (struct egs_listing_style){ .all = true });
	ok(strstr(text, note) && strstr(text, "GPUS"),
	   "--long prints all columns, and no text cut");
	free(text);
	text = print_listing(&list,
			     (struct egs_listing_style){ .parsable = true });
	ok(strstr(text, note) && strstr(text, "|GPUS|"),
	   "a script gets all columns");
	free(text);
	egs_listing_clear(&list);
}

int main(void)
{
	plan_none();
	for_a_person();
	for_a_script();
	long_texts();
	return done_testing();
}
