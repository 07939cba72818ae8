/* settings.h - keys of egs.conf that plugins need inside slurmctld
 *
 * The keys are read once, when slurmctld starts.  A valid egs.conf is
 * remembered in StateSaveLocation, in the file egs_settings with lines
 * KEY=VALUE.  If egs.conf is missing or has a mistake at the next start, the
 * remembered keys stay in force: unmanaged jobs keep their PreemptBase, and the
 * plugins find the table.
 */
#ifndef EGS_SHARED_SETTINGS_H
#define EGS_SHARED_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

struct egs_settings {
	char *run_dir;	    /* RunDir; NULL: there was never a valid file */
	char *preempt_base; /* PreemptBase; NULL: none */
	uint32_t stale_after_s;
};

/* Fill in '*settings', which is all zero, from egs.conf or else from the
 * remembered file.  Log what is wrong with egs.conf; 'missing_is_fine': not
 * that it is missing.
 */
void egs_settings_load(struct egs_settings *settings, const char *plugin_name,
		       bool missing_is_fine);

#endif
