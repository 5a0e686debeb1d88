/* SPDX-License-Identifier: MIT
 *
 * collect/stack/walker.c - walks stacks with the unwind tables of their code
 *
 * Runs in:  the recorder
 * Gets:     registers and stack copies, from perf, from BPF programs and from /proc
 * Gives:    ids of stacks in the trace
 * Owns:     the executable files with their unwind tables; the kernel frames
 * Fails:    with a stack that ends with a mark frame, or 0
 * Why:      stacks are walked while recording and not in the report. A copy of a stack has 16 KiB,
 *           a walked stack takes some 8 bytes of the trace, and the program's files may be gone
 *           when the report is made. One walker serves all collectors, because the unwind tables of
 *           an ordinary program take 1 to 10 MB.
 */
#include "collect/stack/walker.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collect/host_clocks.h"
#include "symbol/proc_maps.h"

enum {
	CALL_BYTES = 7 /* length of the longest call instruction that compilers emit */,
	CALLS_MAX = 1 << 16
};

struct stack_walker *stack_walker_get(struct recording *recording)
{
	struct stack_walker *walker = recording->walker;

	if (!walker)
		walker = calloc(1, sizeof(*walker));
	if (!walker)
		return NULL;
	if (!walker->references++) {
		walker->recording = recording;
		recording->walker = walker;
		code_files_init(&walker->files, recording);
		kernel_frames_init(&walker->kernel_frames, recording);
		hash_map_init(&walker->calls);
	}
	return walker;
}

void stack_walker_put(struct stack_walker *walker)
{
	if (!walker || --walker->references)
		return;
	walker->recording->walker = NULL;
	kernel_frames_fini(&walker->kernel_frames);
	code_files_fini(&walker->files);
	process_reader_fini(&walker->reader);
	hash_map_fini(&walker->calls);
	free(walker);
}

/* ---- memory maps ----------------------------------------------------------------------------- */

/* Executable mappings only. NULL: out of memory. */
static struct memory_piece *find_pieces(struct stack_walker *walker, const struct proc_maps *maps,
					size_t *ret_count)
{
	struct memory_piece *pieces = calloc(maps->count ? maps->count : 1, sizeof(*pieces));
	size_t count = 0;

	for (size_t i = 0; pieces && i < maps->count; i++) {
		const struct proc_mapping *mapping = &maps->mappings[i];
		const struct code_file_key key = {mapping->path, "", mapping->device_major,
						  mapping->device_minor, mapping->inode};

		if (mapping->is_executable)
			pieces[count++] = (struct memory_piece){
				.start = mapping->start,
				.end = mapping->end,
				.file_offset = mapping->file_offset,
				.file = code_files_find(&walker->files, &key)};
	}
	*ret_count = count;
	return pieces;
}

/* Counts mappings beyond the limit; those of an earlier reading were counted then. */
static void renew_map(struct stack_walker *walker, struct memory_map *memory,
		      const struct memory_piece *pieces, size_t count)
{
	const size_t before = memory->left_out;

	memory_map_renew(memory, pieces, count);
	if (memory->left_out > before)
		walker->left_out += memory->left_out - before;
}

void stack_walker_read_map(struct stack_walker *walker, uint32_t pid, struct memory_map *memory)
{
	struct proc_maps maps = {0};
	struct memory_piece *pieces;
	size_t count;

	if (proc_maps_read((pid_t)pid, &maps) < 0)
		error_clear();
	pieces = find_pieces(walker, &maps, &count);
	if (pieces && (count || memory_map_is_full(memory)))
		renew_map(walker, memory, pieces, count);
	free(pieces);
	proc_maps_fini(&maps);
}

/* ---- walking --------------------------------------------------------------------------------- */

/* Context of the callbacks of unwind_walk. */
struct walk_context {
	struct stack_walker *walker;
	struct stack_walk *walk;
};

static const struct memory_piece *piece_at(const struct stack_walk *walk, uint64_t pc)
{
	return walk->memory ? memory_map_find(walk->memory, pc) : NULL;
}

static union unwind_rule find_rule(void *context, uint64_t pc)
{
	const struct walk_context *at = context;
	struct stack_walk *walk = at->walk;
	const struct memory_piece *piece = piece_at(walk, pc);

	if (!piece && walk->on_unmapped) {
		walk->on_unmapped(walk);
		piece = piece_at(walk, pc);
	}
	if (!piece || !piece->file)
		return (union unwind_rule){.type = RULE_UNKNOWN};
	return code_files_rule(&at->walker->files, piece->file,
			       pc - piece->start + piece->file_offset, walk->process->row.pid);
}

/* Finds whether a call instruction ends at an address. False: the process has ended, or its code is
 * not in memory. */
static bool read_code(const struct walk_context *at, uint64_t pc, enum unwind_code *ret_code)
{
	uint8_t bytes[CALL_BYTES];

	if (process_reader_memory(&at->walker->reader, at->walk->process->row.pid,
				  pc - sizeof(bytes), bytes, sizeof(bytes)) != sizeof(bytes))
		return false;
	*ret_code = unwind_is_after_call(bytes, sizeof(bytes)) ? UNWIND_CODE_AFTER_CALL
							       : UNWIND_CODE_SOME;
	return true;
}

/* For code without unwind tables, where return addresses are guessed. The result is cached per
 * file offset: a file's code is the same in all processes, and each sample in an OpenCL kernel
 * needs it. */
static enum unwind_code find_code(void *context, uint64_t pc)
{
	const struct walk_context *at = context;
	struct hash_map *calls = &at->walker->calls;
	const struct memory_piece *piece = piece_at(at->walk, pc);
	enum unwind_code code = UNWIND_CODE_NONE;
	uint64_t key;

	if (!piece || !piece_at(at->walk, pc - 1))
		return UNWIND_CODE_NONE;
	key = piece->file ? (uint64_t)piece->file->number << 40 ^
				    (pc - piece->start + piece->file_offset)
			  : 0;
	if (key)
		code = (enum unwind_code)hash_map_get(calls, key, UNWIND_CODE_NONE);
	if (code != UNWIND_CODE_NONE)
		return code;
	if (!read_code(at, pc, &code))
		return UNWIND_CODE_SOME;
	if (key && calls->count < CALLS_MAX)
		hash_map_put(calls, key, code);
	return code;
}

/* Whether the file is PoCL's library, which calls OpenCL kernels. */
static bool is_caller_of_kernels(const struct code_file *file)
{
	const char *slash = strrchr(file->path, '/');

	return slash && strncmp(slash, "/libpocl", strlen("/libpocl")) == 0;
}

/* OpenCL kernels on the CPU have no unwind tables, and the stack of their thread still contains old
 * data of PoCL's compiler. A guessed frame may therefore lead into the compiler. Returns the number
 * of reliable frames. */
static size_t count_certain(const struct stack_walker *walker, const struct stack_walk *walk,
			    size_t count)
{
	bool is_inner_kernel = false;

	for (size_t i = 0; i < count; i++) {
		const struct unwind_walk_frame *frame = &walker->frames[i];
		const struct memory_piece *piece = piece_at(walk, frame->pc - frame->is_return);
		const struct code_file *file = piece ? piece->file : NULL;

		if (is_inner_kernel && frame->is_guessed &&
		    !(file && (file->kernel || is_caller_of_kernels(file))))
			return i;
		is_inner_kernel = file && file->kernel;
	}
	return count;
}

void stack_walker_walk(struct stack_walker *walker, struct stack_walk *walk)
{
	struct walk_context context = {walker, walk};
	const size_t all = unwind_walk(walk->state, find_rule, find_code, &context, walker->frames,
				       STACK_FRAMES_MAX, &walk->end);

	walk->count = count_certain(walker, walk, all);
	if (walk->count < all)
		walk->end = UNWIND_WALK_NO_RULE;
	walk->frames = walker->frames;
	walk->pieces = walker->pieces;
	for (size_t i = 0; i < walk->count; i++)
		walker->pieces[i] = piece_at(walk, walk->frames[i].pc - walk->frames[i].is_return);
}

/* ---- JIT code -------------------------------------------------------------------------------- */

static struct jit_code_owner jit_owner_of(struct stack_walker *walker, struct process *process)
{
	return (struct jit_code_owner){
		.recording = walker->recording,
		.images = &process->images,
		.process = {process->row.pid, -1, process->exe ? process->exe : "",
			    &process->looks},
		.ns_pid = process->row.ns_pid,
		.uid = process->row.uid,
		.process_id = process->row.id,
		.start_ticks = process->row.start_ticks,
	};
}

/* At the first JIT frame of a process, opens its perf map and jitdump at once: they may be gone
 * with the process before names are searched for. */
static uint32_t put_jit_frame(struct stack_walker *walker, struct process *process, uint64_t pc,
			      uint32_t flags)
{
	const size_t before = process->made.count;
	uint32_t id =
		jit_code_frame(&process->made, walker->recording,
			       process_describe(walker->recording->processes, process), pc, flags);
	struct jit_code_owner owner;

	if (walker->names_jit_code && process->made.count != before &&
	    jit_code_is_due(&process->made, host_clocks_now_ns())) {
		owner = jit_owner_of(walker, process);
		jit_code_hold(&process->made, &owner);
	}
	return id;
}

void stack_walker_name_code(struct stack_walker *walker, struct process *process)
{
	struct jit_code_owner owner = jit_owner_of(walker, process);

	if (jit_code_is_due(&process->made, host_clocks_now_ns()))
		jit_code_name(&process->made, &owner);
}

size_t stack_walker_finish_code(struct stack_walker *walker, struct process *process)
{
	struct jit_code_owner owner = jit_owner_of(walker, process);
	bool is_refused;

	return process->made.count ? jit_code_finish(&process->made, &owner, &is_refused) : 0;
}

/* ---- stacks of the trace --------------------------------------------------------------------- */

static uint32_t put_frame(struct stack_walker *walker, const struct stack_walk *walk, size_t index)
{
	const struct unwind_walk_frame *frame = &walk->frames[index];
	const struct memory_piece *piece = walk->pieces[index];
	struct event_frame row = {.type = FRAME_NATIVE,
				  .flags = frame->is_return ? FRAME_RETURN : 0};

	if (!piece || !piece->file)
		return put_jit_frame(walker, walk->process, frame->pc, row.flags);
	code_files_describe(&walker->files, piece->file);
	row.module_string = piece->file->path_string;
	row.build_id_string = piece->file->build_id_string;
	row.file_size_bytes = piece->file->size_bytes;
	row.file_modified_ns = piece->file->modified_ns;
	row.offset = frame->pc - piece->start + piece->file_offset;
	return recording_frame(walker->recording, &row);
}

/* Frames of duet's guest library, which wraps each recorded call, are left out. They are shown only
 * if they are innermost, that is, running. */
static bool is_guest(const struct stack_walk *walk, size_t index)
{
	const struct memory_piece *piece = walk->pieces[index];

	return index && piece && piece->file && piece->file->is_guest;
}

uint32_t stack_walker_cut_mark(const struct stack_walker *walker, uint64_t frames)
{
	const struct event_frame row = {.type = FRAME_TRUNCATED, .offset = frames};

	return recording_frame(walker->recording, &row);
}

/* Adds the frames from the outermost one inwards. */
uint32_t stack_walker_put_stack(struct stack_walker *walker, const struct stack_walk *walk,
				const struct stack_part *parts, size_t count)
{
	struct recording *recording = walker->recording;
	uint32_t stack = 0;

	if (!parts)
		count = walk->count;
	if (walk->end != UNWIND_WALK_OUTERMOST)
		stack = recording_stack(recording, 0, stack_walker_cut_mark(walker, 0));
	while (count--) {
		const size_t native = parts ? parts[count].native : count;
		uint32_t frame = parts ? parts[count].frame : 0;

		if (!frame && is_guest(walk, native))
			continue;
		if (!frame)
			frame = put_frame(walker, walk, native);
		stack = recording_stack(recording, stack, frame);
	}
	return stack;
}
