/* SPDX-License-Identifier: MIT
 *
 * inject/nvidia/modules.c - the code of kernels: loaded cubins, and the offsets of their functions
 *
 * Runs in:  the profiled process: in the call that loads a module; lookups on the thread that reads
 *           samples
 * Gets:     CUPTI's callbacks
 * Gives:    code objects with their content, ids of the kernels in them
 * Owns:     for each module CUPTI's checksum and a row for each function, until the process's end
 * Fails:    a sample of a module that the guest has not seen, or has no room for, has no position
 *           and is counted
 * Why:      a sample contains the checksum of a cubin, a function's name and an offset in the
 *           function. The cubin is available only in the callback, so the offsets are extracted
 *           then: 24 bytes a function in a table that is half empty. A function is found by a
 *           64-bit hash of its name: with 32 bits, two of 10,000 functions would collide once in a
 *           hundred cubins. Modules that are unloaded are kept: their samples come later, and a
 *           module that is loaded again has the same checksum.
 */
#include <elf.h>
#include <string.h>

#include "inject/describe.h"
#include "inject/nvidia/cuda.h"

enum {
	MAX_MODULES = 1 << 14,
	MAX_FUNCTIONS = 1 << 20,
	MAX_SECTIONS = 1 << 20,
	EXTENDED_SECTIONS =
		0 /* value of e_shnum; the first section's size then has the number of sections */
};

struct function {
	uint64_t name_hash; /* 0: free entry */
	uint64_t offset;    /* offset in the cubin; NOT_ONE: several functions have this name */
	_Atomic uint32_t code;
};

#define NOT_ONE UINT64_MAX

struct module {
	uint64_t crc;
	uint32_t code;
	_Atomic uint32_t mode; /* attachment in which the module is described */
	/* entries of `functions`, a power of two; 0: no functions are known */
	uint32_t places;
	struct function *functions;
};

static struct {
	struct guest_lock lock;
	struct module *_Atomic modules; /* MAX_MODULES entries */
	_Atomic uint32_t count;
	uint32_t function_count;
} code;

/* ---- contents of a cubin --------------------------------------------------------------------- */

struct cubin {
	const uint8_t *bytes;
	size_t size;
	uint64_t sections; /* offset of the table */
	uint32_t section_count;
	Elf64_Shdr symbols, names;
};

static bool read_at(const struct cubin *cubin, uint64_t offset, void *ret, size_t size)
{
	if (offset > cubin->size || size > cubin->size - offset)
		return false;
	memcpy(ret, cubin->bytes + offset, size);
	return true;
}

static bool read_section(const struct cubin *cubin, uint32_t index, Elf64_Shdr *ret_section)
{
	return index < cubin->section_count &&
	       read_at(cubin, cubin->sections + (uint64_t)index * sizeof(*ret_section), ret_section,
		       sizeof(*ret_section));
}

/* Finds the symbol table and its strings. */
static bool find_symbols(struct cubin *cubin)
{
	for (uint32_t i = 0; i < cubin->section_count; i++)
		if (!read_section(cubin, i, &cubin->symbols))
			return false;
		else if (cubin->symbols.sh_type == SHT_SYMTAB)
			return read_section(cubin, cubin->symbols.sh_link, &cubin->names) &&
			       cubin->names.sh_offset <= cubin->size &&
			       cubin->names.sh_size <= cubin->size - cubin->names.sh_offset;
	return false;
}

/* False: not an ELF file. */
static bool open_cubin(struct cubin *cubin, const void *bytes, size_t size)
{
	Elf64_Shdr first;
	Elf64_Ehdr head;

	*cubin = (struct cubin){.bytes = bytes, .size = size};
	if (!read_at(cubin, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof(Elf64_Shdr))
		return false;
	cubin->sections = head.e_shoff;
	cubin->section_count = head.e_shnum;
	if (head.e_shnum == EXTENDED_SECTIONS && head.e_shoff &&
	    read_at(cubin, head.e_shoff, &first, sizeof(first)))
		cubin->section_count =
			first.sh_size < MAX_SECTIONS ? (uint32_t)first.sh_size : MAX_SECTIONS;
	return find_symbols(cubin);
}

/* FNV-1a, and never 0. */
static uint64_t hash_bytes(const char *name, size_t length)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)name[i]) * UINT64_C(0x100000001b3);
	return hash ? hash : 1;
}

/* Reads an entry of the symbol table. False: it is not a function with code. */
static bool read_function(const struct cubin *cubin, uint64_t index, struct function *ret_function)
{
	Elf64_Shdr section;
	Elf64_Sym symbol;
	const char *name;

	if (!read_at(cubin, cubin->symbols.sh_offset + index * sizeof(symbol), &symbol,
		     sizeof(symbol)) ||
	    ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_name >= cubin->names.sh_size ||
	    !read_section(cubin, symbol.st_shndx, &section) || section.sh_type == SHT_NOBITS ||
	    symbol.st_shndx == SHN_UNDEF)
		return false;
	name = (const char *)cubin->bytes + cubin->names.sh_offset + symbol.st_name;
	*ret_function = (struct function){
		.name_hash = hash_bytes(name, strnlen(name, cubin->names.sh_size - symbol.st_name)),
		.offset = section.sh_offset + symbol.st_value};
	return true;
}

static uint64_t symbol_count(const struct cubin *cubin)
{
	uint64_t most = cubin->size / sizeof(Elf64_Sym),
		 count = cubin->symbols.sh_size / sizeof(Elf64_Sym);

	return count < most ? count : most;
}

/* ---- modules --------------------------------------------------------------------------------- */

/* NULL: the module was not seen. */
static struct module *find_module(uint64_t crc)
{
	struct module *modules = atomic_load_explicit(&code.modules, memory_order_acquire);
	uint32_t count = atomic_load_explicit(&code.count, memory_order_acquire);

	for (uint32_t i = count; modules && i > 0; i--)
		if (modules[i - 1].crc == crc)
			return &modules[i - 1];
	return NULL;
}

/* Returns the function's entry, or the free one where it would be. places: a power of two; some
 * entries are free. */
static struct function *place_of(struct function *functions, uint32_t places, uint64_t name_hash)
{
	uint64_t place = name_hash ^ name_hash >> 32;

	while (functions[place & (places - 1)].name_hash &&
	       functions[place & (places - 1)].name_hash != name_hash)
		place++;
	return &functions[place & (places - 1)];
}

/* The caller holds the lock. The module gets no functions if there is no memory or the limit is
 * reached.
 */
static void take_functions(struct module *module, const struct cubin *cubin)
{
	uint64_t symbols = symbol_count(cubin), count = 0;
	struct function function;
	uint32_t places = 2;

	for (uint64_t i = 0; i < symbols; i++)
		count += read_function(cubin, i, &function);
	if (!count || count > MAX_FUNCTIONS - code.function_count)
		return;
	while (places < 2 * count)
		places *= 2;
	module->functions = guest_memory(places * sizeof(function));
	if (!module->functions)
		return;
	for (uint64_t i = 0, taken = 0; i < symbols && taken < count; i++) {
		struct function *place;

		if (!read_function(cubin, i, &function))
			continue;
		place = place_of(module->functions, places, function.name_hash);
		/* Two functions with this name hash: a sample could belong to either. */
		if (place->name_hash && place->offset != function.offset)
			function.offset = NOT_ONE;
		place->name_hash = function.name_hash;
		place->offset = function.offset;
		taken++;
	}
	module->places = places;
	code.function_count += (uint32_t)count;
}

/* The caller holds the lock. NULL: there is no room. */
static struct module *add_module(uint64_t crc, const struct cupti_module_resource *resource)
{
	uint32_t count = atomic_load(&code.count);
	struct module *module;
	struct cubin cubin;

	if (!atomic_load(&code.modules))
		atomic_store(&code.modules, guest_memory(MAX_MODULES * sizeof(*module)));
	if (!atomic_load(&code.modules) || count == MAX_MODULES)
		return NULL;
	module = &atomic_load(&code.modules)[count];
	module->crc = crc;
	module->code = cuda_new_code();
	if (open_cubin(&cubin, resource->cubin, resource->cubin_bytes))
		take_functions(module, &cubin);
	atomic_store_explicit(&code.count, count + 1, memory_order_release);
	return module;
}

static void describe_module(struct guest_thread *thread, struct module *module, uint32_t device,
			    const struct cupti_module_resource *resource)
{
	struct record_code record = {
		.head = {.kind = EVENT_CODE, .detail = CODE_BINARY},
		.handle = resource->module_id,
		.size_bytes = resource->cubin_bytes,
		.code = module->code,
		.device = device,
	};
	const char *texts[] = {"", ""};
	const struct guest_tail tail = {.texts = texts, .text_count = 2};

	/* Function ids of an earlier recorder are unknown to this one. */
	for (uint32_t i = 0; i < module->places; i++)
		atomic_store(&module->functions[i].code, 0);
	if (!guest_put_with_texts(thread, &record.head, offsetof(struct record_code, texts),
				  &tail)) {
		atomic_store(&module->mode, 0);
		return;
	}
	guest_put_content(thread, module->code, (const uint8_t *)resource->cubin,
			  resource->cubin_bytes);
}

static uint32_t device_of(struct guest_thread *thread, CUcontext context)
{
	uint32_t ordinal = 0;

	return context && !cuda_cupti.cuptiGetDeviceId(context, &ordinal)
		       ? cuda_device(thread, ordinal)
		       : 0;
}

void cuda_module_loaded(CUcontext context, const struct cupti_module_resource *resource)
{
	struct guest_thread *thread = guest_enter();
	struct cupti_cubin_crc_params params = {.struct_bytes = sizeof(params)};
	struct module *module;
	uint64_t begin;

	if (!thread || !resource || !resource->cubin || !resource->cubin_bytes ||
	    !cuda_cupti.cuptiGetCubinCrc)
		return;
	begin = guest_section_begin(thread);
	params.cubin = resource->cubin;
	params.cubin_bytes = resource->cubin_bytes;
	if (cuda_cupti.cuptiGetCubinCrc(&params) || !guest_lock(&code.lock))
		return;
	module = find_module(params.ret_crc);
	if (!module)
		module = add_module(params.ret_crc, resource);
	guest_unlock(&code.lock);
	if (!module)
		guest_trouble(RING_TROUBLE_OBJECTS);
	else if (atomic_exchange(&module->mode, thread->mode) != thread->mode)
		describe_module(thread, module, device_of(thread, context), resource);
	guest_section_end(thread, GUEST_SECTION_CODE, begin);
}

/* ---- lookups --------------------------------------------------------------------------------- */

/* NULL: no function has this name, or several have it. */
static struct function *find_function(const struct module *module, const char *name)
{
	struct function *place;

	if (!module->places)
		return NULL;
	place = place_of(module->functions, module->places, hash_bytes(name, strlen(name)));
	return place->name_hash && place->offset != NOT_ONE ? place : NULL;
}

static bool describe_function(struct guest_thread *thread, const struct module *module,
			      const char *name, uint32_t id)
{
	struct record_code record = {
		.head = {.kind = EVENT_CODE, .detail = CODE_KERNEL},
		.code = id,
		.parent = module->code,
	};
	const char *texts[] = {name, ""};
	const struct guest_tail tail = {.texts = texts, .text_count = 2};

	return guest_put_with_texts(thread, &record.head, offsetof(struct record_code, texts),
				    &tail);
}

bool cuda_find_place(struct guest_thread *thread, uint64_t crc, const char *name,
		     struct cuda_code_position *ret_place)
{
	struct module *module = find_module(crc);
	struct function *function;
	uint32_t id;

	/* The module was described to an earlier recorder, and is not loaded again for this one. */
	if (!module || !name || atomic_load(&module->mode) != thread->mode)
		return false;
	function = find_function(module, name);
	if (!function)
		return false;
	id = atomic_load(&function->code);
	if (!id) {
		id = cuda_new_code();
		if (!describe_function(thread, module, name, id))
			return false;
		atomic_store(&function->code, id);
	}
	*ret_place = (struct cuda_code_position){.code = id, .offset = function->offset};
	return true;
}

void cuda_modules_forked(void)
{
	guest_unlock(&code.lock);
}
