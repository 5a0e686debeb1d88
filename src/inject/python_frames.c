/* SPDX-License-Identifier: MIT
 *
 * inject/python_frames.c - walk the frames of an interpreter and read its code objects
 *
 * Runs in:  the profiled process, at launches
 * Gets:     a struct python that python_find.c has filled in
 * Gives:    frames as (code object, instruction); names, file, lines of a code object
 * Owns:     nothing; the data it reads belongs to the interpreter
 * Fails:    by finding nothing: 0 frames, false
 * Why:      frames are read from memory, because the interpreter's functions need its lock, which a
 *           thread inside an OpenCL call has usually released. A frame takes 1.7 ns (1.1 ns up to
 *           Python 3.10), and each stack 9 ns more.
 */
#include "inject/python_frames.h"

#include <pthread.h>
#include <string.h>

#include "inject/python_memory.h"
#include "shared/utf8.h"

enum {
	CODE_UNIT = 2, /* bytes of an instruction */
	OWNED_BY_GENERATOR = 1,
	TAG_BITS = 7 /* low bits of a pointer that are a tag, because objects are aligned */
};

/* ---- frames ---------------------------------------------------------------------------------- */

struct walk {
	struct python_frame *frames;
	uint32_t most, count;     /* continues to count beyond `most` */
	uint32_t entries_left;    /* entry marks of frames that were overwritten */
	bool is_inside;           /* the C evaluation frame has a frame written */
	struct python_frame left; /* … or one that has not started yet */
};

/* The slot for a frame too many. The inner half of the frames stays; the outer half is a circular
 * buffer of the frames seen last. NULL: no room for outer frames. All arguments are by value, and
 * the walk's address is never taken, so that it stays in registers. */
static __attribute__((noinline)) struct python_frame *place_behind(struct python_frame *frames,
								   uint32_t most, uint32_t number)
{
	uint32_t inner = (most + 1) / 2, outer = most / 2;

	return outer ? &frames[inner + (number - inner) % outer] : NULL;
}

/* Returns the entry marks that were overwritten. */
static __attribute__((noinline)) uint32_t put_behind(struct python_frame *frames, uint32_t most,
						     uint32_t number, struct python_frame frame)
{
	struct python_frame *place = place_behind(frames, most, number);
	uint32_t entries = place ? place->entry : frame.entry;

	if (place)
		*place = frame;
	return entries;
}

static __attribute__((noinline)) uint32_t mark_behind(struct python_frame *frames, uint32_t most,
						      uint32_t number)
{
	struct python_frame *place = place_behind(frames, most, number);

	if (place)
		place->entry = true;
	return !place;
}

static inline void put_frame(struct walk *walk, uint64_t code, uint32_t instruction, bool entry)
{
	struct python_frame frame = {code, instruction, entry};

	if (__builtin_expect(walk->count < walk->most, 1))
		walk->frames[walk->count] = frame;
	else
		walk->entries_left += put_behind(walk->frames, walk->most, walk->count, frame);
	walk->count++;
}

/* Each C evaluation frame ends with one entry mark, so that native and Python frames match one by
 * one. If its only frame has not started yet (its cells are being made), that frame is written
 * after all; if it has already ended (its locals are being deleted), one without code is written.
 */
static inline void end_evaluation(struct walk *walk)
{
	if (!walk->is_inside)
		put_frame(walk, walk->left.code, walk->left.instruction, true);
	else if (__builtin_expect(walk->count <= walk->most, 1))
		walk->frames[walk->count - 1].entry = true;
	else
		walk->entries_left += mark_behind(walk->frames, walk->most, walk->count - 1);
	walk->is_inside = false;
	walk->left.code = 0;
	walk->left.instruction = 0;
}

static void walk_objects(const struct python_offsets *at, uint64_t frame, struct walk *walk)
{
	for (uint32_t depth = 0; frame && depth < MAX_PYTHON_DEPTH; depth++) {
		int32_t last = (int32_t)half_at(frame, at->frame_instruction);

		put_frame(walk, word_at(frame, at->frame_code),
			  last < 0 ? 0 : (uint32_t)last * at->unit, true);
		frame = word_at(frame, at->frame_previous);
	}
}

#define INLINE static inline __attribute__((always_inline))

INLINE void walk_one(const struct python_offsets *at, uint64_t code_type, uint64_t frame,
		     uint8_t owner, struct walk *walk)
{
	uint64_t code = word_at(frame, at->frame_code) & ~(uint64_t)TAG_BITS;
	int64_t instruction =
		(int64_t)(word_at(frame, at->frame_instruction) - code - at->code_instructions);

	/* From 3.13 on, other objects than code can be executed. */
	if (at->version >= 0x030d && (!code || word_at(code, at->object_type) != code_type))
		return;
	if (owner != OWNED_BY_GENERATOR &&
	    instruction < (int64_t)(int32_t)half_at(code, at->code_first_traceable) * CODE_UNIT) {
		walk->left.code = code;
		walk->left.instruction = instruction < 0 ? 0 : (uint32_t)instruction;
		return;
	}
	put_frame(walk, code, instruction < 0 ? 0 : (uint32_t)instruction, false);
	walk->is_inside = true;
}

INLINE void walk_by(const struct python_offsets *at, uint64_t code_type, uint64_t frame,
		    struct walk *ret_walk)
{
	struct walk walk = *ret_walk;

	for (uint32_t depth = 0; frame && depth < MAX_PYTHON_DEPTH; depth++) {
		uint8_t owner = byte_at(frame, at->frame_owner);

		if (at->layout == PYTHON_LAYOUT_SHIM && owner >= at->shim) {
			if (owner == at->shim)
				end_evaluation(&walk);
		} else {
			walk_one(at, code_type, frame, owner, &walk);
			if (at->layout == PYTHON_LAYOUT_ENTRY && byte_at(frame, at->frame_entry))
				end_evaluation(&walk);
		}
		frame = word_at(frame, at->frame_previous);
	}
	if (walk.is_inside || walk.left.code)
		end_evaluation(&walk);
	*ret_walk = walk;
}

/* With offsets that are compile-time constants, walking a frame takes a fifth less time. */
static void walk_interpreted(const struct python_interpreter *interpreter, uint64_t frame,
			     struct walk *walk)
{
	const struct python_offsets at = interpreter->at;
	const uint64_t code_type = interpreter->code_type;

	if (!interpreter->is_by_table)
		walk_by(&at, code_type, frame, walk);
	else if (at.version == 0x030b)
		walk_by(&python_offsets[PYTHON_ROW(11)], code_type, frame, walk);
	else if (at.version == 0x030c)
		walk_by(&python_offsets[PYTHON_ROW(12)], code_type, frame, walk);
	else if (at.version == 0x030d)
		walk_by(&python_offsets[PYTHON_ROW(13)], code_type, frame, walk);
	else
		walk_by(&at, code_type, frame, walk);
}

/* Whether another thread than this state's owner is ending the interpreter, which then frees the
 * state. */
static bool is_ending(const struct python_interpreter *interpreter, uint64_t thread)
{
	uint64_t ending = word_at(interpreter->runtime, interpreter->at.runtime_finalizing);

	return ending && ending != thread;
}

/* Returns the innermost frame of this thread; 0: none. A thread that ends the interpreter while
 * others are still inside calls frees their states, and this thread may be preempted after any
 * instruction here. So the data read counts only if the end had not started by then. Frames and
 * code objects of such threads are never freed. */
static uint64_t innermost(const struct python_interpreter *interpreter)
{
	const struct python_offsets *at = &interpreter->at;
	uint64_t thread = (uintptr_t)interpreter->this_thread(), frame, owner;

	if (!thread || is_ending(interpreter, thread))
		return 0;
	/* Up to 3.11 a state that was made here for another thread counts as this thread's. From
	 * 3.12 on only a state that has run here does, whichever thread made it. */
	owner = at->version <= 0x030b ? word_at(thread, at->thread_id) : (uint64_t)pthread_self();
	frame = word_at(thread, at->thread_frame);
	atomic_thread_fence(memory_order_acquire);
	if (is_ending(interpreter, thread) || owner != (uint64_t)pthread_self())
		return 0;
	return at->cframe && frame ? word_at(frame, at->cframe_frame) : frame;
}

static void reverse(struct python_frame *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count / 2; i++) {
		struct python_frame other = frames[i];

		frames[i] = frames[count - 1 - i];
		frames[count - 1 - i] = other;
	}
}

/* Moves the oldest of the outer half to its front. */
static void put_in_order(struct walk *walk)
{
	uint32_t inner = (walk->most + 1) / 2, outer = walk->most / 2;
	uint32_t shift = outer ? (walk->count - inner) % outer : 0;

	reverse(walk->frames + inner, shift);
	reverse(walk->frames + inner + shift, outer - shift);
	reverse(walk->frames + inner, outer);
}

uint32_t python_frames(const struct python *python, struct python_frame *frames, uint32_t most,
		       struct python_gap *ret_gap)
{
	const uint32_t count = atomic_load_explicit(&python->count, memory_order_acquire);
	struct walk walk = {.frames = frames, .most = most};

	for (uint32_t i = 0; i < count && walk.count == 0; i++) {
		const struct python_interpreter *one = &python->interpreters[i];
		uint64_t frame;

		if (!atomic_load_explicit(&one->there, memory_order_acquire))
			continue;
		frame = innermost(one);
		if (one->at.layout == PYTHON_LAYOUT_OBJECTS)
			walk_objects(&one->at, frame, &walk);
		else
			walk_interpreted(one, frame, &walk);
	}
	*ret_gap = (struct python_gap){0};
	if (walk.count <= most)
		return walk.count;
	put_in_order(&walk);
	*ret_gap = (struct python_gap){
		.at = (most + 1) / 2, .frames = walk.count - most, .entries = walk.entries_left};
	return most;
}

/* ---- code objects ---------------------------------------------------------------------------- */

static bool is_object(uint64_t object, uint16_t type_at, uint64_t type)
{
	return object && (object & TAG_BITS) == 0 && word_at(object, type_at) == type;
}

static const struct python_interpreter *owner_of(const struct python *python, uint64_t code)
{
	const uint32_t count = atomic_load_explicit(&python->count, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++) {
		const struct python_interpreter *one = &python->interpreters[i];

		if (atomic_load_explicit(&one->there, memory_order_acquire) &&
		    is_object(code, one->at.object_type, one->code_type))
			return one;
	}
	return NULL;
}

static uint32_t character_at(uint64_t data, uint32_t kind, uint64_t index)
{
	switch (kind) {
	case 1:
		return byte_at(data, index);
	case 2:
		return *(const uint16_t *)(uintptr_t)(data + index * 2);
	default:
		return half_at(data, index * 4);
	}
}

/* state: 2 bits interned, 3 bits bytes per character, compact, ascii. Texts that are not compact
 * are of subclasses of str. */
static bool read_text(const struct python_interpreter *interpreter, uint64_t text, char *to,
		      uint32_t size, uint32_t *ret_length, bool *ret_is_cut)
{
	const struct python_offsets *at = &interpreter->at;
	uint32_t state, kind, used = 0;
	uint64_t length, data, i;

	if (!is_object(text, at->object_type, interpreter->text_type))
		return false;
	length = word_at(text, at->text_length);
	state = half_at(text, at->text_state);
	kind = state >> 2 & 7;
	if (length > INT32_MAX || !(state >> 5 & 1) || (kind != 1 && kind != 2 && kind != 4) ||
	    ((state >> 6 & 1) && kind != 1))
		return false;
	data = text + (state >> 6 & 1 ? at->text_ascii : at->text_compact);
	for (i = 0; i < length; i++) {
		char bytes[4];
		size_t count = utf8_encode(character_at(data, kind, i), bytes);

		if (used + count >= size)
			break;
		memcpy(to + used, bytes, count);
		used += count;
	}
	to[used] = '\0';
	*ret_length = used;
	*ret_is_cut = i < length;
	return true;
}

bool python_code(const struct python *python, uint64_t code, struct python_code *ret_code)
{
	const struct python_interpreter *interpreter = owner_of(python, code);
	const struct python_offsets *at;
	uint64_t name, lines;
	int32_t first_line;

	if (!interpreter)
		return false;
	at = &interpreter->at;
	name = word_at(code, at->code_qualified_name ? at->code_qualified_name : at->code_name);
	if (!read_text(interpreter, name, ret_code->name, sizeof(ret_code->name),
		       &ret_code->name_length, &ret_code->is_name_cut) ||
	    !read_text(interpreter, word_at(code, at->code_file), ret_code->file,
		       sizeof(ret_code->file), &ret_code->file_length, &ret_code->is_file_cut))
		return false;
	first_line = (int32_t)half_at(code, at->code_first_line);
	ret_code->version = at->version;
	ret_code->first_line = first_line < 0 ? 0 : (uint32_t)first_line;
	ret_code->lines = NULL;
	ret_code->lines_bytes = 0;
	lines = word_at(code, at->code_lines);
	if (is_object(lines, at->object_type, interpreter->bytes_type) &&
	    word_at(lines, at->bytes_length) <= INT32_MAX) {
		ret_code->lines = (const void *)(uintptr_t)(lines + at->bytes_data);
		ret_code->lines_bytes = word_at(lines, at->bytes_length);
	}
	return true;
}

/* The last eight bytes of an object's contents; of shorter contents also the bytes before, which do
 * not change either. */
INLINE uint64_t last_bytes(uint64_t object, uint64_t length, uint16_t data)
{
	uint64_t last;

	memcpy(&last, (const void *)(uintptr_t)(object + data + length - sizeof(last)),
	       sizeof(last));
	return last;
}

/* Distinguishes two code objects that were at one address, one after the other. From 3.12 on each
 * gets a number (until they run out, then 0). Before, it is the length and the end of the line
 * table and of the file name. All versions make these bytes and a text; checking their types again
 * would cost as much as the rest. Not mixed here: hash_key does that. */
INLINE uint64_t content_of(const struct python_offsets *at, uint64_t code)
{
	enum { COMPACT = 1 << 5, FILE_SHIFT = 21 };
	const uint64_t lines = word_at(code, at->code_lines), file = word_at(code, at->code_file);
	uint64_t content = half_at(code, at->code_first_line), size, length, end;
	const uint32_t version = at->code_version ? half_at(code, at->code_version) : 0;

	if (__builtin_expect(version != 0, 1))
		return content << 32 | version;
	if (!lines || !file)
		return content;
	size = word_at(lines, at->bytes_length);
	length = word_at(file, at->text_length);
	if (__builtin_expect(
		    (size | length) > INT32_MAX || !(half_at(file, at->text_state) & COMPACT), 0))
		return content;
	end = last_bytes(file, length, at->text_ascii);
	return content ^ size << 40 ^ last_bytes(lines, size, at->bytes_data) ^ length << 32 ^
	       (end << FILE_SHIFT | end >> (64 - FILE_SHIFT));
}

/* Fills in the keys of the leading frames that belong to this interpreter; returns their number. */
INLINE uint32_t keys_by(const struct python_offsets *at, uint64_t code_type,
			const struct python_frame *frames, uint32_t count,
			struct python_key *ret_keys)
{
	uint32_t i;

	for (i = 0; i < count && is_object(frames[i].code, at->object_type, code_type); i++)
		ret_keys[i] = (struct python_key){
			.code = frames[i].code,
			.name = word_at(frames[i].code, at->code_name),
			.content = content_of(at, frames[i].code),
		};
	return i;
}

/* As walk_interpreted, with offsets that are compile-time constants. */
static uint32_t keys_of(const struct python_interpreter *one, const struct python_frame *frames,
			uint32_t count, struct python_key *ret_keys)
{
	const struct python_offsets at = one->at;
	const uint64_t type = one->code_type;

	if (!one->is_by_table)
		return keys_by(&at, type, frames, count, ret_keys);
	if (at.version == 0x030b)
		return keys_by(&python_offsets[PYTHON_ROW(11)], type, frames, count, ret_keys);
	if (at.version == 0x030c)
		return keys_by(&python_offsets[PYTHON_ROW(12)], type, frames, count, ret_keys);
	if (at.version == 0x030d)
		return keys_by(&python_offsets[PYTHON_ROW(13)], type, frames, count, ret_keys);
	return keys_by(&at, type, frames, count, ret_keys);
}

void python_keys(const struct python *python, const struct python_frame *frames, uint32_t count,
		 struct python_key *ret_keys)
{
	for (uint32_t i = 0; i < count;) {
		const struct python_interpreter *one = owner_of(python, frames[i].code);

		if (one)
			i += keys_of(one, frames + i, count - i, ret_keys + i);
		else
			ret_keys[i++] = (struct python_key){0};
	}
}
