/* SPDX-License-Identifier: MIT
 *
 * import/nsys/cpu.c - calls of the operating system's libraries, CPU samples, switches
 *
 * Runs in:  our own process
 * Gets:     OSRT_API, COMPOSITE_EVENTS, SCHED_EVENTS and their call chains
 * Gives:    calls, samples, switches
 * Owns:     the stacks of calls
 * Fails:    -ENOMEM; -EBADMSG of SQLite, or with the table and the row
 * Why samples are merged with their chains: each sample has a chain of its own, 29 709 frames for
 *           2619 samples, so a table of all stacks would grow with the file
 */
#include <errno.h>
#include <stdint.h>

#include "base/error.h"
#include "event/event.h"
#include "import/nsys/stacks.h"
#include "import/target.h"

/* ---- calls ---- */

enum { OS_START, OS_END, OS_THREAD, OS_NAME, OS_RESULT, OS_CHAIN };
static const char *const os_columns[] = {
	"start", "end", "globalTid", "nameId", "returnValue", "callchainId",
};

struct os_calls {
	struct nsys *nsys;
	struct nsys_stacks stacks;
};

static int on_os_call(void *context, const struct sqlite_cursor *row)
{
	struct os_calls *calls = context;
	struct nsys *nsys = calls->nsys;
	struct event_api call = {
		.type = API_TYPE_OS,
		.result = (int32_t)sqlite_cursor_number(row, OS_RESULT),
		.stack = nsys_stacks_get(&calls->stacks, sqlite_cursor_number(row, OS_CHAIN)),
	};
	int error = sqlite_cursor_take_times(row, OS_START, &call.begin, &call.end);

	/* the start of the process, which has no thread */
	if (!error && !((uint64_t)sqlite_cursor_number(row, OS_THREAD) & 0xffffff))
		return 0;
	if (!error)
		error = nsys_machine_thread(nsys, (uint64_t)sqlite_cursor_number(row, OS_THREAD),
					    &call.thread);
	if (!error)
		error = nsys_texts_string(nsys, sqlite_cursor_number(row, OS_NAME),
					  &call.function_string);
	if (!error)
		error = import_target_call(nsys->target, &call);
	nsys->rows += !error;
	return error;
}

static int read_os_calls(struct nsys *nsys)
{
	static const struct sqlite_query query = {"OSRT_API", SQLITE_COLUMNS(os_columns, 4)};
	struct os_calls calls = {.nsys = nsys};
	int error = nsys_stacks_read(nsys, "OSRT_CALLCHAINS", false, &calls.stacks);

	if (!error)
		error = nsys_each_row(nsys, &query, on_os_call, &calls);
	nsys_stacks_close(&calls.stacks);
	return error;
}

/* ---- samples ---- */

enum { SAMPLE_ID, SAMPLE_TIME, SAMPLE_CPU, SAMPLE_THREAD, SAMPLE_CYCLES };
static const char *const sample_columns[] = {"id", "start", "cpu", "globalTid", "cpuCycles"};

struct samples {
	struct nsys *nsys;
	struct nsys_chains chains;
	bool has_chain;
	int64_t chain; /* the current chain */
	uint32_t stack;
	bool is_kernel;
	uint32_t cycles; /* the source's name */
};

/* Goes on to the chain of this id, if it exists. */
static int find_chain(struct samples *samples, int64_t id)
{
	int status = 1;

	while (samples->has_chain && samples->chain < id && status > 0) {
		status = nsys_chains_next(&samples->chains, &samples->chain, &samples->stack,
					  &samples->is_kernel);
		samples->has_chain = status > 0;
	}
	return status < 0 ? status : 0;
}

static int on_sample(void *context, const struct sqlite_cursor *row)
{
	struct samples *samples = context;
	struct nsys *nsys = samples->nsys;
	const int64_t id = sqlite_cursor_number(row, SAMPLE_ID);
	/* 1 where no counter was there */
	const int64_t cycles = sqlite_cursor_number(row, SAMPLE_CYCLES);
	struct event_cpu_sample sample = {.weight = cycles > 1 ? (uint64_t)cycles : 1,
					  .source_string = cycles > 1 ? samples->cycles : 0,
					  .cpu = (uint32_t)sqlite_cursor_number(row, SAMPLE_CPU)};
	int64_t time;
	int error = find_chain(samples, id);

	if (!error)
		error = sqlite_cursor_take_number(row, SAMPLE_TIME, "a time", 0, INT64_MAX - 1,
						  &time);
	if (!error)
		error = nsys_machine_thread(
			nsys, (uint64_t)sqlite_cursor_number(row, SAMPLE_THREAD), &sample.thread);
	if (error)
		return error;
	sample.time = (uint64_t)time;
	if (samples->has_chain && samples->chain == id) {
		sample.stack = samples->stack;
		sample.mode = samples->is_kernel ? MODE_KERNEL : MODE_USER;
	}
	error = import_target_sample(nsys->target, &sample);
	nsys->rows += !error;
	return error;
}

static int read_samples(struct nsys *nsys)
{
	static const struct sqlite_query query = {"COMPOSITE_EVENTS",
						  SQLITE_COLUMNS(sample_columns, 2), NULL, "id"};
	struct samples samples = {.nsys = nsys, .has_chain = true, .chain = -1};
	int error = nsys_chains_open(nsys, "SAMPLING_CALLCHAINS", false, &samples.chains);

	if (!error)
		error = import_target_text(nsys->target, "cycles", &samples.cycles);
	if (!error)
		error = nsys_each_row(nsys, &query, on_sample, &samples);
	nsys_chains_close(&samples.chains);
	return error;
}

/* ---- switches ---- */

enum { SWITCH_TIME, SWITCH_CPU, SWITCH_IN, SWITCH_THREAD, SWITCH_STATE };
static const char *const switch_columns[] = {
	"start", "cpu", "isSchedIn", "globalTid", "threadState",
};

/* Why a thread in this state does not run. Most files have no state: 0. */
static uint32_t reason_of(int64_t state)
{
	static const uint32_t reasons[] = {
		[1] = SWITCH_PREEMPTED,                       /* running */
		[2] = SWITCH_BLOCKED,                         /* interruptible */
		[3] = SWITCH_BLOCKED,                         /* uninterruptible */
		[4] = SWITCH_BLOCKED,                         /* stopped */
		[5] = SWITCH_EXITED,    [7] = SWITCH_BLOCKED, /* waiting */
	};

	return state > 0 && state < (int64_t)(sizeof(reasons) / sizeof(*reasons)) ? reasons[state]
										  : 0;
}

static int on_switch(void *context, const struct sqlite_cursor *row)
{
	struct nsys *nsys = context;
	const uint64_t global = (uint64_t)sqlite_cursor_number(row, SWITCH_THREAD);
	const bool is_in = sqlite_cursor_number(row, SWITCH_IN);
	struct event_switch change = {.cpu = (uint32_t)sqlite_cursor_number(row, SWITCH_CPU)};
	uint32_t thread;
	int64_t time;
	int error = sqlite_cursor_take_number(row, SWITCH_TIME, "a time", 0, INT64_MAX - 1, &time);

	if (!error)
		error = nsys_machine_thread(nsys, global, &thread);
	if (error)
		return error;
	change.time = (uint64_t)time;
	change.previous = is_in ? 0 : thread;
	change.next = is_in ? thread : 0;
	change.reason = is_in ? 0 : reason_of(sqlite_cursor_number(row, SWITCH_STATE));
	error = import_target_switch(nsys->target, &change);
	nsys->rows += !error;
	return error;
}

int nsys_read_cpu(struct nsys *nsys)
{
	static const struct sqlite_query switches = {"SCHED_EVENTS",
						     SQLITE_COLUMNS(switch_columns, 4)};
	int error = read_os_calls(nsys);

	if (!error)
		error = read_samples(nsys);
	return error ? error : nsys_each_row(nsys, &switches, on_switch, nsys);
}
