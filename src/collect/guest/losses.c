/* SPDX-License-Identifier: MIT
 *
 * collect/guest/losses.c - counts of a guest become losses, notes and the guest's own time
 *
 * Runs in:  the recorder, each second and at the end of a guest
 * Gets:     counts in a guest's shared region, and counts of the recorder
 * Gives:    loss rows, notes, the process's row
 * Owns:     nothing; the counts that are written already belong to struct injected
 * Fails:    never; a count that cannot be true is written as one loss with the reason
 *           LOSS_RING_BROKEN
 * Why:      The program can overwrite its counts. So each is compared with the time in which it was
 *           counted, and a count that decreases is ignored.
 */
#include "collect/guest/injected.h"

#include <stdio.h>
#include <string.h>

#include "collect/host_clocks.h"

void injected_put_loss(struct injected *injected, uint32_t thread, uint32_t kind, uint32_t reason,
		       uint64_t count, uint64_t now_ns)
{
	/* A thread cannot lose more than one record per nanosecond. A higher count is
	 * corrupt. */
	bool believed = count <= now_ns - injected->losses.since_ns;
	struct trace_source source = {.source = injected->process->row.id,
				      .clock = CLOCK_ID_MONOTONIC};
	struct event_loss row = {
		.begin = injected->losses.since_ns,
		.end = now_ns,
		.process = injected->process->row.id,
		.thread = thread,
		.kind = believed ? kind : EVENT_PADDING,
		.reason = believed ? reason : LOSS_RING_BROKEN,
		.count = believed ? count : 1,
	};

	trace_writer_row(injected->recording->writer, EVENT_LOSS, &source, &row);
}

static void count_kind(struct injected *injected, struct injected_ring *ring, uint32_t kind,
		       uint32_t reason, uint64_t now_ns)
{
	struct ring_control *control = ring->reader.control;
	bool nested = reason == LOSS_NESTED;
	uint64_t count = atomic_load_explicit(
		nested ? &control->nested[kind] : &control->lost[kind], memory_order_relaxed);
	uint64_t *written = nested ? &ring->nested[kind] : &ring->lost[kind];

	/* Counts only go up. A lower one is corrupt. */
	if (count > *written)
		injected_put_loss(injected, ring->thread.id, kind, reason, count - *written,
				  now_ns);
	*written = count;
}

void injected_count_ring_losses(struct injected *injected, struct injected_ring *ring,
				uint64_t now_ns)
{
	for (uint32_t kind = 0; kind < EVENT_KIND_COUNT; kind++) {
		count_kind(injected, ring, kind, LOSS_RING_FULL, now_ns);
		count_kind(injected, ring, kind, LOSS_NESTED, now_ns);
	}
	if (ring->reader.broken_times) {
		injected_put_loss(injected, ring->thread.id, EVENT_PADDING, LOSS_RING_BROKEN,
				  ring->reader.broken_times, now_ns);
		ring->reader.broken_times = 0;
	}
}

/* Writes and resets a loss that the recorder counted. */
static void put_own_loss(struct injected *injected, uint32_t kind, uint32_t reason, uint64_t *count,
			 uint64_t now_ns)
{
	if (*count)
		injected_put_loss(injected, 0, kind, reason, *count, now_ns);
	*count = 0;
}

/* Returns the increase since the last call. Counts only go up; a lower one is corrupt. */
static uint64_t take_trouble(struct injected *injected, uint32_t trouble)
{
	uint64_t *taken = &injected->losses.trouble[trouble];
	uint64_t count = atomic_load(&injected->region.shared->trouble[trouble]);
	uint64_t more = count > *taken ? count - *taken : 0;

	*taken = count;
	return more;
}

/* Copies the version that the guest wrote; "" if it contains other characters than a version
 * has. */
static void take_python(const struct injected *injected, char ret_text[RING_PYTHON_BYTES])
{
	memcpy(ret_text, injected->region.shared->python_unknown, RING_PYTHON_BYTES);
	ret_text[RING_PYTHON_BYTES - 1] = '\0';
	if (ret_text[strspn(ret_text,
			    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ._-")])
		ret_text[0] = '\0';
}

/* False: this is the end of the table. */
static bool has_text(const struct guest_fact *fact)
{
	return fact->one || fact->many;
}

static void count_facts(struct injected *injected, uint64_t now_ns)
{
	for (const struct guest_fact *fact = injected->kind.facts; fact && has_text(fact); fact++) {
		uint64_t count = take_trouble(injected, fact->trouble);

		injected->losses.facts[fact->trouble] += count;
		if (fact->loses != LOSES_NOTHING && count)
			injected_put_loss(injected, 0,
					  fact->loses == LOSES_LAUNCHES ? EVENT_LAUNCH
									: EVENT_PADDING,
					  LOSS_TRACKING, count, now_ns);
	}
}

static void note_fact(const struct injected *injected, const struct guest_fact *fact,
		      uint64_t count)
{
	uint32_t pid = injected->process->row.pid;
	char text[320];

	if (fact->one)
		snprintf(text, sizeof(text), "%u %.64s: %s", pid, injected->name, fact->one);
	else
		snprintf(text, sizeof(text), "%u %.64s: %llu %s", pid, injected->name,
			 (unsigned long long)count, fact->many);
	recording_note(injected->recording, injected->kind.collector, COLLECTOR_PARTIAL,
		       injected->process->row.id, text);
	if (fact->is_loud)
		recording_warn(injected->recording, text);
}

void injected_note_facts(const struct injected *injected)
{
	for (const struct guest_fact *fact = injected->kind.facts; fact && has_text(fact); fact++)
		if (injected->losses.facts[fact->trouble])
			note_fact(injected, fact, injected->losses.facts[fact->trouble]);
}

void injected_note_untimed_queues(const struct injected *injected)
{
	const uint32_t count = injected->notes.untimed_queues;
	const bool from_start = injected->recording->command != NULL;
	char text[400];

	if (!count || !injected->kind.untimed)
		return;
	snprintf(text, sizeof(text),
		 "the commands of %u %s of process %u (%s) have no device times, because %s", count,
		 count == 1 ? "queue" : "queues", injected->process->row.pid, injected->name,
		 from_start ? injected->kind.untimed->from_start : injected->kind.untimed->before);
	recording_note(injected->recording, injected->kind.collector, COLLECTOR_PARTIAL,
		       injected->process->row.id, text);
}

/* Whether the sum stays within its limit. */
static bool is_possible(uint64_t before, uint64_t more, uint64_t most)
{
	return more <= most && before <= most - more;
}

/* Adds up time that the guests spent without a row of its own. A total above the time of all
 * threads since the process started is corrupt. Totals are compared, not intervals: the guest keeps
 * counting while the recorder reads, so a short interval may contain more time than it lasts. */
static void take_own_time(struct injected *injected)
{
	struct event_process *process = &injected->process->row;
	struct recording *recording = injected->recording;
	uint64_t sections = take_trouble(injected, RING_TROUBLE_SECTIONS);
	uint64_t sections_ns =
		recording_ticks_ns(recording, take_trouble(injected, RING_TROUBLE_SECTIONS_TICKS));
	uint64_t calls = take_trouble(injected, RING_TROUBLE_TIMED_CALLS);
	uint64_t calls_ns =
		recording_ticks_ns(recording, take_trouble(injected, RING_TROUBLE_TIMED_TICKS));
	const uint64_t most_ns =
		(host_clocks_now_ns() - process->begin_ns) * injected->region.ring_count;

	if ((!sections && !calls) ||
	    !is_possible(process->guest_sections_ns, sections_ns, most_ns) ||
	    !is_possible(process->guest_timed_ns, calls_ns, most_ns) ||
	    !is_possible(process->guest_sections, sections, most_ns) ||
	    !is_possible(process->guest_timed_calls, calls, most_ns))
		return;
	process->guest_sections += sections;
	process->guest_sections_ns += sections_ns;
	process->guest_timed_calls += calls;
	process->guest_timed_ns += calls_ns;
	trace_writer_entity(recording->writer, EVENT_PROCESS, process);
}

/* Reads the guest's counts that are not losses. */
static void take_facts(struct injected *injected, uint64_t now_ns)
{
	struct event_process *process = &injected->process->row;
	uint64_t checked = take_trouble(injected, RING_TROUBLE_STACKS_CHECKED);
	uint64_t wrong = take_trouble(injected, RING_TROUBLE_STACKS_WRONG);
	char text[256], version[RING_PYTHON_BYTES];

	/* A guest cannot unwind more than one stack per nanosecond. A higher count is
	 * corrupt. */
	if (checked <= now_ns - injected->losses.since_ns &&
	    wrong <= checked + process->stacks_checked) {
		process->stacks_checked += checked;
		process->stacks_wrong += wrong;
		if (checked || wrong)
			trace_writer_entity(injected->recording->writer, EVENT_PROCESS, process);
	}
	if (!take_trouble(injected, RING_TROUBLE_PYTHON_UNKNOWN) ||
	    injected->process->has_python_note)
		return;
	injected->process->has_python_note = true;
	take_python(injected, version);
	snprintf(text, sizeof(text),
		 "%u %.64s: Python frames are missing, because duet does not support this "
		 "Python%s%s%s; native frames are kept",
		 process->pid, injected->name, version[0] ? " (version " : "", version,
		 version[0] ? ")" : "");
	recording_note(injected->recording, injected->kind.collector, COLLECTOR_PARTIAL,
		       process->id, text);
	recording_warn(injected->recording, text);
}

void injected_count_losses(struct injected *injected, uint64_t now_ns)
{
	const bool is_ranges = strcmp(injected->kind.collector, "ranges") == 0;
	const struct {
		uint32_t trouble, kind, reason;
	} troubles[] = {
		{RING_TROUBLE_NO_RING, is_ranges ? EVENT_RANGE : EVENT_API, LOSS_NO_RING},
		{RING_TROUBLE_TRACKING, EVENT_EXECUTION, LOSS_TRACKING},
		{RING_TROUBLE_NO_RING_LAUNCH, EVENT_LAUNCH, LOSS_NO_RING},
		{RING_TROUBLE_NO_RING_SAMPLE, EVENT_INSTRUCTION_SAMPLE, LOSS_NO_RING},
		{RING_TROUBLE_OBJECTS, EVENT_CODE, LOSS_TRACKING},
		{RING_TROUBLE_STACKS, LOSS_KIND_STACK, LOSS_TRACKING},
		{RING_TROUBLE_NO_RING_COUNTER, EVENT_COUNTER, LOSS_NO_RING},
	};

	for (uint32_t i = 0; i < injected->round.rings_seen; i++)
		injected_count_ring_losses(injected, &injected->rings[i], now_ns);
	for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++) {
		uint64_t count = take_trouble(injected, troubles[i].trouble);

		if (count)
			injected_put_loss(injected, 0, troubles[i].kind, troubles[i].reason, count,
					  now_ns);
	}
	injected_count_left_out(injected, now_ns);
	take_facts(injected, now_ns);
	take_own_time(injected);
	count_facts(injected, now_ns);
	put_own_loss(injected, EVENT_EXECUTION, LOSS_TRACKING, &injected->losses.executions,
		     now_ns);
	put_own_loss(injected, EVENT_CODE, LOSS_TRACKING, &injected->losses.undescribed, now_ns);
	put_own_loss(injected, EVENT_CODE, LOSS_TRACKING, &injected->losses.contents, now_ns);
	put_own_loss(injected, LOSS_KIND_STACK, LOSS_TRACKING, &injected->losses.stacks, now_ns);
	put_own_loss(injected, EVENT_RANGE, LOSS_TRACKING, &injected->ranges.lost, now_ns);
	put_own_loss(injected, EVENT_COUNTER, LOSS_TRACKING, &injected->counters.lost, now_ns);
	put_own_loss(injected, EVENT_PADDING, LOSS_RING_BROKEN, &injected->losses.broken_times,
		     now_ns);
	injected->losses.since_ns = now_ns;
}
