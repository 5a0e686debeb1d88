/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/cpu_python.c - the Python functions that threads are in
 *
 * Runs in:  the recorder
 * Gets:     native stacks, threads' ids   Gives: stacks with Python functions in place of their interpreter's frames
 * Owns:     what was read for samples that were not taken yet
 * Fails:    a part that is not known is a mark in the stack, and counted
 * Why at once: a sample is taken from its ring up to 6 ms after it was made, and a function may be long over then: the
 *           ring wakes us, and the functions are read some 50 us after the sample. They are told as far as they fit the
 *           copy of the stack that the sample has.
 */
#include "collect/cpu/cpu_private.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "collect/host_clocks.h"
#include "collect/memory_map.h"
#include "collect/stacks.h"

enum {
	GLANCES_MOST = 1 << 12,
	OBJECTS_MOST = 1 << 16,
	STRANGERS_MOST = 1 << 12,
	STRANGER_NS = 100000000,
	SINCE_3_11 = 0x030b,
	PLACES_MOST = 1 << 18,
	SAVED_NS_MOST = 10000000, /* of time for reading that may be spent at once */
	SHARE = 100, /* of the processor time of what is sampled: one percent at most */
	PARTS_LEAST = 64,
	SHIFT_MOST = 8, /* so many evaluations may have begun or ended since the sample */
	PER_THOUSAND = 1000,
	LOST_PER_THOUSAND = 50 /* … of samples, from which on the user is told at once */
};

/* ---- interpreters ------------------------------------------------------------------------------ */

uint32_t cpu_python_of(struct cpu *cpu, const struct process *process, struct code_file *file)
{
	struct stacks_file about = {.path = file->path};

	if (file->python != PYTHON_NOT_ASKED)
		return file->python;
	code_files_describe(&cpu->files, file);
	about.path_string = file->path_string;
	about.build_id_string = file->build_id_string;
	file->python = stacks_python(cpu->recording, process->row.pid,
				     process->exe ? process->exe : "", &about);
	return file->python;
}

/* What is to be added to the values of a file's symbols, by where a piece of its code lies. */
static bool find_load_address(int fd, const struct memory_piece *piece, uint64_t *ret_address)
{
	Elf64_Ehdr head;
	Elf64_Phdr part;

	if (pread_all(fd, &head, sizeof(head), 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_phentsize != sizeof(part))
		return false;
	for (uint64_t i = 0; i < head.e_phnum; i++) {
		if (pread_all(fd, &part, sizeof(part), head.e_phoff + i * sizeof(part)))
			return false;
		if (part.p_type != PT_LOAD || !(part.p_flags & PF_X) ||
		    piece->file_offset + (piece->end - piece->start) <= part.p_offset ||
		    piece->file_offset >= part.p_offset + part.p_filesz)
			continue;
		*ret_address = piece->start - (part.p_vaddr + piece->file_offset - part.p_offset);
		return true;
	}
	return false;
}

static bool open_piece(const struct process *process, const struct memory_piece *piece,
		       struct python_remote_file *ret_file)
{
	ret_file->fd = images_open_file(process->row.pid, piece->file->path);
	if (ret_file->fd < 0)
		return false;
	if (find_load_address(ret_file->fd, piece, &ret_file->load_address))
		return true;
	close(ret_file->fd);
	return false;
}

static const struct memory_piece *find_program(const struct process *process)
{
	const struct memory_map *memory = process->memory;

	for (size_t i = 0; process->exe && i < memory->count; i++) {
		const struct memory_piece *piece = memory_map_at(memory, i);

		if (piece->file && !strcmp(piece->file->path, process->exe))
			return piece;
	}
	return NULL;
}

/* Each text once: most Pythons of a recording are one. */
static void note_refused(struct cpu *cpu)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "the Python functions of a process are not known, its samples have the "
		 "interpreter's own: %s",
		 error_text());
	if (identities_find(&cpu->python.notes, text))
		return;
	identities_remember(&cpu->python.notes, text, 1);
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
}

/* An interpreter that has just been mapped is not ready yet. */
void cpu_python_open(struct cpu *cpu, struct process *process, const struct memory_piece *piece)
{
	const struct memory_piece *found = find_program(process);
	struct python_remote_file file, program = {.fd = -1};
	uint64_t begin_ns = host_clocks_now_ns();
	bool has_program;
	int error;

	if (!cpu->python.is_wanted || process->python || process->is_python_refused ||
	    !look_time_is_due(&process->looks, begin_ns) || !open_piece(process, piece, &file))
		return;
	has_program = found && found->file != piece->file && open_piece(process, found, &program);
	error = python_remote_new(process->row.pid, &file, has_program ? &program : NULL,
				  &process->python);
	close(file.fd);
	if (has_program)
		close(program.fd);
	cpu->python.is_there |= error == 0;
	if (!error && cpu->rings)
		perf_rings_wake(cpu->rings);
	process->is_python_refused = error && error != -EAGAIN;
	if (error == -EPERM && cpu_can_look(cpu))
		cpu_note_closed(cpu, process);
	else if (error == -EPERM || error == -ENOTSUP)
		note_refused(cpu);
	if (error)
		error_clear();
	look_time_spend(&process->looks, begin_ns, host_clocks_now_ns());
}

/* Where no stack leads to it. */
void cpu_python_find(struct cpu *cpu, struct process *process)
{
	const struct memory_map *memory = process->memory;

	for (size_t i = 0; memory && i < memory->count && !process->python; i++) {
		const struct memory_piece *piece = memory_map_at(memory, i);
		struct code_file *file = piece->file;

		if (file && file->path[0] == '/' &&
		    cpu_python_of(cpu, process, file) != PYTHON_NONE)
			cpu_python_open(cpu, process, piece);
	}
}

/* ---- reading ----------------------------------------------------------------------------------- */

static uint32_t frame_of(struct cpu *cpu, const struct python_remote_frame *frame)
{
	struct event_frame row = {
		.type = FRAME_PYTHON, .first_line = frame->first_line, .line = frame->line};

	if (!frame->function)
		return 0;
	row.name_string = recording_string(cpu->recording, frame->function);
	row.file_string = recording_string(cpu->recording, frame->file ? frame->file : "");
	return recording_frame(cpu->recording, &row);
}

/* Who is looked up by this is asked what it is before it is believed. */
static uint64_t object_key(uint32_t pid, uint64_t address)
{
	return address / sizeof(uint64_t) ^ (uint64_t)pid << 44;
}

static void keep_objects(struct cpu_python *python, uint32_t pid, size_t count)
{
	if (python->objects.count > OBJECTS_MOST)
		hash_map_clear(&python->objects);
	for (size_t i = 0; i < count; i++)
		hash_map_put(&python->objects, object_key(pid, python->frames[i].address), 1);
}

static bool has_places(struct cpu_python *python, size_t count)
{
	return python->place_count + count <= PLACES_MOST &&
	       !array_grow(python->places, python->place_capacity, python->place_count + count);
}

/* Behind what was read for others. */
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
			(struct python_place){.frame = frame_of(cpu, frame),
					      .is_entry = frame->is_entry,
					      .address = frame->address,
					      .c_address = frame->c_address};
	}
}

/* Of one that runs, by one copy: whoever is told only where two agree has too few short functions. */
static struct python_glance look(struct cpu *cpu, struct process *process, uint32_t tid,
				 bool is_running)
{
	struct python_glance glance = {.tid = tid};
	uint64_t before = cpu->recording->kept_bytes;
	int r = (is_running ? python_remote_glance : python_remote_frames)(
		process->python, tid, cpu->python.frames, CPU_FRAMES_MOST, &glance.gap);

	glance.status = r;
	if (r > 0)
		keep_places(cpu, &glance, (size_t)r);
	if (r > 0 && python_remote_version(process->python) < SINCE_3_11)
		keep_objects(&cpu->python, process->row.pid, (size_t)r);
	cpu->stack_bytes += cpu->recording->kept_bytes - before;
	cpu->all_stack_bytes += cpu->recording->kept_bytes - before;
	return glance;
}

/* Of a sample: each that tells time brings its share of what may be spent. */
static struct python_glance look_at_sampled(struct cpu *cpu, struct process *process, uint32_t tid,
					    uint64_t time_ns, bool tells_time)
{
	struct cpu_python *python = &cpu->python;
	struct python_glance glance = {.tid = tid, .status = -EBUSY};
	const uint64_t share = tells_time ? 1000000000 / cpu->frequency_hz / SHARE : 0;
	uint64_t begin_ns = host_clocks_now_ns(), spent_ns;

	python->spent_ns -= python->spent_ns > share ? share : python->spent_ns;
	if (python->spent_ns < SAVED_NS_MOST) {
		spent_ns = host_clocks_own_ns();
		glance = look(cpu, process, tid, true);
		python->spent_ns += host_clocks_own_ns() - spent_ns;
		python->late_ns += begin_ns > time_ns ? begin_ns - time_ns : 0;
		python->looks++;
	}
	return glance;
}

/* Threads of other libraries have no functions, and mostly will have none: each is asked ten times a second. */
static bool is_stranger(const struct cpu_python *python, const struct perf_glance *sample)
{
	uint64_t key = (uint64_t)sample->pid << 32 | sample->tid;

	return hash_map_get(&python->strangers, key, 0) > sample->time_ns;
}

static void note_stranger(struct cpu_python *python, const struct perf_glance *sample)
{
	uint64_t key = (uint64_t)sample->pid << 32 | sample->tid;

	if (python->strangers.count > STRANGERS_MOST)
		hash_map_clear(&python->strangers);
	hash_map_put(&python->strangers, key, sample->time_ns + STRANGER_NS);
}

/* Samples that came together, of page faults mostly: what has just been read for one is there for the next. */
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

void cpu_python_glance(struct cpu *cpu)
{
	struct cpu_python *python = &cpu->python;
	struct python_glance glance = {0};
	struct perf_glance sample;

	while (perf_rings_glance(cpu->rings, &sample)) {
		struct process *process = processes_find(cpu->processes, sample.pid);

		if (!process || !process->python || python->glance_count >= GLANCES_MOST ||
		    is_stranger(python, &sample) ||
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

/* Samples come in the order of time, glances ring by ring. */
static bool take_glance(struct cpu *cpu, uint32_t tid, uint64_t time_ns,
			struct python_glance *ret_glance)
{
	struct cpu_python *python = &cpu->python;
	bool is_found = false;
	size_t kept = 0;

	for (size_t i = 0; i < python->glance_count; i++) {
		const struct python_glance *glance = &python->glances[i];

		if (glance->tid == tid && glance->time_ns == time_ns) {
			*ret_glance = *glance;
			is_found = true;
		} else if (glance->time_ns > time_ns) {
			python->glances[kept++] = *glance;
		}
	}
	python->glance_count = kept;
	return is_found;
}

/* Of those whose samples are still in the rings, to the front: with many processors some always are. */
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

/* What was read is used before anything else is read. */
static void forget_places(struct cpu *cpu)
{
	if (!cpu->python.glance_count)
		cpu->python.place_count = 0;
	else if (cpu->python.place_count > PLACES_MOST / 2)
		pack_places(&cpu->python);
}

/* ---- both stacks as one ------------------------------------------------------------------------ */

struct merge {
	struct cpu *cpu;
	const struct cpu_walk *walk;
	const struct python_glance *glance;
	const struct python_place *places;
	size_t evaluations[CPU_FRAMES_MOST], evaluation_count; /* native frames, innermost first */
	size_t groups[CPU_FRAMES_MOST + 1], group_count; /* of each evaluation its first place */
	ptrdiff_t shift;                                 /* from an evaluation to its group */
	size_t torn; /* so many of the innermost evaluations have no group that fits … */
	size_t lost; /* … of which so many have no function by another way either */
	struct stack_part functions[CPU_FRAMES_MOST]; /* of the torn ones */
	uint64_t used[CPU_FRAMES_MOST];               /* objects of the evaluations further out */
	size_t used_count;
	bool has_trampolines;
};

static uint64_t pc_of(const struct unwind_walk_frame *frame)
{
	return frame->pc - frame->is_return;
}

/* The evaluations of the native stack. False: there are none, or trampolines (PYTHONPERFSUPPORT) tell its functions. */
static bool find_evaluations(struct merge *merge)
{
	const struct cpu_walk *walk = merge->walk;

	for (size_t i = 0; i < walk->count; i++) {
		const struct memory_piece *caller =
			i + 1 < walk->count ? walk->pieces[i + 1] : NULL;

		if (!python_remote_is_evaluation(walk->process->python, pc_of(&walk->frames[i])))
			continue;
		if (caller && !caller->file) {
			merge->has_trampolines = true;
			return false;
		}
		merge->evaluations[merge->evaluation_count++] = i;
	}
	return merge->evaluation_count != 0;
}

static void find_groups(struct merge *merge)
{
	size_t first = 0;

	for (size_t i = 0; i < merge->glance->count; i++) {
		if (!merge->places[i].is_entry)
			continue;
		merge->groups[merge->group_count++] = first;
		first = i + 1;
	}
	/* the outermost function of a thread that has only just begun */
	if (first < merge->glance->count)
		merge->groups[merge->group_count++] = first;
	merge->groups[merge->group_count] = merge->glance->count;
}

/* Where on the stack the C frame of an evaluation lies, with those of all that it called. */
static void find_part(const struct merge *merge, size_t evaluation, uint64_t *ret_begin,
		      uint64_t *ret_end)
{
	const struct cpu_walk *walk = merge->walk;
	const size_t outer = merge->evaluations[evaluation] + 1;
	const uint64_t sp = walk->state->sp;

	*ret_begin = evaluation ? walk->frames[merge->evaluations[evaluation - 1] + 1].sp : sp;
	*ret_end = outer < walk->count ? walk->frames[outer].sp : sp + walk->state->stack_bytes;
}

static bool read_word(const struct unwind_state *state, uint64_t at, uint64_t *ret_word)
{
	if (at < state->sp || at - state->sp + sizeof(*ret_word) > state->stack_bytes)
		return false;
	memcpy(ret_word, state->stack + (at - state->sp), sizeof(*ret_word));
	return true;
}

static bool has_word(const struct merge *merge, uint64_t begin, uint64_t end, uint64_t wanted)
{
	uint64_t word;

	for (uint64_t at = begin; at < end && read_word(merge->walk->state, at, &word);
	     at += sizeof(word))
		if (word == wanted)
			return true;
	return false;
}

/* Whether the functions of a group can be those of an evaluation: from 3.12 on a part of the evaluation's C frame says that it
 * is theirs; before, a frame's address is among the words there: that of the frame that it is in, which in the innermost
 * evaluation may have been any one (3.11). */
static bool is_fitting(const struct merge *merge, size_t evaluation, size_t group)
{
	const size_t first = merge->groups[group], end = merge->groups[group + 1];
	const uint64_t c_address = merge->places[end - 1].c_address;
	uint64_t from, to;

	find_part(merge, evaluation, &from, &to);
	if (c_address)
		return c_address - from < to - from;
	for (size_t i = first; i < end; i++) {
		if (has_word(merge, from, to, merge->places[i].address))
			return true;
		if (evaluation)
			break;
	}
	return false;
}

/* Where the native walk reached the thread's begin, both end there. Else some group fits the outermost evaluation. */
static void align(struct merge *merge)
{
	const size_t last = merge->evaluation_count - 1;

	merge->shift = (ptrdiff_t)merge->group_count - (ptrdiff_t)merge->evaluation_count;
	if (merge->walk->end == UNWIND_WALK_OUTERMOST && !merge->glance->gap.entries)
		return;
	for (ptrdiff_t i = 0; i <= 2 * SHIFT_MOST; i++) {
		ptrdiff_t shift = i % 2 ? (i + 1) / 2 : -i / 2, group = (ptrdiff_t)last + shift;

		if (group < 0 || group >= (ptrdiff_t)merge->group_count ||
		    !is_fitting(merge, last, (size_t)group))
			continue;
		merge->shift = shift;
		return;
	}
	merge->group_count = 0;
}

/* Inwards up to the first evaluation that does not fit. */
static void find_torn(struct merge *merge)
{
	for (merge->torn = merge->evaluation_count; merge->torn > 0; merge->torn--) {
		ptrdiff_t group = (ptrdiff_t)merge->torn - 1 + merge->shift;

		if (group < 0 || group >= (ptrdiff_t)merge->group_count ||
		    !is_fitting(merge, merge->torn - 1, (size_t)group))
			return;
	}
}

static bool is_used(const struct merge *merge, uint64_t object)
{
	for (size_t i = 0; i < merge->used_count; i++)
		if (merge->used[i] == object)
			return true;
	return false;
}

/* The words of an evaluation's part of the stack: one of them is the frame object that it was given. */
static bool find_object(struct merge *merge, size_t evaluation)
{
	const struct cpu_walk *walk = merge->walk;
	const uint32_t pid = walk->process->row.pid;
	struct python_remote_frame frame;
	uint64_t begin, end, word;

	find_part(merge, evaluation, &begin, &end);
	for (uint64_t at = begin; read_word(walk->state, at, &word) && at < end;
	     at += sizeof(word)) {
		if (!hash_map_get(&merge->cpu->python.objects, object_key(pid, word), 0) ||
		    is_used(merge, word) ||
		    python_remote_object(walk->process->python, word, &frame))
			continue;
		merge->used[merge->used_count++] = word;
		merge->functions[evaluation].frame = frame_of(merge->cpu, &frame);
		return merge->functions[evaluation].frame != 0;
	}
	return false;
}

/* Up to 3.10 a function that is over by now may be known by its frame object. */
static void find_objects(struct merge *merge)
{
	merge->lost = merge->torn;
	if (python_remote_version(merge->walk->process->python) >= SINCE_3_11)
		return;
	for (size_t i = merge->torn; i < merge->evaluation_count; i++)
		merge->used[merge->used_count++] =
			merge->places[merge->groups[(size_t)((ptrdiff_t)i + merge->shift)]].address;
	while (merge->lost > 0 && find_object(merge, merge->lost - 1))
		merge->lost--;
}

static void add(struct merge *merge, struct stack_part part)
{
	struct cpu *cpu = merge->cpu;

	if (array_grow(cpu->parts, cpu->part_capacity, cpu->part_count + 1) == 0)
		cpu->parts[cpu->part_count++] = part;
}

static void add_mark(struct merge *merge, uint64_t frames)
{
	add(merge, (struct stack_part){.frame = cpu_cut_mark(merge->cpu, frames)});
}

static void add_group(struct merge *merge, size_t group)
{
	const struct python_remote_gap *gap = &merge->glance->gap;

	for (size_t i = merge->groups[group]; i < merge->groups[group + 1]; i++) {
		if (gap->frames && i == gap->at)
			add_mark(merge, gap->frames);
		if (merge->places[i].frame)
			add(merge, (struct stack_part){.frame = merge->places[i].frame});
	}
}

static bool is_left_out(const struct merge *merge, size_t native)
{
	const struct cpu_walk *walk = merge->walk;
	const struct memory_piece *piece = walk->pieces[native];
	uint32_t python = piece && piece->file
				  ? cpu_python_of(merge->cpu, walk->process, piece->file)
				  : PYTHON_NONE;

	return python == PYTHON_INTERPRETER ||
	       (python == PYTHON_EMBEDDED && native > merge->evaluations[0] &&
		native < merge->evaluations[merge->evaluation_count - 1]);
}

/* A glance at a sampled thread tells what it saw, another look only what is certain. */
static bool is_cut_inside(const struct merge *merge)
{
	return merge->glance->gap.is_moving && !merge->walk->time_ns;
}

static void put_together(struct merge *merge)
{
	const struct cpu_walk *walk = merge->walk;
	size_t next = 0;

	for (size_t i = 0; i < walk->count; i++) {
		bool is_evaluation =
			next < merge->evaluation_count && merge->evaluations[next] == i;

		if (!is_evaluation && !is_left_out(merge, i))
			add(merge, (struct stack_part){.native = i});
		if (!is_evaluation)
			continue;
		if (next + 1 == merge->lost || (next == 0 && !merge->torn && is_cut_inside(merge)))
			add_mark(merge, 0);
		if (next >= merge->lost && next < merge->torn)
			add(merge, merge->functions[next]);
		if (next++ >= merge->torn)
			add_group(merge, (size_t)((ptrdiff_t)next - 1 + merge->shift));
	}
	/* what the native walk did not reach */
	for (size_t i = (size_t)((ptrdiff_t)next + merge->shift);
	     merge->torn < merge->evaluation_count && i < merge->group_count; i++)
		add_group(merge, i);
}

/* The walk ended before it came to an evaluation (a library's assembler that needs bp, which a blocked thread does not
 * tell): its functions stand still, and are further out. */
static bool put_around(struct merge *merge)
{
	const struct cpu_walk *walk = merge->walk;

	if (walk->time_ns || walk->end == UNWIND_WALK_OUTERMOST || merge->has_trampolines ||
	    merge->glance->status <= 0)
		return false;
	for (size_t i = 0; i < walk->count; i++)
		add(merge, (struct stack_part){.native = i});
	add_mark(merge, 0);
	find_groups(merge);
	for (size_t i = 0; i < merge->group_count; i++)
		add_group(merge, i);
	return true;
}

static void count_torn(struct cpu_python *python, const struct python_glance *glance)
{
	python->torn++;
	python->refused += glance->status == -EBUSY;
	python->oversized += glance->status == -E2BIG;
}

static void count(struct cpu_python *python, const struct merge *merge)
{
	if (merge->lost == merge->evaluation_count)
		count_torn(python, merge->glance);
	else if (merge->lost)
		python->inner++;
	else if (merge->glance->gap.is_moving)
		python->doubtful++;
	else
		python->whole++;
}

/* False: no Python function is in this stack. */
static bool merge_glance(struct cpu *cpu, const struct cpu_walk *walk,
			 const struct python_glance *glance, bool is_sample)
{
	struct merge merge = {.cpu = cpu,
			      .walk = walk,
			      .glance = glance,
			      .places = cpu->python.places + glance->first};

	cpu->part_count = 0;
	if (!find_evaluations(&merge))
		return put_around(&merge);
	find_groups(&merge);
	align(&merge);
	find_torn(&merge);
	find_objects(&merge);
	put_together(&merge);
	if (is_sample)
		count(&cpu->python, &merge);
	return true;
}

static bool has_evaluations(const struct cpu_walk *walk)
{
	for (size_t i = 0; i < walk->count; i++)
		if (python_remote_is_evaluation(walk->process->python, pc_of(&walk->frames[i])))
			return true;
	return false;
}

bool cpu_python_merge(struct cpu *cpu, const struct cpu_walk *walk)
{
	const bool is_sample = walk->time_ns != 0;
	struct python_glance glance;
	bool is_merged, is_there;

	cpu->part_count = 0;
	is_there = is_sample && take_glance(cpu, walk->tid, walk->time_ns, &glance);
	if (!is_there && !has_evaluations(walk) &&
	    (is_sample || walk->end == UNWIND_WALK_OUTERMOST))
		return false;
	if (!is_there)
		glance = is_sample ? look_at_sampled(cpu, walk->process, walk->tid, walk->time_ns,
						     false)
				   : look(cpu, walk->process, walk->tid, false);
	is_merged = merge_glance(cpu, walk, &glance, is_sample);
	forget_places(cpu);
	return is_merged;
}

/* Nobody tells of new mappings: they are read again after 1, 2, 4 … looks. */
static void find_in_memory(struct cpu *cpu, struct process *process, uint64_t now_ns)
{
	const uint32_t looks = ++process->python_looks;

	if (!cpu->python.is_wanted || process->python || process->is_python_refused ||
	    !look_time_is_due(&process->looks, now_ns) || (looks & (looks - 1)))
		return;
	cpu_read_memory(cpu, process);
	cpu_python_find(cpu, process);
	look_time_spend(&process->looks, now_ns, host_clocks_now_ns());
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
			stack = recording_stack(cpu->recording, stack,
						cpu_cut_mark(cpu, glance.gap.frames));
	}
	if (glance.status > 0)
		*(glance.gap.is_moving ? &cpu->python.doubtful : &cpu->python.whole) += 1;
	else if (glance.status < 0)
		count_torn(&cpu->python, &glance);
	forget_places(cpu);
	return stack;
}

/* ---- the interpreter's lock -------------------------------------------------------------------- */

bool cpu_python_lock(struct cpu *cpu, struct process *process, uint32_t tid, uint64_t address,
		     uint32_t *ret_holder)
{
	struct process_thread *holder;
	uint32_t holder_tid = 0;

	*ret_holder = 0;
	if (!process->python || python_remote_lock(process->python, tid, address, &holder_tid) != 1)
		return false;
	if (holder_tid && holder_tid != tid) {
		holder = process_thread(cpu->processes, process, holder_tid, host_clocks_now_ns());
		*ret_holder = holder ? process_thread_describe(cpu->processes, process, holder) : 0;
	}
	return true;
}

/* ---- the end ----------------------------------------------------------------------------------- */

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
