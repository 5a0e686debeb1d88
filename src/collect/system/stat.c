/* SPDX-License-Identifier: MIT
 *
 * collect/system/stat.c - /proc/stat: processor time by state
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     cumulative ticks
 * Gives:    shares of the ticks that have passed; switches, forks, interrupts
 * Owns:     a descriptor
 * Fails:    a processor that is off line has no row
 * Why:      Times are in ns. A tick is 1/100 s for all readers of this file, whatever the kernel's
 *           own tick is. Ratios refer to the counted ticks, not to the elapsed time, because the
 *           kernel counts late for sleeping processors.
 */
#include <unistd.h>

#include "base/array.h"
#include "collect/counter/source.h"
#include "collect/system/formats.h"
#include "collect/system/sources.h"

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
	[BUSY] = {"cpu.busy",
		  .help = "share of the time in which a CPU was neither idle nor waiting for I/O",
		  OF_ALL},
	[USER] = {"cpu.user",
		  .help = "share of the time in which a CPU ran user code, guests of virtual "
			  "machines included (user + nice)",
		  OF_ALL},
	[SYSTEM] = {"cpu.system",
		    .help = "share of the time in which a CPU ran the operating system's kernel, "
			    "interrupts excluded (system)",
		    OF_ALL},
	[IOWAIT] = {"cpu.iowait",
		    .help = "share of the time in which a CPU was idle while a task waited for I/O "
			    "(iowait)",
		    OF_ALL},
	[IRQ] = {"cpu.irq",
		 .help = "share of the time in which a CPU handled interrupts (irq + softirq)",
		 OF_ALL},
	[STEAL] = {"cpu.steal",
		   .help = "share of the time in which the hypervisor ran something else on a "
			   "virtual CPU (steal)",
		   OF_ALL},
	[GUEST] = {"cpu.guest",
		   .help = "share of the time in which a CPU ran guests of virtual machines (guest "
			   "+ guest_nice)",
		   OF_ALL},
	[TOTAL] = {NULL},
	[SWITCHES] = {"switches", "switches", "context switches of all CPUs (ctxt)",
		      .kind = METRIC_TOTAL},
	[FORKS] = {"forks", "tasks",
		   "processes and threads that were created on the machine (processes)",
		   .kind = METRIC_TOTAL},
	[INTERRUPTS] = {"interrupts", "interrupts", "interrupts that all CPUs handled (intr)",
			.kind = METRIC_TOTAL},
	[RUNNING] = {"tasks.running", "tasks",
		     "threads of the machine that run or wait for a CPU (procs_running)"},
	[BLOCKED] = {"tasks.blocked", "tasks",
		     "threads of the machine that wait for I/O (procs_blocked)"},
};

/* Columns: user nice system idle iowait irq softirq steal guest guest_nice; older kernels lack the
 * last ones. */
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
	/* Linux 2.6 has at least five columns. */
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

	metric_instances_begin_round(&state->instances);
	while (stat_next_cpu(&rest, ticks_hz, &row)) {
		bool is_all = row.number == CPU_ALL, is_new;
		struct metric_instance *instance = metric_instances_numbered(
			&state->instances, is_all ? 0 : row.number + 1, &is_new);

		if (!instance)
			continue;
		instance->of.cpu = is_all ? 0 : (uint32_t)row.number + 1;
		if (is_all)
			row.valid |= stat_parse(rest.at, (size_t)(rest.end - rest.at), row.values);
		metric_instance_sample(&state->instances, instance, tick->time_ns, row.values,
				       row.valid);
	}
	metric_instances_end_round(&state->instances, tick->time_ns);
}

const struct source stat_source = {
	.name = "cpu",
	.file = "/proc/stat",
	SOURCE_METRICS(metrics),
	.max_hz = 100, /* the file counts in steps of 10 ms */
	.max_instances = 1025,
	.own_bytes = sizeof(struct one_file),
	.open = one_file_open,
	.read = read_stat,
	.close = one_file_close,
};
