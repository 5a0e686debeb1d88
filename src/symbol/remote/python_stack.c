/* SPDX-License-Identifier: MIT
 *
 * symbol/remote/python_stack.c - read a Python thread's frames out of another process's memory
 *
 * Runs in:  the recorder
 * Gets:     a thread of the other process, whose thread state is known or searched
 * Gives:    its frames as they lie in memory, innermost first
 * Owns:     nothing; the buffers belong to struct python_remote
 * Fails:    -EAGAIN if the thread changed its stack during every read, -E2BIG if it is too deep
 * Why:      the program is never stopped. All memory that the last walk visited is read in one
 *           system call, in this order: the thread's state, all frames, the state, all frames, the
 *           state. Frames that are equal in both copies were all valid at one time in the
 *           microsecond or two between the copies. A stack takes two such calls, and two more that
 *           check whether its pages are in memory.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "symbol/remote/python_private.h"

enum {
	MAX_FRAMES = 1 << 15, /* per stack */
	MAX_WINDOWS = 1 << 13,
	MAX_CHUNK_BYTES = 4 << 20,
	MAX_WINDOW_BYTES = 16 << 20, /* per stack; MAX_FRAMES ordinary frames take 6 MiB */
	MAX_READS = 16,              /* reads of the whole stack in one call */
	MAX_MOVES = 4,               /* max reads during which the stack changed, among MAX_READS */
	/* after this many such reads a stack is returned without its inner frames */
	PATIENT_MOVES = 2,
	/* after this many such reads a glance uses one copy, which may mix two moments */
	PATIENT_GLANCES = 3,
	PAGE_BYTES = 4096,
	HEAD_PIECES = 4,
	TAG_BITS = 7 /* low bits of an object pointer; objects are aligned to 8 bytes */
};

/* ---- read the whole stack once --------------------------------------------------------------- */

static bool has_cframe(const struct python_remote *remote)
{
	return remote->at.cframe && remote->thread->cframe;
}

/* Adds the pieces of a head, is_whole: with the fields that identify the state's owner. */
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

/* frame is 0 with a non-zero pointer if the C structure that holds the frame was not read. */
static struct python_head read_head(const struct python_remote *remote, const uint8_t *bytes)
{
	const struct python_offsets *at = &remote->at;
	struct python_head head = {
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

/* The further fields of a whole head. */
static void read_owner(struct python_remote *remote, const uint8_t *bytes)
{
	bytes += remote->state_bytes + (has_cframe(remote) ? sizeof(uint64_t) : 0);
	remote->newest = word_at(bytes, 0);
	remote->owner = remote->at.thread_native_id ? (uint32_t)remote->heads[0].identity
						    : half_at(bytes, sizeof(uint64_t));
}

static bool is_same_head(const struct python_head *one, const struct python_head *other)
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
	return remote->is_glance ? HEAD_MIDDLE + 1 : HEAD_COUNT;
}

/* Arranges the pieces: head, windows, head, windows, head. Without the head between the copies, a
 * function could end before both of them and another of its size be called after them. Returns the
 * total size, 0: no memory. One piece more is the flag that garbage is collected: the stack is
 * valid without it. */
static size_t arrange_pieces(struct python_remote *remote, size_t *ret_count)
{
	struct remote_windows *windows = &remote->thread->windows;
	size_t size = 0, count = 0;

	if (array_grow(remote->pieces, remote->pieces_capacity,
		       HEAD_PIECES * HEAD_COUNT + windows->count * 2 + 1))
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
	remote->pieces[count++] =
		(struct remote_piece){python_collecting_at(remote), sizeof(uint32_t)};
	*ret_count = count;
	return size;
}

/* A part can no longer be read: the first unreadable window is left out the next time. */
static void drop_unreadable(struct python_remote *remote, uint64_t got)
{
	const size_t window_count = remote->thread->windows.count;
	struct remote_piece head[HEAD_PIECES];
	size_t failed = 0;

	for (uint64_t sum = remote->pieces[0].size; sum <= got; sum += remote->pieces[failed].size)
		failed++;
	for (size_t i = 0; i < HEAD_COUNT; i++) {
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
static int read_copies(struct python_remote *remote)
{
	size_t count, size = arrange_pieces(remote, &count);
	int64_t got;

	if (!size || array_grow(remote->bytes, remote->bytes_capacity, size + sizeof(uint32_t)))
		return -ENOMEM;
	got = remote_memory_gather(&remote->memory, remote->pieces, count, remote->bytes);
	if (got < 0)
		return (int)got;
	if ((uint64_t)got < size) {
		drop_unreadable(remote, (uint64_t)got);
		return -EAGAIN;
	}
	remote->bytes_count = size;
	remote->is_collecting =
		(uint64_t)got == size + sizeof(uint32_t) && half_at(remote->bytes + size, 0) != 0;
	for (size_t i = 0; i < HEAD_COUNT; i++)
		remote->heads[i] = read_head(
			remote,
			remote->bytes + remote->head_at[i < heads_read(remote) ? i : HEAD_MIDDLE]);
	read_owner(remote, remote->bytes);
	remote->chunk_count = 0;
	remote->next_chunk = remote->heads[0].chunk;
	remote->is_missed = false;
	return 0;
}

/* ---- reading memory that the last walk did not visit ----------------------------------------- */

/* Reads a further window; it is part of the next read. */
static int fetch_window(struct python_remote *remote, uint64_t address, size_t size)
{
	const struct remote_windows *windows = &remote->thread->windows;
	struct remote_window *window;
	int r;

	if (remote->fetches >= PYTHON_MAX_FETCHES || windows->count >= MAX_WINDOWS ||
	    size > MAX_WINDOW_BYTES - windows->bytes ||
	    size > MAX_WINDOW_BYTES - remote->fetched_bytes)
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

/* Adds the next older chunk of the data stack. The newest one ends where the thread state points,
 * older ones at the end that they record. */
static int read_chunk(struct python_remote *remote)
{
	struct python_chunk chunk = {.address = remote->next_chunk, .end = remote->heads[0].top};
	uint64_t words[PYTHON_CHUNK_DATA / sizeof(uint64_t)];
	int r;

	if (!chunk.address || remote->chunk_count == PYTHON_MAX_CHUNKS)
		return -ENOENT;
	r = remote_memory_read(&remote->memory, chunk.address, words, sizeof(words));
	if (r)
		return r == -EFAULT ? -EAGAIN : r;
	if (remote->chunk_count > 0)
		chunk.end = chunk.address + PYTHON_CHUNK_DATA +
			    words[PYTHON_CHUNK_TOP / sizeof(uint64_t)] * sizeof(uint64_t);
	if (chunk.end - chunk.address > MAX_CHUNK_BYTES)
		return -EAGAIN;
	remote->next_chunk = words[0];
	remote->chunks[remote->chunk_count++] = chunk;
	return 0;
}

/* Reads the chunk that contains the address to the end of its last page, because it is about to
 * grow. Reads only the frame if it lies elsewhere: in a generator, on the C stack, or on the heap
 * as all frames before 3.11. */
static int fetch_frame(struct python_remote *remote, uint64_t address)
{
	for (size_t i = 0; remote->at.thread_chunk; i++) {
		const struct python_chunk *chunk = &remote->chunks[i];
		int r = i < remote->chunk_count ? 0 : read_chunk(remote);

		if (r == -ENOENT)
			break;
		if (r)
			return r;
		if (address < chunk->address || address >= chunk->end)
			continue;
		r = fetch_window(remote, chunk->address,
				 ((chunk->end + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES) -
					 chunk->address);
		if (r != -EAGAIN)
			return r;
		break; /* a large frame has pages that were never touched */
	}
	return fetch_window(remote, address, remote->frame_bytes);
}

/* Finds a frame in one of the copies; the second copy has only windows that were read together. */
static int find_frame(struct python_remote *remote, uint64_t address, int copy,
		      const struct python_head *head, const uint8_t **ret_bytes)
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
	/* memory beyond the end contains frames that have ended */
	if (window->address == head->chunk && address >= head->top)
		return -EAGAIN;
	window->is_used = true;
	*ret_bytes = remote->bytes + window->at[copy] + (address - window->address);
	return 0;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* False: there is no frame. Freed frames before 3.11 have no references. */
static bool parse_frame(const struct python_remote *remote, uint64_t address, const uint8_t *bytes,
			struct python_raw_frame *ret_frame)
{
	const struct python_offsets *at = &remote->at;
	struct python_raw_frame frame = {
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

/* Whether the last frame found can be the outermost: a generator's frame has no caller either, just
 * before it is entered and after it has been left. */
static bool is_outermost(const struct python_remote *remote, const struct python_raw_frame *frame)
{
	switch (remote->at.layout) {
	case PYTHON_LAYOUT_SHIM:
		return frame->owner >= remote->at.shim;
	case PYTHON_LAYOUT_ENTRY:
		return frame->entry && frame->owner != PYTHON_OWNED_BY_GENERATOR;
	default:
		return true;
	}
}

/* Walks from a head's frame, innermost first. 0: the whole stack; -EAGAIN: it is invalid, for
 * example a cycle of frames; -E2BIG. */
static int walk_frames(struct python_remote *remote, int copy, const struct python_head *head)
{
	struct python_raw_frames *raw = &remote->raw[copy];
	uint64_t address = head->frame, before = 0;

	raw->count = 0;
	while (address) {
		const uint8_t *bytes;
		int r = address % sizeof(uint64_t) || address == before
				? -EAGAIN
				: find_frame(remote, address, copy, head, &bytes);

		if (!r && raw->count == MAX_FRAMES)
			r = -E2BIG;
		if (r)
			return r;
		if ((raw->count & (raw->count + 1)) == 0)
			before = address; /* a cycle comes back to one of these */
		if (array_grow(raw->frames, raw->capacity, raw->count + 1))
			return -ENOMEM;
		if (!parse_frame(remote, address, bytes, &raw->frames[raw->count]))
			return -EAGAIN;
		address = raw->frames[raw->count++].previous;
	}
	return raw->count && is_outermost(remote, &raw->frames[raw->count - 1]) ? 0 : -EAGAIN;
}

static bool is_same_frame(const struct python_raw_frame *one, const struct python_raw_frame *other)
{
	return one->address == other->address && one->code == other->code &&
	       one->previous == other->previous && one->owner == other->owner &&
	       one->entry == other->entry;
}

/* The first frame, from `first` on, that was active all the time: the innermost frame at one of the
 * three moments had called nothing then. less 1: also skip the innermost frames at start and end,
 * because others can have taken their place. */
static size_t skip_unsettled(const struct python_remote *remote, size_t first, size_t less)
{
	const struct python_raw_frames *raw = &remote->raw[0];

	for (size_t i = first; i < raw->count; i++) {
		const uint64_t address = raw->frames[i].address;

		if (address == remote->heads[HEAD_BEGIN].frame ||
		    address == remote->heads[HEAD_END].frame)
			first = i + less;
		else if (address == remote->heads[HEAD_MIDDLE].frame)
			first = i;
	}
	return first;
}

/* The first frame of the first copy that, with all frames further out, is in both copies. Its own
 * instruction may differ. */
static size_t find_common(const struct python_remote *remote)
{
	const struct python_raw_frames *one = &remote->raw[0], *other = &remote->raw[1];
	size_t common = 0, most = one->count < other->count ? one->count : other->count;

	while (common < most) {
		const struct python_raw_frame *a = &one->frames[one->count - 1 - common];
		const struct python_raw_frame *b = &other->frames[other->count - 1 - common];

		if (!is_same_frame(a, b))
			break;
		common++;
		if (a->instruction != b->instruction)
			break;
	}
	return one->count - common;
}

static void keep_from(struct python_raw_frames *raw, size_t first)
{
	raw->count -= first;
	memmove(raw->frames, raw->frames + first, raw->count * sizeof(raw->frames[0]));
}

/* The stack at the moment between the copies, as far as both copies have it. 0: *ret_first frames
 * are missing. */
static int compare_copies(struct python_remote *remote, size_t *ret_first)
{
	int r = walk_frames(remote, 0, &remote->heads[HEAD_MIDDLE]);

	if (r || remote->is_missed)
		return r ? r : -EAGAIN;
	r = walk_frames(remote, 1, &remote->heads[HEAD_MIDDLE]);
	if (r)
		return r;
	*ret_first = skip_unsettled(remote, find_common(remote), 0);
	keep_from(&remote->raw[0], *ret_first);
	return remote->raw[0].count ? 0 : -EAGAIN;
}

/* For an innermost frame that is in neither copy: the common part of the stacks at start and end.
 */
static int compare_ends(struct python_remote *remote)
{
	int r = walk_frames(remote, 0, &remote->heads[HEAD_BEGIN]);

	if (r || remote->is_missed)
		return r ? r : -EAGAIN;
	r = walk_frames(remote, 1, &remote->heads[HEAD_END]);
	if (r)
		return r;
	keep_from(&remote->raw[0], skip_unsettled(remote, find_common(remote), 1));
	return remote->raw[0].count ? 0 : -EAGAIN;
}

/* ---- a thread -------------------------------------------------------------------------------- */

/* Whether the state still belongs to this thread. */
static bool is_own_state(const struct python_remote *remote)
{
	return remote->heads[0].identity == remote->thread->identity &&
	       remote->owner == remote->thread->inner_tid;
}

/* Its C structure with the current frame is read from the next read on. */
static bool follow_cframe(struct python_remote *remote)
{
	if (!remote->at.cframe || remote->heads[0].pointer == remote->thread->cframe)
		return false;
	remote->thread->cframe = remote->heads[0].pointer;
	return remote->thread->cframe != 0;
}

/* If a C structure holds the frame, an idle thread's structure is part of its thread state; any
 * other one was just not filled in yet. */
static bool runs_nothing(const struct python_remote *remote)
{
	const struct python_head *head = &remote->heads[0];

	return are_heads_same(remote) &&
	       (!remote->at.cframe || head->pointer - remote->thread->state < PAGE_BYTES);
}

/* Whether the frame that ran at the start still runs at the end, or has only made calls. Then its
 * frames existed all the time, unless one ended and another took its place. */
static bool is_settled(const struct python_remote *remote)
{
	const struct python_head *begin = &remote->heads[HEAD_BEGIN],
				 *end = &remote->heads[HEAD_END];

	return is_same_head(begin, end) ||
	       (begin->chunk && begin->chunk == end->chunk && end->top > begin->top);
}

/* The stack from the one copy. Always waiting for a settled copy would under-report short
 * functions. */
static int walk_copy(struct python_remote *remote, uint32_t *moves, bool *ret_is_moving)
{
	int r = walk_frames(remote, 0, &remote->heads[HEAD_BEGIN]);

	if (remote->is_missed)
		return r ? r : -EAGAIN;
	*ret_is_moving = r || !is_settled(remote);
	if (*ret_is_moving && ++*moves < PATIENT_GLANCES)
		return -EAGAIN;
	return r ? r : 1;
}

/* One read and its evaluation. 1: done; 0: the thread runs no Python; -EAGAIN: read again. */
static int read_stack_once(struct python_remote *remote, uint32_t *moves, bool *ret_is_moving)
{
	size_t missing = 0;
	int r = read_copies(remote);

	if (r)
		return r;
	if (!is_own_state(remote)) {
		remote->thread->state = 0;
		return -EAGAIN;
	}
	if (follow_cframe(remote))
		return -EAGAIN;
	if (!remote->heads[HEAD_BEGIN].frame && runs_nothing(remote))
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

/* A freed thread state looks idle. If another one was made since, it is searched: -EAGAIN: and
 * found. */
static int find_newer_state(struct python_remote *remote)
{
	struct python_thread *thread = remote->thread;
	const uint64_t before = thread->state;
	int r;

	if (thread->newest == remote->newest)
		return 0;
	r = python_threads_find_state(&remote->threads, thread, remote->newest);
	return r ? r : thread->state && thread->state != before ? -EAGAIN : 0;
}

int python_stack_read(struct python_remote *remote, bool *ret_is_moving)
{
	uint32_t moves = 0, searches = 0;
	int r = -EAGAIN;

	for (uint32_t reads = 0; r == -EAGAIN && reads < MAX_READS && moves < MAX_MOVES; reads++) {
		if (!remote->thread->state) {
			int found = searches++ ? -EAGAIN
					       : python_threads_find_state(&remote->threads,
									   remote->thread, 0);
			if (found || !remote->thread->state)
				return found;
		}
		r = read_stack_once(remote, &moves, ret_is_moving);
		if (r == 0 && searches++ == 0)
			r = find_newer_state(remote);
	}
	return r;
}
