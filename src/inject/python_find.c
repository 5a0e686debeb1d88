/* SPDX-License-Identifier: MIT
 *
 * inject/python_find.c - find the Python interpreters of this process, and their versions
 *
 * Runs in:  the profiled process, at launches: once at first, and again when libraries were loaded
 * Gets:     a zeroed struct python
 * Gives:    the interpreters in it: addresses, offsets, the range of the evaluation function
 * Owns:     nothing; the data it reads belongs to the interpreter
 * Fails:    by finding nothing: false; the version of an unsupported interpreter is kept
 * Why not dlsym: symbols are looked up in each object's own table, because dlsym does not find
 *           those of an interpreter that was loaded with RTLD_LOCAL, and each of two interpreters
 *           needs its own symbols.
 */
#include "inject/python_frames.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "inject/libraries.h"
#include "inject/python_memory.h"

enum {
	MIN_COLD_JUMPS = 3,
	FINAL = 0xf0,    /* release level in a version number */
	CANDIDATE = 0xc0 /* layouts no longer change from this release level on */
};

/* ---- symbols of one loaded object ------------------------------------------------------------ */

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

		/* glibc relocates these if they are writable, other loaders do not. */
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

/* An executable linked to a libpython may have a copy of its data, which both then use. */
static uint64_t data_of(const struct object *object, const struct object *program, const char *name)
{
	uint64_t copy = program->symbols ? address_of(program, name) : 0;

	return copy && !find_symbol(program, "PyGILState_GetThisThreadState")
		       ? copy
		       : address_of(object, name);
}

/* ---- the cold part of the evaluation function ------------------------------------------------ */

#if defined(__x86_64__)
/* Range of the function that an unwind table has for an address. is_cold: it starts inside
 * another function's frame, as only a part that the compiler moved away does. */
struct piece {
	uint64_t begin, end;
	bool is_cold;
};

static bool read_piece(uint64_t entry, uint64_t begin, struct piece *ret_piece)
{
	enum { CFA_DEF_CFA = 0x0c, CFA_DEF_CFA_OFFSET = 0x0e, RETURN_ADDRESS = 8 };
	const uint32_t length = half_at(entry, 0);
	/* pc relative in 32 bits, no augmentation: the form that compilers write for C on this
	 * processor */
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

/* Header: version 1, then how the pointer to the table, the count and the table are written; the
 * table is pairs of (function, entry) relative to the header, sorted. */
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

/* Conditional jumps out of the function lead to its cold part. Its symbol is only in a table that
 * distributions strip, and in Debian's 3.11 it is a fifth of the function. Bytes that only look
 * like a jump rarely agree on one target, and even more rarely on the start of a part inside a
 * frame. */
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
		if (jumps < MIN_COLD_JUMPS && find_piece(object->unwind_header, target, &piece) &&
		    piece.is_cold) {
			best = piece;
			jumps = 1;
		}
	}
	if (jumps >= MIN_COLD_JUMPS) {
		interpreter->cold_begin = best.begin;
		interpreter->cold_end = best.end;
	}
}
#else
static void find_cold(const struct object *object, struct python_interpreter *interpreter)
{
}
#endif

/* ---- interpreters of this process ------------------------------------------------------------ */

/* As PY_VERSION_HEX. Before 3.11 there is no such constant: the version follows from functions that
 * each version added. */
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

static void set_unknown(struct python *python, uint32_t version, const char *why)
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
		set_unknown(python, version, "");
		return false;
	}
	*ret_offsets = *row;
	if (python_offsets_speak(row->version)) {
		const uint64_t *words = (const void *)(uintptr_t)runtime;

		if (python_offsets_read(words, ret_offsets))
			return true;
		set_unknown(python, version,
			    words[PYTHON_DEBUG_FREE_WORD] ? " free-threaded"
							  : " with unknown layout");
		return false;
	}
	if (find_symbol(object, "_Py_AddToAllObjects")) {
		set_unknown(python, version, " with Py_TRACE_REFS");
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

	if (count == MAX_PYTHON_INTERPRETERS || !this_thread ||
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
	/* Another thread is searching, or this one was interrupted in it: the known interpreters
	 * have to do. */
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
