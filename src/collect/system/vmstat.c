/* SPDX-License-Identifier: MIT
 *
 * collect/system/vmstat.c - /proc/vmstat: page faults and swapping
 *
 * Runs in:  a sampler's thread; it is opened in the main thread
 * Gets:     cumulated counts of pages and KiB   Gives: faults and bytes
 * Owns:     a descriptor
 * Fails:    a line that the kernel lacks is absent
 * Why most_hz: the kernel adds up 150 counters of all processors to write it, 19 us here: at 1000 Hz that were 2 % of
 *           a processor
 */
#include <unistd.h>

#include "base/array.h"
#include "collect/system/formats.h"
#include "collect/source.h"

enum { FAULTS, MAJOR, SWAP_IN, SWAP_OUT, PAGE_IN, PAGE_OUT, KILLS };

static const struct metric metrics[] = {
	[FAULTS] = {"memory.faults", "faults", "pgfault", .kind = METRIC_TOTAL},
	[MAJOR] = {"memory.faults.major", "faults", "pgmajfault: that read a disk",
		   .kind = METRIC_TOTAL},
	[SWAP_IN] = {"swap.in", "bytes", "pswpin pages", .kind = METRIC_TOTAL},
	[SWAP_OUT] = {"swap.out", "bytes", "pswpout pages", .kind = METRIC_TOTAL},
	[PAGE_IN] = {"paging.in", "bytes", "pgpgin KiB: read from disks", .kind = METRIC_TOTAL},
	[PAGE_OUT] = {"paging.out", "bytes", "pgpgout KiB: written to disks", .kind = METRIC_TOTAL},
	[KILLS] = {"memory.oom_kills", "tasks", "oom_kill: for want of memory",
		   .kind = METRIC_TOTAL},
};

uint64_t vmstat_parse(const char *text, size_t length, uint64_t *values)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const struct scan_field fields[] = {
		[FAULTS] = {"pgfault", 1},    [MAJOR] = {"pgmajfault", 1},
		[SWAP_IN] = {"pswpin", page}, [SWAP_OUT] = {"pswpout", page},
		[PAGE_IN] = {"pgpgin", 1024}, [PAGE_OUT] = {"pgpgout", 1024},
		[KILLS] = {"oom_kill", 1}};

	return scan_fields(text, length, fields, ARRAY_COUNT(fields), values);
}

static void read_vmstat(struct source_state *state, struct tick *tick)
{
	one_file_read(state, tick, vmstat_parse);
}

extern const struct source vmstat_source;
const struct source vmstat_source = {
	.name = "vm",
	.file = "/proc/vmstat",
	SOURCE_METRICS(metrics),
	.most_hz = 10,
	.things_most = 1,
	.own_bytes = sizeof(struct one_file),
	.open = one_file_open,
	.read = read_vmstat,
	.close = one_file_close,
};
