/* SPDX-License-Identifier: MIT
 *
 * collect/stack/memory_places.c - names an address of a process by its file or variable
 *
 * Runs in:  the recorder
 * Gets:     addresses
 * Gives:    names of files, heap and variables
 * Owns:     copies of /proc/PID/maps of 16 program images
 * Fails:    with NULL or false: the process has ended, has unmapped the address, or changes its
 *           mappings so often that reading them would take more than 1/50 of the time
 * Why copies are kept: reading the mappings of a large program takes 1 ms, and a thread that waits
 *           for one page of a file will wait for the next pages, too. A mapping that was removed
 *           after the copy was made must not name an address: without that check, memory that was
 *           mapped at the place of an unloaded library got its name in 50 of 50 waits.
 */
#include "collect/stack/memory_places.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/host_clocks.h"

enum { COST_SHARE = 50 /* reading one process's mappings may take 1/50 of the time */ };

void memory_places_fini(struct memory_places *places)
{
	if (!places)
		return;
	for (size_t i = 0; i < MEMORY_PLACES_KEPT; i++)
		proc_maps_fini(&places->kept[i].maps);
	*places = (struct memory_places){0};
}

/* Finds the copy for a process image, or reuses the oldest one. */
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

static bool is_right(const struct memory_places_kept *kept, const struct memory_moment *moment)
{
	if (!kept->read_ns)
		return false;
	return kept->read_ns >= moment->time_ns || (moment->state && kept->state == moment->state);
}

/* PROCMAP_QUERY of Linux 6.11, which Debian 12's headers lack. */
struct mapping_query {
	uint64_t size, flags, address;
	uint64_t start, end, mapping_flags, page_size, file_offset, inode;
	uint32_t device_major, device_minor, name_size, build_id_size;
	uint64_t name, build_id;
};
#define QUERY_MAPPING _IOWR('f', 17, struct mapping_query)

/* Whether the kept mapping at the address still exists. */
static bool is_confirmed(const struct memory_places_kept *kept, uint32_t pid, uint64_t address)
{
	struct mapping_query query = {.size = sizeof(query), .address = address};
	const struct proc_mapping *mapping = proc_maps_find(&kept->maps, address);
	char path[64];
	int file, error;

	if (!mapping)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return false;
	error = ioctl(file, QUERY_MAPPING, &query);
	close(file);
	return !error && query.start == mapping->start && query.end == mapping->end &&
	       query.inode == mapping->inode && query.device_major == mapping->device_major &&
	       query.device_minor == mapping->device_minor &&
	       query.file_offset == mapping->file_offset;
}

static void read_again(struct memory_places_kept *kept, uint32_t pid)
{
	const uint64_t begin_ns = host_clocks_now_ns();
	struct proc_maps maps;

	if (kept->tried_ns && begin_ns - kept->tried_ns < COST_SHARE * kept->cost_ns)
		return;
	if (proc_maps_read((pid_t)pid, &maps)) {
		error_clear();
	} else {
		proc_maps_fini(&kept->maps);
		kept->maps = maps;
		kept->read_ns = begin_ns;
	}
	kept->tried_ns = begin_ns;
	kept->cost_ns = host_clocks_now_ns() - begin_ns;
}

const struct proc_maps *memory_places_maps(struct memory_places *places, uint64_t image,
					   uint32_t pid, uint64_t address,
					   const struct memory_moment *moment)
{
	struct memory_places_kept *kept = find_kept(places, image);

	if (!is_right(kept, moment) && is_confirmed(kept, pid, address))
		return &kept->maps;
	if (!is_right(kept, moment))
		read_again(kept, pid);
	if (!is_right(kept, moment))
		return NULL;
	kept->state = moment->state;
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
	case PROC_MAPPING_SPECIAL: /* "[heap]" without its brackets */
		snprintf(ret_text, size, "%.*s", (int)strcspn(mapping->path + 1, "]"),
			 mapping->path + 1);
		break;
	case PROC_MAPPING_ANONYMOUS:
		snprintf(ret_text, size, "memory");
	}
	return true;
}

/* The file of a mapping. A file's .bss is an anonymous mapping directly after its last file
 * mapping. */
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
