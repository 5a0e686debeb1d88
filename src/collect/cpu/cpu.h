/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/cpu.h - CPU collector: samples with stacks, context switches, thread lifetimes
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/cpu/perf_rings.h"
#include "collect/recording.h"

struct cpu;

struct cpu_options {
	struct perf_event_source
		source; /* name "": cycles if the machine counts them, otherwise cpu-clock */
	uint32_t frequency_hz;
	bool faults;         /* samples of page faults, too */
	bool has_python;     /* read Python functions into stacks */
	bool is_machine;     /* all threads of the machine, with BPF programs alone */
	bool has_interrupts; /* the BPF programs also sum up the time of interrupts */
	bool has_bpf;        /* load BPF programs if there are rights for them */
	bool wants_bpf;      /* the user asked for BPF: warn if it is refused */
};

/* Errors: as perf_rings_open, with the error chain; the collector then does not run. */
int cpu_open(struct recording *recording, const struct cpu_options *options, struct cpu **ret_cpu);

/* The functions below are members of a collector_work; the state is a struct cpu. */

/* Takes the remaining records and writes the losses. NULL-safe. */
void cpu_close(void *state);

/* Attaches a process of duet's that will become the profiled program at its next exec. Errors:
 * -errno. */
int cpu_attach_program(void *state, pid_t pid);

/* Attaches a running process: all its threads, and the threads and processes that they start from
 * now on. pid_fd: a pidfd of the process; -1: none. Errors: -errno; -ESRCH: it has ended. */
int cpu_attach_process(void *state, pid_t pid, int pid_fd);

/* A descriptor that becomes readable when records should be taken before the next round is due; -1:
 * none. */
int cpu_descriptor(const void *state);

/* Max time until the next call of cpu_drain. */
uint64_t cpu_interval_ns(const void *state);
/* Inspects launching threads whose switches are still in the rings, while short waits are expected.
 */
uint64_t cpu_look_ahead(void *state);

/* Takes the records up to 1 ms before now. */
void cpu_drain(void *state);

/* Takes all records before until_ns. An older record may still be written afterwards. */
void cpu_drain_all(void *state, uint64_t until_ns);

/* Without perf rings: polls the processes and threads in /proc if the next round is due. cpu_drain
 *                     does so, too. */
void cpu_look(void *state);

/* Writes the losses since the last call, and does the work of once a second. */
void cpu_count_losses(void *state, uint64_t now_ns);
