/* SPDX-License-Identifier: MIT
 *
 * collect/guest/region.c - the shared memory of one guest: its size, its options, its heartbeat
 *
 * Runs in:  the recorder, in the thread that reads the rings
 * Gets:     a pid, the size that a collector wants, the guest's options
 * Gives:    a sealed memfd and its mapping
 * Owns:     the mapping
 * Fails:    opening returns -errno if even the smallest region is refused
 * Why:      The recorder creates the memory, because growing a memfd in the guest would kill a
 *           program that has `ulimit -f` (SIGXFSZ). The memfd is sealed, so that the program cannot
 *           shrink it while the recorder reads (SIGBUS).
 */
#include "collect/guest/region.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "collect/guest/robust_region.h"
#include "collect/host_clocks.h"
#include "collect/time_namespace.h"

/* Sizes, tried in this order. Pages that are never written cost no memory. 8 MiB hold 5 ms of calls
 * without a pause. */
static const struct {
	uint32_t count, bytes;
} region_sizes[] = {{128, 16 << 20}, {128, 8 << 20}, {64, 1 << 20},
		    {16, 256 << 10}, {4, 64 << 10},  {1, 64 << 10}};

enum { USUAL_BYTES = 8 << 20 };

void guest_region_init(struct guest_region *region, pid_t pid, uint32_t ring_bytes)
{
	region->shift_ns = time_namespace_shift_ns((uint32_t)pid);
	region->max_ring = ring_bytes ? ring_bytes : USUAL_BYTES;
}

static int make_region(size_t bytes, struct ring_region **ret_region, int *ret_fd)
{
	int fd = memfd_create("duet-rings", MFD_CLOEXEC | MFD_ALLOW_SEALING), error;
	struct ring_region *region;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		goto fail;
	region = robust_region_map(fd, bytes);
	if (!region)
		goto fail;
	*ret_region = region;
	*ret_fd = fd;
	return 0;
fail:
	error = -errno;
	close(fd);
	return error;
}

void guest_region_beat(const struct guest_region *region, uint64_t now_ns)
{
	atomic_store_explicit(&region->shared->beat_ns, now_ns + (uint64_t)region->shift_ns,
			      memory_order_relaxed);
}

/* Ring times are TSC ticks, which a time namespace does not shift. Without a TSC they are
 * CLOCK_MONOTONIC, which must not be shifted. */
static int check_clock(const struct guest_region *region, const struct recording *recording,
		       pid_t pid)
{
	if (!region->shift_ns || recording->tsc)
		return 0;
	return error_set(-ENOTSUP,
			 "process %d: its time namespace shifts CLOCK_MONOTONIC, and this machine "
			 "has no TSC to use instead; start it without a time namespace",
			 (int)pid);
}

/* Writes the head of a new region. The magic number comes last. */
static void fill_head(const struct guest_region *region, const struct recording *recording)
{
	struct ring_region *shared = region->shared;

	shared->version = RING_VERSION;
	shared->ring_count = region->ring_count;
	shared->ring_bytes = region->ring_bytes;
	shared->clock = recording->tsc ? RING_CLOCK_TSC : RING_CLOCK_MONOTONIC;
	shared->options = region->options;
	memcpy(shared->numbers, region->numbers, sizeof(region->numbers));
	guest_region_beat(region, host_clocks_now_ns());
	robust_region_own(shared);
	shared->magic = RING_MAGIC;
}

int guest_region_open(struct guest_region *region, const struct recording *recording, pid_t pid,
		      int *ret_fd)
{
	struct stat about;
	int error = check_clock(region, recording, pid);

	if (error)
		return error;
	for (size_t i = 0; i < ARRAY_COUNT(region_sizes); i++) {
		size_t bytes = ring_region_bytes(region_sizes[i].count, region_sizes[i].bytes);

		if (region_sizes[i].bytes > region->max_ring)
			continue;
		error = make_region(bytes, &region->shared, ret_fd);
		if (error)
			continue;
		region->bytes = bytes;
		region->inode = fstat(*ret_fd, &about) == 0 ? about.st_ino : 0;
		region->ring_count = region_sizes[i].count;
		region->ring_bytes = region_sizes[i].bytes;
		fill_head(region, recording);
		return 0;
	}
	return error_set(error, "shared memory for process %d: %s", (int)pid, strerror(-error));
}

void guest_region_close(struct guest_region *region)
{
	if (region->shared)
		robust_region_unmap(region->shared, region->bytes);
	region->shared = NULL;
}
