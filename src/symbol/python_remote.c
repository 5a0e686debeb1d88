/* SPDX-License-Identifier: MIT
 *
 * symbol/python_remote.c - the Python functions that a thread of another process is executing
 *
 * Runs in:  the recorder
 * Gets:     a process's id, the file with its interpreter, thread ids   Gives: functions, files, lines
 * Owns:     what it knows of threads and code objects
 * Fails:    -EAGAIN where it moved on too fast; in new with the cause
 * Why:      nothing is stopped. All that the walk visited the last time is read in one system call, in this order: the
 *           thread's state, all frames, the state, all frames, the state. What is the same in both copies was so at one
 *           moment of the microsecond or two between them. Two system calls a stack, and two more that ask whether it
 *           is in memory.
 */
#include "symbol/python_remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "event/python_offsets.h"
#include "symbol/elf_names.h"
#include "symbol/python_codes.h"
#include "symbol/python_evaluation.h"
#include "symbol/python_threads.h"
#include "symbol/remote_memory.h"

enum {
	FRAMES_MOST = 1 << 15, /* of a stack */
	WINDOWS_MOST = 1 << 13,
	FETCHES_MOST = 1 << 11, /* windows that one call finds out about */
	CHUNKS_MOST = 256,
	CHUNK_BYTES_MOST = 4 << 20,
	WINDOW_BYTES_MOST = 16 << 20, /* of a stack; FRAMES_MOST usual frames take 6 MiB */
	TAKES_MOST = 16,              /* looks at the whole stack in one call */
	MOVES_MOST = 4,               /* of them such as something moved in */
	PATIENT_MOVES = 2,            /* … before a stack is told without its inner frames */
	PATIENT_GLANCES = 3,          /* … or by one copy that may be of two moments */
	ROUNDS_MOST = 3,              /* looks until no code object is new */
	PAUSE = 64,                   /* calls for which a stack that is too deep is left alone */
	PAGE_BYTES = 4096,
	HEAD_PIECES = 4,
	CODE_UNIT = 2, /* bytes of an instruction */
	OWNED_BY_GENERATOR = 1,
	TAG_BITS = 7,         /* of a pointer to an object; no object begins there */
	CODE_BYTES = 1 << 26, /* no code is longer */
	FINAL = 0xf0,         /* release level in a version number */
	CANDIDATE = 0xc0      /* from there on layouts no longer change */
};

/* What is read before, between and after the copies. */
enum { BEGIN, MIDDLE, END, HEADS };

/* What says where the frames begin. */
struct head {
	uint64_t identity;
	uint64_t pointer; /* to the frame, or to the C structure that has it */
	uint64_t frame;
	uint64_t chunk, top;
};

struct raw_frame {
	uint64_t address, code, instruction, previous;
	uint8_t owner, entry;
	struct python_code *known;
};

struct raw_frames {
	struct raw_frame *frames;
	size_t count, capacity;
};

struct chunk {
	uint64_t address, end;
};

struct built_frame {
	struct python_code *code;
	uint64_t address, c_address; /* as told */
	uint32_t instruction;
	bool is_entry;
};

struct python_remote {
	struct remote_memory memory;
	struct python_offsets at;
	struct python_types types;
	uint64_t frame_type; /* PyFrame_Type */
	struct python_evaluation evaluation;
	struct python_threads threads;
	struct python_codes *codes;
	size_t state_bytes, frame_bytes;
	/* the stack that is being read */
	struct python_thread *thread;
	struct head heads[HEADS];
	size_t head_at[HEADS];
	uint64_t newest; /* of the interpreter's thread states */
	uint32_t owner;  /* tid, as the state says */
	uint8_t *bytes;
	size_t bytes_count, bytes_capacity;
	struct remote_piece *pieces;
	size_t pieces_capacity;
	struct chunk chunks[CHUNKS_MOST];
	size_t chunk_count;
	uint64_t next_chunk;
	uint32_t fetches;
	size_t fetched_bytes;
	bool is_missed; /* the walk needed what was not read together with the rest */
	bool is_glance; /* one copy, and what follows from it */
	struct raw_frames raw[2];
	struct built_frame *built;
	size_t built_count, built_capacity;
	bool is_inside;          /* the C evaluation frame has a frame built */
	struct built_frame left; /* … or one that has not begun yet */
};

static size_t largest(const uint16_t *values, size_t count)
{
	size_t most = 0;

	for (size_t i = 0; i < count; i++)
		most = values[i] > most ? values[i] : most;
	return most;
}

/* ---- one look at the whole stack ----------------------------------------------------------------- */

static bool has_cframe(const struct python_remote *remote)
{
	return remote->at.cframe && remote->thread->cframe;
}

/* is_whole: with what says whose the state is. */
static size_t add_head(const struct python_remote *remote, bool is_whole,
		       struct remote_piece *pieces)
{
	const struct python_thread *thread = remote->thread;
	size_t count = 0;

	pieces[count++] = (struct remote_piece){thread->state, remote->state_bytes};
	if (has_cframe(remote))
		pieces[count++] = (struct remote_piece){thread->cframe + remote->at.cframe_frame,
							sizeof(uint64_t)};
	if (is_whole)
		pieces[count++] =
			(struct remote_piece){remote->threads.newest_at, sizeof(uint64_t)};
	if (is_whole && !remote->at.thread_native_id)
		pieces[count++] = (struct remote_piece){thread->identity + remote->threads.tid_at,
							sizeof(uint32_t)};
	return count;
}

/* frame is 0 with a pointer that is none where the structure that has it was not read. */
static struct head read_head(const struct python_remote *remote, const uint8_t *bytes)
{
	const struct python_offsets *at = &remote->at;
	struct head head = {
		.identity =
			word_at(bytes, at->thread_native_id ? at->thread_native_id : at->thread_id),
		.pointer = word_at(bytes, at->thread_frame),
	};

	if (at->thread_chunk) {
		head.chunk = word_at(bytes, at->thread_chunk);
		head.top = word_at(bytes, at->thread_chunk + PYTHON_STACK_TOP);
	}
	if (!at->cframe)
		head.frame = head.pointer;
	else if (head.pointer && head.pointer == remote->thread->cframe)
		head.frame = word_at(bytes, remote->state_bytes);
	return head;
}

/* … and what follows in a whole one. */
static void read_owner(struct python_remote *remote, const uint8_t *bytes)
{
	bytes += remote->state_bytes + (has_cframe(remote) ? sizeof(uint64_t) : 0);
	remote->newest = word_at(bytes, 0);
	remote->owner = remote->at.thread_native_id ? (uint32_t)remote->heads[0].identity
						    : half_at(bytes, sizeof(uint64_t));
}

static bool is_same_head(const struct head *one, const struct head *other)
{
	return one->identity == other->identity && one->pointer == other->pointer &&
	       one->frame == other->frame && one->chunk == other->chunk && one->top == other->top;
}

static bool are_heads_same(const struct python_remote *remote)
{
	return is_same_head(&remote->heads[0], &remote->heads[1]) &&
	       is_same_head(&remote->heads[1], &remote->heads[2]);
}

/* A glance has one copy, between two heads. */
static size_t heads_read(const struct python_remote *remote)
{
	return remote->is_glance ? MIDDLE + 1 : HEADS;
}

/* Lays the pieces out: head, windows, head, windows, head. A head between the copies, as else a function could end before
 * both of them and one of its size be called behind them. Bytes of all, 0: no memory. */
static size_t lay_out(struct python_remote *remote, size_t *ret_count)
{
	struct remote_windows *windows = &remote->thread->windows;
	size_t size = 0, count = 0;

	if (array_grow(remote->pieces, remote->pieces_capacity,
		       HEAD_PIECES * HEADS + windows->count * 2))
		return 0;
	for (size_t i = 0; i < heads_read(remote); i++) {
		const size_t first = count;

		remote->head_at[i] = size;
		count += add_head(remote, i == 0, remote->pieces + count);
		for (size_t k = first; k < count; k++)
			size += remote->pieces[k].size;
		for (size_t k = 0; i + 1 < heads_read(remote) && k < windows->count; k++) {
			struct remote_window *window = &windows->windows[k];

			remote->pieces[count++] =
				(struct remote_piece){window->address, window->size};
			window->at[i] = size;
			window->is_new = false;
			size += window->size;
		}
	}
	*ret_count = count;
	return size;
}

/* Part of it cannot be read any longer: the first such is left out the next time. */
static void drop_unreadable(struct python_remote *remote, uint64_t got)
{
	const size_t window_count = remote->thread->windows.count;
	struct remote_piece head[HEAD_PIECES];
	size_t failed = 0;

	for (uint64_t sum = remote->pieces[0].size; sum <= got; sum += remote->pieces[failed].size)
		failed++;
	for (size_t i = 0; i < HEADS; i++) {
		const size_t head_count = add_head(remote, i == 0, head);

		if (failed < head_count && failed == 1 && has_cframe(remote))
			remote->thread->cframe = 0;
		else if (failed < head_count)
			remote->thread->state = 0;
		else if (failed < head_count + window_count)
			remote_windows_remove(&remote->thread->windows, failed - head_count);
		if (failed < head_count + window_count)
			return;
		failed -= head_count + window_count;
	}
}

/* -EAGAIN: not all of it could be read. */
static int take(struct python_remote *remote)
{
	size_t count, size = lay_out(remote, &count);
	int64_t got;

	if (!size || array_grow(remote->bytes, remote->bytes_capacity, size))
		return -ENOMEM;
	got = remote_memory_gather(&remote->memory, remote->pieces, count, remote->bytes);
	if (got < 0)
		return (int)got;
	if ((uint64_t)got < size) {
		drop_unreadable(remote, (uint64_t)got);
		return -EAGAIN;
	}
	remote->bytes_count = size;
	for (size_t i = 0; i < HEADS; i++)
		remote->heads[i] = read_head(
			remote,
			remote->bytes + remote->head_at[i < heads_read(remote) ? i : MIDDLE]);
	read_owner(remote, remote->bytes);
	remote->chunk_count = 0;
	remote->next_chunk = remote->heads[0].chunk;
	remote->is_missed = false;
	return 0;
}

/* ---- what a look does not have ------------------------------------------------------------------ */

/* Reads a window behind what there is; it is part of the next look. */
static int fetch(struct python_remote *remote, uint64_t address, size_t size)
{
	const struct remote_windows *windows = &remote->thread->windows;
	struct remote_window *window;
	int r;

	if (remote->fetches >= FETCHES_MOST || windows->count >= WINDOWS_MOST ||
	    size > WINDOW_BYTES_MOST - windows->bytes ||
	    size > WINDOW_BYTES_MOST - remote->fetched_bytes)
		return -E2BIG;
	remote->fetches++;
	remote->fetched_bytes += size;
	if (array_grow(remote->bytes, remote->bytes_capacity, remote->bytes_count + size))
		return -ENOMEM;
	r = remote_memory_read(&remote->memory, address, remote->bytes + remote->bytes_count, size);
	if (r)
		return r == -EFAULT ? -EAGAIN : r;
	window = remote_windows_add(&remote->thread->windows, address, size);
	if (!window)
		return -ENOMEM;
	window->at[0] = window->at[1] = remote->bytes_count;
	remote->bytes_count += size;
	remote->is_missed = true;
	return 0;
}

/* The next older chunk of the data stack. The newest one ends where the thread says, older ones where they say. */
static int learn_chunk(struct python_remote *remote)
{
	struct chunk chunk = {.address = remote->next_chunk, .end = remote->heads[0].top};
	uint64_t words[PYTHON_CHUNK_DATA / sizeof(uint64_t)];
	int r;

	if (!chunk.address || remote->chunk_count == CHUNKS_MOST)
		return -ENOENT;
	r = remote_memory_read(&remote->memory, chunk.address, words, sizeof(words));
	if (r)
		return r == -EFAULT ? -EAGAIN : r;
	if (remote->chunk_count > 0)
		chunk.end = chunk.address + PYTHON_CHUNK_DATA +
			    words[PYTHON_CHUNK_TOP / sizeof(uint64_t)] * sizeof(uint64_t);
	if (chunk.end - chunk.address > CHUNK_BYTES_MOST)
		return -EAGAIN;
	remote->next_chunk = words[0];
	remote->chunks[remote->chunk_count++] = chunk;
	return 0;
}

/* The chunk that has the address to the end of its last page, as it is about to grow; the frame alone where it lies
 * elsewhere: in a generator, on the C stack, or on the heap as all do before 3.11. */
static int fetch_frame(struct python_remote *remote, uint64_t address)
{
	for (size_t i = 0; remote->at.thread_chunk; i++) {
		const struct chunk *chunk = &remote->chunks[i];
		int r = i < remote->chunk_count ? 0 : learn_chunk(remote);

		if (r == -ENOENT)
			break;
		if (r)
			return r;
		if (address < chunk->address || address >= chunk->end)
			continue;
		r = fetch(remote, chunk->address,
			  ((chunk->end + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES) - chunk->address);
		if (r != -EAGAIN)
			return r;
		break; /* a large frame has pages that nobody has touched */
	}
	return fetch(remote, address, remote->frame_bytes);
}

/* A frame in one of the copies; the second is of what was read at once and of nothing else. */
static int find_frame(struct python_remote *remote, uint64_t address, int copy,
		      const struct head *head, const uint8_t **ret_bytes)
{
	const struct remote_windows *windows = &remote->thread->windows;
	struct remote_window *window = remote_windows_find(windows, address, remote->frame_bytes);

	if (!window || (copy && window->is_new)) {
		int r = copy ? -EAGAIN : fetch_frame(remote, address);

		if (r)
			return r;
		window = remote_windows_find(windows, address, remote->frame_bytes);
		if (!window)
			return -EAGAIN;
	}
	/* what is left behind the end are frames that have ended */
	if (window->address == head->chunk && address >= head->top)
		return -EAGAIN;
	window->is_used = true;
	*ret_bytes = remote->bytes + window->at[copy] + (address - window->address);
	return 0;
}

/* ---- frames ------------------------------------------------------------------------------------- */

/* False: no frame is there. Those that were given back before 3.11 have no references. */
static bool parse_frame(const struct python_remote *remote, uint64_t address, const uint8_t *bytes,
			struct raw_frame *ret_frame)
{
	const struct python_offsets *at = &remote->at;
	struct raw_frame frame = {
		.address = address,
		.code = word_at(bytes, at->frame_code) & ~(uint64_t)TAG_BITS,
		.previous = word_at(bytes, at->frame_previous),
	};

	if (at->layout == PYTHON_LAYOUT_OBJECTS) {
		frame.instruction = half_at(bytes, at->frame_instruction);
		if ((int64_t)word_at(bytes, 0) <= 0 ||
		    word_at(bytes, at->object_type) != remote->frame_type)
			return false;
	} else {
		frame.instruction = word_at(bytes, at->frame_instruction);
		frame.owner = bytes[at->frame_owner];
		frame.entry = at->layout == PYTHON_LAYOUT_ENTRY && bytes[at->frame_entry];
	}
	*ret_frame = frame;
	return true;
}

/* Whether the last frame found can be the outermost: a generator's leads nowhere too, just before it is entered and when it
 * has been left. */
static bool is_outermost(const struct python_remote *remote, const struct raw_frame *frame)
{
	switch (remote->at.layout) {
	case PYTHON_LAYOUT_SHIM:
		return frame->owner >= remote->at.shim;
	case PYTHON_LAYOUT_ENTRY:
		return frame->entry && frame->owner != OWNED_BY_GENERATOR;
	default:
		return true;
	}
}

/* From where a head says, innermost first. 0: the whole stack; -EAGAIN: it makes no sense, as a ring of frames does not; -E2BIG. */
static int walk(struct python_remote *remote, int copy, const struct head *head)
{
	struct raw_frames *raw = &remote->raw[copy];
	uint64_t address = head->frame, before = 0;

	raw->count = 0;
	while (address) {
		const uint8_t *bytes;
		int r = address % sizeof(uint64_t) || address == before
				? -EAGAIN
				: find_frame(remote, address, copy, head, &bytes);

		if (!r && raw->count == FRAMES_MOST)
			r = -E2BIG;
		if (r)
			return r;
		if ((raw->count & (raw->count + 1)) == 0)
			before = address; /* a ring comes back to one of these */
		if (array_grow(raw->frames, raw->capacity, raw->count + 1))
			return -ENOMEM;
		if (!parse_frame(remote, address, bytes, &raw->frames[raw->count]))
			return -EAGAIN;
		address = raw->frames[raw->count++].previous;
	}
	return raw->count && is_outermost(remote, &raw->frames[raw->count - 1]) ? 0 : -EAGAIN;
}

static bool is_same_frame(const struct raw_frame *one, const struct raw_frame *other)
{
	return one->address == other->address && one->code == other->code &&
	       one->previous == other->previous && one->owner == other->owner &&
	       one->entry == other->entry;
}

/* Of the frames from `first` on those that ran all the time: what was innermost at one of the three moments had called
 * nothing then. less 1: not what was innermost at begin and end either, as others can have taken its place. */
static size_t skip_unsettled(const struct python_remote *remote, size_t first, size_t less)
{
	const struct raw_frames *raw = &remote->raw[0];

	for (size_t i = first; i < raw->count; i++) {
		const uint64_t address = raw->frames[i].address;

		if (address == remote->heads[BEGIN].frame || address == remote->heads[END].frame)
			first = i + less;
		else if (address == remote->heads[MIDDLE].frame)
			first = i;
	}
	return first;
}

/* Of the first copy's frames the first one such as it and all further out are in both. Its own instruction may be another
 * one. */
static size_t find_common(const struct python_remote *remote)
{
	const struct raw_frames *one = &remote->raw[0], *other = &remote->raw[1];
	size_t common = 0, most = one->count < other->count ? one->count : other->count;

	while (common < most) {
		const struct raw_frame *a = &one->frames[one->count - 1 - common];
		const struct raw_frame *b = &other->frames[other->count - 1 - common];

		if (!is_same_frame(a, b))
			break;
		common++;
		if (a->instruction != b->instruction)
			break;
	}
	return one->count - common;
}

static void keep_from(struct raw_frames *raw, size_t first)
{
	raw->count -= first;
	memmove(raw->frames, raw->frames + first, raw->count * sizeof(raw->frames[0]));
}

/* The stack at the moment between the copies, as far as both have it. 0: *ret_first frames are missing. */
static int compare_copies(struct python_remote *remote, size_t *ret_first)
{
	int r = walk(remote, 0, &remote->heads[MIDDLE]);

	if (r || remote->is_missed)
		return r ? r : -EAGAIN;
	r = walk(remote, 1, &remote->heads[MIDDLE]);
	if (r)
		return r;
	*ret_first = skip_unsettled(remote, find_common(remote), 0);
	keep_from(&remote->raw[0], *ret_first);
	return remote->raw[0].count ? 0 : -EAGAIN;
}

/* Where what was innermost then is in neither copy: what the stacks of begin and end have in common. */
static int compare_ends(struct python_remote *remote)
{
	int r = walk(remote, 0, &remote->heads[BEGIN]);

	if (r || remote->is_missed)
		return r ? r : -EAGAIN;
	r = walk(remote, 1, &remote->heads[END]);
	if (r)
		return r;
	keep_from(&remote->raw[0], skip_unsettled(remote, find_common(remote), 1));
	return remote->raw[0].count ? 0 : -EAGAIN;
}

/* ---- a thread ----------------------------------------------------------------------------------- */

/* Whether the state is still this thread's. */
static bool is_own(const struct python_remote *remote)
{
	return remote->heads[0].identity == remote->thread->identity &&
	       remote->owner == remote->thread->inner_tid;
}

/* Its C structure with the current frame is read from the next look on. */
static bool follow_cframe(struct python_remote *remote)
{
	if (!remote->at.cframe || remote->heads[0].pointer == remote->thread->cframe)
		return false;
	remote->thread->cframe = remote->heads[0].pointer;
	return remote->thread->cframe != 0;
}

/* Where a C structure has the frame, that of a thread that runs nothing is part of the thread's state; another one has
 * just not been filled in. */
static bool runs_nothing(const struct python_remote *remote)
{
	const struct head *head = &remote->heads[0];

	return are_heads_same(remote) &&
	       (!remote->at.cframe || head->pointer - remote->thread->state < PAGE_BYTES);
}

/* Whether what ran at begin runs on at the end, or has called something since: its frames were there all the time, but for
 * one that ended and another one that took its place. */
static bool is_settled(const struct python_remote *remote)
{
	const struct head *begin = &remote->heads[BEGIN], *end = &remote->heads[END];

	return is_same_head(begin, end) ||
	       (begin->chunk && begin->chunk == end->chunk && end->top > begin->top);
}

/* The stack as the one copy has it. Who always waits for a settled one tells too few short functions. */
static int walk_copy(struct python_remote *remote, uint32_t *moves, bool *ret_is_moving)
{
	int r = walk(remote, 0, &remote->heads[BEGIN]);

	if (remote->is_missed)
		return r ? r : -EAGAIN;
	*ret_is_moving = r || !is_settled(remote);
	if (*ret_is_moving && ++*moves < PATIENT_GLANCES)
		return -EAGAIN;
	return r ? r : 1;
}

/* One look and what follows from it. 1: done; 0: it runs no Python; -EAGAIN: look again. */
static int look(struct python_remote *remote, uint32_t *moves, bool *ret_is_moving)
{
	size_t missing = 0;
	int r = take(remote);

	if (r)
		return r;
	if (!is_own(remote)) {
		remote->thread->state = 0;
		return -EAGAIN;
	}
	if (follow_cframe(remote))
		return -EAGAIN;
	if (!remote->heads[BEGIN].frame && runs_nothing(remote))
		return 0;
	if (remote->is_glance)
		return walk_copy(remote, moves, ret_is_moving);
	r = compare_copies(remote, &missing);
	*ret_is_moving = r || missing;
	if (r == -EAGAIN && !remote->is_missed)
		r = compare_ends(remote);
	if (remote->is_missed)
		return r ? r : -EAGAIN;
	if (*ret_is_moving && ++*moves < PATIENT_MOVES)
		return -EAGAIN;
	return r ? r : 1;
}

/* The state that a thread gave back says that it runs nothing. Where another one was made since, it is looked for:
 * -EAGAIN: and found. */
static int look_elsewhere(struct python_remote *remote)
{
	struct python_thread *thread = remote->thread;
	const uint64_t before = thread->state;
	int r;

	if (thread->newest == remote->newest)
		return 0;
	r = python_threads_look(&remote->threads, thread, remote->newest);
	return r ? r : thread->state && thread->state != before ? -EAGAIN : 0;
}

static int read_stack(struct python_remote *remote, bool *ret_is_moving)
{
	uint32_t moves = 0, searches = 0;
	int r = -EAGAIN;

	for (uint32_t takes = 0; r == -EAGAIN && takes < TAKES_MOST && moves < MOVES_MOST;
	     takes++) {
		if (!remote->thread->state) {
			int found = searches++ ? -EAGAIN
					       : python_threads_look(&remote->threads,
								     remote->thread, 0);
			if (found || !remote->thread->state)
				return found;
		}
		r = look(remote, &moves, ret_is_moving);
		if (r == 0 && searches++ == 0)
			r = look_elsewhere(remote);
	}
	return r;
}

/* ---- what is told ------------------------------------------------------------------------------- */

static int ask_codes(struct python_remote *remote)
{
	struct raw_frames *raw = &remote->raw[0];

	python_codes_begin(remote->codes);
	for (size_t i = 0; i < raw->count; i++) {
		struct raw_frame *frame = &raw->frames[i];

		frame->known = NULL;
		if (remote->at.layout == PYTHON_LAYOUT_SHIM && frame->owner >= remote->at.shim)
			continue;
		frame->known = python_codes_ask(remote->codes, frame->code);
		if (!frame->known)
			return -ENOMEM;
	}
	return python_codes_read(remote->codes);
}

static void put(struct python_remote *remote, struct built_frame frame)
{
	remote->built[remote->built_count++] = frame;
}

/* As the guest does: each C evaluation frame ends with one entry mark, so that the native stack's and these fit one by
 * one, whether its only frame has not begun yet or has ended already. */
static void end_evaluation(struct python_remote *remote, uint64_t c_address)
{
	if (!remote->is_inside)
		put(remote, remote->left);
	remote->built[remote->built_count - 1].is_entry = true;
	remote->built[remote->built_count - 1].c_address = c_address;
	remote->is_inside = false;
	remote->left = (struct built_frame){0};
}

/* False: the instruction lies outside of the code. */
static bool build_object(struct python_remote *remote, const struct raw_frame *frame)
{
	int32_t last = (int32_t)frame->instruction;

	put(remote, (struct built_frame){
			    .code = frame->known,
			    .address = frame->address,
			    .instruction = last < 0 ? 0 : (uint32_t)last * remote->at.unit,
			    .is_entry = true,
		    });
	return last < CODE_BYTES;
}

static bool build_frame(struct python_remote *remote, const struct raw_frame *frame)
{
	const struct python_offsets *at = &remote->at;
	const int64_t instruction =
		(int64_t)(frame->instruction - frame->code - at->code_instructions);
	const struct built_frame built = {.code = frame->known,
					  .address = frame->address,
					  .instruction =
						  instruction < 0 ? 0 : (uint32_t)instruction};

	if (instruction < -CODE_UNIT || instruction >= CODE_BYTES)
		return false;
	if (frame->owner != OWNED_BY_GENERATOR &&
	    instruction < (int64_t)(int32_t)frame->known->facts.first_traceable * CODE_UNIT) {
		remote->left = built;
		return true;
	}
	put(remote, built);
	remote->is_inside = true;
	return true;
}

static int build(struct python_remote *remote)
{
	const struct raw_frames *raw = &remote->raw[0];
	bool is_good = true;

	if (array_grow(remote->built, remote->built_capacity, raw->count + 1))
		return -ENOMEM;
	remote->built_count = 0;
	remote->is_inside = false;
	remote->left = (struct built_frame){0};
	for (size_t i = 0; is_good && i < raw->count; i++) {
		const struct raw_frame *frame = &raw->frames[i];

		if (remote->at.layout == PYTHON_LAYOUT_OBJECTS) {
			is_good = build_object(remote, frame);
		} else if (!frame->known) {
			if (frame->owner == remote->at.shim)
				end_evaluation(remote, frame->address);
		} else {
			is_good = build_frame(remote, frame);
			if (is_good && frame->entry)
				end_evaluation(remote, 0);
		}
	}
	if (remote->is_inside || remote->left.code)
		end_evaluation(remote, 0);
	return is_good ? 0 : -EAGAIN;
}

static struct python_remote_frame tell(const struct python_remote *remote,
				       const struct built_frame *built)
{
	struct python_remote_frame frame = {.is_entry = built->is_entry,
					    .address = built->address,
					    .c_address = built->c_address};

	if (built->code) {
		frame.function = built->code->function;
		frame.file = built->code->file;
		frame.first_line = built->code->facts.first_line;
		frame.line = python_codes_line(remote->codes, built->code, built->instruction);
	}
	return frame;
}

static size_t tell_all(const struct python_remote *remote, struct python_remote_frame *frames,
		       size_t most, struct python_remote_gap *gap)
{
	const size_t count = remote->built_count, told = count < most ? count : most;
	const size_t inner = count > most ? (most + 1) / 2 : count;

	for (size_t i = 0; i < told; i++)
		frames[i] = tell(remote, &remote->built[i < inner ? i : count - told + i]);
	if (count == told)
		return told;
	gap->at = (uint32_t)inner;
	gap->frames = (uint32_t)(count - told);
	for (size_t i = inner; i < inner + gap->frames; i++)
		gap->entries += remote->built[i].is_entry;
	return told;
}

/* What was read of it would be read again, to no end. */
static void leave_alone(struct python_thread *thread)
{
	thread->pause = PAUSE;
	remote_windows_fini(&thread->windows);
}

/* A code object may be given back, and its place be taken, before it is asked for: where one is new, the stack is read
 * again, now that it is known. 1: it is read. */
static int read_known_stack(struct python_remote *remote, bool *ret_is_moving)
{
	for (uint32_t i = 0; i < ROUNDS_MOST; i++) {
		int r = read_stack(remote, ret_is_moving);

		remote_windows_age(&remote->thread->windows);
		if (r == -E2BIG && remote->fetches < FETCHES_MOST)
			leave_alone(remote->thread);
		if (r <= 0)
			return r;
		r = ask_codes(remote);
		if (r <= 0)
			return r ? r : 1;
	}
	return -EAGAIN;
}

static int tell_stack(struct python_remote *remote, uint32_t tid,
		      struct python_remote_frame *frames, size_t most,
		      struct python_remote_gap *ret_gap)
{
	struct python_remote_gap gap = {0};
	int r;

	remote->thread = python_threads_get(&remote->threads, tid);
	if (!remote->thread)
		return -ENOMEM;
	if (remote->thread->pause) {
		remote->thread->pause--;
		return -E2BIG;
	}
	remote->fetches = 0;
	remote->fetched_bytes = 0;
	r = read_known_stack(remote, &gap.is_moving);
	if (r <= 0)
		return r;
	r = build(remote);
	if (r)
		return r;
	r = (int)tell_all(remote, frames, most, &gap);
	*ret_gap = gap;
	return r;
}

int python_remote_frames(struct python_remote *remote, uint32_t tid,
			 struct python_remote_frame *frames, size_t most,
			 struct python_remote_gap *ret_gap)
{
	remote->is_glance = false;
	return tell_stack(remote, tid, frames, most, ret_gap);
}

int python_remote_glance(struct python_remote *remote, uint32_t tid,
			 struct python_remote_frame *frames, size_t most,
			 struct python_remote_gap *ret_gap)
{
	remote->is_glance = true;
	return tell_stack(remote, tid, frames, most, ret_gap);
}

/* One that has been given back still says whose it was. */
int python_remote_object(struct python_remote *remote, uint64_t address,
			 struct python_remote_frame *ret_frame)
{
	const struct python_offsets *at = &remote->at;
	const struct remote_piece pieces[] = {{address + at->object_type, sizeof(uint64_t)},
					      {address + at->frame_code, sizeof(uint64_t)}};
	struct python_code *code;
	uint64_t words[2];
	int64_t got;
	int r;

	if (at->layout != PYTHON_LAYOUT_OBJECTS)
		return -ENOTSUP;
	got = remote_memory_gather(&remote->memory, pieces, 2, words);
	if (got < 0)
		return (int)got;
	if (got != sizeof(words) || words[0] != remote->frame_type)
		return -EAGAIN;
	python_codes_begin(remote->codes);
	code = python_codes_ask(remote->codes, words[1]);
	if (!code)
		return -ENOMEM;
	r = python_codes_read(remote->codes);
	if (r)
		return r < 0 ? r : -EAGAIN;
	*ret_frame = (struct python_remote_frame){.function = code->function,
						  .file = code->file,
						  .first_line = code->facts.first_line,
						  .is_entry = true,
						  .address = address};
	return 0;
}

/* ---- its lock ----------------------------------------------------------------------------------- */

static int read_lock(struct python_remote *remote, uint64_t lock, uint32_t *ret_holder)
{
	const struct remote_piece pieces[] = {{lock + remote->at.lock_holder, sizeof(uint64_t)},
					      {lock + remote->at.lock_taken, sizeof(uint32_t)}};
	uint64_t words[2] = {0};
	int64_t got = remote_memory_gather(&remote->memory, pieces, 2, words);

	if (got < 0)
		return (int)got;
	if (got != sizeof(uint64_t) + sizeof(uint32_t))
		return -EAGAIN;
	*ret_holder = 0;
	return (uint32_t)words[1] == 1
		       ? python_threads_owner(&remote->threads, words[0], ret_holder)
		       : 0;
}

/* 3.12 and later: each interpreter says which one is its. */
static int find_lock(struct python_remote *remote, const struct python_thread *thread,
		     uint64_t *ret_lock)
{
	uint64_t interpreter;
	int r;

	if (remote->at.runtime_lock) {
		*ret_lock = remote->threads.runtime + remote->at.runtime_lock;
		return 0;
	}
	r = remote_memory_read(&remote->memory, thread->state + remote->at.thread_interpreter,
			       &interpreter, sizeof(interpreter));
	if (!r)
		r = remote_memory_read(&remote->memory, interpreter + remote->at.interpreter_lock,
				       ret_lock, sizeof(*ret_lock));
	return r == -EFAULT ? -EAGAIN : r;
}

int python_remote_lock(struct python_remote *remote, uint32_t tid, uint64_t address,
		       uint32_t *ret_holder)
{
	struct python_thread *thread = python_threads_get(&remote->threads, tid);
	uint64_t lock;
	int r;

	if (!thread)
		return -ENOMEM;
	if (!remote->at.lock_bytes)
		return 0;
	r = thread->state ? 0 : python_threads_look(&remote->threads, thread, 0);
	if (r || !thread->state)
		return r;
	r = find_lock(remote, thread, &lock);
	if (r || address - lock >= remote->at.lock_bytes)
		return r;
	r = read_lock(remote, lock, ret_holder);
	return r ? r : 1;
}

/* ---- an interpreter ----------------------------------------------------------------------------- */

enum symbol {
	RUNTIME,
	VERSION,
	CODE_TYPE,
	TEXT_TYPE,
	BYTES_TYPE,
	FRAME_TYPE,
	EVALUATION,
	SINCE_3_10,
	SINCE_3_9,
	SINCE_3_8,
	TRACE_REFS,
	SYMBOLS
};

static const char *const symbol_names[SYMBOLS] = {
	[RUNTIME] = "_PyRuntime",
	[VERSION] = "Py_Version",
	[CODE_TYPE] = "PyCode_Type",
	[TEXT_TYPE] = "PyUnicode_Type",
	[BYTES_TYPE] = "PyBytes_Type",
	[FRAME_TYPE] = "PyFrame_Type",
	[EVALUATION] = "_PyEval_EvalFrameDefault",
	[SINCE_3_10] = "Py_NewRef",
	[SINCE_3_9] = "PyFrame_GetCode",
	[SINCE_3_8] = "PyCode_NewWithPosOnlyArgs",
	[TRACE_REFS] = "_Py_AddToAllObjects",
};

struct symbols {
	struct elf_symbol at[SYMBOLS];
	uint64_t addresses[SYMBOLS]; /* in the process; 0: not there */
};

/* An executable that was linked to a libpython may have a copy of its data, which is then the one in use by both. */
static int find_symbols(const struct python_remote_file *file,
			const struct python_remote_file *program, struct symbols *ret_symbols)
{
	struct elf_symbol copies[SYMBOLS] = {{0}};

	if (!(elf_names_find_symbols(file->fd, symbol_names, SYMBOLS, ret_symbols->at) &
	      UINT32_C(1) << RUNTIME))
		return -ENOENT;
	if (program)
		elf_names_find_symbols(program->fd, symbol_names, SYMBOLS, copies);
	for (size_t i = 0; i < SYMBOLS; i++) {
		const bool is_copy = i <= FRAME_TYPE && copies[i].value;

		ret_symbols->addresses[i] = is_copy ? program->load_address + copies[i].value
					    : ret_symbols->at[i].value
						    ? file->load_address + ret_symbols->at[i].value
						    : 0;
	}
	return 0;
}

static int cannot_read(int r, uint32_t pid)
{
	if (r == -EFAULT)
		return error_set(-EAGAIN, "the Python of process %u is not there yet, or gone",
				 pid);
	return error_set(r, "read memory of process %u: %s", pid, strerror(-r));
}

/* As PY_VERSION_HEX, which is a constant of the file: the process may never have touched it. Before 3.11 no datum says
 * it: told by the functions that came with each version. */
static uint32_t read_version(int fd, const struct symbols *symbols)
{
	uint32_t version = 0;

	if (symbols->at[VERSION].value)
		return elf_names_read(fd, symbols->at[VERSION].value, &version, sizeof(version))
			       ? version
			       : 0;
	return symbols->addresses[SINCE_3_10]  ? 0x030a0000 | FINAL
	       : symbols->addresses[SINCE_3_9] ? 0x03090000 | FINAL
	       : symbols->addresses[SINCE_3_8] ? 0x03080000 | FINAL
					       : 0;
}

static int not_known(uint32_t version, const char *why)
{
	if (!version)
		return error_set(-ENOTSUP, "Python 3.7 or older is not known");
	return error_set(-ENOTSUP, "Python %u.%u.%u%s is not known", version >> 24,
			 version >> 16 & 0xff, version >> 8 & 0xff, why);
}

/* Builds that chain all objects have two more words before everything. What an interpreter says of itself is in its file
 * too. */
static int learn_offsets(struct python_remote *remote, int fd, const struct symbols *symbols)
{
	const uint32_t version = read_version(fd, symbols);
	const struct python_offsets *row = python_offsets_find((uint16_t)(version >> 16));
	uint64_t words[PYTHON_DEBUG_WORDS];

	if (!row || (version & 0xff) < CANDIDATE)
		return not_known(version, "");
	remote->at = *row;
	if (!python_offsets_speak(row->version))
		return symbols->addresses[TRACE_REFS] ? not_known(version, " with Py_TRACE_REFS")
						      : 0;
	if (!elf_names_read(fd, symbols->at[RUNTIME].value, words, sizeof(words)))
		return not_known(version, " of its own");
	if (!python_offsets_read(words, &remote->at))
		return not_known(version,
				 words[PYTHON_DEBUG_FREE_WORD] ? " free-threaded" : " of its own");
	return 0;
}

static void learn_sizes(struct python_remote *remote)
{
	const struct python_offsets *at = &remote->at;
	const uint16_t state[] = {at->thread_frame, at->thread_id, at->thread_native_id,
				  at->thread_chunk ? at->thread_chunk + PYTHON_STACK_TOP : 0};
	const uint16_t frame[] = {at->frame_previous, at->frame_code, at->frame_instruction,
				  at->frame_owner, at->frame_entry};

	remote->state_bytes = largest(state, ARRAY_COUNT(state)) + sizeof(uint64_t);
	remote->frame_bytes =
		(largest(frame, ARRAY_COUNT(frame)) / sizeof(uint64_t) + 1) * sizeof(uint64_t);
}

/* Before it is begun, nobody has touched the list of interpreters. */
static int try_runtime(struct python_remote *remote, uint64_t runtime)
{
	uint64_t first;
	int r = remote_memory_read(&remote->memory, runtime + remote->at.runtime_interpreters,
				   &first, sizeof(first));

	return r ? cannot_read(r, remote->memory.pid) : 0;
}

static int init(struct python_remote *remote, int fd, const struct symbols *symbols)
{
	const uint64_t *addresses = symbols->addresses;
	int r = learn_offsets(remote, fd, symbols);

	if (!r)
		r = try_runtime(remote, addresses[RUNTIME]);
	if (r)
		return r;
	if (!addresses[CODE_TYPE] || !addresses[TEXT_TYPE] || !addresses[BYTES_TYPE] ||
	    !addresses[FRAME_TYPE])
		return not_known((uint32_t)remote->at.version << 16, " without its types");
	remote->types = (struct python_types){addresses[CODE_TYPE], addresses[TEXT_TYPE],
					      addresses[BYTES_TYPE]};
	remote->frame_type = addresses[FRAME_TYPE];
	learn_sizes(remote);
	python_threads_init(&remote->threads, &remote->memory, &remote->at, addresses[RUNTIME]);
	remote->codes = python_codes_new(&remote->memory, &remote->at, &remote->types);
	return remote->codes ? 0 : error_set(-ENOMEM, "no memory for a Python interpreter");
}

static void learn_evaluation(struct python_remote *remote, const struct python_remote_file *file,
			     const struct symbols *symbols)
{
	remote->evaluation.hot_begin = symbols->addresses[EVALUATION];
	remote->evaluation.hot_end = symbols->addresses[EVALUATION] + symbols->at[EVALUATION].size;
	if (symbols->at[EVALUATION].size)
		python_evaluation_find_cold(&remote->evaluation, file->fd, file->load_address);
}

int python_remote_new(uint32_t pid, const struct python_remote_file *file,
		      const struct python_remote_file *program, struct python_remote **ret_remote)
{
	struct symbols symbols;
	struct python_remote *remote;
	int r = find_symbols(file, program, &symbols);

	if (r)
		return r;
	remote = calloc(1, sizeof(*remote));
	if (!remote)
		return error_set(-ENOMEM, "no memory for a Python interpreter");
	remote_memory_init(&remote->memory, pid);
	r = init(remote, file->fd, &symbols);
	if (!r)
		learn_evaluation(remote, file, &symbols);
	if (r) {
		python_remote_free(remote);
		return r;
	}
	*ret_remote = remote;
	return 0;
}

void python_remote_free(struct python_remote *remote)
{
	if (!remote)
		return;
	remote_memory_fini(&remote->memory);
	python_threads_fini(&remote->threads);
	python_codes_free(remote->codes);
	free(remote->bytes);
	free(remote->pieces);
	free(remote->raw[0].frames);
	free(remote->raw[1].frames);
	free(remote->built);
	free(remote);
}

bool python_remote_is_evaluation(const struct python_remote *remote, uint64_t pc)
{
	const struct python_evaluation *at = &remote->evaluation;

	return pc - at->hot_begin < at->hot_end - at->hot_begin ||
	       pc - at->cold_begin < at->cold_end - at->cold_begin;
}

uint16_t python_remote_version(const struct python_remote *remote)
{
	return remote->at.version;
}

uint64_t python_remote_calls(const struct python_remote *remote)
{
	return remote->memory.calls;
}
