/* SPDX-License-Identifier: MIT
 *
 * collect/system/process_memory.c - /proc/PID/status and smaps_rollup: what of a process is where in memory
 *
 * Runs in:  a sampler's thread; it is opened in the main thread
 * Gets:     lines in kB, which are KiB   Gives: levels in bytes
 * Owns:     nothing beside process_files.c
 * Fails:    as process_files.c
 * Why status once a second: to write it takes the kernel 12 us, eight times what statm takes.
 * Why smaps is slow: it walks all pages with the lock that the process's own page faults take: 1 ms for each GiB of
 *           small ones. It is read by request alone.
 */
#include "base/array.h"
#include "collect/system/formats.h"
#include "collect/system/process_files.h"

enum { PEAK, ANONYMOUS, SWAPPED, THREADS };
static const struct metric status_metrics[] = {
	[PEAK] = {NULL}, /* with what statm says: process.c */
	[ANONYMOUS] = {"process.memory.anonymous", "bytes", "RssAnon: of no file"},
	[SWAPPED] = {"process.memory.swap", "bytes", "VmSwap"},
	[THREADS] = {"process.threads", "tasks", "Threads"},
};

enum { PROPORTIONAL, SWAP_PROPORTIONAL, UNIQUE };
static const struct metric smaps_metrics[] = {
	[PROPORTIONAL] = {"process.memory.pss", "bytes",
			  "Pss: a page of n processes counts 1/n in each"},
	[SWAP_PROPORTIONAL] = {"process.memory.pss.swap", "bytes", "SwapPss"},
	[UNIQUE] = {"process.memory.uss", "bytes", "Private_Clean + Private_Dirty: its own alone"},
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

static uint64_t parse_status(struct source_state *state, struct tick *tick, size_t place,
			     size_t length, uint64_t *values)
{
	const struct process_files *files = state->own;
	uint64_t valid = status_parse(tick->text, length, values);

	if (valid >> PEAK & 1)
		tracked_raise_peak(tick->tracked, &files->view, place, values[PEAK]);
	return valid;
}

static uint64_t parse_smaps(struct source_state *state, struct tick *tick, size_t place,
			    size_t length, uint64_t *values)
{
	return smaps_rollup_parse(tick->text, length, values);
}

static bool open_smaps(struct source_state *state, const struct tick *tick)
{
	((struct process_files *)state->own)->refused =
		"what of its memory is the process's own alone is absent: "
		"/proc/PID/smaps_rollup is another user's; record as root";
	return process_files_open(state, tick);
}

static void read_status(struct source_state *state, struct tick *tick)
{
	process_files_read(state, tick, parse_status);
}

static void read_smaps(struct source_state *state, struct tick *tick)
{
	process_files_read(state, tick, parse_smaps);
}

extern const struct source process_status_source, process_smaps_source;
const struct source process_status_source = {
	.name = "status",
	.file = "/proc/[pid]/status",
	SOURCE_METRICS(status_metrics),
	.group = GROUP_PROCESSES,
	.most_hz = 1,
	.is_paced = true,
	.things_most = TRACKED_MOST,
	.own_bytes = sizeof(struct process_files),
	.open = process_files_open,
	.read = read_status,
	.close = process_files_close,
};
const struct source process_smaps_source = {
	.name = "smaps",
	.file = "/proc/[pid]/smaps_rollup",
	SOURCE_METRICS(smaps_metrics),
	.group = GROUP_SLOW,
	.by_request = true,
	.things_most = TRACKED_MOST,
	.own_bytes = sizeof(struct process_files),
	.open = open_smaps,
	.read = read_smaps,
	.close = process_files_close,
};
