/* SPDX-License-Identifier: MIT
 *
 * inject/hsa_code.c - which kernel a packet names, and the code object that it is in
 *
 * Runs in:  the profiled process: lookups where packets are written, the rest where code is loaded and unloaded
 * Gets:     executables   Gives: ids, and records that describe code once per recorder
 * Owns:     what is known of each kernel; memory of code that is unloaded is used again
 * Fails:    with an unnamed kernel where the code was not seen, and id 0 where there is no room for one more
 * Why:      a packet has nothing but the address of a kernel, and addresses are used again when code is unloaded: the
 *           launch record has the id that the address means at that moment. Code is read while it is loaded, from where
 *           the loader says that it lies, which is the same however the program came by it.
 */
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inject/addresses.h"
#include "inject/describe.h"
#include "inject/hsa.h"

enum {
	TABLE_BITS = 17,
	KERNELS_MOST = 1 << (TABLE_BITS - 1),
	LOADS_MOST = 4096,
	CONTENT_MOST = 16 << 20, /* the recorder keeps no more */
	NAMES_BYTES = 32 << 20
};

struct kernel {
	uint64_t executable; /* 0: unloaded, or never seen */
	uint64_t object;     /* its descriptor's address */
	uint64_t begin;      /* of its instructions; 0: not asked for, or not known */
	const char *name;    /* "": none */
	struct hsa_device *device;
	uint32_t group_bytes, private_bytes;
	uint32_t parent; /* code id of what it is in */
	uint32_t code;
	_Atomic uint32_t mode; /* of the attachment it is described in */
};

struct entry {
	_Atomic uint64_t object; /* the kernel's address; 0: free */
	struct kernel *_Atomic kernel;
};

/* Where instructions are in the file of a code object, and what is added to their addresses. */
struct text {
	uint64_t address, offset, size; /* size 0: not known */
};

struct load {
	uint64_t executable; /* 0: free */
	uint64_t agent;
	uint32_t code;
	/* For samples of instructions. */
	uint64_t base, size, delta;
	struct text text;
};

static struct {
	struct guest_lock lock;
	struct entry *_Atomic table; /* 1 << TABLE_BITS */
	struct kernel *kernels;      /* KERNELS_MOST */
	uint32_t kernels_count;
	struct load loads[LOADS_MOST];
	struct addresses load_places, kernel_places; /* where samples are taken */
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

/* ---- code objects ------------------------------------------------------------------------------ */

/* The first segment that is executed: AMD's linkers make one. */
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
		.device = device ? hsa_device_id(device) : 0,
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

/* The program's own descriptor; where it stands is left alone. */
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
	bytes = size <= CONTENT_MOST ? guest_memory(size) : NULL;
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
	if (base && size <= CONTENT_MOST)
		find_text((const uint8_t *)(uintptr_t)base, size, &load->text);
	put_code(thread, load, loaded.handle,
		 size <= CONTENT_MOST ? (const void *)(uintptr_t)base : NULL, size);
}

/* Under the lock. False: there is no room. */
static bool keep_load(const struct load *load)
{
	uint32_t i = 0;

	while (i < LOADS_MOST && code.loads[i].executable)
		i++;
	if (i == LOADS_MOST)
		return false;
	code.loads[i] = *load;
	return !(hsa_options & RING_OPTION_AMD_PCS) || !load->size ||
	       addresses_add(&code.load_places, LOADS_MOST, load->base, i);
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

	if (thread) {
		hsa_describe_devices(thread);
		put_loaded(thread, &load, loaded);
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

/* Under the lock. */
static uint32_t find_load(uint64_t executable, uint64_t agent)
{
	for (uint32_t i = 0; i < LOADS_MOST; i++)
		if (code.loads[i].executable == executable &&
		    (code.loads[i].agent == agent || !agent))
			return code.loads[i].code;
	return 0;
}

/* ---- kernels ----------------------------------------------------------------------------------- */

static struct entry *probe(struct entry *table, uint64_t object)
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
	entry = probe(table, object);
	return atomic_load_explicit(&entry->object, memory_order_relaxed)
		       ? atomic_load_explicit(&entry->kernel, memory_order_acquire)
		       : NULL;
}

/* Under the lock. */
static bool make_table(void)
{
	struct entry *table;

	if (atomic_load(&code.table))
		return true;
	code.kernels = guest_memory(KERNELS_MOST * sizeof(*code.kernels));
	table = guest_memory(sizeof(*table) << TABLE_BITS);
	if (!code.kernels || !table)
		return false;
	atomic_store_explicit(&code.table, table, memory_order_release);
	return true;
}

/* Under the lock: the kernel of an address, new or what was there before. NULL: no room. */
static struct kernel *add_kernel(uint64_t object)
{
	struct kernel *kernel;
	struct entry *entry;

	if (!object || !make_table())
		return NULL;
	kernel = find_kernel(object);
	if (kernel || code.kernels_count == KERNELS_MOST)
		return kernel;
	kernel = &code.kernels[code.kernels_count++];
	kernel->name = "";
	kernel->object = object;
	entry = probe(atomic_load(&code.table), object);
	atomic_store_explicit(&entry->kernel, kernel, memory_order_release);
	atomic_store_explicit(&entry->object, object, memory_order_release);
	return kernel;
}

/* Under the lock: a text that stays. What was there is used again where it is the same. */
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

/* The descriptor of a kernel is called as the kernel, with ".kd" behind it. */
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

/* The descriptor lies in the device's memory; the runtime has a copy of it until the code is unloaded. */
static uint64_t begin_of(uint64_t object)
{
	const void *descriptor = NULL;
	int64_t entry;

	if (!(hsa_options & RING_OPTION_AMD_PCS) || !hsa_next.host_address ||
	    hsa_next.host_address((const void *)(uintptr_t)object, &descriptor) != HSA_SUCCESS ||
	    !descriptor)
		return 0;
	memcpy(&entry, (const uint8_t *)descriptor + HSA_DESCRIPTOR_ENTRY, sizeof(entry));
	return object + (uint64_t)entry;
}

static bool is_kernel_there(const struct address *address)
{
	return code.kernels[address->index].begin == address->begin;
}

static bool is_load_there(const struct address *address)
{
	const struct load *load = &code.loads[address->index];

	return load->executable && load->base == address->begin;
}

/* Under the lock. */
static void set_begin(struct kernel *kernel, uint64_t begin)
{
	uint64_t before = kernel->begin;

	if (begin == before)
		return;
	kernel->begin = begin;
	if (before)
		addresses_tidy(&code.kernel_places, is_kernel_there);
	if (begin && !addresses_add(&code.kernel_places, KERNELS_MOST, begin,
				    (uint32_t)(kernel - code.kernels)))
		guest_trouble(RING_TROUBLE_OBJECTS);
}

static hsa_status add_symbol(hsa_executable executable, hsa_symbol symbol, void *data)
{
	char name[RECORD_TEXT_BYTES];
	hsa_agent agent = {0};
	uint64_t object = 0;
	struct kernel *kernel;

	(void)data;
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

/* 0: of all. */
static void forget(uint64_t executable)
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
	for (uint32_t i = 0; i < LOADS_MOST; i++)
		if (!executable || code.loads[i].executable == executable)
			code.loads[i].executable = 0;
	addresses_tidy(&code.kernel_places, is_kernel_there);
	addresses_tidy(&code.load_places, is_load_there);
	guest_unlock(&code.lock);
}

void hsa_code_destroyed(hsa_executable executable)
{
	if (executable.handle)
		forget(executable.handle);
}

void hsa_code_fini(void)
{
	forget(0);
}

void hsa_code_forked(void)
{
	guest_unlock(&code.lock);
}

/* Under the lock. */
static void describe(struct guest_thread *thread, struct kernel *kernel, uint64_t object)
{
	char unnamed[32];
	const char *texts[] = {kernel->name, ""};
	const struct hsa_device *device = kernel->device;
	struct record_needs needs = {
		.group_most = device ? hsa_device_group_most(device) : 0,
		.group_multiple = device ? hsa_device_group_multiple(device) : 0,
		.local_bytes = kernel->group_bytes,
		.private_bytes = kernel->private_bytes,
	};
	const struct guest_tail tail = {texts, 2, sizeof(needs), &needs};
	struct record_code record = {
		.head = {.kind = EVENT_CODE, .detail = CODE_KERNEL | RECORD_CODE_NEEDS},
		.handle = object,
		.parent = kernel->parent,
		.device = device ? hsa_device_id(device) : 0,
	};

	if (!kernel->executable) {
		needs = (struct record_needs){.local_bytes = CODE_UNKNOWN,
					      .private_bytes = CODE_UNKNOWN};
		record.parent = 0;
		guest_trouble(RING_TROUBLE_KERNELS);
	}
	/* Too long, or there is no room for one more. */
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
		describe(thread, kernel, object);
	if (kernel)
		id = kernel->code;
	else
		guest_trouble(RING_TROUBLE_OBJECTS);
	guest_unlock(&code.lock);
	return id;
}

/* ---- places ------------------------------------------------------------------------------------ */

/* Under the lock. */
static const struct load *load_at(uint64_t pc)
{
	const struct address *place = addresses_find(&code.load_places, pc);
	const struct load *load = place ? &code.loads[place->index] : NULL;

	return load && pc - load->base < load->size ? load : NULL;
}

/* Under the lock: the kernel of the code object whose instructions begin last before the place. */
static struct kernel *kernel_before(const struct load *load, uint64_t pc)
{
	const struct address *place = addresses_find(&code.kernel_places, pc);

	return place && place->begin >= load->base ? &code.kernels[place->index] : NULL;
}

static uint64_t file_offset(const struct load *load, uint64_t pc)
{
	uint64_t address = pc - load->delta;

	return address - load->text.address < load->text.size
		       ? address - load->text.address + load->text.offset
		       : address;
}

void hsa_find_place(struct guest_thread *thread, uint64_t pc, struct hsa_place *ret_place)
{
	const struct load *load;
	struct kernel *kernel;

	*ret_place = (struct hsa_place){0, pc};
	if (!guest_lock(&code.lock))
		return;
	load = load_at(pc);
	kernel = load ? kernel_before(load, pc) : NULL;
	if (kernel && atomic_load(&kernel->mode) != thread->mode)
		describe(thread, kernel, kernel->object);
	if (kernel)
		*ret_place = (struct hsa_place){kernel->code, file_offset(load, pc)};
	guest_unlock(&code.lock);
}
