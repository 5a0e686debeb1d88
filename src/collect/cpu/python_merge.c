/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/python_merge.c - merges Python frames into native stacks
 *
 * Runs in:  the recorder
 * Gets:     a native stack and the Python frames that were read for it
 * Gives:    cpu->parts: the stack in which Python frames replace frames of the interpreter
 * Owns:     nothing
 * Fails:    Python frames that do not match the native stack become a mark frame
 * Why:      the Python frames are read some 50 us after the native stack was copied, and functions
 *           may have returned or been called in between. Each group of Python frames is therefore
 *           matched with the copied stack.
 */
#include "collect/cpu/cpu_private.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "collect/guest/stacks.h"

enum {
	SINCE_3_11 = 0x030b,
	MAX_SHIFT =
		8 /* max number of evaluations that may have started or ended since the sample */
};

uint32_t cpu_python_frame(struct cpu *cpu, const struct python_remote_frame *frame)
{
	struct event_frame row = {
		.type = FRAME_PYTHON, .first_line = frame->first_line, .line = frame->line};

	if (!frame->function)
		return 0;
	row.name_string = recording_string(cpu->recording, frame->function);
	row.file_string = recording_string(cpu->recording, frame->file ? frame->file : "");
	return recording_frame(cpu->recording, &row);
}

/* An evaluation is a native frame of the interpreter's evaluation loop. It runs a group of one or
 * more Python frames, of which the last is its entry frame. */
struct merge {
	struct cpu *cpu;
	const struct cpu_walk *walk;
	const struct python_glance *glance;
	const struct python_place *places;
	/* indexes of native frames, innermost first */
	size_t evaluations[STACK_FRAMES_MAX], evaluation_count;
	/* index of the first place of each group */
	size_t groups[STACK_FRAMES_MAX + 1], group_count;
	ptrdiff_t shift; /* group index minus evaluation index */
	size_t torn;     /* number of innermost evaluations without a matching group … */
	size_t lost;     /* … of which this many have no frame object either */
	/* frames of torn evaluations that a frame object identifies */
	struct stack_part functions[STACK_FRAMES_MAX];
	/* addresses of frame objects that belong to evaluations further out */
	uint64_t used[STACK_FRAMES_MAX];
	size_t used_count;
	bool has_trampolines;
};

static uint64_t pc_of(const struct unwind_walk_frame *frame)
{
	return frame->pc - frame->is_return;
}

/* Finds the evaluations of the native stack. False: there are none, or the stack has perf
 * trampolines (PYTHONPERFSUPPORT), which name the Python functions. */
static bool find_evaluations(struct merge *merge)
{
	const struct cpu_walk *walk = merge->walk;

	for (size_t i = 0; i < walk->native.count; i++) {
		const struct memory_piece *caller =
			i + 1 < walk->native.count ? walk->native.pieces[i + 1] : NULL;

		if (!python_remote_is_evaluation(walk->native.process->python,
						 pc_of(&walk->native.frames[i])))
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
	/* the outermost group of a thread that has just started may lack its entry frame */
	if (first < merge->glance->count)
		merge->groups[merge->group_count++] = first;
	merge->groups[merge->group_count] = merge->glance->count;
}

/* Address range on the stack from the next inner evaluation's end to this evaluation's C frame: it
 * holds the C frames of this evaluation and of the functions it called. */
static void find_part(const struct merge *merge, size_t evaluation, uint64_t *ret_begin,
		      uint64_t *ret_end)
{
	const struct cpu_walk *walk = merge->walk;
	const size_t outer = merge->evaluations[evaluation] + 1;
	const uint64_t sp = walk->native.state->sp;

	*ret_begin =
		evaluation ? walk->native.frames[merge->evaluations[evaluation - 1] + 1].sp : sp;
	*ret_end = outer < walk->native.count ? walk->native.frames[outer].sp
					      : sp + walk->native.state->stack_bytes;
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

	for (uint64_t at = begin; at < end && read_word(merge->walk->native.state, at, &word);
	     at += sizeof(word))
		if (word == wanted)
			return true;
	return false;
}

/* Whether a group can belong to an evaluation. From 3.12 on, the group's c_address lies in the
 * evaluation's C frame. Before, the address of the current Python frame is among the words of the C
 * frame; in the innermost evaluation this may be any frame of the group (3.11). */
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

/* Computes the shift. If the native walk reached the thread's start function, the outermost
 * evaluation and group belong together. Otherwise searches for a group that matches the outermost
 * evaluation. */
static void align_groups(struct merge *merge)
{
	const size_t last = merge->evaluation_count - 1;

	merge->shift = (ptrdiff_t)merge->group_count - (ptrdiff_t)merge->evaluation_count;
	if (merge->walk->native.end == UNWIND_WALK_OUTERMOST && !merge->glance->gap.entries)
		return;
	for (ptrdiff_t i = 0; i <= 2 * MAX_SHIFT; i++) {
		ptrdiff_t shift = i % 2 ? (i + 1) / 2 : -i / 2, group = (ptrdiff_t)last + shift;

		if (group < 0 || group >= (ptrdiff_t)merge->group_count ||
		    !is_fitting(merge, last, (size_t)group))
			continue;
		merge->shift = shift;
		return;
	}
	merge->group_count = 0;
}

/* Goes inwards to the first evaluation whose group does not match; that one and all inner ones are
 * torn. */
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

/* Searches the evaluation's part of the stack for a word that is the address of a known frame
 * object: the argument of the evaluation. */
static bool find_object(struct merge *merge, size_t evaluation)
{
	const struct cpu_walk *walk = merge->walk;
	const uint32_t pid = walk->native.process->row.pid;
	struct python_remote_frame frame;
	uint64_t begin, end, word;

	find_part(merge, evaluation, &begin, &end);
	for (uint64_t at = begin; read_word(walk->native.state, at, &word) && at < end;
	     at += sizeof(word)) {
		if (!hash_map_get(&merge->cpu->python.objects, cpu_python_object_key(pid, word),
				  0) ||
		    is_used(merge, word) ||
		    python_remote_object(walk->native.process->python, word, &frame))
			continue;
		merge->used[merge->used_count++] = word;
		merge->functions[evaluation].frame = cpu_python_frame(merge->cpu, &frame);
		return merge->functions[evaluation].frame != 0;
	}
	return false;
}

/* Up to 3.10, a function that has returned since the sample may still be identified by its frame
 * object. */
static void find_objects(struct merge *merge)
{
	merge->lost = merge->torn;
	if (python_remote_version(merge->walk->native.process->python) >= SINCE_3_11)
		return;
	for (size_t i = merge->torn; i < merge->evaluation_count; i++)
		merge->used[merge->used_count++] =
			merge->places[merge->groups[(size_t)((ptrdiff_t)i + merge->shift)]].address;
	while (merge->lost > 0 && find_object(merge, merge->lost - 1))
		merge->lost--;
}

static void add_part(struct merge *merge, struct stack_part part)
{
	struct cpu *cpu = merge->cpu;

	if (array_grow(cpu->parts, cpu->part_capacity, cpu->part_count + 1) == 0)
		cpu->parts[cpu->part_count++] = part;
}

static void add_mark(struct merge *merge, uint64_t frames)
{
	add_part(merge,
		 (struct stack_part){.frame = stack_walker_cut_mark(merge->cpu->walker, frames)});
}

uint32_t cpu_python_collection(struct cpu *cpu)
{
	const struct event_frame row = {.type = FRAME_NATIVE,
					.name_string =
						recording_string(cpu->recording, FRAME_GARBAGE)};

	return recording_frame(cpu->recording, &row);
}

static void add_collection(struct merge *merge)
{
	const uint32_t frame =
		merge->glance->gap.is_collecting ? cpu_python_collection(merge->cpu) : 0;

	if (frame)
		add_part(merge, (struct stack_part){.frame = frame});
}

static void add_group(struct merge *merge, size_t group)
{
	const struct python_remote_gap *gap = &merge->glance->gap;

	for (size_t i = merge->groups[group]; i < merge->groups[group + 1]; i++) {
		if (gap->frames && i == gap->at)
			add_mark(merge, gap->frames);
		if (merge->places[i].frame)
			add_part(merge, (struct stack_part){.frame = merge->places[i].frame});
	}
}

static bool is_left_out(const struct merge *merge, size_t native)
{
	const struct cpu_walk *walk = merge->walk;
	const struct memory_piece *piece = walk->native.pieces[native];
	uint32_t python = piece && piece->file
				  ? cpu_python_of(merge->cpu, walk->native.process, piece->file)
				  : PYTHON_NONE;

	return python == PYTHON_INTERPRETER ||
	       (python == PYTHON_EMBEDDED && native > merge->evaluations[0] &&
		native < merge->evaluations[merge->evaluation_count - 1]);
}

/* Whether the innermost frames are uncertain and left out. For samples they are kept, and the
 * sample is counted as doubtful. */
static bool is_cut_inside(const struct merge *merge)
{
	return merge->glance->gap.is_moving && !merge->walk->time_ns;
}

static void put_together(struct merge *merge)
{
	const struct cpu_walk *walk = merge->walk;
	size_t next = 0;

	for (size_t i = 0; i < walk->native.count; i++) {
		bool is_evaluation =
			next < merge->evaluation_count && merge->evaluations[next] == i;

		if (!is_evaluation && !is_left_out(merge, i))
			add_part(merge, (struct stack_part){.native = i});
		if (!is_evaluation)
			continue;
		/* a torn one began or ended between the sample and the look */
		if (next == 0 && !merge->torn)
			add_collection(merge);
		if (next + 1 == merge->lost || (next == 0 && !merge->torn && is_cut_inside(merge)))
			add_mark(merge, 0);
		if (next >= merge->lost && next < merge->torn)
			add_part(merge, merge->functions[next]);
		if (next++ >= merge->torn)
			add_group(merge, (size_t)((ptrdiff_t)next - 1 + merge->shift));
	}
	/* groups further out than the native walk */
	for (size_t i = (size_t)((ptrdiff_t)next + merge->shift);
	     merge->torn < merge->evaluation_count && i < merge->group_count; i++)
		add_group(merge, i);
}

/* For a blocked thread whose native walk ended before an evaluation. The cause is mostly assembler
 * code of a library that needs bp, which /proc does not contain. The thread does not run, so its
 * Python frames are valid; they are added outside of the native ones. */
static bool put_around(struct merge *merge)
{
	const struct cpu_walk *walk = merge->walk;

	if (walk->time_ns || walk->native.end == UNWIND_WALK_OUTERMOST || merge->has_trampolines ||
	    merge->glance->status <= 0)
		return false;
	for (size_t i = 0; i < walk->native.count; i++)
		add_part(merge, (struct stack_part){.native = i});
	add_mark(merge, 0);
	add_collection(merge);
	find_groups(merge);
	for (size_t i = 0; i < merge->group_count; i++)
		add_group(merge, i);
	return true;
}

void cpu_python_count_torn(struct cpu_python *python, const struct python_glance *glance)
{
	python->torn++;
	python->refused += glance->status == -EBUSY;
	python->oversized += glance->status == -E2BIG;
}

static void count_merged(struct cpu_python *python, const struct merge *merge)
{
	if (merge->lost == merge->evaluation_count)
		cpu_python_count_torn(python, merge->glance);
	else if (merge->lost)
		python->inner++;
	else if (merge->glance->gap.is_moving)
		python->doubtful++;
	else
		python->whole++;
}

/* False: no Python function belongs to this stack. */
bool cpu_python_merge_glance(struct cpu *cpu, const struct cpu_walk *walk,
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
	align_groups(&merge);
	find_torn(&merge);
	find_objects(&merge);
	put_together(&merge);
	if (is_sample)
		count_merged(&cpu->python, &merge);
	return true;
}

bool cpu_python_has_evaluations(const struct cpu_walk *walk)
{
	for (size_t i = 0; i < walk->native.count; i++)
		if (python_remote_is_evaluation(walk->native.process->python,
						pc_of(&walk->native.frames[i])))
			return true;
	return false;
}
