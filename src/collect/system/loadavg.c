/* SPDX-License-Identifier: MIT
 *
 * collect/system/loadavg.c - /proc/loadavg: number of tasks that run or wait for a disk
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     three averages and a fraction
 * Gives:    levels; averages in thousandths of a task
 * Owns:     a descriptor
 * Fails:    never, because the file always exists
 * Why:      There are two sources. The number of running tasks is current and takes 1 us to read,
 *           so it is read as often as requested; the averages change every 5 s.
 */
#include "collect/counter/source.h"
#include "collect/system/formats.h"
#include "collect/system/sources.h"

enum { ONE, FIVE, FIFTEEN, RUNNABLE, TASKS };

static const struct metric load_metrics[] = {
	[ONE] = {"load.1m", "mtasks",
		 "threads of the machine that run, wait for a CPU or wait for I/O; mean of the "
		 "last minute"},
	[FIVE] = {"load.5m", "mtasks",
		  "threads of the machine that run, wait for a CPU or wait for I/O; mean of the "
		  "last 5 minutes"},
	[FIFTEEN] = {"load.15m", "mtasks",
		     "threads of the machine that run, wait for a CPU or wait for I/O; mean of the "
		     "last 15 minutes"},
};

static const struct metric task_metrics[] = {
	[RUNNABLE] = {"tasks.runnable", "tasks",
		      "threads of the machine that run or wait for a CPU"},
	[TASKS] = {"tasks", "tasks", "threads of the machine"},
};

/* Parses "12.34" in thousandths. */
static bool scan_thousandths(struct scan *scan, uint64_t *ret_value)
{
	uint64_t whole, hundredths;

	if (!scan_u64(scan, &whole) || !scan_text(scan, ".") || !scan_u64(scan, &hundredths) ||
	    whole > UINT32_MAX || hundredths > 99)
		return false;
	*ret_value = whole * 1000 + hundredths * 10;
	return true;
}

uint64_t loadavg_parse(const char *text, size_t length, uint64_t *values)
{
	struct scan rest = scan_of(text, length);
	uint64_t valid = 0;

	for (unsigned int i = ONE; i <= FIFTEEN; i++) {
		if (!scan_thousandths(&rest, &values[i]))
			return valid;
		valid |= 1u << i;
	}
	if (scan_u64(&rest, &values[RUNNABLE]) && scan_text(&rest, "/") &&
	    scan_u64(&rest, &values[TASKS]))
		valid |= 1u << RUNNABLE | 1u << TASKS;
	return valid;
}

const struct source loadavg_source = {
	.name = "load",
	.file = "/proc/loadavg",
	SOURCE_METRICS(load_metrics),
	.max_hz = 10,
	ONE_FILE_SOURCE(loadavg_parse),
};
const struct source tasks_source = {
	.name = "tasks",
	.file = "/proc/loadavg",
	SOURCE_METRICS(task_metrics),
	ONE_FILE_SOURCE(loadavg_parse),
};
