/* headers.c - the headers of every answer to a browser */
#include "cmd/web/headers.h"
#include "common/base/array.h"

static const struct {
	const char *name, *value;
} always[] = {
	{ "Content-Security-Policy",
	  "default-src 'none'; script-src 'self'; style-src 'self'; "
	  "connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
	  "form-action 'none'; frame-ancestors 'self'" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Cache-Control", "no-store" },
	{ "Connection", "close" },
};

void egs_web_add_headers(struct MHD_Response *response, const char *type)
{
	MHD_add_response_header(response, "Content-Type", type);
	for (size_t i = 0; i < ARRAY_SIZE(always); i++)
		MHD_add_response_header(response, always[i].name,
					always[i].value);
}
