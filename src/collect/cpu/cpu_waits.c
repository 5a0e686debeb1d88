/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/cpu_waits.c - who is off its processor, and where it waits
 *
 * Runs in:  the recorder
 * Gets:     switches
 * Owns:     the list of who waits
 * Fails:    without a stack
 * Why:      a stack does not change while its thread is blocked, so one look at it is enough; the row that it
 *           went is held back for that, at most a second.
 */
#include "collect/cpu/cpu_private.h"

#include "base/array.h"
#include "collect/host_clocks.h"

enum {
	LOOK_AFTER_NS = 200000, /* who is back sooner is not worth a look */
	LOOK_SHARE = 400,       /* of the time: a quarter of a percent */
	LOOK_NS_MOST = 1000000, /* that may be saved up */
	HELD_MOST_NS = 1000000000
};

void cpu_put_switch(struct cpu *cpu, uint32_t thread, const struct event_switch *row)
{
	struct trace_source source = {.source = thread, .clock = CLOCK_ID_MONOTONIC};

	trace_writer_row(cpu->recording->writer, EVENT_SWITCH, &source, row);
}

/* That it went. until_ns: it was away up to then; a look that ended later may have seen something else. */
static void put_wait(struct cpu *cpu, struct process_thread *thread, uint64_t until_ns)
{
	struct thread_wait *wait = &thread->wait;
	struct event_switch row = {.time = wait->since_ns,
				   .previous = thread->row.id,
				   .cpu = wait->cpu,
				   .reason = SWITCH_BLOCKED};

	if (wait->looked_ns < until_ns) {
		row.stack = wait->stack;
		row.wait_string = wait->wait_string;
		row.holder = wait->holder;
	}
	if (wait->since_ns && !wait->is_written)
		cpu_put_switch(cpu, thread->row.id, &row);
	wait->is_written = true;
}

/* Held back until somebody has looked where it waits, or it comes back. */
void cpu_begin_wait(struct cpu *cpu, struct process *process, struct process_thread *thread,
		    uint64_t time_ns, uint32_t processor)
{
	put_wait(cpu, thread, 0);
	thread->wait = (struct thread_wait){.since_ns = time_ns, .cpu = processor};
	if (array_grow(cpu->waiting, cpu->waiting_capacity, cpu->waiting_count + 1))
		put_wait(cpu, thread, 0);
	else
		cpu->waiting[cpu->waiting_count++] =
			(struct waiting){process->row.pid, thread->row.tid, time_ns};
}

void cpu_end_wait(struct cpu *cpu, struct process_thread *thread, uint64_t time_ns)
{
	put_wait(cpu, thread, time_ns);
	thread->wait = (struct thread_wait){0};
}

static struct process_thread *find_waiting(const struct cpu *cpu, const struct waiting *waiting,
					   struct process **ret_process)
{
	struct process *process = processes_find(cpu->processes, waiting->pid);
	struct process_thread *thread =
		process ? hash_map_find_pointer(&process->threads, waiting->tid) : NULL;

	*ret_process = process;
	return thread && thread->wait.since_ns == waiting->since_ns && !thread->wait.is_written
		       ? thread
		       : NULL;
}

static void give_time(struct cpu *cpu)
{
	uint64_t now_ns = host_clocks_now_ns();

	cpu->look_ns += cpu->looked_ns ? (now_ns - cpu->looked_ns) / LOOK_SHARE : LOOK_NS_MOST;
	if (cpu->look_ns > LOOK_NS_MOST)
		cpu->look_ns = LOOK_NS_MOST;
	cpu->looked_ns = now_ns;
}

static void spend(struct cpu *cpu, uint64_t ns)
{
	cpu->look_ns -= ns < cpu->look_ns ? ns : cpu->look_ns;
}

/* drained_ns: all that happened before is known. True: nothing more is to be found out about it. */
static bool look_at(struct cpu *cpu, const struct waiting *waiting, uint64_t drained_ns)
{
	struct process *process;
	struct process_thread *thread = find_waiting(cpu, waiting, &process);
	struct thread_wait *wait;
	struct cpu_wait found;
	uint64_t now_ns;

	if (!thread)
		return true;
	wait = &thread->wait;
	now_ns = host_clocks_now_ns();
	if (!wait->looked_ns && cpu->look_ns && now_ns - wait->since_ns > LOOK_AFTER_NS) {
		if (cpu_look_at_blocked(cpu, process, waiting->tid, &found)) {
			wait->stack = found.stack;
			wait->wait_string = found.wait_string;
			wait->holder = found.holder;
		}
		wait->looked_ns = host_clocks_now_ns();
		spend(cpu, wait->looked_ns - now_ns);
		return false;
	}
	if ((wait->looked_ns && wait->looked_ns < drained_ns) ||
	    now_ns - wait->since_ns > HELD_MOST_NS) {
		put_wait(cpu, thread, drained_ns);
		return true;
	}
	return false;
}

void cpu_look_at_waiting(struct cpu *cpu, uint64_t drained_ns)
{
	size_t kept = 0;

	give_time(cpu);

	for (size_t i = 0; i < cpu->waiting_count; i++)
		if (!look_at(cpu, &cpu->waiting[i], drained_ns))
			cpu->waiting[kept++] = cpu->waiting[i];
	cpu->waiting_count = kept;
}

void cpu_put_all_waits(struct cpu *cpu)
{
	for (size_t i = 0; i < cpu->waiting_count; i++) {
		struct process *process;
		struct process_thread *thread = find_waiting(cpu, &cpu->waiting[i], &process);

		if (thread)
			put_wait(cpu, thread, UINT64_MAX);
	}
	cpu->waiting_count = 0;
}
