/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/python.c - reads the Python frames of threads from their processes' memory
 *
 * Runs in:  the recorder
 * Gets:     native stacks and thread ids; frames from the memory of the interpreter's process
 * Gives:    stacks in which Python functions replace the frames of their interpreter
 * Owns:     the Python frames read for samples that are still in the rings
 * Fails:    Python frames that could not be read become a mark frame in the stack, and the sample
 *           is counted
 * Why each sample wakes the recorder: without a wake-up a sample is taken from its ring up to 6 ms
 *           after it was made, and its Python function may have returned. The woken recorder reads
 *           the Python frames some 50 us after the sample. Only frames that match the sample's copy
 *           of the native stack are used.
 */
#include "collect/cpu/cpu_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collect/host_clocks.h"

enum {
	MAX_GLANCES = 1 << 12,
	MAX_OBJECTS = 1 << 16,
	MAX_STRANGERS = 1 << 12,
	STRANGER_NS = 100000000,
	SINCE_3_11 = 0x030b,
	MAX_PLACES = 1 << 18,
	MAX_SAVED_NS = 10000000, /* max processor time for reading that can be overdrawn */
	APART_NS = 20000,        /* between a copy by BPF and its sample */
	SHARE = 100,             /* reading may take 1/100 of the sampled processor time */
	MIN_PARTS = 64,
	PER_THOUSAND = 1000,
	/* share of incomplete samples from which on cpu is reported as partial */
	LOST_PER_THOUSAND = 50
};

/* ---- reading --------------------------------------------------------------------------------- */

static void keep_objects(struct cpu_python *python, uint32_t pid, size_t count)
{
	if (python->objects.count > MAX_OBJECTS)
		hash_map_clear(&python->objects);
	for (size_t i = 0; i < count; i++)
		hash_map_put(&python->objects,
			     cpu_python_object_key(pid, python->frames[i].address), 1);
}

static bool has_places(struct cpu_python *python, size_t count)
{
	return python->place_count + count <= MAX_PLACES &&
	       !array_grow(python->places, python->place_capacity, python->place_count + count);
}

/* Appends the frames just read to those of other samples. */
static void keep_places(struct cpu *cpu, struct python_glance *glance, size_t count)
{
	struct cpu_python *python = &cpu->python;

	if (!has_places(python, count)) {
		glance->status = -ENOMEM;
		return;
	}
	glance->first = python->place_count;
	glance->count = count;
	for (size_t i = 0; i < count; i++) {
		const struct python_remote_frame *frame = &python->frames[i];

		python->places[python->place_count++] =
			(struct python_place){.frame = cpu_python_frame(cpu, frame),
					      .is_entry = frame->is_entry,
					      .address = frame->address,
					      .c_address = frame->c_address};
	}
}

/* r: number of frames in python->frames, or an error. */
static struct python_glance keep_frames(struct cpu *cpu, struct process *process, uint32_t tid,
					int r, const struct python_remote_gap *gap)
{
	struct python_glance glance = {.tid = tid, .status = r, .gap = *gap};
	const uint64_t before = cpu->recording->kept_bytes;

	if (r > 0)
		keep_places(cpu, &glance, (size_t)r);
	if (r > 0 && python_remote_version(process->python) < SINCE_3_11)
		keep_objects(&cpu->python, process->row.pid, (size_t)r);
	cpu_charge_stacks(cpu, cpu->recording->kept_bytes - before);
	return glance;
}

/* Reads a thread's Python frames. A running thread's frames are copied once: if two equal copies
 * were required, short functions would be sampled too rarely. */
static struct python_glance read_frames(struct cpu *cpu, struct process *process, uint32_t tid,
					bool is_running)
{
	struct python_remote_gap gap = {0};
	const int r = python_remote_frames(process->python, tid, is_running, cpu->python.frames,
					   STACK_FRAMES_MAX, &gap);

	return keep_frames(cpu, process, tid, r, &gap);
}

static struct python_glance read_copied(struct cpu *cpu, struct process *process,
					const struct kernel_python_stack *copied)
{
	struct python_remote_gap gap = {0};
	const int r = python_remote_copied(process->python, copied, cpu->python.frames,
					   STACK_FRAMES_MAX, &gap);

	return keep_frames(cpu, process, copied->tid, r, &gap);
}

/* Reads the Python frames for a sample, within the time budget. is_time: the sample stands for
 * processor time (not a page fault) and refills the budget. */
static struct python_glance look_at_sampled(struct cpu *cpu, struct process *process, uint32_t tid,
					    uint64_t time_ns, bool is_time)
{
	struct cpu_python *python = &cpu->python;
	struct python_glance glance = {.tid = tid, .status = -EBUSY};
	const uint64_t share = is_time ? 1000000000 / cpu->frequency_hz / SHARE : 0;
	uint64_t begin_ns = host_clocks_now_ns(), spent_ns;

	python->spent_ns -= python->spent_ns > share ? share : python->spent_ns;
	if (python->spent_ns < MAX_SAVED_NS) {
		spent_ns = host_clocks_own_ns();
		glance = read_frames(cpu, process, tid, true);
		python->spent_ns += host_clocks_own_ns() - spent_ns;
		python->late_ns += begin_ns > time_ns ? begin_ns - time_ns : 0;
		python->looks++;
	}
	return glance;
}

/* A thread that ran no Python code probably never will, such as a library's own thread. It is
 * checked ten times a second at most. */
static bool is_stranger(const struct cpu_python *python, const struct perf_glance *sample)
{
	uint64_t key = (uint64_t)sample->pid << 32 | sample->tid;

	return hash_map_get(&python->strangers, key, 0) > sample->time_ns;
}

static void note_stranger(struct cpu_python *python, const struct perf_glance *sample)
{
	uint64_t key = (uint64_t)sample->pid << 32 | sample->tid;

	if (python->strangers.count > MAX_STRANGERS)
		hash_map_clear(&python->strangers);
	hash_map_put(&python->strangers, key, sample->time_ns + STRANGER_NS);
}

/* Copies the frames just read to the thread's next sample in the same call, which is mostly a page
 * fault. */
static void keep_again(struct cpu_python *python, struct python_glance *glance)
{
	const size_t first = glance->first;

	if (!has_places(python, glance->count)) {
		glance->status = -ENOMEM;
		return;
	}
	memcpy(python->places + python->place_count, python->places + first,
	       glance->count * sizeof(*python->places));
	glance->first = python->place_count;
	python->place_count += glance->count;
}

void cpu_python_take_copied(void *context, const struct kernel_python_stack *copied)
{
	struct cpu *cpu = context;
	struct cpu_python *python = &cpu->python;
	struct process *process = processes_find(cpu->processes, copied->tgid);
	struct python_glance glance;

	if (!process || !process->python || python->glance_count >= MAX_GLANCES ||
	    python->spent_ns >= MAX_SAVED_NS ||
	    array_grow(python->glances, python->glance_capacity, python->glance_count + 1))
		return;
	glance = read_copied(cpu, process, copied);
	glance.is_copied = true;
	glance.time_ns = copied->time_ns;
	if (glance.status > 0)
		python->glances[python->glance_count++] = glance;
}

/* The kernel reads the sample's time before it runs the BPF program (since Linux 6.3), or after. */
static bool is_of(const struct python_glance *glance, uint32_t tid, uint64_t time_ns)
{
	const uint64_t apart_ns =
		glance->time_ns < time_ns ? time_ns - glance->time_ns : glance->time_ns - time_ns;

	return glance->tid == tid && apart_ns <= (glance->is_copied ? APART_NS : 0);
}

static bool is_copied(const struct cpu_python *python, const struct perf_glance *sample)
{
	for (size_t i = 0; i < python->glance_count; i++)
		if (python->glances[i].is_copied &&
		    is_of(&python->glances[i], sample->tid, sample->time_ns))
			return true;
	return false;
}

void cpu_python_glance(struct cpu *cpu)
{
	struct cpu_python *python = &cpu->python;
	struct python_glance glance = {0};
	struct perf_glance sample;

	while (perf_rings_glance(cpu->rings, false, &sample)) {
		struct process *process = processes_find(cpu->processes, sample.pid);

		if (!process || !process->python || python->glance_count >= MAX_GLANCES ||
		    is_stranger(python, &sample) || is_copied(python, &sample) ||
		    array_grow(python->glances, python->glance_capacity, python->glance_count + 1))
			continue;
		if (glance.status > 0 && glance.tid == sample.tid)
			keep_again(python, &glance);
		else
			glance = look_at_sampled(cpu, process, sample.tid, sample.time_ns,
						 !sample.is_fault);
		glance.time_ns = sample.time_ns;
		python->glances[python->glance_count++] = glance;
		if (glance.status == 0)
			note_stranger(python, &sample);
	}
}

/* Finds the glance of a sample and drops older ones. Samples are taken in the order of time, but
 * glances are stored ring by ring. */
static bool take_glance(struct cpu *cpu, uint32_t tid, uint64_t time_ns,
			struct python_glance *ret_glance)
{
	struct cpu_python *python = &cpu->python;
	bool is_found = false;
	size_t kept = 0;

	for (size_t i = 0; i < python->glance_count; i++) {
		const struct python_glance *glance = &python->glances[i];

		if (is_of(glance, tid, time_ns)) {
			*ret_glance = *glance;
			is_found = true;
		} else if (glance->time_ns + (glance->is_copied ? APART_NS : 0) > time_ns) {
			python->glances[kept++] = *glance;
		}
	}
	python->glance_count = kept;
	return is_found;
}

/* Moves the places of glances that are still needed to the front. With many processors the list of
 * glances is never empty. */
static void pack_places(struct cpu_python *python)
{
	size_t kept = 0;

	for (size_t i = 0; i < python->glance_count; i++) {
		struct python_glance *glance = &python->glances[i];

		memmove(python->places + kept, python->places + glance->first,
			glance->count * sizeof(*python->places));
		glance->first = kept;
		kept += glance->count;
	}
	python->place_count = kept;
}

/* Frees places. The caller has used the frames of its own glance, so only those of stored glances
 * are needed. */
static void forget_places(struct cpu *cpu)
{
	if (!cpu->python.glance_count)
		cpu->python.place_count = 0;
	else if (cpu->python.place_count > MAX_PLACES / 2)
		pack_places(&cpu->python);
}

bool cpu_python_merge(struct cpu *cpu, const struct cpu_walk *walk)
{
	const bool is_sample = walk->time_ns != 0;
	struct python_glance glance;
	bool is_merged, is_there;

	cpu->part_count = 0;
	is_there =
		walk->python || (is_sample && take_glance(cpu, walk->tid, walk->time_ns, &glance));
	if (walk->python)
		glance = read_copied(cpu, walk->native.process, walk->python);
	if (!is_there && !cpu_python_has_evaluations(walk) &&
	    (is_sample || walk->native.end == UNWIND_WALK_OUTERMOST))
		return false;
	if (!is_there)
		glance = is_sample ? look_at_sampled(cpu, walk->native.process, walk->tid,
						     walk->time_ns, false)
				   : read_frames(cpu, walk->native.process, walk->tid,
						 cpu->rings != NULL);
	is_merged = cpu_python_merge_glance(cpu, walk, &glance, is_sample);
	forget_places(cpu);
	return is_merged;
}

/* Without perf there are no records of new mappings, so they are read again after 1, 2, 4 …
 * looks. */
static void find_in_memory(struct cpu *cpu, struct process *process, uint64_t now_ns)
{
	const uint32_t looks = ++process->python_looks;

	if (!cpu->python.is_wanted || process->python || process->is_python_refused ||
	    !lookup_budget_is_due(&process->looks, now_ns) || (looks & (looks - 1)))
		return;
	cpu_read_memory(cpu, process);
	cpu_python_find(cpu, process);
	lookup_budget_spend(&process->looks, now_ns, host_clocks_now_ns());
}

uint32_t cpu_python_stack(struct cpu *cpu, struct process *process, uint32_t tid, uint64_t now_ns)
{
	struct python_glance glance;
	uint32_t stack = 0;

	find_in_memory(cpu, process, now_ns);
	if (!process->python || !cpu_has_room(cpu))
		return 0;
	glance = look_at_sampled(cpu, process, tid, now_ns, true);
	for (size_t i = glance.count; i-- > 0;) {
		const uint32_t frame = cpu->python.places[glance.first + i].frame;

		if (frame)
			stack = recording_stack(cpu->recording, stack, frame);
		if (glance.gap.frames && i == glance.gap.at)
			stack = recording_stack(
				cpu->recording, stack,
				stack_walker_cut_mark(cpu->walker, glance.gap.frames));
	}
	if (stack && glance.gap.is_collecting)
		stack = recording_stack(cpu->recording, stack, cpu_python_collection(cpu));
	if (glance.status > 0)
		*(glance.gap.is_moving ? &cpu->python.doubtful : &cpu->python.whole) += 1;
	else if (glance.status < 0)
		cpu_python_count_torn(&cpu->python, &glance);
	forget_places(cpu);
	return stack;
}

/* ---- closing --------------------------------------------------------------------------------- */

void cpu_python_note(struct cpu *cpu)
{
	const struct cpu_python *python = &cpu->python;
	const uint64_t all = python->whole + python->doubtful + python->inner + python->torn;
	const uint64_t lost = all ? (python->inner + python->torn) * PER_THOUSAND / all : 0;
	char text[640];
	int length;

	if (!all)
		return;
	length =
		snprintf(text, sizeof(text),
			 "%" PRIu64 " of %" PRIu64 " Python samples have no Python frames, %" PRIu64
			 " lack the innermost ones (read %.1f ms too late on average)",
			 python->torn, all, python->inner,
			 python->looks ? (double)python->late_ns / (double)python->looks / 1e6 : 0);
	if (python->doubtful)
		length +=
			snprintf(text + length, sizeof(text) - (size_t)length,
				 "; in %" PRIu64 " the innermost frame may be of that later moment",
				 python->doubtful);
	if (python->oversized)
		length += snprintf(text + length, sizeof(text) - (size_t)length,
				   "; in %" PRIu64 " the stack is larger than is read",
				   python->oversized);
	if (python->refused)
		snprintf(text + length, sizeof(text) - (size_t)length,
			 "; for %" PRIu64 " there was no time: a lower -F takes fewer samples",
			 python->refused);
	recording_note(cpu->recording, "cpu",
		       lost >= LOST_PER_THOUSAND ? COLLECTOR_PARTIAL : COLLECTOR_AVAILABLE, 0,
		       text);
}

void cpu_python_fini(struct cpu *cpu)
{
	identities_fini(&cpu->python.notes);
	hash_map_fini(&cpu->python.objects);
	hash_map_fini(&cpu->python.strangers);
	free(cpu->python.places);
	free(cpu->python.glances);
	free(cpu->parts);
}
