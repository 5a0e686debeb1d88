/* SPDX-License-Identifier: MIT
 *
 * collect/system/loadavg.c - /proc/loadavg: how many tasks run or wait for a disk
 *
 * Runs in:  a sampler's thread; it is opened in the main thread
 * Gets:     three averages and a fraction   Gives: levels; averages in thousandths of a task
 * Owns:     a descriptor
 * Fails:    never: the file is always there
 * Why two sources: how many run is of this moment, and to read it takes 1 us, so that it is read as often as asked; the
 *           averages change every 5 s
 */
#include "base/array.h"
#include "collect/system/formats.h"
#include "collect/source.h"

enum { ONE, FIVE, FIFTEEN, RUNNABLE, TASKS };

static const struct metric load_metrics[] = {
	[ONE] = {"load.1m", "mtasks",
		 "tasks that run, could, or wait for a disk; average of a minute"},
	[FIVE] = {"load.5m", "mtasks", "… of five"},
	[FIFTEEN] = {"load.15m", "mtasks", "… of fifteen"},
};

static const struct metric task_metrics[] = {
	[RUNNABLE] = {"tasks.runnable", "tasks", "threads that run or could, now"},
	[TASKS] = {"tasks", "tasks", "threads there are"},
};

/* "12.34" in thousandths */
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

static void read_loadavg(struct source_state *state, struct tick *tick)
{
	one_file_read(state, tick, loadavg_parse);
}

extern const struct source loadavg_source, tasks_source;
const struct source loadavg_source = {
	.name = "load",
	.file = "/proc/loadavg",
	SOURCE_METRICS(load_metrics),
	.most_hz = 10,
	.things_most = 1,
	.own_bytes = sizeof(struct one_file),
	.open = one_file_open,
	.read = read_loadavg,
	.close = one_file_close,
};
const struct source tasks_source = {
	.name = "tasks",
	.file = "/proc/loadavg",
	SOURCE_METRICS(task_metrics),
	.things_most = 1,
	.own_bytes = sizeof(struct one_file),
	.open = one_file_open,
	.read = read_loadavg,
	.close = one_file_close,
};
