/* SPDX-License-Identifier: MIT
 *
 * bench/bench_stalls.c - EU-stall rows a second and core, beside a tree with locks
 *
 *	bench_stalls [ROUNDS]
 *
 * Gives:    per spread of the rows over kernels: rows a second, medians of interleaved rounds: of
 *           collect/intel/stalls.c with the kernel of each instruction looked up when it is
 *emitted, and of a balanced tree of kernels under a reader-writer lock whose kernels count by
 *           offset under a mutex each, looked up for each row
 * Why:      the tree is what the first description of such a profiler has; its tables of offsets
 *           are arrays here, which is the quickest that they could be
 */
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "collect/intel/stalls.h"
#include "rounds.h"

enum {
	KERNELS = 10000,
	KERNEL_BYTES = 4096,
	HOT = 32, /* instructions of a kernel that are ever found */
	ROWS = 1 << 21,
	EMIT_ROWS = 100000, /* rows between two stalls_emit: a tenth of a second at a million a
			       second */
	MAX_MEASURED = 101
};

struct kernel {
	uint64_t address;
	pthread_mutex_t lock;
	uint32_t counts[KERNEL_BYTES / 16][EU_STALL_REASONS];
};

static struct kernel *kernels;
static uint64_t addresses[KERNELS]; /* … in their order */
static void *tree;
static pthread_rwlock_t tree_lock = PTHREAD_RWLOCK_INITIALIZER;
static uint8_t *rows;
static uint64_t sum; /* so that nothing is left out */

/* Of this thread alone: the machine may have others. */
static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t random_state = 88172645463325252u;

static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Of rank r as often as 1 / r. */
static size_t zipf(const double *sums)
{
	const double wanted = (double)(random_number() >> 11) / (1ull << 53) * sums[KERNELS - 1];
	size_t low = 0, high = KERNELS - 1;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (sums[middle] < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void make_rows(int is_zipf)
{
	static double sums[KERNELS];

	for (size_t i = 0; i < KERNELS; i++)
		sums[i] = (i ? sums[i - 1] : 0) + 1.0 / (double)(i + 1);
	for (size_t i = 0; i < ROWS; i++) {
		const size_t kernel = is_zipf ? zipf(sums) : random_number() % KERNELS;
		const uint64_t address =
			kernels[kernel * 7919 % KERNELS].address + random_number() % HOT * 16;
		const uint64_t words[2] = {address >> EU_STALL_IP_SHIFT | (uint64_t)3 << 53,
					   (uint64_t)1 << (101 - 64)};

		memset(rows + i * EU_STALL_ROW_BYTES, 0, EU_STALL_ROW_BYTES);
		memcpy(rows + i * EU_STALL_ROW_BYTES, words, sizeof(words));
	}
}

/* ---- ours ------------------------------------------------------------------------------------ */

static void on_counts(void *context, uint64_t address, const uint32_t *counts, uint32_t *note)
{
	size_t low = *note ? *note - 1 : 0, high = *note ? low : KERNELS - 1;

	while (low < high) {
		const size_t middle = (low + high + 1) / 2;

		if (addresses[middle] <= address)
			low = middle;
		else
			high = middle - 1;
	}
	*note = (uint32_t)low + 1;
	for (size_t i = 0; i < EU_STALL_REASONS; i++)
		sum += counts[i];
	*(uint64_t *)context += low;
}

static double ours(struct stalls *stalls)
{
	const uint64_t begin_ns = cpu_ns();
	uint64_t found = 0;

	for (size_t i = 0; i < ROWS; i += EMIT_ROWS) {
		const size_t count = ROWS - i < EMIT_ROWS ? ROWS - i : EMIT_ROWS;

		stalls_take(stalls, rows + i * EU_STALL_ROW_BYTES, count * EU_STALL_ROW_BYTES);
		stalls_emit(stalls, on_counts, &found);
	}
	sum += found;
	return ROWS * 1e3 / (double)(cpu_ns() - begin_ns);
}

/* ---- the tree -------------------------------------------------------------------------------- */

static int compare_kernels(const void *left, const void *right)
{
	const struct kernel *a = left, *b = right;

	if (a->address < b->address + KERNEL_BYTES && b->address < a->address + KERNEL_BYTES)
		return 0;
	return a->address < b->address ? -1 : 1;
}

static double theirs(struct stalls *unused)
{
	const struct eu_stall_layout *layout = eu_stall_layout_find(20, 1);
	const uint64_t begin_ns = cpu_ns();

	(void)unused;
	for (size_t i = 0; i < ROWS; i++) {
		static struct kernel wanted;
		struct kernel **found;
		uint64_t words[2];

		memcpy(words, rows + i * EU_STALL_ROW_BYTES, sizeof(words));
		wanted.address = (words[0] & ((1ull << layout->ip_bits) - 1)) << EU_STALL_IP_SHIFT;
		pthread_rwlock_rdlock(&tree_lock);
		/* of one byte: an address is within a kernel */
		found = tfind(&wanted, &tree, compare_kernels);
		if (found) {
			struct kernel *kernel = *found;
			uint32_t *counts = kernel->counts[(wanted.address - kernel->address) / 16 %
							  (KERNEL_BYTES / 16)];

			pthread_mutex_lock(&kernel->lock);
			for (size_t j = 0; j < 4; j++)
				counts[j] += (uint8_t)(words[0] >> (29 + 8 * j));
			for (size_t j = 4; j < EU_STALL_REASONS; j++)
				counts[j] += (uint8_t)(words[1] >> (8 * j - 35));
			pthread_mutex_unlock(&kernel->lock);
		}
		pthread_rwlock_unlock(&tree_lock);
	}
	return ROWS * 1e3 / (double)(cpu_ns() - begin_ns);
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), rounds_compare);
	return values[count / 2];
}

int main(int argc, char **argv)
{
	const size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 9;
	static double values[2][MAX_MEASURED];
	struct rusage usage;

	if (!rounds || rounds > MAX_MEASURED)
		return 2;
	kernels = calloc(KERNELS, sizeof(*kernels));
	rows = malloc((size_t)ROWS * EU_STALL_ROW_BYTES);
	if (!kernels || !rows)
		return 1;
	for (size_t i = 0; i < KERNELS; i++) {
		kernels[i].address = addresses[i] = 0x10000000 + (uint64_t)i * 2 * KERNEL_BYTES;
		pthread_mutex_init(&kernels[i].lock, NULL);
		if (!tsearch(&kernels[i], &tree, compare_kernels))
			return 1;
	}
	for (int is_zipf = 0; is_zipf < 2; is_zipf++) {
		struct stalls *stalls = stalls_new(eu_stall_layout_find(20, 1), NULL);

		if (!stalls)
			return 1;
		make_rows(is_zipf);
		for (size_t i = 0; i < rounds; i++) {
			values[0][i] = ours(stalls);
			values[1][i] = theirs(stalls);
		}
		printf("%s: duet %.1f, tree %.1f million rows a second, ratio %.2f; lost %lu\n",
		       is_zipf ? "Zipf" : "uniform", median(values[0], rounds),
		       median(values[1], rounds),
		       median(values[0], rounds) / median(values[1], rounds), stalls_lost(stalls));
		stalls_free(stalls);
	}
	getrusage(RUSAGE_SELF, &usage);
	fprintf(stderr, "%lu %ld KiB\n", sum, usage.ru_maxrss);
	return 0;
}
