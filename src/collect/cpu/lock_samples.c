/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/lock_samples.c - which threads wait for the lock (GIL) of a Python interpreter, from
 * samples of the lock, where BPF does not record it
 *
 * Runs in:  the recorder
 * Gets:     memory of processes with Python, /proc/PID/task/TID/syscall of their threads
 * Gives:    moments at which a thread waited for the lock, with the lock's holder
 * Owns:     the last samples, and a timer
 * Fails:    without samples; looks at blocked threads still find some of the waits
 * Why:      a thread waits for the lock in steps of 5 ms. A look at a blocked thread needs the
 * record of its switch, which is read some milliseconds later; under load, looks find one step in
 *           ten. A sample needs no record. The lock contains the number of its waiters, so a lock
 *           that no thread waits for costs one read of 2 us per round. While threads wait, samples
 *           are taken 500 times a second.
 */
#include "collect/cpu/cpu_private.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/host_clocks.h"

enum {
	FAST_NS = 2000000, /* period while threads wait */
	SLOW_NS = 2000000, /* least time between two samples without the timer */
	STAYS_FAST_NS = 20000000,
	SHARE = 200, /* budget: 1/200 of the time … */
	MAX_BUDGET_NS = 5000000,
	MAX_THREADS = 16 /* threads that one sample looks at */
};

/* ---- timer ----------------------------------------------------------------------------------- */

static void set_period(struct lock_samples *locks, uint32_t period_ns)
{
	const struct itimerspec times = {.it_interval.tv_nsec = period_ns,
					 .it_value.tv_nsec = period_ns};

	locks->is_fast = period_ns != 0;
	timerfd_settime(locks->timer_fd, 0, &times, NULL);
}

/* The timer wakes the recorder as a ring of perf events does. */
static bool has_timer(struct cpu *cpu)
{
	struct lock_samples *locks = &cpu->python.locks;

	if (locks->timer_fd >= 0)
		return true;
	locks->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (locks->timer_fd < 0)
		return false;
	if (perf_rings_add(cpu->rings, locks->timer_fd) == 0)
		return true;
	close(locks->timer_fd);
	locks->timer_fd = -1;
	return false;
}

static void update_timer(struct cpu *cpu, uint64_t now_ns)
{
	struct lock_samples *locks = &cpu->python.locks;

	if (locks->is_awaited)
		locks->fast_until_ns = now_ns + STAYS_FAST_NS;
	if ((now_ns < locks->fast_until_ns) == locks->is_fast || !has_timer(cpu))
		return;
	set_period(locks, locks->is_fast ? 0 : FAST_NS);
}

void lock_samples_init(struct lock_samples *locks)
{
	locks->timer_fd = -1;
}

void lock_samples_fini(struct lock_samples *locks)
{
	if (locks->timer_fd >= 0)
		close(locks->timer_fd);
	locks->timer_fd = -1;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* The thread waited if it was in one wait from begin_ns to end_ns. */
static bool sample_thread(struct cpu *cpu, struct process *process, uint32_t tid)
{
	struct lock_samples *locks = &cpu->python.locks;
	struct lock_sample sample = {.tid = tid, .begin_ns = host_clocks_now_ns()};
	struct blocked_place place = {0};
	struct cpu_futex futex = {.tid = tid, .since_ns = sample.begin_ns};

	if (blocked_find(&cpu->walker->reader, process->row.pid, tid, &place) != THREAD_WAITS ||
	    !blocked_is_futex(&place))
		return false;
	futex.address = place.argument;
	if (!cpu_python_lock(cpu, process, &futex, &sample.lock))
		return false;
	sample.end_ns = host_clocks_now_ns();
	locks->samples[locks->count++ % ARRAY_COUNT(locks->samples)] = sample;
	return true;
}

static bool is_known(const struct lock_samples *locks, uint32_t tid)
{
	for (size_t i = 0; i < ARRAY_COUNT(locks->waiters); i++)
		if (locks->waiters[i] == tid)
			return true;
	return false;
}

/* Copies the numbers of the next threads in turn, because a sample may add a thread. */
static size_t list_threads(struct lock_samples *locks, const struct process *process,
			   uint32_t *ret_tids)
{
	size_t count = 0;
	uint64_t tid, value;

	while (count < MAX_THREADS &&
	       hash_map_next(&process->threads, &locks->cursor, &tid, &value)) {
		const struct process_thread *thread = (struct process_thread *)(uintptr_t)value;

		if (!thread->row.end_ns && !is_known(locks, (uint32_t)tid))
			ret_tids[count++] = (uint32_t)tid;
	}
	if (count < MAX_THREADS)
		locks->cursor = 0;
	return count;
}

/* Threads that waited before come first. */
static void sample_waiters(struct cpu *cpu, struct process *process, uint32_t waiters)
{
	struct lock_samples *locks = &cpu->python.locks;
	uint32_t tids[MAX_THREADS], found = 0;
	size_t count;

	for (size_t i = 0; i < ARRAY_COUNT(locks->waiters) && found < waiters; i++)
		if (locks->waiters[i] &&
		    hash_map_find_pointer(&process->threads, locks->waiters[i]))
			found += sample_thread(cpu, process, locks->waiters[i]);
	if (found >= waiters)
		return;
	count = list_threads(locks, process, tids);
	for (size_t i = 0; i < count && found < waiters; i++) {
		if (!sample_thread(cpu, process, tids[i]))
			continue;
		found++;
		locks->waiters[locks->next_waiter++ % ARRAY_COUNT(locks->waiters)] = tids[i];
	}
}

static void sample_process(struct cpu *cpu, struct process *process)
{
	struct lock_samples *locks = &cpu->python.locks;
	const uint64_t begin_ns = host_clocks_own_ns();
	uint32_t waiters;

	if (!process->python || process->has_ended || process->is_closed || locks->budget_ns <= 0)
		return;
	waiters = python_remote_waiters(process->python);
	if (waiters) {
		locks->is_awaited = true;
		sample_waiters(cpu, process, waiters);
	}
	locks->budget_ns -= (int64_t)(host_clocks_own_ns() - begin_ns);
}

static void refill_budget(struct lock_samples *locks, uint64_t now_ns)
{
	locks->budget_ns +=
		locks->sampled_ns ? (int64_t)((now_ns - locks->sampled_ns) / SHARE) : MAX_BUDGET_NS;
	if (locks->budget_ns > MAX_BUDGET_NS)
		locks->budget_ns = MAX_BUDGET_NS;
	locks->sampled_ns = now_ns;
}

void cpu_sample_locks(struct cpu *cpu)
{
	struct lock_samples *locks = &cpu->python.locks;
	const uint64_t now_ns = host_clocks_now_ns();
	uint64_t expired;
	bool is_due = now_ns >= locks->sampled_ns + SLOW_NS;

	if (locks->is_fast && read(locks->timer_fd, &expired, sizeof(expired)) > 0)
		is_due = true;
	if (!cpu->rings || !cpu->python.is_there || !is_due || !cpu_can_look(cpu))
		return;
	locks->is_awaited = false;
	if (!cpu->who.is_ready) {
		refill_budget(locks, now_ns);
		cpu_for_each_process(cpu, sample_process);
	}
	update_timer(cpu, now_ns);
}

bool cpu_find_lock_sample(const struct cpu *cpu, uint32_t tid, uint64_t since_ns, uint64_t until_ns,
			  struct cpu_lock *ret_lock)
{
	const struct lock_samples *locks = &cpu->python.locks;
	const size_t kept = ARRAY_COUNT(locks->samples);
	const uint64_t first = locks->count > kept ? locks->count - kept : 0;
	struct cpu_lock lock = {0};
	bool is_found = false;

	/* the earliest sample that has a holder decides */
	for (uint64_t i = locks->count; i-- > first;) {
		const struct lock_sample *sample = &locks->samples[i % kept];

		if (sample->end_ns <= since_ns)
			break;
		if (sample->tid != tid || sample->begin_ns < since_ns || sample->end_ns > until_ns)
			continue;
		is_found = true;
		if (sample->lock.holder)
			lock = sample->lock;
	}
	if (is_found)
		*ret_lock = lock;
	return is_found;
}
