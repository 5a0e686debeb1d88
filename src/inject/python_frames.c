/* SPDX-License-Identifier: MIT
 *
 * inject/python_frames.c - find the interpreter, walk its frames, read what a code object says
 *
 * Runs in:  the profiled process, at launches
 * Gets:     a zeroed struct python
 * Gives:    frames as (code object, instruction); names, file, lines of a code object
 * Owns:     nothing; what it reads belongs to the interpreter
 * Fails:    by finding nothing: 0 frames, false
 * Why:      symbols are looked up in each object's own table and not with dlsym: an interpreter loaded with
 *           RTLD_LOCAL is in no scope of ours, and of two each needs its own. Frames are read, not asked for:
 *           the interpreter's functions need its lock, which a thread inside an OpenCL call has usually given
 *           away, and a frame takes 1.7 ns (1.1 up to 3.10) and a stack 9 more.
 */
#include "inject/python_frames.h"

#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "event/utf8.h"
#include "inject/libraries.h"

enum {
	CODE_UNIT = 2, /* bytes of an instruction */
	OWNED_BY_GENERATOR = 1,
	TAG_BITS = 7, /* of a pointer to an object; no object begins there */
	COLD_JUMPS_LEAST = 3,
	FINAL = 0xf0,    /* release level in a version number */
	CANDIDATE = 0xc0 /* from there on layouts no longer change */
};

static inline uint64_t word_at(uint64_t address, uint64_t offset)
{
	return *(const uint64_t *)(uintptr_t)(address + offset);
}

static inline uint32_t half_at(uint64_t address, uint64_t offset)
{
	uint32_t value; /* jumps and unwind tables lie at odd places */

	memcpy(&value, (const void *)(uintptr_t)(address + offset), sizeof(value));
	return value;
}

static inline uint8_t byte_at(uint64_t address, uint64_t offset)
{
	return *(const uint8_t *)(uintptr_t)(address + offset);
}

/* ---- symbols of one loaded object -------------------------------------------------------------- */

struct object {
	uint64_t base;
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *gnu_hash, *old_hash;
	uint64_t unwind_header; /* .eh_frame_hdr; 0: none */
};

static void read_dynamic(struct object *object, const ElfW(Dyn) * dynamic)
{
	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		uint64_t address = dynamic->d_un.d_ptr;

		/* glibc relocates these where it may write, others do not. */
		if (address < object->base)
			address += object->base;
		if (dynamic->d_tag == DT_SYMTAB)
			object->symbols = (const void *)(uintptr_t)address;
		else if (dynamic->d_tag == DT_STRTAB)
			object->names = (const void *)(uintptr_t)address;
		else if (dynamic->d_tag == DT_GNU_HASH)
			object->gnu_hash = (const void *)(uintptr_t)address;
		else if (dynamic->d_tag == DT_HASH)
			object->old_hash = (const void *)(uintptr_t)address;
	}
}

static bool object_init(struct object *object, const struct dl_phdr_info *info)
{
	*object = (struct object){.base = info->dlpi_addr};
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uint64_t address = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			read_dynamic(object, (const void *)(uintptr_t)address);
		else if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			object->unwind_header = address;
	}
	return object->symbols && object->names && (object->gnu_hash || object->old_hash);
}

static bool is_named(const struct object *object, const ElfW(Sym) * symbol, const char *name)
{
	return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 &&
	       strcmp(object->names + symbol->st_name, name) == 0;
}

static const ElfW(Sym) * find_gnu(const struct object *object, const char *name)
{
	const uint32_t *table = object->gnu_hash;
	const uint32_t bucket_count = table[0], first = table[1], bloom_count = table[2];
	const ElfW(Addr) *bloom = (const void *)(table + 4);
	const uint32_t *buckets = (const void *)(bloom + bloom_count);
	const uint32_t *chain = buckets + bucket_count;
	const uint32_t bits = sizeof(*bloom) * 8;
	uint32_t hash = 5381, index;
	ElfW(Addr) mask;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (uint8_t)*c;
	if (bucket_count == 0 || bloom_count == 0)
		return NULL;
	mask = (ElfW(Addr))1 << hash % bits | (ElfW(Addr))1 << (hash >> table[3]) % bits;
	if ((bloom[hash / bits % bloom_count] & mask) != mask)
		return NULL;
	index = buckets[hash % bucket_count];
	if (index < first)
		return NULL;
	for (;; index++) {
		uint32_t there = chain[index - first];

		if ((there | 1) == (hash | 1) && is_named(object, &object->symbols[index], name))
			return &object->symbols[index];
		if (there & 1)
			return NULL;
	}
}

static const ElfW(Sym) * find_symbol(const struct object *object, const char *name)
{
	if (object->gnu_hash)
		return find_gnu(object, name);
	for (uint32_t i = 1; i < object->old_hash[1]; i++)
		if (is_named(object, &object->symbols[i], name))
			return &object->symbols[i];
	return NULL;
}

static uint64_t address_of(const struct object *object, const char *name)
{
	const ElfW(Sym) *symbol = find_symbol(object, name);

	return symbol ? object->base + symbol->st_value : 0;
}

/* An executable that was linked to a libpython may have got a copy of its data, which is then the one in
 * use by both. */
static uint64_t data_of(const struct object *object, const struct object *program, const char *name)
{
	uint64_t copy = program->symbols ? address_of(program, name) : 0;

	return copy && !find_symbol(program, "PyGILState_GetThisThreadState")
		       ? copy
		       : address_of(object, name);
}

/* ---- the cold part of the evaluation function -------------------------------------------------- */

#if defined(__x86_64__)
/* The function that an unwind table says lies at an address: its range, and whether it begins in the middle
 * of another one's frame, as only a part that was moved away does. */
struct piece {
	uint64_t begin, end;
	bool is_cold;
};

static bool read_piece(uint64_t entry, uint64_t begin, struct piece *ret_piece)
{
	enum { CFA_DEF_CFA = 0x0c, CFA_DEF_CFA_OFFSET = 0x0e, RETURN_ADDRESS = 8 };
	const uint32_t length = half_at(entry, 0);
	/* pc relative in 32 bits, no augmentation: what compilers write for C on this processor */
	const uint64_t said = entry + 8 + (int64_t)(int32_t)half_at(entry, 8);
	uint8_t first, offset;

	if (length < 16 || length >= 0xfffffff0 || said != begin || byte_at(entry, 16) != 0)
		return false;
	ret_piece->begin = begin;
	ret_piece->end = begin + half_at(entry, 12);
	first = byte_at(entry, 17);
	offset = byte_at(entry, first == CFA_DEF_CFA ? 19 : 18);
	ret_piece->is_cold =
		(first == CFA_DEF_CFA || first == CFA_DEF_CFA_OFFSET) && offset > RETURN_ADDRESS;
	return true;
}

/* Header: version 1, then how the pointer to the table, the count and the table are written; the table is
 * pairs of (function, entry) relative to the header, sorted. */
static bool find_piece(uint64_t header, uint64_t pc, struct piece *ret_piece)
{
	const int32_t *table = (const void *)(uintptr_t)(header + 12);
	const int64_t target = (int64_t)(pc - header);
	uint32_t low = 0, high;

	if (!header || half_at(header, 0) != 0x3b031b01)
		return false;
	high = half_at(header, 8);
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (table[(size_t)middle * 2] <= target)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	low--;
	return read_piece(header + (int64_t)table[(size_t)low * 2 + 1],
			  header + (int64_t)table[(size_t)low * 2], ret_piece) &&
	       pc < ret_piece->end;
}

/* Conditional jumps that leave the function go to its cold part. Which symbol that has stands only in a table
 * that distributions strip, and in Debian's 3.11 it is a fifth of the function. Bytes that look like a jump
 * and are none rarely agree on one place, and more rarely on one that begins inside a frame. */
static void find_cold(const struct object *object, struct python_interpreter *interpreter)
{
	struct piece best = {0}, piece;
	uint32_t jumps = 0;

	for (uint64_t at = interpreter->hot_begin; at + 6 <= interpreter->hot_end; at++) {
		uint64_t target;

		if (byte_at(at, 0) != 0x0f || (byte_at(at, 1) & 0xf0) != 0x80)
			continue;
		target = at + 6 + (int64_t)(int32_t)half_at(at, 2);
		if (target >= interpreter->hot_begin && target < interpreter->hot_end)
			continue;
		if (jumps && target >= best.begin && target < best.end) {
			jumps++;
			continue;
		}
		if (jumps < COLD_JUMPS_LEAST && find_piece(object->unwind_header, target, &piece) &&
		    piece.is_cold) {
			best = piece;
			jumps = 1;
		}
	}
	if (jumps >= COLD_JUMPS_LEAST) {
		interpreter->cold_begin = best.begin;
		interpreter->cold_end = best.end;
	}
}
#else
static void find_cold(const struct object *object, struct python_interpreter *interpreter)
{
}
#endif

/* ---- interpreters of this process -------------------------------------------------------------- */

/* As PY_VERSION_HEX. Before 3.11 no datum says it: told by the functions that came with each version. */
static uint32_t version_of(const struct object *object)
{
	uint64_t version = address_of(object, "Py_Version");

	if (version)
		return (uint32_t)word_at(version, 0);
	if (find_symbol(object, "Py_NewRef"))
		return 0x030a0000 | FINAL;
	if (find_symbol(object, "PyFrame_GetCode"))
		return 0x03090000 | FINAL;
	if (find_symbol(object, "PyCode_NewWithPosOnlyArgs"))
		return 0x03080000 | FINAL;
	return 0;
}

static void note_unknown(struct python *python, uint32_t version, const char *why)
{
	if (atomic_load(&python->is_unknown))
		return;
	if (version)
		snprintf(python->unknown, sizeof(python->unknown), "%u.%u.%u%s", version >> 24,
			 version >> 16 & 0xff, version >> 8 & 0xff, why);
	else
		snprintf(python->unknown, sizeof(python->unknown), "3.7 or older");
	atomic_store(&python->is_unknown, true);
}

/* Builds that chain all objects have two more words before everything. */
static bool learn_offsets(struct python *python, const struct object *object, uint64_t runtime,
			  struct python_offsets *ret_offsets)
{
	const uint32_t version = version_of(object);
	const struct python_offsets *row = python_offsets_find((uint16_t)(version >> 16));

	if (!row || (version & 0xff) < CANDIDATE) {
		note_unknown(python, version, "");
		return false;
	}
	*ret_offsets = *row;
	if (python_offsets_speak(row->version)) {
		const uint64_t *words = (const void *)(uintptr_t)runtime;

		if (python_offsets_read(words, ret_offsets))
			return true;
		note_unknown(python, version,
			     words[PYTHON_DEBUG_FREE_WORD] ? " free-threaded" : " of its own");
		return false;
	}
	if (find_symbol(object, "_Py_AddToAllObjects")) {
		note_unknown(python, version, " with Py_TRACE_REFS");
		return false;
	}
	return true;
}

struct search {
	struct python *python;
	struct object program;
	bool is_begun;
	uint64_t loads, unloads;
};

static void add_interpreter(struct search *search, const struct object *object, uint64_t runtime)
{
	struct python *python = search->python;
	const uint32_t count = atomic_load(&python->count);
	const ElfW(Sym) *evaluation = find_symbol(object, "_PyEval_EvalFrameDefault");
	struct python_interpreter *interpreter = &python->interpreters[count];
	uint64_t this_thread = address_of(object, "PyGILState_GetThisThreadState");

	if (count == PYTHON_INTERPRETERS_MOST || !this_thread ||
	    !learn_offsets(python, object, runtime, &interpreter->at))
		return;
	interpreter->is_by_table =
		memcmp(&interpreter->at, python_offsets_find(interpreter->at.version),
		       sizeof(interpreter->at)) == 0;
	interpreter->runtime = runtime;
	interpreter->this_thread = (void *(*)(void))(uintptr_t)this_thread;
	interpreter->code_type = data_of(object, &search->program, "PyCode_Type");
	interpreter->text_type = data_of(object, &search->program, "PyUnicode_Type");
	interpreter->bytes_type = data_of(object, &search->program, "PyBytes_Type");
	if (evaluation) {
		interpreter->hot_begin = object->base + evaluation->st_value;
		interpreter->hot_end = interpreter->hot_begin + evaluation->st_size;
		find_cold(object, interpreter);
	}
	interpreter->seen = true;
	atomic_store_explicit(&interpreter->there, true, memory_order_release);
	atomic_store_explicit(&python->count, count + 1, memory_order_release);
}

static int on_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	struct python *python = search->python;
	struct object object;
	uint64_t runtime;

	search->loads = info->dlpi_adds;
	search->unloads = info->dlpi_subs;
	if (!object_init(&object, info)) {
		search->is_begun = true;
		return 0;
	}
	if (!search->is_begun)
		search->program = object;
	search->is_begun = true;
	if (!find_symbol(&object, "_PyRuntime"))
		return 0;
	runtime = data_of(&object, &search->program, "_PyRuntime");
	for (uint32_t i = 0; i < atomic_load(&python->count); i++) {
		struct python_interpreter *known = &python->interpreters[i];

		if (known->runtime == runtime && atomic_load(&known->there)) {
			known->seen = true;
			return 0;
		}
	}
	add_interpreter(search, &object, runtime);
	return 0;
}

static void find_all(struct python *python)
{
	struct search search = {.python = python};
	const uint32_t count = atomic_load(&python->count);

	for (uint32_t i = 0; i < count; i++)
		python->interpreters[i].seen = false;
	if (!libraries_iterate(on_object, &search))
		return;
	for (uint32_t i = 0; i < count; i++)
		if (!python->interpreters[i].seen)
			atomic_store_explicit(&python->interpreters[i].there, false,
					      memory_order_release);
	atomic_store(&python->unloads, search.unloads);
	atomic_store(&python->loads, search.loads);
}

static bool is_found(const struct python *python)
{
	const uint32_t count = atomic_load_explicit(&python->count, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++)
		if (atomic_load_explicit(&python->interpreters[i].there, memory_order_acquire))
			return true;
	return false;
}

bool python_find_again(struct python *python, uint64_t loads, uint64_t unloads)
{
	if (loads == atomic_load_explicit(&python->loads, memory_order_relaxed) &&
	    unloads == atomic_load_explicit(&python->unloads, memory_order_relaxed))
		return is_found(python);
	/* Another thread is at it, or this one was interrupted in it: what is known has to do. */
	if (atomic_exchange_explicit(&python->finding, 1, memory_order_acquire))
		return is_found(python);
	find_all(python);
	atomic_store_explicit(&python->finding, 0, memory_order_release);
	return is_found(python);
}

const char *python_unknown_version(const struct python *python)
{
	return atomic_load(&python->is_unknown) ? python->unknown : NULL;
}

bool python_is_evaluation(const struct python *python, uint64_t pc)
{
	const uint32_t count = atomic_load_explicit(&python->count, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++) {
		const struct python_interpreter *one = &python->interpreters[i];

		if (pc - one->hot_begin < one->hot_end - one->hot_begin ||
		    pc - one->cold_begin < one->cold_end - one->cold_begin)
			return atomic_load_explicit(&one->there, memory_order_relaxed);
	}
	return false;
}

/* ---- frames ------------------------------------------------------------------------------------ */

struct walk {
	struct python_frame *frames;
	uint32_t most, count;     /* counted on beyond most */
	uint32_t entries_left;    /* entry marks of frames that were written over */
	bool is_inside;           /* the C evaluation frame has a frame written */
	struct python_frame left; /* … or one that has not begun yet */
};

/* Where a frame too many goes: of those the inner half stays, and of the others, round and round, those seen last.
 * NULL: there is room for no outer one. By value, and the walk itself nowhere by address: it stays in registers. */
static __attribute__((noinline)) struct python_frame *place_behind(struct python_frame *frames,
								   uint32_t most, uint32_t number)
{
	uint32_t inner = (most + 1) / 2, outer = most / 2;

	return outer ? &frames[inner + (number - inner) % outer] : NULL;
}

/* Returns the entry marks that were written over. */
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

static inline void put(struct walk *walk, uint64_t code, uint32_t instruction, bool entry)
{
	struct python_frame frame = {code, instruction, entry};

	if (__builtin_expect(walk->count < walk->most, 1))
		walk->frames[walk->count] = frame;
	else
		walk->entries_left += put_behind(walk->frames, walk->most, walk->count, frame);
	walk->count++;
}

/* Each C evaluation frame ends with one entry mark, so that the native stack's and these fit one by one: where
 * its only frame has not begun yet (its cells are being made) that one is written after all, where it has
 * ended already (its locals are being deleted) one without code. */
static inline void end_evaluation(struct walk *walk)
{
	if (!walk->is_inside)
		put(walk, walk->left.code, walk->left.instruction, true);
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
	for (uint32_t depth = 0; frame && depth < PYTHON_DEPTH_MOST; depth++) {
		int32_t last = (int32_t)half_at(frame, at->frame_instruction);

		put(walk, word_at(frame, at->frame_code), last < 0 ? 0 : (uint32_t)last * at->unit,
		    true);
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

	/* From 3.13 on other things than code can be executed. */
	if (at->version >= 0x030d && (!code || word_at(code, at->object_type) != code_type))
		return;
	if (owner != OWNED_BY_GENERATOR &&
	    instruction < (int64_t)(int32_t)half_at(code, at->code_first_traceable) * CODE_UNIT) {
		walk->left.code = code;
		walk->left.instruction = instruction < 0 ? 0 : (uint32_t)instruction;
		return;
	}
	put(walk, code, instruction < 0 ? 0 : (uint32_t)instruction, false);
	walk->is_inside = true;
}

INLINE void walk_by(const struct python_offsets *at, uint64_t code_type, uint64_t frame,
		    struct walk *ret_walk)
{
	struct walk walk = *ret_walk;

	for (uint32_t depth = 0; frame && depth < PYTHON_DEPTH_MOST; depth++) {
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

/* With offsets that the compiler knows a frame takes a fifth less. */
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

/* By another thread than the one with this state, which gives the state back then. */
static bool is_ending(const struct python_interpreter *interpreter, uint64_t thread)
{
	uint64_t ending = word_at(interpreter->runtime, interpreter->at.runtime_finalizing);

	return ending && ending != thread;
}

/* The innermost frame of this thread; 0: none. A thread that ends the interpreter while others are still inside calls
 * frees their states, and another one may be kept from its processor behind any instruction here: what was read counts
 * only if the end had not begun by then. Frames and code objects of such threads are never freed. */
static uint64_t innermost(const struct python_interpreter *interpreter)
{
	const struct python_offsets *at = &interpreter->at;
	uint64_t thread = (uintptr_t)interpreter->this_thread(), frame, owner;

	if (!thread || is_ending(interpreter, thread))
		return 0;
	/* Up to 3.11 a state that was made here for another thread to run counts as this thread's. From 3.12
	 * on only one that has run here does, whoever made it. */
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

/* The oldest of the outer half goes to its front. */
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

/* ---- code objects ------------------------------------------------------------------------------ */

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

/* state: 2 bits interned, 3 bits bytes of a character, compact, ascii. Texts that are not compact are those
 * of subclasses of str. */
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

/* The last eight bytes of an object's contents; of shorter ones what lies before, which stays as it is too. */
INLINE uint64_t last_bytes(uint64_t object, uint64_t length, uint16_t data)
{
	uint64_t last;

	memcpy(&last, (const void *)(uintptr_t)(object + data + length - sizeof(last)),
	       sizeof(last));
	return last;
}

/* What tells two code objects apart that were at one address, one after the other: from 3.12 on a number that
 * each gets (until there are none left, then 0). Before, of the line table and of the file's name the length and
 * the end: all versions make them bytes and a text; to look at their types again would cost as much as the rest.
 * Not mixed here: hash_key does. */
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

/* Those of the frames from the first one on that are this interpreter's; how many. */
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

/* As walk_interpreted, with offsets that the compiler knows. */
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
