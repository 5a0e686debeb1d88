/* SPDX-License-Identifier: MIT
 *
 * collect/memory_places.c - what lies at an address of a process
 *
 * Runs in:  the recorder
 * Gets:     addresses   Gives: files and variables
 * Owns:     mappings of 16 processes
 * Fails:    with NULL or false: the process is over, or has unmapped it by now
 * Why kept: to read the mappings of a large program takes a millisecond, and who waits for one page of a file waits for the
 *           next ones too.
 */
#include "collect/memory_places.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum {
	OLD_NS = 1000000000,
	/* … where nothing is found in them: what was mapped since then may be it */
	YOUNG_NS = 100000000
};

void memory_places_fini(struct memory_places *places)
{
	if (!places)
		return;
	for (size_t i = 0; i < MEMORY_PLACES_KEPT; i++)
		proc_maps_fini(&places->kept[i].maps);
	*places = (struct memory_places){0};
}

/* The one of this image, else one that is given up for it. */
static struct memory_places_kept *find_kept(struct memory_places *places, uint64_t image)
{
	struct memory_places_kept *kept;

	for (size_t i = 0; i < MEMORY_PLACES_KEPT; i++)
		if (places->kept[i].image == image)
			return &places->kept[i];
	kept = &places->kept[places->next++ % MEMORY_PLACES_KEPT];
	proc_maps_fini(&kept->maps);
	*kept = (struct memory_places_kept){.image = image};
	return kept;
}

const struct proc_maps *memory_places_maps(struct memory_places *places, uint64_t image,
					   uint32_t pid, uint64_t address, uint64_t now_ns)
{
	struct memory_places_kept *kept = find_kept(places, image);
	const uint64_t age_ns = now_ns - kept->read_ns;
	const bool is_there = proc_maps_find(&kept->maps, address) != NULL;

	if (kept->read_ns && age_ns < (is_there ? OLD_NS : YOUNG_NS))
		return is_there ? &kept->maps : NULL;
	proc_maps_fini(&kept->maps);
	kept->maps = (struct proc_maps){0};
	kept->read_ns = now_ns;
	if (proc_maps_read((pid_t)pid, &kept->maps)) {
		error_clear();
		return NULL;
	}
	return proc_maps_find(&kept->maps, address) ? &kept->maps : NULL;
}

bool memory_places_file(const struct proc_maps *maps, uint64_t address, char *ret_text, size_t size)
{
	const struct proc_mapping *mapping = proc_maps_find(maps, address);

	if (!mapping)
		return false;
	switch (mapping->kind) {
	case PROC_MAPPING_FILE:
	case PROC_MAPPING_MEMORY:
		snprintf(ret_text, size, "%s", mapping->path);
		break;
	case PROC_MAPPING_SPECIAL: /* without its brackets */
		snprintf(ret_text, size, "%.*s", (int)strcspn(mapping->path + 1, "]"),
			 mapping->path + 1);
		break;
	case PROC_MAPPING_ANONYMOUS:
		snprintf(ret_text, size, "memory");
	}
	return true;
}

/* What a file leaves to be filled with zeroes lies behind its last mapping, and has no path. */
static const struct proc_mapping *file_of(const struct proc_maps *maps,
					  const struct proc_mapping *mapping)
{
	if (mapping->kind == PROC_MAPPING_ANONYMOUS && mapping > maps->mappings &&
	    mapping[-1].end == mapping->start && mapping[-1].is_writable)
		mapping--;
	return mapping->kind == PROC_MAPPING_FILE && *mapping->path ? mapping : NULL;
}

void memory_places_variable(const struct proc_maps *maps, uint64_t address, char *ret_text,
			    size_t size)
{
	const struct proc_mapping *mapping = maps ? proc_maps_find(maps, address) : NULL;
	const struct proc_mapping *file = mapping ? file_of(maps, mapping) : NULL, *first = file;
	const char *name;

	if (!file) {
		snprintf(ret_text, size, "0x%" PRIx64, address);
		return;
	}
	while (first > maps->mappings && first->file_offset &&
	       (strcmp(first[-1].path, file->path) == 0 || !*first[-1].path))
		first--;
	name = strrchr(file->path, '/');
	snprintf(ret_text, size, "%s+0x%" PRIx64, name ? name + 1 : file->path,
		 address - first->start);
}
