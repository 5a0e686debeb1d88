/* SPDX-License-Identifier: MIT
 *
 * inject/stacks.c - turn the stack of a launch into an id
 *
 * Runs in:  the profiled process, at launches and waits
 * Gets:     native frames and Python frames
 * Gives:    one stack of both, described once, and its id
 * Owns:     for each ring the table of the stacks, functions and modules it has described
 * Fails:    with id 0, counted
 * Why:      programs launch millions of times from a few hundred places: a repeated stack costs the
 *           walk, a hash and one lookup. Each thread describes its stacks in its own ring: so it
 *           takes no lock, and the recorder, which reads one ring after the other, never reads a
 *           stack before its description. In Python programs, frames of the interpreter's
 *           evaluation function are replaced by the Python functions that it evaluates.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "inject/guest.h"
#include "inject/libraries.h"
#include "inject/modules.h"
#include "inject/python_frames.h"

enum {
	MAX_FUNCTIONS = MAX_UNWIND_FRAMES,
	MAX_FRAMES = MAX_UNWIND_FRAMES + MAX_FUNCTIONS,
	TABLE_FIRST = 256,   /* slots */
	MAX_TABLE = 1 << 21, /* 32 MiB a thread */
	TABLE_ID_BITS = 32,
	KNOWN_FRAMES = 512,
	NEW_BETWEEN_CHECKS = 1000,
	MAX_LINES_BYTES = 60000 /* with the texts less than a record's 65535 */
};

/* For one thread; grows by making a larger table. A slot is the id and the hash bits that its
 * position does not imply. Whole hashes are stored apart, by id, to keep the searched table small:
 * a new stack's slot would miss the caches in a larger one. */
struct table {
	uint64_t *slots;  /* 0: free */
	uint64_t *hashes; /* by id; after the slots, the same number */
	uint32_t size, last;
};

/* A Python frame of the last stack. Most frames of the next stack are the same. */
struct known_function {
	struct python_key key; /* code 0: not available */
	uint64_t place;        /* twice the instruction, plus 1 if it is an entry */
	uint64_t hash;         /* hash of the key and the place, mixed with the depth */
	uint32_t id;
};

/* A native frame as described, found by its address; valid until a library is unloaded. */
struct known_frame {
	uint64_t frame, described;
};

/* One per ring, mapped at its first use, because the program's own stack may be small. */
struct guest_stack_memory {
	volatile bool busy; /* read by a signal handler on this thread */
	struct table stacks, functions;
	uint64_t modules[(MAX_MODULES + 64) / 64]; /* one bit each: described in this ring */
	uint64_t native_hash;                      /* hash of the last native stack */
	uint32_t interpreters;
	bool has_evaluation; /* … and whether it had a frame of one of this many interpreters */
	uint32_t function_count;
	struct python_gap functions_gap;
	struct python_frame frames[MAX_FUNCTIONS];
	struct python_key keys[MAX_FUNCTIONS];
	/* functions and native frames of the last stack, outermost first */
	struct known_function known_functions[MAX_FUNCTIONS];
	struct known_frame known[KNOWN_FRAMES];
	uint64_t known_unloads;
	struct unwind native;
	/* Described frames of a native stack, and which of them belong to an interpreter's
	 * evaluation function. Stacks that differ only in their Python functions share them.
	 * named_hash 0: none. */
	uint64_t named_hash, named_unloads;
	uint32_t named_interpreters;
	uint64_t named[MAX_UNWIND_FRAMES];
	bool evaluates[MAX_UNWIND_FRAMES];
	/* Native and Python frames merged, while the stack is described. */
	uint64_t merged[MAX_FRAMES];
	uint32_t merged_count;
	uint32_t merged_kept, merged_left; /* number of frames left out after the first … */
	struct python_code code;
	struct module module;
};

/* Code of the runtime between the program's call and us: a call's name represents it. */
enum { MAX_LEFT_OUT = 4 };
static struct {
	_Atomic uint32_t count;
	struct {
		uint64_t begin, end;
	} ranges[MAX_LEFT_OUT];
} left_out;

static struct python python;
/* mode of the attachment: each recorder gets the version once */
static _Atomic uint32_t unknown_noted;

/* ---- ids ------------------------------------------------------------------------------------- */

static bool is_slot_of(const struct table *table, uint64_t slot, uint64_t hash)
{
	return (slot ^ hash) >> TABLE_ID_BITS == 0 && table->hashes[(uint32_t)slot] == hash;
}

/* Returns the slot of a hash, or the free one for it. */
static uint64_t *probe_slot(const struct table *table, uint64_t hash)
{
	for (uint32_t i = (uint32_t)hash;; i++) {
		uint64_t *slot = &table->slots[i & (table->size - 1)];

		if (!*slot || is_slot_of(table, *slot, hash))
			return slot;
	}
}

static uint64_t slot_of(uint64_t hash, uint32_t id)
{
	return hash >> TABLE_ID_BITS << TABLE_ID_BITS | id;
}

static void free_table(const struct table *table)
{
	if (table->slots)
		guest_memory_free(table->slots, 2 * table->size * sizeof(*table->slots));
}

static bool grow_table(struct table *table)
{
	struct table larger = *table;

	larger.size = table->size ? 2 * table->size : TABLE_FIRST;
	if (larger.size > MAX_TABLE)
		return false;
	larger.slots = guest_memory(2 * larger.size * sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	larger.hashes = larger.slots + larger.size;
	for (uint32_t id = 1; id <= table->last; id++) {
		larger.hashes[id] = table->hashes[id];
		*probe_slot(&larger, table->hashes[id]) = slot_of(table->hashes[id], id);
	}
	free_table(table);
	*table = larger;
	return true;
}

/* Returns the slot of a hash, or the free one for it; NULL: no room. */
static uint64_t *find_slot(struct table *table, uint64_t hash)
{
	uint64_t *slot = table->slots ? probe_slot(table, hash) : NULL;

	if (slot && *slot)
		return slot;
	if (table->last >= table->size / 4 * 3) {
		/* One slot stays free, otherwise a search would not end. */
		if (!grow_table(table) && table->last + 1 >= table->size)
			return NULL;
		slot = probe_slot(table, hash);
	}
	return slot;
}

/* Assigns the next id, which was just described. */
static uint32_t keep_id(struct table *table, uint64_t *slot, uint64_t hash)
{
	table->hashes[++table->last] = hash;
	*slot = slot_of(hash, table->last);
	return table->last;
}

static uint64_t mix_hash(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* ---- Python functions ------------------------------------------------------------------------ */

static bool describe_function(struct guest_thread *thread, uint32_t id, uint64_t code)
{
	struct python_code *about = &thread->stack_memory->code;
	struct record_python_code *record;
	uint32_t lines, size, at;

	if (!python_code(&python, code, about))
		return false;
	at = (uint32_t)sizeof(*record) + about->name_length + about->file_length + 2;
	/* If the table is too long the function keeps its name but has no line: its first line
	 * would be mistaken for the position of every call in it. */
	lines = (uint32_t)(about->lines_bytes <= MAX_LINES_BYTES ? about->lines_bytes : 0);
	size = (at + lines + 7) & ~7u;
	record = guest_reserve(thread, RECORD_PYTHON_CODE, size, about->version);
	if (!record)
		return false;
	record->code = id;
	record->first_line = lines == about->lines_bytes ? about->first_line : 0;
	record->lines_bytes = lines;
	record->reserved = 0;
	memcpy(record->texts, about->name, about->name_length + 1);
	memcpy(record->texts + about->name_length + 1, about->file, about->file_length + 1);
	memcpy((char *)record + at, about->lines, lines);
	memset((char *)record + at + lines, 0, size - at - lines);
	ring_commit(&thread->writer);
	return true;
}

/* The multiplications are independent: 2 ns. */
static uint64_t hash_key(const struct python_key *key)
{
	uint64_t hash = key->code * UINT64_C(0x9e3779b97f4a7c15) ^
			key->name * UINT64_C(0xc2b2ae3d27d4eb4f) ^
			key->content * UINT64_C(0x165667b19e3779f9);

	return (hash ^ hash >> 32) | 1;
}

static uint32_t learn_function(struct guest_thread *thread, const struct python_key *key)
{
	struct table *table = &thread->stack_memory->functions;
	uint64_t hash = hash_key(key);
	uint64_t *slot = find_slot(table, hash);

	if (!slot || *slot)
		return slot ? (uint32_t)*slot : 0;
	if (table->last >> 29 || !describe_function(thread, table->last + 1, key->code))
		return 0;
	return keep_id(table, slot, hash);
}

/* Returns the id of a frame's function; 0: not available. */
static uint32_t function_id(struct guest_thread *thread, struct known_function *known)
{
	if (!known->id && known->key.code)
		known->id = learn_function(thread, &known->key);
	return known->id;
}

/* ---- modules --------------------------------------------------------------------------------- */

static bool describe_module(struct guest_thread *thread, uint32_t id)
{
	struct module *module = &thread->stack_memory->module;
	struct record_module *record;
	uint32_t length, size;

	if (!modules_describe(id, module))
		return false;
	length = (uint32_t)strlen(module->path) + 1;
	size = ((uint32_t)sizeof(*record) + length + 7) & ~7u;
	record = guest_reserve(thread, RECORD_MODULE, size, id);
	if (!record)
		return false;
	memset((char *)record + sizeof(record->head), 0, size - sizeof(record->head));
	record->address = module->address;
	record->size_bytes = module->size_bytes;
	record->file_offset_bytes = module->file_offset_bytes;
	record->build_id_bytes = module->build_id_bytes;
	memcpy(record->build_id, module->build_id, module->build_id_bytes);
	memcpy(record->texts, module->path, length);
	ring_commit(&thread->writer);
	return true;
}

static bool find_module(struct guest_thread *thread, uint64_t frame, uint64_t *ret_described)
{
	uint64_t *known = thread->stack_memory->modules;
	uint64_t pc = frame & ~UNWIND_EXACT;
	uint32_t id;

	*ret_described = frame;
	if (pc >> RECORD_FRAME_MODULE_SHIFT)
		return true; /* no program code is there */
	id = modules_find(frame & UNWIND_EXACT ? pc : pc - 1);
	if (id == MODULES_UNKNOWN)
		return false;
	if (id && !(known[id / 64] >> id % 64 & 1)) {
		if (!describe_module(thread, id))
			return false;
		known[id / 64] |= UINT64_C(1) << id % 64;
	}
	*ret_described = frame | (uint64_t)id << RECORD_FRAME_MODULE_SHIFT;
	return true;
}

/* Finds a frame's module; false if the module could not be described. It takes a lock and 50 ns, so
 * frames of this thread's previous stacks skip it. */
static bool name_module(struct guest_thread *thread, uint64_t *frame)
{
	struct guest_stack_memory *memory = thread->stack_memory;
	struct known_frame *known = &memory->known[(*frame ^ *frame >> 9) % KNOWN_FRAMES];
	uint64_t described;

	if (GUEST_UNLIKELY(memory->known_unloads != thread->unwind.unloads)) {
		memset(memory->known, 0, sizeof(memory->known));
		memory->known_unloads = thread->unwind.unloads;
	}
	if (known->frame != *frame) {
		if (!find_module(thread, *frame, &described))
			return false;
		*known = (struct known_frame){*frame, described};
	}
	*frame = known->described;
	return true;
}

/* ---- both ------------------------------------------------------------------------------------ */

static bool is_same_key(const struct python_key *a, const struct python_key *b)
{
	return a->code == b->code && a->name == b->name && a->content == b->content;
}

static uint64_t hash_frame(const struct python_key *key, uint64_t place, uint32_t depth)
{
	uint64_t hash = hash_key(key) + place * UINT64_C(0xd6e8feb86659fd93) +
			depth * UINT64_C(0xff51afd7ed558ccd);

	hash = (hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* Adds each frame's hash mixed with its depth, so that frames that have not changed since the last
 * stack keep their hash and id, and no addition waits for another. */
static uint64_t hash_functions(struct guest_stack_memory *memory)
{
	uint64_t hash = memory->function_count;

	python_keys(&python, memory->frames, memory->function_count, memory->keys);
	for (uint32_t i = 0; i < memory->function_count; i++) {
		uint32_t index = memory->function_count - 1 - i;
		const struct python_frame *frame = &memory->frames[index];
		const struct python_key *key = &memory->keys[index];
		struct known_function *known = &memory->known_functions[i];
		uint64_t place = (uint64_t)frame->instruction * 2 + frame->entry;
		bool is_same = is_same_key(key, &known->key);

		if (GUEST_UNLIKELY(!is_same)) {
			known->key = *key;
			known->id = 0;
		}
		if (GUEST_UNLIKELY(!is_same || known->place != place || !known->hash)) {
			known->place = place;
			known->hash = hash_frame(key, place, i);
		}
		hash += known->hash;
	}
	return hash;
}

static void add_frame(struct guest_stack_memory *memory, uint64_t frame)
{
	if (memory->merged_count < MAX_FRAMES)
		memory->merged[memory->merged_count++] = frame;
}

static bool is_evaluation(uint64_t frame)
{
	uint64_t pc = frame & ~UNWIND_EXACT;

	return python_is_evaluation(&python, frame & UNWIND_EXACT ? pc : pc - 1);
}

/* False if a module could not be described. */
static bool name_native(struct guest_thread *thread)
{
	struct guest_stack_memory *memory = thread->stack_memory;

	if (memory->named_hash)
		return true;
	for (uint32_t i = 0; i < memory->native.count; i++) {
		memory->named[i] = memory->native.frames[i];
		memory->evaluates[i] = is_evaluation(memory->named[i]);
		if (!name_module(thread, &memory->named[i]))
			return false;
	}
	memory->named_hash = memory->native.hash;
	return true;
}

/* Position of a merge in the list of functions. Functions omitted in the gap are skipped as if they
 * were in the list. */
struct place {
	uint32_t next;
	uint32_t gap_entries; /* entries of the gap that are still to be skipped */
};

/* Marks frames left out after those merged so far. A stack has one such mark: with two gaps, the
 * second one has none. */
static void leave_out(struct guest_stack_memory *memory, uint32_t count)
{
	if (!memory->merged_left)
		memory->merged_kept = memory->merged_count;
	memory->merged_left += count;
}

static uint64_t described(const struct python_frame *frame, uint32_t id)
{
	return RECORD_FRAME_PYTHON | (uint64_t)id << 32 | frame->instruction;
}

/* Moves past the functions of one C evaluation; written: adds them to the merged stack. */
static void pass_evaluation(struct guest_thread *thread, struct place *place, bool written)
{
	struct guest_stack_memory *memory = thread->stack_memory;
	const struct python_gap *gap = &memory->functions_gap;

	while (place->next < memory->function_count) {
		const struct python_frame *frame = &memory->frames[place->next];
		uint32_t outer = memory->function_count - 1 - place->next, id;

		if (place->gap_entries && place->next == gap->at) {
			place->gap_entries--;
			return;
		}
		id = written ? function_id(thread, &memory->known_functions[outer]) : 0;
		if (id)
			add_frame(memory, described(frame, id));
		place->next++;
		if (gap->frames && place->next == gap->at && written)
			leave_out(memory, gap->frames);
		if (frame->entry)
			return;
	}
}

/* The omitted native frames had evaluations too: the remaining functions must match the outer
 * native frames. */
static void pass_native_gap(struct guest_thread *thread, struct place *place)
{
	struct guest_stack_memory *memory = thread->stack_memory;
	uint32_t wanted = 0, there = place->gap_entries;

	for (uint32_t i = UNWIND_END_FRAMES; i < memory->native.count; i++)
		wanted += memory->evaluates[i];
	for (uint32_t i = place->next; i < memory->function_count; i++)
		there += memory->frames[i].entry;
	leave_out(memory, memory->native.truncated);
	for (; there > wanted; there--)
		pass_evaluation(thread, place, false);
}

static bool is_left_out(uint64_t frame)
{
	uint32_t count = atomic_load_explicit(&left_out.count, memory_order_acquire);
	uint64_t pc = (frame & ~UNWIND_EXACT) - 1;

	for (uint32_t i = 0; i < count; i++)
		if (pc >= left_out.ranges[i].begin && pc < left_out.ranges[i].end)
			return true;
	return false;
}

/* Number of innermost frames that are the runtime's own. */
static uint32_t count_left_out(const struct unwind *native)
{
	uint32_t most = native->count, count = 0;

	if (most > UNWIND_END_FRAMES)
		most = UNWIND_END_FRAMES;
	while (count < most && is_left_out(native->frames[count]))
		count++;
	return count;
}

/* For stacks without a gap, nearly all of them: the same in a tenth of the code. */
static void merge_whole(struct guest_thread *thread)
{
	struct guest_stack_memory *memory = thread->stack_memory;
	const struct python_frame *frame = memory->frames, *end = frame + memory->function_count;
	struct known_function *known = memory->known_functions + memory->function_count;
	uint64_t *out = memory->merged;
	uint32_t i = count_left_out(&memory->native);

	for (;; i++) {
		for (; i < memory->native.count && (!memory->evaluates[i] || frame == end); i++)
			*out++ = memory->named[i];
		if (frame == end)
			break;
		do {
			uint32_t id = function_id(thread, --known);

			*out = described(frame, id);
			out += id != 0;
		} while (!frame++->entry && frame < end);
	}
	memory->merged_count = (uint32_t)(out - memory->merged);
}

static void merge(struct guest_thread *thread)
{
	struct guest_stack_memory *memory = thread->stack_memory;
	const struct unwind *native = &memory->native;
	struct place place = {0, memory->functions_gap.entries};

	if (GUEST_LIKELY(!native->truncated && !memory->functions_gap.frames)) {
		memory->merged_left = 0;
		merge_whole(thread);
		return;
	}
	memory->merged_count = memory->merged_kept = memory->merged_left = 0;
	for (uint32_t i = count_left_out(native); i < native->count; i++) {
		if (native->truncated && i == UNWIND_END_FRAMES)
			pass_native_gap(thread, &place);
		if (memory->evaluates[i] && place.next < memory->function_count)
			pass_evaluation(thread, &place, true);
		else
			add_frame(memory, memory->named[i]);
	}
	/* The part that the native walk did not reach; all of it if only Python was requested. */
	while (place.next < memory->function_count)
		pass_evaluation(thread, &place, true);
}

static bool describe_stack(struct guest_thread *thread, uint32_t id)
{
	struct guest_stack_memory *memory = thread->stack_memory;
	struct record_stack *record;

	if (!name_native(thread))
		return false;
	merge(thread);
	record = guest_reserve(thread, RECORD_STACK,
			       (uint32_t)sizeof(*record) + 8 * memory->merged_count,
			       memory->merged_count);
	if (!record)
		return false;
	record->truncated = memory->merged_left;
	record->stack = id;
	record->kept = memory->merged_left ? memory->merged_kept : memory->merged_count;
	record->is_cut = memory->native.end != UNWIND_COMPLETE;
	record->reserved = 0;
	memcpy(record->frames, memory->merged, 8 * memory->merged_count);
	ring_commit(&thread->writer);
	return true;
}

static uint32_t stack_id(struct guest_thread *thread, uint64_t hash)
{
	struct table *table = &thread->stack_memory->stacks;
	uint64_t *slot = find_slot(table, hash), begin;
	bool is_described;

	if (slot && *slot)
		return (uint32_t)*slot;
	begin = guest_section_begin(thread);
	is_described = slot && describe_stack(thread, table->last + 1);
	guest_section_end(thread, GUEST_SECTION_STACK, begin);
	if (!is_described) {
		guest_trouble(RING_TROUBLE_STACKS);
		return 0;
	}
	return keep_id(table, slot, hash);
}

/* ---- taking a stack -------------------------------------------------------------------------- */

/* The thread's memory for an earlier recorder, emptied: the new recorder has no descriptions. NULL:
 * none, or a signal handler has interrupted its use. */
static struct guest_stack_memory *inherit_memory(struct guest_thread *thread)
{
	struct guest_thread *before = thread->before;
	struct guest_stack_memory *memory = before ? before->stack_memory : NULL;

	if (!memory || memory->busy)
		return NULL;
	before->stack_memory = NULL;
	free_table(&memory->stacks);
	free_table(&memory->functions);
	/* Refused if the program has locked its memory. */
	if (madvise(memory, sizeof(*memory), MADV_DONTNEED) < 0)
		memset(memory, 0, sizeof(*memory));
	return memory;
}

static struct guest_stack_memory *take_memory(struct guest_thread *thread)
{
	if (GUEST_UNLIKELY(!thread->stack_memory))
		thread->stack_memory = inherit_memory(thread);
	if (GUEST_UNLIKELY(!thread->stack_memory))
		thread->stack_memory = guest_memory(sizeof(*thread->stack_memory));
	if (GUEST_UNLIKELY(!thread->stack_memory || thread->stack_memory->busy))
		return NULL;
	thread->stack_memory->busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	return thread->stack_memory;
}

/* Frames are read only for a thread that the interpreter is evaluating. */
static bool has_evaluation(struct guest_thread *thread, uint64_t hash)
{
	struct guest_stack_memory *memory = thread->stack_memory;
	uint32_t interpreters = atomic_load_explicit(&python.count, memory_order_acquire);

	if (hash == memory->native_hash && interpreters == memory->interpreters)
		return memory->has_evaluation;
	memory->native_hash = hash;
	memory->interpreters = interpreters;
	memory->has_evaluation = unwind_has(&thread->unwind, is_evaluation);
	return memory->has_evaluation;
}

static void take_functions(struct guest_thread *thread, uint64_t hash)
{
	struct guest_stack_memory *memory = thread->stack_memory;

	if (python_find_again(&python, thread->unwind.loads, thread->unwind.unloads) &&
	    has_evaluation(thread, hash))
		memory->function_count = python_frames(&python, memory->frames, MAX_FUNCTIONS,
						       &memory->functions_gap);
	else if (GUEST_UNLIKELY(python_unknown_version(&python) != NULL) &&
		 atomic_exchange_explicit(&unknown_noted, thread->mode, memory_order_relaxed) !=
			 thread->mode)
		guest_python_unknown(python_unknown_version(&python));
}

/* hash: hash of the native stack. Must be inlined, because unwind_check needs the caller of
 * unwind_take. */
static inline void take_native(struct guest_thread *thread, bool taken, uint64_t hash)
{
	struct guest_stack_memory *memory = thread->stack_memory;
	struct unwind *native = &memory->native;
	uint32_t interpreters = atomic_load_explicit(&python.count, memory_order_acquire);

	if (!taken) {
		native->count = native->truncated = 0;
		native->end = UNWIND_COMPLETE;
		memory->named_hash = 0;
		return;
	}
	if (hash != memory->named_hash || memory->named_unloads != thread->unwind.unloads ||
	    memory->named_interpreters != interpreters) {
		unwind_stack(&thread->unwind, native);
		memory->named_hash = 0;
		memory->named_unloads = thread->unwind.unloads;
		memory->named_interpreters = interpreters;
	}
	/* libgcc does not check a page before it reads it: only if the walk found the outermost
	 * frame can libgcc unwind safely, too. */
	if (native->end != UNWIND_COMPLETE || ++thread->stacks_new % NEW_BETWEEN_CHECKS != 1)
		return;
	guest_trouble(RING_TROUBLE_STACKS_CHECKED);
	if (!unwind_check(native))
		guest_trouble(RING_TROUBLE_STACKS_WRONG);
}

__attribute__((noinline)) uint32_t guest_take_stack(struct guest_thread *thread)
{
	struct guest_stack_memory *memory;
	uint64_t hash = 1, native_hash;
	bool taken, native;
	int saved = errno;

	memory = guest_is_current(thread) ? take_memory(thread) : NULL;
	if (!memory) {
		if (guest_is_current(thread))
			guest_trouble(RING_TROUBLE_STACKS);
		return 0;
	}
	memory->function_count = 0;
	memory->functions_gap = (struct python_gap){0};
	taken = unwind_take(&thread->unwind, &hash);
	if (taken && (thread->options & RING_OPTION_PYTHON))
		take_functions(thread, hash);
	native_hash = hash;
	native = taken && (thread->options & RING_OPTION_NATIVE);
	if (!native)
		hash = 1;
	/* After a library was unloaded the same addresses may hold other code. */
	hash = mix_hash(hash, thread->unwind.unloads);
	if (memory->function_count)
		hash = mix_hash(hash, hash_functions(memory) + memory->functions_gap.frames);
	hash |= 1;
	if (!native && !memory->function_count) {
		thread->stack = 0;
		thread->stack_hash = 0;
	} else if (GUEST_UNLIKELY(hash != thread->stack_hash)) {
		take_native(thread, native, native_hash);
		thread->stack = stack_id(thread, hash);
		thread->stack_hash = thread->stack ? hash : 0;
	}
	if (taken)
		unwind_done(&thread->unwind);
	atomic_signal_fence(memory_order_seq_cst);
	memory->busy = false;
	errno = saved;
	return thread->stack;
}

void guest_stacks_forked(void)
{
	modules_forked();
	atomic_store(&python.finding, 0);
}

void guest_stacks_leave_out(const void *code)
{
	uint32_t count = atomic_load(&left_out.count);
	struct libraries_span span = {.address = (uint64_t)(uintptr_t)code};

	if (count == MAX_LEFT_OUT || is_left_out(span.address + 1) || !libraries_find(&span))
		return;
	left_out.ranges[count].begin = span.begin;
	left_out.ranges[count].end = span.end;
	atomic_store_explicit(&left_out.count, count + 1, memory_order_release);
}
