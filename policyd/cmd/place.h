/* place.h - where the daemon of the site is */
#ifndef EGS_CMD_PLACE_H
#define EGS_CMD_PLACE_H

#define EGS_PLACE_MAX 512

/* Its socket in the RunDir of the site's egs.conf.  Without a file, or with a
 * bad one, that is the default.
 */
struct egs_place {
	char path[EGS_PLACE_MAX];
};

struct egs_place egs_place_of_site(void);

#endif
