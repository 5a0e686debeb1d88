/* SPDX-License-Identifier: MIT
 *
 * inject/modules.c - the list of loaded modules, rebuilt when it changes
 *
 * Runs in:  the profiled process, at the first occurrence of a stack
 * Gets:     addresses
 * Gives:    modules
 * Owns:     one list, mapped on first use
 * Fails:    with id 0
 * Why in the process: only the process itself can find out which library is at an address at the
 *           time of the stack. A recorder that reads /proc/PID/maps a millisecond later may find
 *           another library at that address.
 */
#include "inject/modules.h"

#include <elf.h>
#include <string.h>

#include "inject/guest.h"
#include "inject/libraries.h"

enum { MAX_LISTED = 4096 };

struct entry {
	uint64_t begin, end; /* addresses of an executable segment */
	uint64_t file_offset_bytes;
	const char *path; /* owned by the loader */
	const uint8_t *build_id;
	uint32_t build_id_bytes;
	uint32_t id;
	/* hash of path and build id, because the texts are unloaded with their library */
	uint64_t content;
};

struct list {
	struct entry entries[MAX_LISTED]; /* sorted by address */
	uint32_t count;
};

static struct {
	struct guest_lock lock;
	struct list *list, *spare;
	uint64_t loads, unloads; /* the loader's counts when the list was made */
	uint32_t last;
} modules;

/* ---- reading the loader's list --------------------------------------------------------------- */

static uint32_t find_build_id(const struct dl_phdr_info *info, const uint8_t **ret_bytes)
{
	for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const uint8_t *at = (const uint8_t *)(info->dlpi_addr + segment->p_vaddr);
		const uint8_t *end = at + segment->p_memsz;
		uint64_t align = segment->p_align == 8 ? 8 : 4;

		while (segment->p_type == PT_NOTE && (size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
			uint64_t name = (note->n_namesz + align - 1) & ~(align - 1);
			uint64_t size = (note->n_descsz + align - 1) & ~(align - 1);

			if (name + size > (uint64_t)(end - at) - sizeof(*note))
				break;
			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
			    memcmp(note + 1, "GNU", 4) == 0 &&
			    note->n_descsz <= MODULE_BUILD_ID_BYTES) {
				*ret_bytes = (const uint8_t *)(note + 1) + name;
				return note->n_descsz;
			}
			at += sizeof(*note) + name + size;
		}
	}
	return 0;
}

static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static void insert(struct list *list, struct entry entry)
{
	uint32_t at = list->count;

	if (list->count == MAX_LISTED)
		return;
	for (; at > 0 && list->entries[at - 1].begin > entry.begin; at--)
		list->entries[at] = list->entries[at - 1];
	list->entries[at] = entry;
	list->count++;
}

static int take_module(struct dl_phdr_info *info, size_t size, void *data)
{
	struct entry entry = {.path = info->dlpi_name ? info->dlpi_name : ""};

	entry.build_id_bytes = find_build_id(info, &entry.build_id);
	entry.content =
		add_bytes(add_bytes(UINT64_C(0xcbf29ce484222325), entry.path, strlen(entry.path)),
			  entry.build_id, entry.build_id_bytes);
	for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		entry.begin = info->dlpi_addr + segment->p_vaddr;
		entry.end = entry.begin + segment->p_memsz;
		entry.file_offset_bytes = segment->p_offset;
		insert(data, entry);
	}
	modules.loads = info->dlpi_adds;
	modules.unloads = info->dlpi_subs;
	return 0;
}

/* ---- the list -------------------------------------------------------------------------------- */

static struct entry *find_entry(struct list *list, uint64_t address)
{
	uint32_t low = 0, high = list->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (address < list->entries[middle].begin)
			high = middle;
		else if (address >= list->entries[middle].end)
			low = middle + 1;
		else
			return &list->entries[middle];
	}
	return NULL;
}

/* If nothing was unloaded in between, a module at the same address is the same; otherwise it must
 * have the same path and build id. */
static void keep_ids(const struct list *from, struct list *to, bool unloaded)
{
	for (uint32_t i = 0; i < to->count; i++) {
		struct entry *entry = &to->entries[i];
		const struct entry *old = find_entry((struct list *)from, entry->begin);

		if (!old || old->begin != entry->begin || old->end != entry->end)
			continue;
		if (!unloaded || (entry->build_id_bytes && old->content == entry->content))
			entry->id = old->id;
	}
}

/* The caller holds the lock. */
static bool refresh_list(void)
{
	uint64_t unloads = modules.unloads;
	struct libraries_counts counts;
	struct list *fresh;

	if (!libraries_count(&counts))
		return false;
	if (modules.list && counts.loads == modules.loads && counts.unloads == modules.unloads)
		return true;
	if (!modules.spare)
		modules.spare = guest_memory(sizeof(*modules.spare));
	if (!modules.spare)
		return false;
	fresh = modules.spare;
	fresh->count = 0;
	if (!libraries_iterate(take_module, fresh))
		return false;
	if (modules.list)
		keep_ids(modules.list, fresh, modules.unloads != unloads);
	modules.spare = modules.list;
	modules.list = fresh;
	return true;
}

uint32_t modules_find(uint64_t address)
{
	struct entry *entry = NULL;
	uint32_t id;

	if (!guest_lock(&modules.lock))
		return MODULES_UNKNOWN;
	if (!refresh_list()) {
		guest_unlock(&modules.lock);
		return MODULES_UNKNOWN;
	}
	entry = find_entry(modules.list, address);
	if (entry && !entry->id && modules.last < MAX_MODULES)
		entry->id = ++modules.last;
	id = entry ? entry->id : 0;
	guest_unlock(&modules.lock);
	return id;
}

static void fill_module(const struct entry *entry, struct module *module)
{
	size_t length = strnlen(entry->path, MODULE_PATH_BYTES - 1);

	module->id = entry->id;
	module->address = entry->begin;
	module->size_bytes = entry->end - entry->begin;
	module->file_offset_bytes = entry->file_offset_bytes;
	module->build_id_bytes = entry->build_id_bytes;
	memcpy(module->build_id, entry->build_id, entry->build_id_bytes);
	memcpy(module->path, entry->path, length);
	module->path[length] = '\0';
}

bool modules_describe(uint32_t id, struct module *ret_module)
{
	bool found = false;

	if (!guest_lock(&modules.lock))
		return false;
	for (uint32_t i = 0; modules.list && i < modules.list->count && !found; i++) {
		found = modules.list->entries[i].id == id;
		if (found)
			fill_module(&modules.list->entries[i], ret_module);
	}
	guest_unlock(&modules.lock);
	return found;
}

void modules_forked(void)
{
	atomic_store(&modules.lock.taken, 0);
}
