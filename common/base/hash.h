/* hash.h - FNV-1a: a 64-bit checksum of bytes, strings and numbers
 *
 *	uint64_t sum = EGS_HASH_START;
 *
 *	sum = egs_hash_text(sum, job->partition);
 *	sum = egs_hash_u64(sum, job->nodes);
 *
 * The checksum detects changes and fills hash tables.  An adversary can find
 * collisions.  Do not store the checksum: it may differ in the next release.
 */
#ifndef EGS_BASE_HASH_H
#define EGS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define EGS_HASH_START UINT64_C(14695981039346656037)
#define EGS_HASH_PRIME UINT64_C(1099511628211)

static inline uint64_t egs_hash(uint64_t sum, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	/* clang's analyzer does not see the single bytes of an integer. */
	for (size_t i = 0; i < n; i++) /* NOLINTNEXTLINE(clang-analyzer-*) */
		sum = (sum ^ p[i]) * EGS_HASH_PRIME;
	return sum;
}

/* The end of the string counts: "ab", "c" and "a", "bc" differ.  NULL is "". */
static inline uint64_t egs_hash_text(uint64_t sum, const char *text)
{
	for (; text && *text; text++)
		sum = (sum ^ (unsigned char)*text) * EGS_HASH_PRIME;
	return sum * EGS_HASH_PRIME;
}

/* Hash a number in one step, eight times as fast as byte by byte.  The shift
 * brings its high bits down; a product alone would not.
 */
static inline uint64_t egs_hash_u64(uint64_t sum, uint64_t number)
{
	sum = (sum ^ number) * EGS_HASH_PRIME;
	return sum ^ sum >> 29;
}

#endif
