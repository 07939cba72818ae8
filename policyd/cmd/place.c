/* place.c - where the daemon of the site is */
#include <stdio.h>

#include "policyd/cmd/place.h"
#include "policyd/wire/conf.h"

struct egs_place egs_place_of_site(void)
{
	static struct egs_conf_problems problems;
	const char *given = NULL;
	struct egs_conf *conf = NULL;
	struct egs_place place;

	if (egs_conf_load(&conf, EGS_SYSCONFDIR "/egs.conf", &problems) == 0)
		given = egs_conf_policy(conf)->run_dir;
	snprintf(place.path, sizeof(place.path), "%s/policyd.sock",
		 given ? given : EGS_RUN_DIR);
	egs_conf_free(conf);
	return place;
}
