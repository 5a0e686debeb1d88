/* SPDX-License-Identifier: MIT
 *
 * inject/amd/hsa_code.c - find the kernel that a packet names, and its code object
 *
 * Runs in:  the profiled process: lookups where packets are written, the rest where code is loaded
 *           and unloaded
 * Gets:     executables
 * Gives:    ids, and records that describe code once per recorder
 * Owns:     a row for each kernel; rows of unloaded code are reused
 * Fails:    with an unnamed kernel if the guest did not see the load of the code, and id 0 without
 *           room for another kernel
 * Why:      a packet contains only the address of a kernel, and addresses are reused when code is
 *           unloaded: the launch record gets the id that the address has at that time. Code is read
 *           while it is loaded, from the address that the loader gives. This works however the
 *           program obtained the code.
 */
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inject/addresses.h"
#include "inject/amd/hsa.h"
#include "inject/describe.h"

enum {
	TABLE_BITS = 17,
	MAX_KERNELS = 1 << (TABLE_BITS - 1),
	MAX_LOADS = 4096,
	MAX_CONTENT = 16 << 20, /* the recorder keeps at most this much */
	NAMES_BYTES = 32 << 20
};

struct kernel {
	uint64_t executable; /* 0: unloaded, or never seen */
	uint64_t object;     /* its descriptor's address */
	uint64_t begin;      /* address of its first instruction; 0: not requested, or unknown */
	const char *name;    /* "": none */
	struct hsa_device *device;
	uint32_t group_bytes, private_bytes;
	uint32_t parent; /* code id of its code object */
	uint32_t code;
	_Atomic uint32_t mode; /* attachment in which the kernel is described */
};

struct entry {
	_Atomic uint64_t object; /* the kernel's address; 0: free */
	struct kernel *_Atomic kernel;
};

/* Position of the instructions in the file of a code object, and the difference between load
 * address and address in the file. */
struct text {
	uint64_t address, offset, size; /* size 0: not known */
};

struct load {
	uint64_t executable; /* 0: free */
	uint64_t agent;
	uint32_t code;
	/* The members below are used for samples of instructions. */
	uint64_t base, size, delta;
	struct text text;
};

static struct {
	struct guest_lock lock;
	struct entry *_Atomic table; /* 1 << TABLE_BITS */
	struct kernel *kernels;      /* MAX_KERNELS */
	uint32_t kernels_count;
	struct load loads[MAX_LOADS];
	/* address ranges, kept if instructions are sampled */
	struct start_addresses load_places, kernel_places;
	char *names;
	size_t names_used;
	_Atomic uint32_t last_code;
	_Atomic bool any;
} code;

static uint32_t new_code(void)
{
	return atomic_fetch_add_explicit(&code.last_code, 1, memory_order_relaxed) + 1;
}

bool hsa_any_kernels(void)
{
	return atomic_load(&code.any);
}

/* ---- code objects ---------------------------------------------------------------------------- */

/* Finds the first executable segment; AMD's linkers create only one. */
static void find_text(const uint8_t *bytes, size_t size, struct text *text)
{
	Elf64_Ehdr head;
	Elf64_Phdr segment;

	if (size < sizeof(head))
		return;
	memcpy(&head, bytes, sizeof(head));
	for (uint32_t i = 0; i < head.e_phnum && !text->size; i++) {
		uint64_t at = head.e_phoff + (uint64_t)i * sizeof(segment);

		if (head.e_phoff > size || at > size - sizeof(segment))
			return;
		memcpy(&segment, bytes + at, sizeof(segment));
		if (segment.p_type == PT_LOAD && segment.p_flags & PF_X)
			*text = (struct text){segment.p_vaddr, segment.p_offset, segment.p_filesz};
	}
}

static void put_code(struct guest_thread *thread, const struct load *load, uint64_t handle,
		     const void *bytes, size_t size)
{
	struct hsa_device *device = hsa_device_of((hsa_agent){load->agent});
	struct record_code record = {
		.head = {.kind = EVENT_CODE, .detail = CODE_BINARY},
		.handle = handle,
		.size_bytes = bytes ? size : 0,
		.code = load->code,
		.device = device ? device->id : 0,
	};
	const char *texts[] = {"", ""};
	const struct guest_tail tail = {.texts = texts, .text_count = 2};

	guest_put_with_texts(thread, &record.head, offsetof(struct record_code, texts), &tail);
	if (bytes)
		guest_put_content(thread, load->code, bytes, size);
	else if (size)
		guest_count_lost_code(thread);
}

static uint64_t ask_loader(hsa_loaded_code loaded, uint32_t what, size_t size)
{
	uint64_t answer = 0;

	if (!hsa_next.loaded_get_info ||
	    hsa_next.loaded_get_info(loaded, what, &answer) != HSA_SUCCESS)
		return 0;
	return size == sizeof(uint32_t) ? (uint32_t)answer : answer;
}

/* Reads from the program's file descriptor without moving its file position. */
static void put_file(struct guest_thread *thread, struct load *load, hsa_loaded_code loaded)
{
	int fd = -1;
	size_t size;
	struct stat about;
	uint8_t *bytes;

	if (!hsa_next.loaded_get_info ||
	    hsa_next.loaded_get_info(loaded, HSA_LOADED_FILE, &fd) != HSA_SUCCESS ||
	    fstat(fd, &about) < 0 || about.st_size <= 0)
		return put_code(thread, load, loaded.handle, NULL, 0);
	size = (size_t)about.st_size;
	bytes = size <= MAX_CONTENT ? guest_memory(size) : NULL;
	if (bytes && pread(fd, bytes, size, 0) == (ssize_t)size) {
		find_text(bytes, size, &load->text);
		put_code(thread, load, loaded.handle, bytes, size);
	} else {
		put_code(thread, load, loaded.handle, NULL, size);
	}
	if (bytes)
		guest_memory_free(bytes, size);
}

static void put_loaded(struct guest_thread *thread, struct load *load, hsa_loaded_code loaded)
{
	uint64_t storage = ask_loader(loaded, HSA_LOADED_STORAGE_TYPE, sizeof(uint32_t)), base,
		 size;

	if (!(thread->options & RING_OPTION_CODE))
		return put_code(thread, load, loaded.handle, NULL, 0);
	if (storage == HSA_STORAGE_FILE)
		return put_file(thread, load, loaded);
	base = ask_loader(loaded, HSA_LOADED_MEMORY_BASE, sizeof(base));
	size = ask_loader(loaded, HSA_LOADED_MEMORY_SIZE, sizeof(size));
	if (storage != HSA_STORAGE_MEMORY)
		base = size = 0;
	if (base && size <= MAX_CONTENT)
		find_text((const uint8_t *)(uintptr_t)base, size, &load->text);
	put_code(thread, load, loaded.handle,
		 size <= MAX_CONTENT ? (const void *)(uintptr_t)base : NULL, size);
}

/* The caller holds the lock. False: there is no room. */
static bool keep_load(const struct load *load)
{
	uint32_t i = 0;

	while (i < MAX_LOADS && code.loads[i].executable)
		i++;
	if (i == MAX_LOADS)
		return false;
	code.loads[i] = *load;
	return !(hsa_options & AMD_OPTION_PCS) || !load->size ||
	       start_addresses_add(&code.load_places, MAX_LOADS, load->base, i);
}

void hsa_code_loaded(struct guest_thread *thread, hsa_executable executable, hsa_agent agent,
		     hsa_loaded_code loaded)
{
	struct load load = {
		.executable = executable.handle,
		.agent = agent.handle,
		.code = new_code(),
		.base = ask_loader(loaded, HSA_LOADED_BASE, sizeof(load.base)),
		.size = ask_loader(loaded, HSA_LOADED_SIZE, sizeof(load.size)),
		.delta = ask_loader(loaded, HSA_LOADED_DELTA, sizeof(load.delta)),
	};
	uint64_t begin;

	if (thread) {
		begin = guest_section_begin(thread);
		hsa_describe_devices(thread);
		put_loaded(thread, &load, loaded);
		guest_section_end(thread, GUEST_SECTION_CODE, begin);
	} else {
		guest_missed(RING_TROUBLE_OBJECTS);
	}
	if (!guest_lock(&code.lock)) {
		guest_trouble(RING_TROUBLE_OBJECTS);
		return;
	}
	if (!keep_load(&load))
		guest_trouble(RING_TROUBLE_OBJECTS);
	guest_unlock(&code.lock);
}

/* The caller holds the lock. */
static uint32_t find_load(uint64_t executable, uint64_t agent)
{
	for (uint32_t i = 0; i < MAX_LOADS; i++)
		if (code.loads[i].executable == executable &&
		    (code.loads[i].agent == agent || !agent))
			return code.loads[i].code;
	return 0;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static struct entry *probe_entry(struct entry *table, uint64_t object)
{
	for (uint32_t i =
		     (uint32_t)((object >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - TABLE_BITS));
	     ; i++) {
		struct entry *entry = &table[i & ((1u << TABLE_BITS) - 1)];
		uint64_t found = atomic_load_explicit(&entry->object, memory_order_acquire);

		if (found == object || !found)
			return entry;
	}
}

static struct kernel *find_kernel(uint64_t object)
{
	struct entry *table = atomic_load_explicit(&code.table, memory_order_acquire), *entry;

	if (GUEST_UNLIKELY(!table))
		return NULL;
	entry = probe_entry(table, object);
	return atomic_load_explicit(&entry->object, memory_order_relaxed)
		       ? atomic_load_explicit(&entry->kernel, memory_order_acquire)
		       : NULL;
}

/* The caller holds the lock. */
static bool make_table(void)
{
	struct entry *table;

	if (atomic_load(&code.table))
		return true;
	code.kernels = guest_memory(MAX_KERNELS * sizeof(*code.kernels));
	table = guest_memory(sizeof(*table) << TABLE_BITS);
	if (!code.kernels || !table)
		return false;
	atomic_store_explicit(&code.table, table, memory_order_release);
	return true;
}

/* The caller holds the lock. Returns the kernel at an address, new or from unloaded code. NULL: no
 * room. */
static struct kernel *add_kernel(uint64_t object)
{
	struct kernel *kernel;
	struct entry *entry;

	if (!object || !make_table())
		return NULL;
	kernel = find_kernel(object);
	if (kernel || code.kernels_count == MAX_KERNELS)
		return kernel;
	kernel = &code.kernels[code.kernels_count++];
	kernel->name = "";
	kernel->object = object;
	entry = probe_entry(atomic_load(&code.table), object);
	atomic_store_explicit(&entry->kernel, kernel, memory_order_release);
	atomic_store_explicit(&entry->object, object, memory_order_release);
	return kernel;
}

/* The caller holds the lock. Returns a copy that is never freed. The previous name is used again if
 * it is the same. */
static const char *keep_name(const char *before, const char *name)
{
	size_t bytes = strlen(name) + 1;

	if (strcmp(before, name) == 0)
		return before;
	if (!code.names)
		code.names = guest_memory(NAMES_BYTES);
	if (!code.names || bytes > NAMES_BYTES - code.names_used)
		return "";
	memcpy(code.names + code.names_used, name, bytes);
	code.names_used += bytes;
	return code.names + code.names_used - bytes;
}

static uint32_t ask_symbol(hsa_symbol symbol, uint32_t what)
{
	uint32_t answer = 0;

	return hsa_next.symbol_get_info(symbol, what, &answer) == HSA_SUCCESS ? answer : 0;
}

/* The name of a kernel's descriptor is the kernel's name with ".kd" appended. */
static void symbol_name(hsa_symbol symbol, char name[RECORD_TEXT_BYTES])
{
	size_t length = ask_symbol(symbol, HSA_SYMBOL_NAME_LENGTH);

	if (length >= RECORD_TEXT_BYTES ||
	    hsa_next.symbol_get_info(symbol, HSA_SYMBOL_NAME, name) != HSA_SUCCESS)
		length = 0;
	name[length] = '\0';
	if (length > 3 && strcmp(name + length - 3, ".kd") == 0)
		name[length - 3] = '\0';
}

/* The descriptor lies in device memory. The runtime has a copy of it until the code is unloaded. */
static uint64_t begin_of(uint64_t object)
{
	const void *descriptor = NULL;
	int64_t entry;

	if (!(hsa_options & AMD_OPTION_PCS) || !hsa_next.host_address ||
	    hsa_next.host_address((const void *)(uintptr_t)object, &descriptor) != HSA_SUCCESS ||
	    !descriptor)
		return 0;
	memcpy(&entry, (const uint8_t *)descriptor + HSA_DESCRIPTOR_ENTRY, sizeof(entry));
	return object + (uint64_t)entry;
}

static bool is_kernel_there(const struct start_address *address)
{
	return code.kernels[address->index].begin == address->begin;
}

static bool is_load_there(const struct start_address *address)
{
	const struct load *load = &code.loads[address->index];

	return load->executable && load->base == address->begin;
}

/* The caller holds the lock. */
static void set_begin(struct kernel *kernel, uint64_t begin)
{
	uint64_t before = kernel->begin;

	if (begin == before)
		return;
	kernel->begin = begin;
	if (before)
		start_addresses_tidy(&code.kernel_places, is_kernel_there);
	if (begin && !start_addresses_add(&code.kernel_places, MAX_KERNELS, begin,
					  (uint32_t)(kernel - code.kernels)))
		guest_trouble(RING_TROUBLE_OBJECTS);
}

static hsa_status add_symbol(hsa_executable executable, hsa_symbol symbol, void *data)
{
	char name[RECORD_TEXT_BYTES];
	hsa_agent agent = {0};
	uint64_t object = 0;
	struct kernel *kernel;

	if (ask_symbol(symbol, HSA_SYMBOL_TYPE) != HSA_SYMBOL_IS_KERNEL ||
	    hsa_next.symbol_get_info(symbol, HSA_SYMBOL_KERNEL_OBJECT, &object) != HSA_SUCCESS)
		return HSA_SUCCESS;
	hsa_next.symbol_get_info(symbol, HSA_SYMBOL_AGENT, &agent);
	symbol_name(symbol, name);
	if (!guest_lock(&code.lock)) {
		guest_trouble(RING_TROUBLE_OBJECTS);
		return HSA_SUCCESS;
	}
	kernel = add_kernel(object);
	if (kernel) {
		kernel->executable = executable.handle;
		set_begin(kernel, begin_of(object));
		kernel->name = keep_name(kernel->name, name);
		kernel->device = hsa_device_of(agent);
		kernel->group_bytes = ask_symbol(symbol, HSA_SYMBOL_GROUP_BYTES);
		kernel->private_bytes = ask_symbol(symbol, HSA_SYMBOL_PRIVATE_BYTES);
		kernel->parent = find_load(executable.handle, agent.handle);
		kernel->code = new_code();
		atomic_store(&kernel->mode, 0);
	}
	guest_unlock(&code.lock);
	return HSA_SUCCESS;
}

void hsa_code_frozen(hsa_executable executable)
{
	atomic_store(&code.any, true);
	hsa_next.iterate_symbols(executable, add_symbol, NULL);
}

/* executable 0: forgets all. */
static void forget_executable(uint64_t executable)
{
	if (!guest_lock(&code.lock))
		return;
	for (uint32_t i = 0; i < code.kernels_count; i++) {
		struct kernel *kernel = &code.kernels[i];

		if (executable && kernel->executable != executable)
			continue;
		kernel->executable = 0;
		kernel->begin = 0;
		kernel->code = 0;
		atomic_store(&kernel->mode, 0);
	}
	for (uint32_t i = 0; i < MAX_LOADS; i++)
		if (!executable || code.loads[i].executable == executable)
			code.loads[i].executable = 0;
	start_addresses_tidy(&code.kernel_places, is_kernel_there);
	start_addresses_tidy(&code.load_places, is_load_there);
	guest_unlock(&code.lock);
}

void hsa_code_destroyed(hsa_executable executable)
{
	if (executable.handle)
		forget_executable(executable.handle);
}

void hsa_code_fini(void)
{
	forget_executable(0);
}

void hsa_code_forked(void)
{
	guest_unlock(&code.lock);
}

/* The caller holds the lock. */
static void describe_kernel(struct guest_thread *thread, struct kernel *kernel, uint64_t object)
{
	char unnamed[32];
	const char *texts[] = {kernel->name, ""};
	const struct hsa_device *device = kernel->device;
	struct record_needs needs = {
		.group_most = device ? device->group_most : 0,
		.group_multiple = device ? device->group_multiple : 0,
		.local_bytes = kernel->group_bytes,
		.private_bytes = kernel->private_bytes,
	};
	const struct guest_tail tail = {texts, 2, sizeof(needs), &needs};
	struct record_code record = {
		.head = {.kind = EVENT_CODE, .detail = CODE_KERNEL | RECORD_CODE_NEEDS},
		.handle = object,
		.parent = kernel->parent,
		.device = device ? device->id : 0,
	};

	if (!kernel->executable) {
		needs = (struct record_needs){.local_bytes = CODE_UNKNOWN,
					      .private_bytes = CODE_UNKNOWN};
		record.parent = 0;
		guest_trouble(AMD_TROUBLE_KERNELS);
	}
	/* The name is too long, or there is no room for another one. */
	if (kernel->executable && !kernel->name[0])
		guest_trouble(RING_TROUBLE_OBJECTS);
	if (!kernel->executable || !kernel->name[0]) {
		snprintf(unnamed, sizeof(unnamed), "kernel_0x%llx", (unsigned long long)object);
		texts[0] = unnamed;
	}
	if (!kernel->code)
		kernel->code = new_code();
	record.code = kernel->code;
	if (guest_put_with_texts(thread, &record.head, offsetof(struct record_code, texts), &tail))
		atomic_store(&kernel->mode, thread->mode);
}

uint32_t hsa_kernel(struct guest_thread *thread, uint64_t object)
{
	struct kernel *kernel = find_kernel(object);
	uint32_t id = 0;

	if (GUEST_LIKELY(kernel &&
			 atomic_load_explicit(&kernel->mode, memory_order_acquire) == thread->mode))
		return kernel->code;
	if (!guest_lock(&code.lock))
		return 0;
	kernel = add_kernel(object);
	if (kernel && atomic_load(&kernel->mode) != thread->mode)
		describe_kernel(thread, kernel, object);
	if (kernel)
		id = kernel->code;
	else
		guest_trouble(RING_TROUBLE_OBJECTS);
	guest_unlock(&code.lock);
	return id;
}

/* ---- positions of samples -------------------------------------------------------------------- */

/* The caller holds the lock. */
static const struct load *load_at(uint64_t pc)
{
	const struct start_address *place = start_addresses_find(&code.load_places, pc);
	const struct load *load = place ? &code.loads[place->index] : NULL;

	return load && pc - load->base < load->size ? load : NULL;
}

/* The caller holds the lock. Returns the kernel of the code object that starts last before pc. */
static struct kernel *kernel_before(const struct load *load, uint64_t pc)
{
	const struct start_address *place = start_addresses_find(&code.kernel_places, pc);

	return place && place->begin >= load->base ? &code.kernels[place->index] : NULL;
}

static uint64_t file_offset(const struct load *load, uint64_t pc)
{
	uint64_t address = pc - load->delta;

	return address - load->text.address < load->text.size
		       ? address - load->text.address + load->text.offset
		       : address;
}

void hsa_find_code_position(struct guest_thread *thread, uint64_t pc,
			    struct hsa_code_position *ret_place)
{
	const struct load *load;
	struct kernel *kernel;

	*ret_place = (struct hsa_code_position){0, pc};
	if (!guest_lock(&code.lock))
		return;
	load = load_at(pc);
	kernel = load ? kernel_before(load, pc) : NULL;
	if (kernel && atomic_load(&kernel->mode) != thread->mode)
		describe_kernel(thread, kernel, kernel->object);
	if (kernel)
		*ret_place = (struct hsa_code_position){kernel->code, file_offset(load, pc)};
	guest_unlock(&code.lock);
}
