/* export.h - how a plugin shows Slurm its API, and nothing else
 *
 * Everything is compiled with hidden visibility; what Slurm's plugin loader
 * looks up by name says EGS_EXPORT.  t/0200-plugin-symbols.t has the list.
 */
#ifndef EGS_PLUGINS_EXPORT_H
#define EGS_PLUGINS_EXPORT_H

#define EGS_EXPORT __attribute__((visibility("default")))

#endif
