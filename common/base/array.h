/* array.h - how many elements an array has, and arrays that grow
 *
 * Slurm's private headers define another ARRAY_SIZE: plugins that include them
 * include grow.h instead.
 */
#ifndef EGS_BASE_ARRAY_H
#define EGS_BASE_ARRAY_H

#include "common/base/grow.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
