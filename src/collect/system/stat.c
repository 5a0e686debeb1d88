/* SPDX-License-Identifier: MIT
 *
 * collect/system/stat.c - /proc/stat: where the time of processors went
 *
 * Runs in:  a sampler's thread; it is opened in the main thread
 * Gets:     cumulated ticks   Gives: parts of all ticks that passed; switches, forks, interrupts
 * Owns:     a descriptor
 * Fails:    an absent processor (taken off line) has no row
 * Why in ns: a tick is 1/100 s for every reader of this file, whatever the kernel's own are. Ratios are of the ticks that
 *           were counted, not of the time: of processors that sleep the kernel counts late.
 */
#include <unistd.h>

#include "base/array.h"
#include "collect/system/formats.h"
#include "collect/source.h"

enum {
	BUSY,
	USER,
	SYSTEM,
	IOWAIT,
	IRQ,
	STEAL,
	GUEST,
	TOTAL,
	SWITCHES,
	FORKS,
	INTERRUPTS,
	RUNNING,
	BLOCKED
};

#define OF_ALL .unit = "ns", .kind = METRIC_PART, .of = TOTAL, .limit = LIMIT_WHOLE
static const struct metric metrics[] = {
	[BUSY] = {"cpu.busy", .help = "total - idle - iowait", OF_ALL},
	[USER] = {"cpu.user", .help = "user + nice; guests are in it", OF_ALL},
	[SYSTEM] = {"cpu.system", .help = "system", OF_ALL},
	[IOWAIT] = {"cpu.iowait", .help = "iowait: idle, and somebody waits for a disk", OF_ALL},
	[IRQ] = {"cpu.irq", .help = "irq + softirq", OF_ALL},
	[STEAL] = {"cpu.steal", .help = "steal: the hypervisor ran somebody else", OF_ALL},
	[GUEST] = {"cpu.guest", .help = "guest + guest_nice, which are in user and nice too",
		   OF_ALL},
	[TOTAL] = {NULL},
	[SWITCHES] = {"switches", "switches", "ctxt: of threads on processors",
		      .kind = METRIC_TOTAL},
	[FORKS] = {"forks", "tasks", "processes: and threads that were made", .kind = METRIC_TOTAL},
	[INTERRUPTS] = {"interrupts", "interrupts", "intr: the sum", .kind = METRIC_TOTAL},
	[RUNNING] = {"tasks.running", "tasks", "procs_running: on a processor, or could be"},
	[BLOCKED] = {"tasks.blocked", "tasks", "procs_blocked: wait for a disk"},
};

/* user nice system idle iowait irq softirq steal guest guest_nice, of which older kernels lack the last. */
static uint64_t put_ticks(const uint64_t *ticks, uint64_t unit, uint64_t *values)
{
	uint64_t total = 0;

	for (size_t i = 0; i < 8; i++)
		if (__builtin_add_overflow(total, ticks[i], &total))
			return 0;
	if (__builtin_mul_overflow(total, unit, &values[TOTAL]))
		return 0;
	values[BUSY] = (total - ticks[3] - ticks[4]) * unit;
	values[USER] = (ticks[0] + ticks[1]) * unit;
	values[SYSTEM] = ticks[2] * unit;
	values[IOWAIT] = ticks[4] * unit;
	values[IRQ] = (ticks[5] + ticks[6]) * unit;
	values[STEAL] = ticks[7] * unit;
	values[GUEST] = (ticks[8] + ticks[9]) * unit;
	return (1u << (TOTAL + 1)) - 1;
}

bool stat_next_cpu(struct scan *rest, uint64_t ticks_hz, struct format_row *ret_row)
{
	struct format_row row = {.number = CPU_ALL};
	uint64_t ticks[10] = {0};
	struct scan line;
	size_t count = 0;

	if (!scan_line(rest, &line) || !scan_text(&line, "cpu"))
		return false;
	if (line.at < line.end && *line.at != ' ' && !scan_u64(&line, &row.number))
		return false;
	while (count < ARRAY_COUNT(ticks) && scan_u64(&line, &ticks[count]))
		count++;
	/* Linux 2.6 has five of them at least. */
	if (count >= 5)
		row.valid = put_ticks(ticks, 1000000000 / ticks_hz, row.values);
	*ret_row = row;
	return true;
}

uint64_t stat_parse(const char *text, size_t length, uint64_t *values)
{
	static const struct scan_field fields[] = {{"ctxt", 1},
						   {"processes", 1},
						   {"intr", 1},
						   {"procs_running", 1},
						   {"procs_blocked", 1}};

	return scan_fields(text, length, fields, ARRAY_COUNT(fields), values + SWITCHES)
	       << SWITCHES;
}

static void read_stat(struct source_state *state, struct tick *tick)
{
	long length = tick_read(tick, ((struct one_file *)state->own)->fd);
	struct scan rest = scan_of(tick->text, length > 0 ? (size_t)length : 0);
	uint64_t ticks_hz = (uint64_t)sysconf(_SC_CLK_TCK);
	struct format_row row;

	things_begin_round(&state->things);
	while (stat_next_cpu(&rest, ticks_hz, &row)) {
		bool is_all = row.number == CPU_ALL, is_new;
		struct thing *thing =
			things_numbered(&state->things, is_all ? 0 : row.number + 1, &is_new);

		if (!thing)
			continue;
		thing->of.cpu = is_all ? 0 : (uint32_t)row.number + 1;
		if (is_all)
			row.valid |= stat_parse(rest.at, (size_t)(rest.end - rest.at), row.values);
		thing_sample(&state->things, thing, tick->time_ns, row.values, row.valid);
	}
	things_end_round(&state->things, tick->time_ns);
}

extern const struct source stat_source;
const struct source stat_source = {
	.name = "cpu",
	.file = "/proc/stat",
	SOURCE_METRICS(metrics),
	.most_hz = 100, /* it counts in 10 ms */
	.things_most = 1025,
	.own_bytes = sizeof(struct one_file),
	.open = one_file_open,
	.read = read_stat,
	.close = one_file_close,
};
