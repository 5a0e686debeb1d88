/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/waits.c - tracks blocked threads and inspects where they wait
 *
 * Runs in:  the recorder
 * Gets:     switches
 * Gives:    switch rows with stack and cause
 * Owns:     the list of waiting threads
 * Fails:    with rows without a stack; a cause from BPF is still written
 * Why:      the stack of a blocked thread does not change, so one inspection per wait is enough.
 *           The row of its switch is held back until the inspection or the end of the wait, at most
 *           1 s.
 */
#include "collect/cpu/cpu_private.h"

#include "base/array.h"
#include "collect/host_clocks.h"

enum {
	LOOK_AFTER_NS = 200000, /* shorter waits are not inspected */
	LONG_NS = 2000000,      /* longer waits have precedence */
	LOOK_SHARE = 400,       /* budget: 1/400 of the time … */
	SAMPLED_SHARE = 800,    /* … plus 1/800 of the sampled time */
	LAUNCHER_SHARE = 64,    /* for threads that launch commands: 1/64 of the time */
	MAX_LOOK_NS = 5000000,  /* max budget that can accumulate */
	MIN_SHORT_NS = 2500000, /* … of which this much is reserved for long waits */
	HELD_MAX_NS = 1000000000,
	/* Waits of these that rounds at the usual interval would miss … */
	SHORT_MIN_NS = 1000000,
	SHORT_MAX_NS = 20000000,
	AHEAD_NS = 1000000,
	EXPECT_NS = 100000000 /* … are expected again for this time. */
};

void cpu_put_switch(struct cpu *cpu, uint32_t thread, const struct event_switch *row)
{
	struct trace_source source = {.source = thread, .clock = CLOCK_ID_MONOTONIC};

	trace_writer_row(cpu->recording->writer, EVENT_SWITCH, &source, row);
}

/* Prefers the BPF record, which names the file or lock of the system call. A look that found the
 * interpreter's lock has precedence if the interpreter was not known yet when the record was
 * read. */
void cpu_say_wait(const struct thread_wait *wait, bool is_look_valid, struct event_switch *row)
{
	if (is_look_valid) {
		row->stack = wait->stack;
		row->wait_string = wait->wait_string;
		row->holder = wait->holder;
	}
	if (wait->bpf_stack)
		row->stack = wait->bpf_stack;
	if (!wait->bpf_string ||
	    (is_look_valid && wait->is_interpreters && wait->bpf_string != wait->wait_string))
		return;
	if (wait->bpf_holder || wait->bpf_string != row->wait_string)
		row->holder = wait->bpf_holder;
	row->wait_string = wait->bpf_string;
}

/* For a wait without a look. A thread waits for Python's lock in several steps. In all of them it
 * has the same stack, as long as no other thread has taken the lock. */
static void say_sampled(struct cpu *cpu, const struct process_thread *thread, uint64_t until_ns,
			struct event_switch *row)
{
	struct cpu_lock lock;

	if (!thread->wait.since_ns || row->wait_string ||
	    !cpu_find_lock_sample(cpu, thread->row.tid, thread->wait.since_ns, until_ns, &lock))
		return;
	row->wait_string = recording_string(cpu->recording, SWITCH_PYTHON_LOCK);
	row->holder = lock.holder;
	if (lock.switches && lock.switches == thread->lock_switches)
		row->stack = thread->lock_stack;
}

static void keep_lock_stack(struct process_thread *thread)
{
	if (!thread->wait.is_interpreters || !thread->wait.lock_switches)
		return;
	thread->lock_stack = thread->wait.stack;
	thread->lock_switches = thread->wait.lock_switches;
}

/* Writes the switch row of a wait. until_ns: the thread was off its processor until then; a look
 * that ended later may have seen another wait and is not used. */
static void put_wait(struct cpu *cpu, struct process_thread *thread, uint64_t until_ns)
{
	struct thread_wait *wait = &thread->wait;
	struct event_switch row = {.time = wait->since_ns,
				   .previous = thread->row.id,
				   .cpu = wait->cpu,
				   .reason = SWITCH_BLOCKED};

	cpu_say_wait(wait, wait->looked_ns < until_ns, &row);
	if (wait->looked_ns < until_ns)
		keep_lock_stack(thread);
	say_sampled(cpu, thread, until_ns, &row);
	if (wait->since_ns && !wait->is_written)
		cpu_put_switch(cpu, thread->row.id, &row);
	wait->is_written = true;
}

/* The wait, as it was inspected before its record was taken; otherwise new. */
static struct thread_wait find_ahead(const struct cpu *cpu, const struct process *process,
				     const struct process_thread *thread, uint64_t time_ns)
{
	for (size_t i = 0; thread->has_launched && i < CPU_AHEAD; i++) {
		const struct ahead_wait *found = &cpu->blocked.found[i];

		if (found->wait.since_ns == time_ns && found->tid == thread->row.tid &&
		    found->pid == process->row.pid)
			return found->wait;
	}
	return (struct thread_wait){.since_ns = time_ns};
}

/* The row is held back until the wait was inspected or has ended, at most HELD_MAX_NS (1 s). It is
 * written at once if BPF recorded the stack. */
void cpu_begin_wait(struct cpu *cpu, struct process *process, struct process_thread *thread,
		    uint64_t time_ns, uint32_t processor)
{
	put_wait(cpu, thread, 0);
	thread->wait = find_ahead(cpu, process, thread, time_ns);
	thread->wait.cpu = processor;
	switch_causes_holds(cpu, process, thread, time_ns);
	if (thread->wait.bpf_stack ||
	    array_grow(cpu->blocked.threads, cpu->blocked.capacity, cpu->blocked.count + 1))
		put_wait(cpu, thread, 0);
	else
		cpu->blocked.threads[cpu->blocked.count++] =
			(struct blocked_thread){process->row.pid, thread->row.tid, time_ns};
}

static bool has_short_waits(const struct cpu *cpu)
{
	return cpu->blocked.budgets_ns[CPU_LAUNCHER] > 0 &&
	       cpu->blocked.short_until_ns > host_clocks_now_ns();
}

/* BPF records the stacks of short waits without a look. */
static void expect_short_waits(struct cpu *cpu, const struct process_thread *thread,
			       uint64_t time_ns)
{
	const struct thread_wait *wait = &thread->wait;
	const uint64_t waited_ns = time_ns - wait->since_ns;

	if (thread->has_launched && wait->since_ns && !wait->bpf_stack &&
	    waited_ns >= SHORT_MIN_NS && waited_ns <= SHORT_MAX_NS)
		cpu->blocked.short_until_ns = time_ns + EXPECT_NS;
}

void cpu_end_wait(struct cpu *cpu, struct process_thread *thread, uint64_t time_ns)
{
	expect_short_waits(cpu, thread, time_ns);
	put_wait(cpu, thread, time_ns);
	thread->wait = (struct thread_wait){0};
}

static struct process_thread *find_waiting(const struct cpu *cpu,
					   const struct blocked_thread *waiting,
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

static void give(int64_t *budget_ns, uint64_t given_ns)
{
	*budget_ns += (int64_t)given_ns;
	if (*budget_ns > MAX_LOOK_NS)
		*budget_ns = MAX_LOOK_NS;
}

static void give_time(struct cpu *cpu)
{
	struct cpu_blocked *blocked = &cpu->blocked;
	const uint64_t now_ns = host_clocks_now_ns();
	const uint64_t since_ns =
		blocked->given_ns ? now_ns - blocked->given_ns : (uint64_t)MAX_LOOK_NS * LOOK_SHARE;

	give(&blocked->budgets_ns[CPU_OTHER],
	     since_ns / LOOK_SHARE + blocked->sampled_ns / SAMPLED_SHARE);
	give(&blocked->budgets_ns[CPU_LAUNCHER], since_ns / LAUNCHER_SHARE);
	blocked->given_ns = now_ns;
	blocked->sampled_ns = 0;
}

static enum cpu_waiter waiter_of(const struct process_thread *thread)
{
	return thread->has_launched ? CPU_LAUNCHER : CPU_OTHER;
}

/* A look may overdraw the budget; later looks then wait until it is refilled. */
static bool has_time(const struct cpu *cpu, const struct process_thread *thread, uint64_t waited_ns)
{
	return cpu->blocked.budgets_ns[waiter_of(thread)] >
	       (waited_ns < LONG_NS && !thread->has_launched ? MIN_SHORT_NS : 0);
}

static void inspect_wait(struct cpu *cpu, struct process *process,
			 const struct process_thread *thread, struct thread_wait *wait)
{
	const uint64_t begin_ns = host_clocks_own_ns();
	struct cpu_wait found;

	if (cpu_look_at_blocked(cpu, process, thread->row.tid, &found)) {
		wait->stack = found.stack;
		wait->wait_string = found.wait_string;
		wait->holder = found.holder;
		wait->is_interpreters = found.is_interpreters;
		wait->lock_switches = found.lock_switches;
	}
	wait->looked_ns = host_clocks_now_ns();
	cpu->blocked.budgets_ns[waiter_of(thread)] -= (int64_t)(host_clocks_own_ns() - begin_ns);
}

/* drained_ns: all records before this time were taken. True: the wait is done and leaves the
 * list. */
static bool look_at(struct cpu *cpu, const struct blocked_thread *waiting, uint64_t drained_ns)
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
	    has_time(cpu, thread, now_ns - wait->since_ns)) {
		inspect_wait(cpu, process, thread, wait);
		return false;
	}
	if ((wait->looked_ns && wait->looked_ns < drained_ns) ||
	    now_ns - wait->since_ns > HELD_MAX_NS) {
		put_wait(cpu, thread, drained_ns);
		return true;
	}
	return false;
}

void cpu_look_at_waiting(struct cpu *cpu, uint64_t drained_ns)
{
	size_t kept = 0;

	give_time(cpu);

	for (size_t i = 0; i < cpu->blocked.count; i++)
		if (!look_at(cpu, &cpu->blocked.threads[i], drained_ns))
			cpu->blocked.threads[kept++] = cpu->blocked.threads[i];
	cpu->blocked.count = kept;
}

/* ---- looking ahead --------------------------------------------------------------------------- */

static struct process_thread *find_launcher(const struct cpu *cpu, uint32_t pid, uint32_t tid,
					    struct process **ret_process)
{
	struct process *process = processes_find(cpu->processes, pid);
	struct process_thread *thread =
		process ? hash_map_find_pointer(&process->threads, tid) : NULL;

	*ret_process = process;
	return thread && thread->has_launched ? thread : NULL;
}

static void take_ahead(struct cpu *cpu, const struct perf_glance *glance)
{
	struct cpu_blocked *blocked = &cpu->blocked;
	struct process *process;
	struct process_thread *thread = find_launcher(cpu, glance->pid, glance->tid, &process);

	if (!thread || glance->time_ns <= thread->ahead_ns)
		return;
	thread->ahead_ns = glance->time_ns;
	if (!glance->is_blocked || blocked->ahead_count == CPU_AHEAD)
		return;
	blocked->ahead[blocked->ahead_count++] =
		(struct blocked_thread){glance->pid, glance->tid, glance->time_ns};
}

/* True: the wait is done and leaves the list. */
static bool look_ahead_at(struct cpu *cpu, const struct blocked_thread *waiting)
{
	struct process *process;
	struct process_thread *thread = find_launcher(cpu, waiting->pid, waiting->tid, &process);
	struct ahead_wait *found;

	/* it has had another switch since, or its record was taken without a look */
	if (!thread || thread->ahead_ns != waiting->since_ns ||
	    thread->wait.since_ns == waiting->since_ns)
		return true;
	if (host_clocks_now_ns() - waiting->since_ns <= LOOK_AFTER_NS)
		return false;
	if (cpu->blocked.budgets_ns[CPU_LAUNCHER] <= 0)
		return true;
	found = &cpu->blocked.found[cpu->blocked.found_count++ % CPU_AHEAD];
	*found = (struct ahead_wait){waiting->pid, waiting->tid, {.since_ns = waiting->since_ns}};
	inspect_wait(cpu, process, thread, &found->wait);
	return true;
}

uint64_t cpu_look_ahead(void *state)
{
	struct cpu *cpu = state;
	struct cpu_blocked *blocked = &cpu->blocked;
	struct perf_glance glance;
	size_t kept = 0;

	if (!cpu->rings || !blocked->can_look || !has_short_waits(cpu))
		return UINT64_MAX;
	while (perf_rings_glance(cpu->rings, true, &glance))
		take_ahead(cpu, &glance);
	for (size_t i = 0; i < blocked->ahead_count; i++)
		if (!look_ahead_at(cpu, &blocked->ahead[i]))
			blocked->ahead[kept++] = blocked->ahead[i];
	blocked->ahead_count = kept;
	return AHEAD_NS;
}

void cpu_put_all_waits(struct cpu *cpu)
{
	for (size_t i = 0; i < cpu->blocked.count; i++) {
		struct process *process;
		struct process_thread *thread =
			find_waiting(cpu, &cpu->blocked.threads[i], &process);

		if (thread)
			put_wait(cpu, thread, UINT64_MAX);
	}
	cpu->blocked.count = 0;
}
