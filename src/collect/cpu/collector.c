/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/collector.c - the CPU collector as a user names it
 *
 * Runs in:  the recorder; the work is done in cpu.c
 * Gets:     on or off   Gives: the session's options
 * Owns:     nothing
 * Fails:    never; what is refused is noted by the session
 */
#include <string.h>

#include "collect/collector.h"
#include "collect/cpu/cpu.h"
#include "collect/cpu/perf_names.h"

/* A prime next to 200: in step with nothing that happens every 1, 2, 5 or 10 ms. */
enum { FREQUENCY_HZ = 199 };

static const struct collector_option cpu_collector_options[] = {
	{"nofaults", "no samples of page faults"},
	{"bpf",
	 "who preempts, wakes and holds, and which disk, by programs inside the kernel: done where "
	 "there are rights (root; cap_bpf and cap_perfmon), and without them it is said"},
	{"irq", "with bpf's: the time that interrupts took of each process, by name"},
	{"nobpf", "no programs inside the kernel"},
	{NULL, NULL},
};

static void choose(struct session_options *session, bool on, const char *option)
{
	/* One option leaves what another one has said. */
	if (!on || !option || !session->cpu) {
		session->cpu = session->faults = on;
		session->bpf = SESSION_BPF_ALLOWED;
		session->interrupts = false;
		session->frequency_hz = on ? FREQUENCY_HZ : 0;
	}
	if (option && strcmp(option, "nofaults") == 0)
		session->faults = false;
	if (option && strcmp(option, "irq") == 0) {
		session->bpf = SESSION_BPF_WANTED;
		session->interrupts = true;
	}
	if (option && strcmp(option, "bpf") == 0)
		session->bpf = SESSION_BPF_WANTED;
	if (option && strcmp(option, "nobpf") == 0)
		session->bpf = SESSION_BPF_NONE;
}

static bool is_chosen(const struct session_options *session)
{
	return session->cpu;
}

static bool can_do_all(const struct session_options *session)
{
	return session->bpf == SESSION_BPF_WANTED;
}

static int check(const struct session_options *session)
{
	struct perf_event_source source;

	return session->event ? perf_source_find(session->event, &source) : 0;
}

static int open_state(struct recording *recording, const struct session_options *session,
		      void **ret_state)
{
	struct cpu_options options = {.frequency_hz = session->frequency_hz,
				      .faults = session->faults,
				      .has_python = session->python_stacks,
				      .has_bpf = session->bpf != SESSION_BPF_NONE,
				      .wants_bpf = session->bpf == SESSION_BPF_WANTED,
				      .has_interrupts = session->interrupts,
				      .is_machine = !session->command && !session->pids_count};
	struct cpu *cpu = NULL;
	int error = 0;

	if (session->cpu && session->event)
		error = perf_source_find(session->event, &options.source);
	if (session->cpu && !error)
		error = cpu_open(recording, &options, &cpu);
	*ret_state = cpu;
	return error;
}

static int watch(void *state, pid_t pid)
{
	return cpu_attach_program(state, pid);
}

static int attach(void *state, pid_t pid, int pid_fd)
{
	return cpu_attach_process(state, pid, pid_fd);
}

static int descriptor(const void *state)
{
	return cpu_descriptor(state);
}

static uint64_t interval_ns(const void *state)
{
	return cpu_interval_ns(state);
}

static void drain(void *state)
{
	cpu_drain(state);
}

static void catch_up(void *state)
{
	cpu_drain_all(state);
}

static void each_second(void *state, uint64_t now_ns)
{
	cpu_count_losses(state, now_ns);
}

static void close_state(void *state)
{
	cpu_close(state);
}

static const struct collector_work work = {
	.interval_ns = interval_ns,
	.check = check,
	.open = open_state,
	.watch = watch,
	.attach = attach,
	.descriptor = descriptor,
	.drain = drain,
	.catch_up = catch_up,
	.each_second = each_second,
	.close = close_state,
};

const struct collector cpu_collector = {
	.name = "cpu",
	.help = "what the program's threads did: samples with stacks, and when they waited",
	.needs_program = true,
	.can_do_all = can_do_all,
	.options = cpu_collector_options,
	.choose = choose,
	.is_chosen = is_chosen,
	.work = &work,
};
