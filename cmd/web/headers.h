/* headers.h - the headers of every answer to a browser */
#ifndef EGS_WEB_HEADERS_H
#define EGS_WEB_HEADERS_H

#include <microhttpd.h>

/* Add the type of the content, and what a browser must not do: load anything
 * from elsewhere, guess types, tell others the address, keep the answer.
 */
void egs_web_add_headers(struct MHD_Response *response, const char *type);

#endif
