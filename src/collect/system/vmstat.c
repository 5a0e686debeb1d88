/* SPDX-License-Identifier: MIT
 *
 * collect/system/vmstat.c - /proc/vmstat: page faults and swapping
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     cumulative counts of pages and KiB
 * Gives:    faults and bytes
 * Owns:     a descriptor
 * Fails:    a line that the kernel lacks is absent
 * Why:      max_hz limits the rate, because the kernel adds up 150 counters of all processors for
 *           this file, 19 us here: at 1000 Hz that would be 2 % of a processor
 */
#include <unistd.h>

#include "base/array.h"
#include "collect/counter/source.h"
#include "collect/system/formats.h"
#include "collect/system/sources.h"

enum { FAULTS, MAJOR, SWAP_IN, SWAP_OUT, PAGE_IN, PAGE_OUT, KILLS };

static const struct metric metrics[] = {
	[FAULTS] = {"memory.faults", "faults",
		    "page faults of all processes, minor and major (pgfault)",
		    .kind = METRIC_TOTAL},
	[MAJOR] = {"memory.faults.major", "faults",
		   "page faults of all processes that had to wait for a disk (pgmajfault)",
		   .kind = METRIC_TOTAL},
	[SWAP_IN] = {"swap.in", "bytes", "bytes read from swap (pswpin)", .kind = METRIC_TOTAL},
	[SWAP_OUT] = {"swap.out", "bytes", "bytes written to swap (pswpout)", .kind = METRIC_TOTAL},
	[PAGE_IN] = {"paging.in", "bytes", "bytes that the machine read from disks (pgpgin)",
		     .kind = METRIC_TOTAL},
	[PAGE_OUT] = {"paging.out", "bytes", "bytes that the machine wrote to disks (pgpgout)",
		      .kind = METRIC_TOTAL},
	[KILLS] = {"memory.oom_kills", "tasks",
		   "processes that the kernel killed because memory had run out (oom_kill)",
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

const struct source vmstat_source = {
	.name = "vm",
	.file = "/proc/vmstat",
	SOURCE_METRICS(metrics),
	.max_hz = 10,
	ONE_FILE_SOURCE(vmstat_parse),
};
