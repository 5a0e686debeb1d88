/* SPDX-License-Identifier: MIT
 *
 * sim/amd/kernel.c - name and properties of a dispatched kernel
 *
 * Runs in:  a program that uses ROCr, on the thread of the GPU
 * Gets:     the address of a kernel object
 * Gives:    its name, its duration, its effect
 * Owns:     the results, forever; after a flush of the code caches they are looked up again
 * Why:      the loader copies all loadable segments of a code object, including the ELF header and
 *           the symbols that are needed at run time. The name is read from the memory from which a
 *           GPU fetches its code. A kernel without such a header (a made-up address, code that ROCr
 *           assembles itself) has no name.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

enum { BUCKETS = 1024, PAGE_BYTES = 4096, MACHINE_AMDGPU = 224, TAGS = DT_SYMENT + 1 };

struct entry {
	struct entry *next;
	uint64_t flushes;
	struct sim_kernel kernel;
};

static struct entry *buckets[BUCKETS];
static uint64_t flushes;

/* ---- code objects in memory ------------------------------------------------------------------ */

/* Returns data of the code object loaded at the base; NULL: it is not that large. */
static const void *at(uint64_t base, uint64_t address, uint64_t bytes)
{
	return sim_host_pointer(base + address, bytes);
}

static bool is_code_object(uint64_t base)
{
	const Elf64_Ehdr *header = at(base, 0, sizeof(*header));

	return header && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_machine == MACHINE_AMDGPU && header->e_phentsize == sizeof(Elf64_Phdr);
}

/* The loader starts each code object on a page, in memory that may hold several. 0: no code object
 * surrounds the kernel object. */
static uint64_t find_code_object(uint64_t object)
{
	uint64_t first = sim_memory_base(object), base = object & ~(uint64_t)(PAGE_BYTES - 1);

	while (first && base >= first && !is_code_object(base))
		base -= PAGE_BYTES;
	return first && base >= first ? base : 0;
}

/* Values of the dynamic section by their tags; 0 if absent. */
static void read_dynamic(uint64_t base, uint64_t ret_values[TAGS])
{
	const Elf64_Ehdr *header = at(base, 0, sizeof(*header));
	const Elf64_Phdr *segments =
		at(base, header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr));
	const Elf64_Dyn *row = NULL;

	memset(ret_values, 0, TAGS * sizeof(*ret_values));
	for (size_t i = 0; segments && i < header->e_phnum; i++)
		if (segments[i].p_type == PT_DYNAMIC)
			row = at(base, segments[i].p_vaddr, segments[i].p_memsz);
	for (; row && row->d_tag != DT_NULL; row++)
		if (row->d_tag > 0 && row->d_tag < TAGS)
			ret_values[row->d_tag] = row->d_un.d_val;
}

/* The symbol NAME.kd at the object, without its ending; NULL: none. Lives on. */
static const char *read_name(uint64_t base, uint64_t object)
{
	uint64_t values[TAGS];
	const Elf64_Sym *symbols;
	const uint32_t *hash;
	const char *names, *name;
	size_t length;

	read_dynamic(base, values);
	hash = values[DT_HASH] ? at(base, values[DT_HASH], 8) : NULL;
	symbols = hash ? at(base, values[DT_SYMTAB], hash[1] * sizeof(*symbols)) : NULL;
	names = at(base, values[DT_STRTAB], values[DT_STRSZ]);
	for (uint32_t i = 0; symbols && names && i < hash[1]; i++) {
		name = names + symbols[i].st_name;
		length = symbols[i].st_name < values[DT_STRSZ] ? strlen(name) : 0;
		if (base + symbols[i].st_value == object && length > 3 &&
		    strcmp(name + length - 3, ".kd") == 0)
			return strndup(name, length - 3);
	}
	return NULL;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void find_out(struct sim_kernel *kernel)
{
	const struct sim_options *options = sim_options();
	uint64_t base = find_code_object(kernel->object);
	const char *name = base ? read_name(base, kernel->object) : NULL;

	kernel->name = name ? name : sim_blit_find(kernel->object, &kernel->execute);
	kernel->is_rocrs = kernel->name && !name;
	if (!kernel->name)
		kernel->name = "";
	kernel->duration_ns = sim_kernel_ns(kernel->name);
	kernel->never_completes = options->never[0] && strcmp(options->never, kernel->name) == 0;
	if (name && options->execute)
		kernel->execute = sim_execute_find(name);
}

const struct sim_kernel *sim_kernel_find(uint64_t object)
{
	struct entry **bucket = &buckets[object / 64 % BUCKETS], *entry = *bucket;

	while (entry && (entry->kernel.object != object || entry->flushes != flushes))
		entry = entry->next;
	if (entry)
		return &entry->kernel;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		sim_die("no memory for a kernel");
	entry->kernel.object = object;
	entry->flushes = flushes;
	find_out(&entry->kernel);
	entry->next = *bucket;
	*bucket = entry;
	return &entry->kernel;
}

void sim_kernel_flush(void)
{
	flushes++;
}
