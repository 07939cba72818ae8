/* random.h - numbers that look random and are the same on every machine */
#ifndef EGS_T_RANDOM_H
#define EGS_T_RANDOM_H

#include <stdint.h>

/* The next number below 'below', which is not 0. */
static inline uint32_t random_below(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % below;
}

#endif
