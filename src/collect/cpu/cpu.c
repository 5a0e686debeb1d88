/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/cpu.c - CPU collector: samples with stacks, context switches, thread lifetimes
 *
 * Runs in:  the recorder
 * Gets:     perf_event_open(2) records; without them, thread states read from /proc
 * Gives:    trace rows of samples, switches, processes and threads (written in records.c)
 * Owns:     the perf rings and a reference to the stack walker
 * Fails:    only when opened. Later, lost records are counted, and a stack that cannot be unwound
 *           further ends with a mark frame (a frame that states that frames are missing)
 * Why two ways: perf records are exact and cheap, but a container or a service may refuse them
 *           (seccomp, a stricter kernel). The collector then polls the state of each thread 200
 *           times a second.
 */
#include "collect/cpu/cpu_private.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "collect/cpu/perf_rights.h"
#include "collect/host_clocks.h"

enum {
	/* bytes of user stack copied with each sample; a deeper stack loses its outermost frames */
	STACK_BYTES = 16 << 10,
	STACK_BYTES_A_SECOND = 2 << 20, /* memory per second that the recorder may add for stacks */
	STACK_BYTES_MAX = 256 << 20,
	/* Time between two rounds. A round inspects blocked threads. Normally every … */
	INTERVAL_NS = 5000000,
	CROWDED_NS = 10000000, /* … after a round with more than CROWD records, … */
	CROWD = 64,            /* (records; most waits are then too short to inspect) */
	QUIET_NS = 20000000,   /* … and after a round without records */
	/* max length of one round: guests' rings are waiting too, and the unwind tables of a large
	 * library take long to read */
	ROUND_NS = 5000000,
	/* a wake-up at most this much before the next round is due counts as that round */
	EARLY_NS = 500000
};

/* Notes what the user's rights exclude from the recording: samples inside the kernel. */
static void note_rights(struct cpu *cpu)
{
	char rights[PATH_MAX + 200], text[PATH_MAX + 400];

	if (cpu->state.has_kernel)
		return;
	perf_rights_text(1, rights, sizeof(rights));
	snprintf(text, sizeof(text),
		 "samples inside the kernel are missing, with their CPU time and functions: %s, or "
		 "record as root",
		 rights);
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
	recording_hint(cpu->recording, text);
}

bool cpu_is_refusal(int error)
{
	return error == -EPERM || error == -EACCES || error == -ENOSYS || error == -EMFILE ||
	       error == -ENFILE || error == -ENOMEM;
}

void cpu_use_states(struct cpu *cpu)
{
	char text[PATH_MAX + 800];

	snprintf(text, sizeof(text),
		 "native functions of running threads and waits of less than 5 ms are missing: "
		 "threads are polled 200 times a second instead of sampled; %s",
		 error_text());
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
	recording_warn(cpu->recording, text);
	error_clear();
	perf_rings_close(cpu->rings);
	cpu->rings = NULL;
	snprintf(cpu->state.source.name, sizeof(cpu->state.source.name), "thread-state");
}

static void open_bpf(struct cpu *cpu, bool is_wanted)
{
	const struct kernel_watch_options options = {
		.interrupts = cpu->interrupts.is_wanted,
		.on_record = cpu->who.is_machine ? cpu_machine_take : NULL,
		.on_python = cpu_python_take_copied,
		.context = cpu};

	switch_causes_open(cpu, &options, is_wanted);
}

int cpu_open(struct recording *recording, const struct cpu_options *options, struct cpu **ret_cpu)
{
	const struct perf_rings_options rings = {.source = options->source,
						 .frequency_hz = options->frequency_hz,
						 .stack_bytes = STACK_BYTES,
						 .faults = options->faults};
	struct cpu *cpu = calloc(1, sizeof(*cpu));
	int error;

	if (!cpu)
		return error_set(-ENOMEM, "CPU samples: out of memory");
	cpu->walker = stack_walker_get(recording);
	if (!cpu->walker) {
		free(cpu);
		return error_set(-ENOMEM, "CPU samples: out of memory");
	}
	cpu->walker->names_jit_code = true;
	cpu->second_stacks.limit = STACK_BYTES_A_SECOND;
	cpu->all_stacks.limit = STACK_BYTES_MAX;
	cpu->recording = recording;
	cpu->processes = recording->processes;
	cpu->frequency_hz = options->frequency_hz ? options->frequency_hz : 1;
	cpu->who.is_machine = options->is_machine;
	error = options->is_machine ? 0 : perf_rings_open(&rings, &cpu->rings);
	if (error == 0 && options->is_machine) {
		cpu->who.begin_ns = host_clocks_now_ns();
	} else if (error == 0) {
		perf_rings_state(cpu->rings, &cpu->state);
	} else if (cpu_is_refusal(error)) {
		cpu_use_states(cpu);
	} else {
		stack_walker_put(cpu->walker);
		free(cpu);
		return error;
	}
	cpu->source_string = recording_string(recording, cpu->state.source.name);
	cpu->faults_string = recording_string(recording, "page-faults");
	cpu->losses.since_ns = host_clocks_now_ns();
	identities_init(&cpu->python.notes);
	cpu->python.is_wanted = options->has_python;
	lock_samples_init(&cpu->python.locks);
	if (cpu->rings)
		note_rights(cpu);
	cpu->blocked.has_tried = options->is_machine;
	cpu_interrupts_open(cpu);
	cpu->interrupts.is_wanted = options->has_interrupts;
	if ((cpu->rings || options->is_machine) && options->has_bpf)
		open_bpf(cpu, options->wants_bpf);
	*ret_cpu = cpu;
	return 0;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Varies between 1/2 and 3/2 of the usual interval. A poll at a fixed interval would always meet a
 * loop of that period, or of a multiple, at the same place. */
static uint64_t poll_interval_ns(const struct cpu *cpu)
{
	const uint32_t scattered = cpu->polled.rounds * 2654435769u; /* 2^32 / golden ratio */

	return INTERVAL_NS / 2 + (uint64_t)INTERVAL_NS * scattered / UINT32_MAX;
}

uint64_t cpu_interval_ns(const void *state)
{
	const struct cpu *cpu = state;

	if (cpu->is_behind)
		return 0;
	if (!cpu->rings)
		return poll_interval_ns(cpu);
	if (!cpu->round_records)
		return QUIET_NS;
	return cpu->round_records > CROWD ? CROWDED_NS : INTERVAL_NS;
}

void cpu_drain_all(void *state, uint64_t until_ns)
{
	struct cpu *cpu = state;
	struct perf_record record;

	switch_causes_drain(cpu);
	while (cpu->rings && perf_rings_next(cpu->rings, until_ns, &record))
		cpu_take_record(cpu, &record);
}

/* Takes records for at most ROUND_NS. Returns the time up to which all records were taken. */
static uint64_t drain_round(struct cpu *cpu, uint64_t until_ns)
{
	const uint64_t end_ns = host_clocks_now_ns() + ROUND_NS;
	struct perf_record record;

	switch_causes_drain(cpu);
	cpu->round_records = 0;
	cpu->is_behind = false;
	while (cpu->rings && !cpu->is_behind && perf_rings_next(cpu->rings, until_ns, &record)) {
		cpu_take_record(cpu, &record);
		cpu->round_records++;
		cpu->is_behind = host_clocks_now_ns() > end_ns;
	}
	return cpu->is_behind ? record.time_ns : until_ns;
}

void cpu_look(void *state)
{
	struct cpu *cpu = state;

	if (!cpu->rings)
		cpu_look_at_all(cpu, host_clocks_now_ns());
}

void cpu_drain(void *state)
{
	struct cpu *cpu = state;
	uint64_t now_ns = host_clocks_now_ns(), known_ns;

	if (cpu->rings && cpu->python.is_there) {
		/* first the frames that BPF copied, which need not be read */
		switch_causes_drain(cpu);
		cpu_python_glance(cpu);
	}
	cpu_sample_locks(cpu);
	/* the wake-up was for a sample's Python functions, or for a guest whose ring fills */
	if (now_ns < cpu->next_drain_ns && !(cpu->rings && perf_rings_are_filling(cpu->rings)))
		return;
	cpu_can_look(cpu);
	known_ns = drain_round(cpu, now_ns - PERF_RINGS_LATE_NS);
	cpu->polled.rounds++;
	cpu->next_drain_ns = cpu->is_behind ? 0 : now_ns + cpu_interval_ns(cpu) - EARLY_NS;
	cpu_look_at_waiting(cpu, known_ns);
	cpu_look(cpu);
}

static void name_kernel(struct cpu *cpu)
{
	if (!kernel_frames_name(&cpu->walker->kernel_frames))
		return;
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, error_text());
	error_clear();
}

void cpu_close(void *state)
{
	struct cpu *cpu = state;

	if (!cpu)
		return;
	cpu_drain_all(cpu, UINT64_MAX);
	cpu_put_all_waits(cpu);
	cpu_for_each_process(cpu, cpu_finish_code);
	cpu_note_losses(cpu);
	name_kernel(cpu);
	cpu_python_note(cpu);
	cpu_python_fini(cpu);
	lock_samples_fini(&cpu->python.locks);
	cpu_interrupts_close(cpu);
	cpu_lose_switches(cpu, cpu->losses.since_ns, host_clocks_now_ns(),
			  switch_causes_each_second(cpu, UINT64_MAX));
	switch_causes_close(cpu);
	free(cpu->blocked.threads);
	string_table_fini(&cpu->blocked.files);
	free(cpu->polled.threads);
	process_tree_fini(&cpu->polled.process_tree);
	cpu_count_last_losses(cpu);
	hash_map_fini(&cpu->who.unseen);
	perf_rings_close(cpu->rings);
	stack_walker_put(cpu->walker);
	hash_map_fini(&cpu->kernels);
	free(cpu);
}

int cpu_descriptor(const void *state)
{
	const struct cpu *cpu = state;

	return cpu->rings ? perf_rings_descriptor(cpu->rings) : -1;
}
