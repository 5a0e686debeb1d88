/* SPDX-License-Identifier: MIT
 *
 * symbol/kernel/modules.c - find the kernel module that contains an address
 *
 * Runs in:  the recorder
 * Gets:     "NAME SIZE USERS USED_BY STATE ADDRESS …", a line each
 * Gives:    modules by address
 * Owns:     the modules found by each scan, 80 bytes a module
 * Fails:    -EACCES, -ENOMEM, -errno; modules already found stay
 * Why:      the kernel's names are read once, at the end of a recording. A module that was unloaded
 *           before the end has no names, and the nearest name before its addresses belongs to other
 *           code.
 */
#include "symbol/kernel/modules.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "symbol/kernel/kallsyms.h"

enum {
	MAX_TEXT = 4 << 20,
	MAX_MODULES = 16384,
	MAX_MADE = 64 << 10 /* max bytes of generated code (BPF): such programs are short and fill
			       the gaps of unloaded modules */
};

void kernel_modules_fini(struct kernel_modules *modules)
{
	if (!modules)
		return;
	free(modules->modules);
	*modules = (struct kernel_modules){0};
}

/* NULL: it is new. */
static struct kernel_module *find_same(const struct kernel_modules *modules,
				       const struct kernel_module *module)
{
	for (size_t i = 0; i < modules->count; i++)
		if (modules->modules[i].start == module->start &&
		    strcmp(modules->modules[i].name, module->name) == 0)
			return &modules->modules[i];
	return NULL;
}

/* Ignores invalid lines. */
static int take_line(struct kernel_modules *modules, const char *line)
{
	struct kernel_module module = {.seen = modules->looks}, *same;

	if (sscanf(line, "%55s %" SCNu64 " %*s %*s %*s 0x%" SCNx64, module.name, &module.size,
		   &module.start) != 3 ||
	    !module.start || !module.size || module.start + module.size < module.start)
		return 0;
	same = find_same(modules, &module);
	if (same) {
		*same = module;
		return 0;
	}
	if (modules->count == MAX_MODULES)
		return 0;
	return array_append(modules->modules, modules->capacity, modules->count, module);
}

int kernel_modules_scan(struct kernel_modules *modules, const char *path)
{
	const char *from = path ? path : "/proc/modules";
	auto_free char *text = NULL;
	char *rest, *line;
	bool has_lines = false;
	int error = read_file(from, MAX_TEXT, &text, NULL);

	if (error)
		return error_set(error, "read '%s': %s", from, strerror(-error));
	modules->looks++;
	for (rest = text; !error && (line = strsep(&rest, "\n"));) {
		has_lines |= *line != '\0';
		error = take_line(modules, line);
	}
	if (error)
		return error_set(error, "read '%s': out of memory", from);
	if (has_lines && !modules->count)
		return error_set(-EACCES,
				 "'%s' contains no addresses: run as root, or 'sysctl "
				 "kernel.kptr_restrict=0'",
				 from);
	return 0;
}

/* A module's size includes data, which may lie elsewhere, so ranges may overlap. The module that
 * starts nearest below the address has the code. */
static bool is_better(const struct kernel_module *one, const struct kernel_module *other)
{
	if (!other || one->seen != other->seen)
		return !other || one->seen > other->seen;
	return one->start > other->start;
}

const struct kernel_module *kernel_modules_find(const struct kernel_modules *modules,
						uint64_t address)
{
	const struct kernel_module *found = NULL;

	for (size_t i = 0; i < modules->count; i++) {
		const struct kernel_module *module = &modules->modules[i];

		if (address >= module->start && address - module->start < module->size &&
		    is_better(module, found))
			found = module;
	}
	return found;
}

/* Owner of a name: "name [i915]". */
enum owner { OWNER_KERNEL, OWNER_MADE, OWNER_THIS, OWNER_OTHER };

/* BPF programs and the kernel's own trampolines belong to pseudo modules that are in no list. */
static enum owner owner_of(const char *name, const struct kernel_module *module)
{
	const char *of = strstr(name, " [");
	const size_t length = module ? strlen(module->name) : 0;

	if (!of)
		return OWNER_KERNEL;
	if (strcmp(of, " [bpf]") == 0 || strncmp(of, " [__builtin", 11) == 0)
		return OWNER_MADE;
	return module && strncmp(of + 2, module->name, length) == 0 && of[2 + length] == ']'
		       ? OWNER_THIS
		       : OWNER_OTHER;
}

/* Whether the nearest name before an address belongs to the code at the address. */
static bool is_its(enum owner owner, uint64_t distance, const struct kernel_modules *modules,
		   const struct kernel_module *module)
{
	const bool is_there = module && module->seen == modules->looks;

	switch (owner) {
	case OWNER_KERNEL:
		return !module;
	case OWNER_MADE:
		return !is_there && distance < MAX_MADE;
	case OWNER_THIS:
		return is_there;
	default: /* without a list there is no better name */
		return !modules->looks;
	}
}

bool kernel_modules_name(const struct kernel_modules *modules, const struct kernel_symbol *symbol,
			 char *ret_text, size_t size)
{
	const struct kernel_module *module = kernel_modules_find(modules, symbol->address);

	if (symbol->name[0] && symbol->distance < KALLSYMS_FAR &&
	    is_its(owner_of(symbol->name, module), symbol->distance, modules, module)) {
		snprintf(ret_text, size, "%s", symbol->name);
		return true;
	}
	if (module)
		snprintf(ret_text, size, "%s+0x%" PRIx64 " [%s]", module->name,
			 symbol->address - module->start, module->name);
	return module != NULL;
}
