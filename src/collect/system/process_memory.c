/* SPDX-License-Identifier: MIT
 *
 * collect/system/process_memory.c - /proc/PID/status and smaps_rollup: memory of each recorded
 * process by type
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     lines in kB, which means KiB
 * Gives:    levels in bytes
 * Owns:     nothing beside process_files.c
 * Fails:    as process_files.c
 * Why:      status is read once a second, because the kernel needs 12 us to write it, eight times
 *           as long as statm. smaps_rollup is read only on request, because the kernel walks all
 *           pages under the lock that the process's page faults take: 1 ms per GiB of small pages
 */
#include "base/array.h"
#include "collect/system/formats.h"
#include "collect/system/process_files.h"
#include "collect/system/sources.h"

enum { PEAK, ANONYMOUS, SWAPPED, THREADS };
static const struct metric status_metrics[] = {
	[PEAK] = {NULL}, /* combined with statm in process.c */
	[ANONYMOUS] = {"process.memory.anonymous", "bytes",
		       "memory of the process in RAM that has no file behind it, such as its heap "
		       "(RssAnon)"},
	[SWAPPED] =
		{"process.memory.swap", "bytes",
		 "memory of the process that was moved to swap, shared memory excluded (VmSwap)"},
	[THREADS] = {"process.threads", "tasks", "threads of the process (Threads)"},
};

enum { PROPORTIONAL, SWAP_PROPORTIONAL, UNIQUE };
static const struct metric smaps_metrics[] = {
	[PROPORTIONAL] = {"process.memory.pss", "bytes",
			  "memory of the process in RAM; a page that n processes share counts 1/n "
			  "in each (Pss)"},
	[SWAP_PROPORTIONAL] = {"process.memory.pss.swap", "bytes",
			       "memory of the process in swap; a page that n processes share "
			       "counts 1/n in each (SwapPss)"},
	[UNIQUE] = {"process.memory.uss", "bytes",
		    "memory in RAM that only this process uses (Private_Clean + Private_Dirty)"},
};

uint64_t status_parse(const char *text, size_t length, uint64_t *values)
{
	static const struct scan_field fields[] = {[PEAK] = {"VmHWM", 1024},
						   [ANONYMOUS] = {"RssAnon", 1024},
						   [SWAPPED] = {"VmSwap", 1024},
						   [THREADS] = {"Threads", 1}};

	return scan_fields(text, length, fields, ARRAY_COUNT(fields), values);
}

uint64_t smaps_rollup_parse(const char *text, size_t length, uint64_t *values)
{
	static const struct scan_field fields[] = {
		{"Pss", 1024}, {"SwapPss", 1024}, {"Private_Clean", 1024}, {"Private_Dirty", 1024}};
	uint64_t found[ARRAY_COUNT(fields)] = {0};
	uint64_t valid = scan_fields(text, length, fields, ARRAY_COUNT(fields), found);

	values[PROPORTIONAL] = found[0];
	values[SWAP_PROPORTIONAL] = found[1];
	if ((valid & 12) != 12 || __builtin_add_overflow(found[2], found[3], &values[UNIQUE]))
		return valid & 3;
	return (valid & 3) | 1u << UNIQUE;
}

static uint64_t read_status(struct source_state *state, struct tick *tick, size_t place,
			    uint64_t *values)
{
	const struct process_files *files = state->own;
	uint64_t valid = status_parse(tick->text, tick->length, values);

	if (valid >> PEAK & 1)
		tracked_raise_peak(tick->tracked, &files->view, place, values[PEAK]);
	return valid;
}

const struct source process_status_source = {
	.name = "status",
	.file = "/proc/[pid]/status",
	SOURCE_METRICS(status_metrics),
	.group = GROUP_PROCESSES,
	.max_hz = 1,
	.is_paced = true,
	.read_one = read_status,
	PROCESS_FILES_SOURCE,
};
const struct source process_smaps_source = {
	.name = "smaps",
	.file = "/proc/[pid]/smaps_rollup",
	SOURCE_METRICS(smaps_metrics),
	.group = GROUP_SLOW,
	.by_request = true,
	.parse = smaps_rollup_parse,
	.refused = "private memory of a process is absent, because /proc/PID/smaps_rollup belongs "
		   "to another user; record as root",
	PROCESS_FILES_SOURCE,
};
