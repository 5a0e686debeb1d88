/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/cpu.h - what threads did: samples with stacks, switches, lifetimes
 */
#ifndef COLLECT_CPU_CPU_H
#define COLLECT_CPU_CPU_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/cpu/perf_rings.h"
#include "collect/recording.h"

struct cpu;

struct cpu_options {
	struct perf_event_source source; /* name "": the best there is */
	uint32_t frequency_hz;
	bool faults;         /* samples of page faults too */
	bool has_python;     /* stacks have Python functions */
	bool is_machine;     /* all threads of the machine, by has_bpf's programs alone */
	bool has_interrupts; /* … which sum up the time of interrupts, too */
	bool has_bpf;        /* programs inside the kernel, where there are rights for them */
	bool wants_bpf;      /* … which was asked for */
};

/* Errors: as perf_rings_open, with the error chain: nothing is collected then. */
int cpu_open(struct recording *recording, const struct cpu_options *options, struct cpu **ret_cpu);

/* Reads what is left, and writes what was lost. NULL-safe. */
void cpu_close(struct cpu *cpu);

/* A process that is about to become the program, by its next exec. Errors: -errno. */
int cpu_attach_program(struct cpu *cpu, pid_t pid);

/* A running process, with all its threads and what they start from now on. pid_fd: of it; -1: none. Errors: -errno;
 * -ESRCH where it has ended. */
int cpu_attach_process(struct cpu *cpu, pid_t pid, int pid_fd);

/* Can be read from when there is more to be taken than the next round should wait for; -1: none. */
int cpu_descriptor(const struct cpu *cpu);

/* Up to the next call of cpu_drain, at most. */
uint64_t cpu_interval_ns(const struct cpu *cpu);

/* Takes what the kernel has written up to now, but for the last millisecond. */
void cpu_drain(struct cpu *cpu);

/* … and all of it, where a record may be found before one that is older. */
void cpu_drain_all(struct cpu *cpu);

/* Writes losses since the last time. */
void cpu_count_losses(struct cpu *cpu, uint64_t now_ns);

#endif
