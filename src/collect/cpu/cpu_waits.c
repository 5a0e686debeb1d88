/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/cpu_waits.c - who is off its processor, and where it waits
 *
 * Runs in:  the recorder
 * Gets:     switches
 * Owns:     the list of who waits
 * Fails:    without a stack; what the kernel told is said all the same
 * Why:      a stack does not change while its thread is blocked, so one look at it is enough; the row that it
 *           went is held back for that, at most a second.
 */
#include "collect/cpu/cpu_private.h"

#include "base/array.h"
#include "collect/host_clocks.h"

enum {
	LOOK_AFTER_NS = 200000,   /* who is back sooner is not worth a look */
	LONG_NS = 2000000,        /* such waits are looked at first */
	LOOK_SHARE = 400,         /* of the time … */
	SAMPLED_SHARE = 800,      /* … and of what is sampled */
	LOOK_NS_MOST = 5000000,   /* that may be saved up */
	SHORT_NS_LEAST = 2500000, /* … of which short waits leave so much for long ones */
	HELD_MOST_NS = 1000000000
};

void cpu_put_switch(struct cpu *cpu, uint32_t thread, const struct event_switch *row)
{
	struct trace_source source = {.source = thread, .clock = CLOCK_ID_MONOTONIC};

	trace_writer_row(cpu->recording->writer, EVENT_SWITCH, &source, row);
}

/* A look finds the name of the call, of which the kernel tells more; of an interpreter's lock it knows nothing. */
void cpu_say_wait(const struct thread_wait *wait, bool is_look_valid, struct event_switch *row)
{
	if (is_look_valid) {
		row->stack = wait->stack;
		row->wait_string = wait->wait_string;
		row->holder = wait->holder;
	}
	if (wait->told_stack)
		row->stack = wait->told_stack;
	if (wait->told_string && !(is_look_valid && wait->is_interpreters)) {
		row->wait_string = wait->told_string;
		row->holder = wait->told_holder;
	}
}

/* That it went. until_ns: it was away up to then; a look that ended later may have seen something else. */
static void put_wait(struct cpu *cpu, struct process_thread *thread, uint64_t until_ns)
{
	struct thread_wait *wait = &thread->wait;
	struct event_switch row = {.time = wait->since_ns,
				   .previous = thread->row.id,
				   .cpu = wait->cpu,
				   .reason = SWITCH_BLOCKED};

	cpu_say_wait(wait, wait->looked_ns < until_ns, &row);
	if (wait->since_ns && !wait->is_written)
		cpu_put_switch(cpu, thread->row.id, &row);
	wait->is_written = true;
}

/* Held back until somebody has looked where it waits, or it comes back; not where the kernel has told all of it. */
void cpu_begin_wait(struct cpu *cpu, struct process *process, struct process_thread *thread,
		    uint64_t time_ns, uint32_t processor)
{
	put_wait(cpu, thread, 0);
	thread->wait = (struct thread_wait){.since_ns = time_ns, .cpu = processor};
	cpu_who_holds(cpu, process, thread, time_ns);
	if (thread->wait.told_stack ||
	    array_grow(cpu->waiting, cpu->waiting_capacity, cpu->waiting_count + 1))
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

	cpu->look_ns += cpu->looked_ns ? (int64_t)((now_ns - cpu->looked_ns) / LOOK_SHARE +
						   cpu->sampled_ns / SAMPLED_SHARE)
				       : LOOK_NS_MOST;
	if (cpu->look_ns > LOOK_NS_MOST)
		cpu->look_ns = LOOK_NS_MOST;
	cpu->looked_ns = now_ns;
	cpu->sampled_ns = 0;
}

/* A look may take more than there is: it is paid for by those that do not come after it. */
static bool has_time(const struct cpu *cpu, uint64_t waited_ns)
{
	return cpu->look_ns > (waited_ns < LONG_NS ? SHORT_NS_LEAST : 0);
}

static void look(struct cpu *cpu, struct process *process, uint32_t tid, struct thread_wait *wait)
{
	uint64_t begin_ns = host_clocks_own_ns();
	struct cpu_wait found;

	if (cpu_look_at_blocked(cpu, process, tid, &found)) {
		wait->stack = found.stack;
		wait->wait_string = found.wait_string;
		wait->holder = found.holder;
		wait->is_interpreters = found.is_interpreters;
	}
	wait->looked_ns = host_clocks_now_ns();
	cpu->look_ns -= (int64_t)(host_clocks_own_ns() - begin_ns);
}

/* drained_ns: all that happened before is known. True: nothing more is to be found out about it. */
static bool look_at(struct cpu *cpu, const struct waiting *waiting, uint64_t drained_ns)
{
	struct process *process;
	struct process_thread *thread = find_waiting(cpu, waiting, &process);
	struct thread_wait *wait;
	uint64_t now_ns;

	if (!thread)
		return true;
	wait = &thread->wait;
	now_ns = host_clocks_now_ns();
	if (!wait->looked_ns && now_ns - wait->since_ns > LOOK_AFTER_NS &&
	    has_time(cpu, now_ns - wait->since_ns)) {
		look(cpu, process, waiting->tid, wait);
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
