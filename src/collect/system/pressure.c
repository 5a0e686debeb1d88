/* SPDX-License-Identifier: MIT
 *
 * collect/system/pressure.c - /proc/pressure: time in which tasks waited for a processor, memory or
 * a disk
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     total= of each line, microseconds
 * Gives:    ns in which some tasks, or all of them, waited
 * Owns:     three descriptors
 * Fails:    kernels that were built or booted without PSI (psi=0) have no values
 * Why:      total is read instead of avg10, because the difference of two totals is exact and an
 *           average covers the kernel's own window of 10 s
 */
#include <unistd.h>

#include "collect/counter/source.h"
#include "collect/system/formats.h"
#include "collect/system/sources.h"

enum { SOME, FULL };
enum { FILES = 3 };
static const char *const files[FILES] = {"cpu", "memory", "io"};

struct own {
	int fds[FILES];
};

#define WAITED .unit = "ns", .kind = METRIC_TOTAL, .limit = LIMIT_SECOND
static const struct metric metrics[] = {
	[SOME] =
		{"pressure.some",
		 .help = "time in which at least one task waited for a resource: cpu, memory or io",
		 WAITED},
	[FULL] = {"pressure.full",
		  .help = "time in which all tasks that had work waited for a resource: cpu, "
			  "memory or io",
		  WAITED},
};

static bool find_total(struct scan line, uint64_t *ret_ns)
{
	struct scan word;
	uint64_t us;

	while (scan_word(&line, &word))
		if (scan_text(&word, "total=") && scan_u64(&word, &us))
			return !__builtin_mul_overflow(us, (uint64_t)1000, ret_ns);
	return false;
}

uint64_t pressure_parse(const char *text, size_t length, uint64_t *values)
{
	struct scan rest = scan_of(text, length), line;
	uint64_t valid = 0;

	while (scan_line(&rest, &line)) {
		if (scan_text(&line, "some ") && find_total(line, &values[SOME]))
			valid |= 1u << SOME;
		else if (scan_text(&line, "full ") && find_total(line, &values[FULL]))
			valid |= 1u << FULL;
	}
	return valid;
}

static bool open_pressure(struct source_state *state, const struct tick *tick)
{
	struct own *own = state->own;
	bool has_any = false;

	for (size_t i = 0; i < FILES; i++) {
		own->fds[i] = tick_open(tick, "/proc/pressure/%s", files[i]);
		has_any |= own->fds[i] >= 0;
	}
	return has_any;
}

static void read_pressure(struct source_state *state, struct tick *tick)
{
	const struct own *own = state->own;

	metric_instances_begin_round(&state->instances);
	for (size_t i = 0; i < FILES; i++) {
		uint64_t values[MAX_METRICS] = {0}, valid;
		long length = own->fds[i] < 0 ? -1 : tick_read(tick, own->fds[i]);
		struct metric_instance *instance;
		bool is_new;

		/* With psi=0 the files exist and cannot be read. */
		if (length <= 0)
			continue;
		valid = pressure_parse(tick->text, (size_t)length, values);
		/* "full" is always 0 for the processors of the whole machine, so it is left out. */
		if (i == 0)
			valid &= ~(uint64_t)(1u << FULL);
		instance = metric_instances_named(&state->instances, files[i], strlen(files[i]),
						  &is_new);
		if (instance)
			metric_instance_sample(&state->instances, instance, tick->time_ns, values,
					       valid);
	}
	metric_instances_end_round(&state->instances, tick->time_ns);
}

static void close_pressure(struct source_state *state)
{
	const struct own *own = state->own;

	for (size_t i = 0; i < FILES; i++)
		if (own->fds[i] >= 0)
			close(own->fds[i]);
}

const struct source pressure_source = {
	.name = "pressure",
	.file = "/proc/pressure",
	SOURCE_METRICS(metrics),
	.max_hz = 100,
	.max_instances = FILES,
	.own_bytes = sizeof(struct own),
	.open = open_pressure,
	.read = read_pressure,
	.close = close_pressure,
};
