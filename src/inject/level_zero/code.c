/* SPDX-License-Identifier: MIT
 *
 * inject/level_zero/code.c - describe modules and kernels
 *
 * Runs in:  the profiled process, at a kernel's first launch during a recording, and when a module
 *           is created
 * Gets:     structures of modules and kernels
 * Gives:    ids, and records that describe each once per recorder; the binaries of modules
 * Owns:     the ids of code
 * Fails:    with id 0 if memory is refused or the driver does not answer
 * Why:      a query for a module's binary takes milliseconds, so a failed description is not tried
 *           again in each launch. A sampled address needs the kernel's address and size: the driver
 *           provides the address, and the size is that of the kernel's section in the binary.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "inject/describe.h"
#include "inject/level_zero/objects.h"

enum { MAX_BINARY = 16 << 20 };

static _Atomic uint32_t last_code;

/* A failed description, usually because the ring was full, is tried again after growing pauses,
 * because querying a binary takes milliseconds. From 1 ms to 1 s if guest_now counts ns; a third to
 * half of that if it counts cycles. */
enum { ATTEMPT_FIRST_BITS = 20, ATTEMPT_LAST_BITS = 30 };

static bool is_attempt_due(const struct guest_thread *thread,
			   const struct level_zero_object *object)
{
	return object->id_mode != thread->mode || !object->failed ||
	       guest_now(thread) >= object->next_attempt;
}

/* Two threads may run this at once; then one of them tries sooner. */
static void record_attempt(const struct guest_thread *thread, struct level_zero_object *object)
{
	uint32_t bits = ATTEMPT_FIRST_BITS + object->failed;

	if (level_zero_is_described(thread, object)) {
		object->failed = 0;
		return;
	}
	object->failed++;
	object->next_attempt =
		guest_now(thread) +
		(UINT64_C(1) << (bits < ATTEMPT_LAST_BITS ? bits : (uint32_t)ATTEMPT_LAST_BITS));
}

/* Code size of a kernel, by the hash of its name. */
struct level_zero_text {
	uint64_t name_hash, size_bytes;
};

static uint64_t hash_name(const char *name, size_t length)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)name[i]) * UINT64_C(1099511628211);
	return hash;
}

/* Returns the sections of a zebin and their names. False: not a zebin, or incomplete. */
static bool find_sections(const uint8_t *bytes, size_t size, Elf64_Ehdr *ret_head,
			  const char **ret_names, uint64_t *ret_names_bytes)
{
	Elf64_Shdr names;

	if (size < sizeof(*ret_head))
		return false;
	memcpy(ret_head, bytes, sizeof(*ret_head));
	if (memcmp(ret_head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    ret_head->e_shentsize != sizeof(names) || ret_head->e_shstrndx >= ret_head->e_shnum ||
	    ret_head->e_shoff > size ||
	    ret_head->e_shnum > (size - ret_head->e_shoff) / sizeof(names))
		return false;
	memcpy(&names, bytes + ret_head->e_shoff + ret_head->e_shstrndx * sizeof(names),
	       sizeof(names));
	if (names.sh_offset > size || names.sh_size > size - names.sh_offset || !names.sh_size ||
	    bytes[names.sh_offset + names.sh_size - 1])
		return false;
	*ret_names = (const char *)bytes + names.sh_offset;
	*ret_names_bytes = names.sh_size;
	return true;
}

/* The caller holds the lock. Reads the code sizes of the kernels, once per module. A kernel's code
 * is the section .text.NAME. */
static void learn_texts(struct level_zero_module *module, const uint8_t *bytes, size_t size)
{
	static const char prefix[] = ".text.";
	uint64_t names_bytes = 0;
	const char *names, *name;
	Elf64_Shdr section;
	Elf64_Ehdr head;

	if (module->texts || !find_sections(bytes, size, &head, &names, &names_bytes))
		return;
	module->texts = guest_memory(head.e_shnum * sizeof(*module->texts));
	if (!module->texts)
		return;
	module->texts_count = head.e_shnum;
	for (uint32_t i = 0; i < head.e_shnum; i++) {
		memcpy(&section, bytes + head.e_shoff + i * sizeof(section), sizeof(section));
		name = section.sh_name < names_bytes ? names + section.sh_name : "";
		if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
			continue;
		name += sizeof(prefix) - 1;
		module->texts[i].name_hash = hash_name(name, strlen(name));
		module->texts[i].size_bytes = section.sh_size;
	}
}

/* Returns 0 if unknown. */
static uint64_t find_text(const struct level_zero_module *module, const char *name)
{
	uint64_t hash = hash_name(name, strlen(name));

	for (uint32_t i = 0; module && i < module->texts_count; i++)
		if (module->texts[i].name_hash == hash)
			return module->texts[i].size_bytes;
	return 0;
}

void level_zero_before_module_goes(ze_handle handle)
{
	struct level_zero_module *module = level_zero_find(handle, LEVEL_ZERO_MODULE);

	if (!module || !module->texts)
		return;
	guest_memory_free(module->texts, module->texts_count * sizeof(*module->texts));
	module->texts = NULL;
	module->texts_count = 0;
}

/* The caller holds the lock, so that no other thread describes the module a second time. size 0: no
 * content. True: it was described, and its content is to be written. */
static bool describe_module(struct guest_thread *thread, struct level_zero_module *module,
			    uint32_t device, const uint8_t *bytes, size_t size)
{
	const char *texts[] = {"", ""};
	const struct guest_tail tail = {.texts = texts, .text_count = 2};
	struct record_code record = {
		.head = {.kind = EVENT_CODE, .detail = CODE_BINARY},
		.handle = (uintptr_t)module->object.handle,
		.size_bytes = size,
		.device = device,
	};

	if (level_zero_is_described(thread, &module->object))
		return false;
	level_zero_give_id(thread, &module->object, &last_code);
	record.code = module->object.id;
	if (!guest_put_with_texts(thread, &record.head, offsetof(struct record_code, texts), &tail))
		return false;
	level_zero_make_described(thread, &module->object);
	if (size)
		learn_texts(module, bytes, size);
	return size != 0;
}

/* Returns the module's native binary, a zebin; NULL: none, or no room for it. Free with
 * guest_memory_free(*ret_size). */
static uint8_t *ask_binary(struct guest_thread *thread, ze_handle module, size_t *ret_size)
{
	uint8_t *bytes;
	size_t size = 0;

	if (!(thread->options & RING_OPTION_CODE) || !next.zeModuleGetNativeBinary ||
	    next.zeModuleGetNativeBinary(module, &size, NULL) != ZE_SUCCESS || !size)
		return NULL;
	bytes = size <= MAX_BINARY ? guest_memory(size) : NULL;
	*ret_size = size;
	if (bytes && next.zeModuleGetNativeBinary(module, ret_size, bytes) == ZE_SUCCESS &&
	    *ret_size <= size) {
		*ret_size = size;
		return bytes;
	}
	guest_count_lost_code(thread);
	if (bytes)
		guest_memory_free(bytes, size);
	return NULL;
}

uint32_t level_zero_module_id(struct guest_thread *thread, struct level_zero_module *module)
{
	bool has_content = false;
	uint8_t *bytes;
	uint32_t device, code = 0;
	size_t size = 0;
	uint64_t begin;
	int saved;

	if (!module)
		return 0;
	if (level_zero_is_described(thread, &module->object))
		return module->object.id;
	if (!is_attempt_due(thread, &module->object))
		return module->object.id;
	saved = errno;
	begin = guest_section_begin(thread);
	device = level_zero_device_id(thread, module->device,
				      module->context ? module->context->driver : NULL);
	bytes = ask_binary(thread, module->object.handle, &size);
	if (level_zero_lock_objects()) {
		has_content = describe_module(thread, module, device, bytes, bytes ? size : 0);
		code = module->object.id;
		level_zero_unlock_objects();
	}
	/* Without the lock, because this sleeps while the ring is full. */
	if (has_content)
		guest_put_content(thread, code, bytes, size);
	if (bytes)
		guest_memory_free(bytes, size);
	record_attempt(thread, &module->object);
	guest_section_end(thread, GUEST_SECTION_CODE, begin);
	errno = saved;
	return module->object.id_mode == thread->mode ? module->object.id : 0;
}

/* Properties of a kernel from the driver, queried without a lock. */
struct kernel_facts {
	char name[RECORD_TEXT_BYTES];
	uint32_t parent, device;
	/* In the order of the record. */
	struct {
		struct record_needs needs;
		struct record_place place; /* address 0: unknown */
	} tail;
};

/* Returns 0 if the driver does not provide it. */
static uint64_t ask_address(struct level_zero_context *context, ze_handle kernel)
{
	ze_handle below = kernel;
	uint64_t address = 0;
	void *function = NULL;

	if (!context)
		return 0;
	if (!context->zex_asked && context->driver && next.zeDriverGetExtensionFunctionAddress) {
		if (next.zeDriverGetExtensionFunctionAddress(
			    context->driver, ZEX_KERNEL_GET_BASE_ADDRESS, &function) == ZE_SUCCESS)
			context->zex = (zex_kernel_get_base_address *)function;
		context->zex_asked = true;
	}
	if (!context->zex)
		return 0;
	/* With several drivers the loader's handles differ from the driver's. */
	if (level_zero_translate && level_zero_translate(ZEL_KERNEL, kernel, &below) != ZE_SUCCESS)
		return 0;
	return context->zex(below, &address) == ZE_SUCCESS ? address : 0;
}

static void ask_for_needs(ze_handle kernel, ze_handle device, struct record_needs *needs)
{
	struct ze_kernel_properties properties = {.type = ZE_TYPE_KERNEL_PROPERTIES};
	struct ze_compute_properties compute = {.type = ZE_TYPE_DEVICE_COMPUTE_PROPERTIES};

	*needs = (struct record_needs){.local_bytes = CODE_UNKNOWN, .private_bytes = CODE_UNKNOWN};
	if (next.zeDeviceGetComputeProperties &&
	    next.zeDeviceGetComputeProperties(device, &compute) == ZE_SUCCESS)
		needs->group_most = compute.group_most;
	if (!next.zeKernelGetProperties ||
	    next.zeKernelGetProperties(kernel, &properties) != ZE_SUCCESS)
		return;
	needs->group_multiple = properties.max_subgroup;
	needs->local_bytes = properties.local_bytes;
	needs->private_bytes = properties.private_bytes;
}

/* The caller holds the lock. */
static void describe_kernel(struct guest_thread *thread, struct level_zero_kernel *kernel,
			    const struct kernel_facts *facts)
{
	const char *texts[] = {facts->name, ""};
	const bool is_placed = facts->tail.place.address != 0;
	const struct guest_tail tail = {texts, 2,
					is_placed ? sizeof(facts->tail) : sizeof(facts->tail.needs),
					&facts->tail};
	struct record_code record = {
		.head = {.kind = EVENT_CODE,
			 .detail = CODE_KERNEL | RECORD_CODE_NEEDS |
				   (is_placed ? RECORD_CODE_PLACED : 0)},
		.handle = (uintptr_t)kernel->object.handle,
		.parent = facts->parent,
		.device = facts->device,
	};

	if (level_zero_is_described(thread, &kernel->object))
		return;
	level_zero_give_id(thread, &kernel->object, &last_code);
	record.code = kernel->object.id;
	if (guest_put_with_texts(thread, &record.head, offsetof(struct record_code, texts), &tail))
		level_zero_make_described(thread, &kernel->object);
}

static bool ask_name(ze_handle kernel, char name[RECORD_TEXT_BYTES])
{
	size_t size = RECORD_TEXT_BYTES - 1;

	if (!next.zeKernelGetName || next.zeKernelGetName(kernel, &size, name) != ZE_SUCCESS ||
	    size > RECORD_TEXT_BYTES - 1)
		return false;
	name[size] = '\0';
	return true;
}

static void learn_kernel(struct guest_thread *thread, struct level_zero_kernel *kernel,
			 uint64_t now)
{
	struct level_zero_module *module = kernel->module;
	struct level_zero_context *context = module ? module->context : NULL;
	struct level_zero_device *device = module ? module->device : NULL;
	/* Before guest_section_begin, because level_zero_module_id has a section of its own. */
	struct kernel_facts facts = {.parent = level_zero_module_id(thread, module)};
	const uint64_t begin = guest_section_begin(thread);

	if (!ask_name(kernel->object.handle, facts.name))
		return;
	facts.tail.place.address = ask_address(context, kernel->object.handle);
	facts.tail.place.size_bytes = find_text(module, facts.name);
	facts.tail.place.time = now;
	facts.device = level_zero_device_id(thread, device, context ? context->driver : NULL);
	ask_for_needs(kernel->object.handle, device ? device->object.handle : NULL,
		      &facts.tail.needs);
	if (!level_zero_lock_objects())
		return;
	describe_kernel(thread, kernel, &facts);
	level_zero_unlock_objects();
	guest_section_end(thread, GUEST_SECTION_OBJECT, begin);
}

uint32_t level_zero_kernel_id(struct guest_thread *thread, ze_handle handle, uint64_t now)
{
	struct level_zero_kernel *kernel = level_zero_find(handle, LEVEL_ZERO_KERNEL);
	int saved;

	if (!kernel)
		return 0;
	if (GUEST_LIKELY(level_zero_is_described(thread, &kernel->object)))
		return kernel->object.id;
	if (!guest_is_current(thread))
		return 0;
	if (is_attempt_due(thread, &kernel->object)) {
		saved = errno;
		learn_kernel(thread, kernel, now);
		record_attempt(thread, &kernel->object);
		errno = saved;
	}
	return kernel->object.id_mode == thread->mode ? kernel->object.id : 0;
}
