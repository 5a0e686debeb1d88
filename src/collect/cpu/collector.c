/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/collector.c - the registry row of the CPU collector: name, options, callbacks
 *
 * Runs in:  the recorder; the work is done in cpu.c
 * Gets:     the options on the command line
 * Gives:    struct cpu_options
 * Owns:     nothing
 * Fails:    with the error of cpu_open; the session notes it
 */
#include "collect/collector.h"
#include "collect/cpu/cpu.h"
#include "collect/cpu/perf_names.h"

/* A prime near 200, so that samples do not run in step with events every 1, 2, 5 or 10 ms. */
enum { FREQUENCY_HZ = 199 };

enum {
	CPU_ON = 1,
	CPU_NO_FAULTS = 2,
	/* warn if the rights for BPF are missing; without this word BPF is used only if the rights
	 * are present */
	CPU_BPF = 4,
	CPU_NO_BPF = 8,
	CPU_INTERRUPTS = 16
};

static const struct collector_option cpu_options[] = {
	{"nofaults", "record no samples of page faults", .set = CPU_ON | CPU_NO_FAULTS},
	{"bpf",
	 "find preemptors, wakers, lock holders and awaited disks by BPF programs, which need root "
	 "or cap_bpf and cap_perfmon; warn if they cannot be loaded (default: use BPF if possible)",
	 .set = CPU_ON | CPU_BPF, .clear = CPU_NO_BPF},
	{"irq", "as bpf, and also record the time that interrupts took from each process",
	 .set = CPU_ON | CPU_BPF | CPU_INTERRUPTS, .clear = CPU_NO_BPF},
	{"nobpf", "load no BPF programs", .set = CPU_ON | CPU_NO_BPF, .clear = CPU_BPF},
	{NULL},
};

static int check(const struct session_options *session)
{
	struct perf_event_source source;

	return session->event ? perf_source_find(session->event, &source) : 0;
}

static int open_state(struct recording *recording, const struct session_options *session,
		      void **ret_state)
{
	const struct collector_choice *choice = collector_options(session, "cpu");
	struct cpu_options options = {.frequency_hz = session->has_frequency ? session->frequency_hz
									     : FREQUENCY_HZ,
				      .faults = !(choice->words & CPU_NO_FAULTS),
				      .has_python = session->python_stacks,
				      .has_bpf = !(choice->words & CPU_NO_BPF),
				      .wants_bpf = choice->words & CPU_BPF,
				      .has_interrupts = choice->words & CPU_INTERRUPTS,
				      .is_machine = (choice->words & CPU_BPF) &&
						    !session->command && !session->pids_count};
	struct cpu *cpu = NULL;
	int error = 0;

	if (choice->words && session->event)
		error = perf_source_find(session->event, &options.source);
	if (choice->words && !error)
		error = cpu_open(recording, &options, &cpu);
	*ret_state = cpu;
	return error;
}

static const struct collector_work work = {
	.interval_ns = cpu_interval_ns,
	.look_ahead = cpu_look_ahead,
	.check = check,
	.open = open_state,
	.watch = cpu_attach_program,
	.attach = cpu_attach_process,
	.descriptor = cpu_descriptor,
	.drain = cpu_drain,
	.look = cpu_look,
	.catch_up = cpu_drain_all,
	.each_second = cpu_count_losses,
	.close = cpu_close,
};

const struct collector cpu_collector = {
	.name = "cpu",
	.help = "samples of threads with stacks, context switches and waits",
	.options = cpu_options,
	.named = {.set = CPU_ON, .clear = ~0u},
	.chosen_by = CPU_ON,
	.work = &work,
};
