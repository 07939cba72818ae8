/* page.h - the files of the page, which the build puts into the programs
 *
 * page.html names its style and its scripts by relative addresses, so the page
 * works under any path.  egs-report writes the same page as one file.
 */
#ifndef EGS_WEB_PAGE_H
#define EGS_WEB_PAGE_H

#include <stddef.h>
#include <stdio.h>

struct egs_page_file {
	const char *name, *type; /* "page.js", "text/javascript" */
	const char *hash;	 /* "sha256-...", for a security policy */
	const unsigned char *bytes;
	size_t len;
};

/* The file of that name; NULL: there is none. */
const struct egs_page_file *egs_page_find(const char *name);

/* Write the page with all its files and with 'json', the data of a report, in
 * one HTML file.  Its security policy forbids every request and every script
 * but its own.
 */
void egs_page_write(FILE *out, const char *json);

#endif
