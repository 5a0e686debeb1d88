/* SPDX-License-Identifier: MIT
 *
 * collect/intel/submitters.c - identifies the processes that submit work to GPUs, from the kernel's
 * pids
 *
 * Runs in:  the recorder
 * Gets:     pids and times, in the kernel's order
 * Gives:    processes
 * Owns:     start time and executable of each
 * Fails:    returns NULL when memory runs out
 * Why:      A record is read up to 20 ms after its event, and the end of a process is noticed up to
 *           a second late. If a pid is reused within that time, its records would be attributed to
 *           its former owner, with the former owner's memory and kernels. So records are attributed
 *           to a process only before its end; if no end was reported, start time and executable
 *           decide whether it is the same process.
 */
#include "collect/intel/submitters.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/host_clocks.h"
#include "collect/proc.h"

/* Max number of ended processes that may still have records. */
enum { MAX_ENDS = 4096 };

/* All zero if it could not be read. */
struct program_image {
	uint64_t start_ticks, device, inode;
};

struct submitter {
	uint32_t pid;
	struct program_image image;
};

void submitters_init(struct submitters *submitters, struct recording *recording)
{
	*submitters = (struct submitters){.recording = recording};
}

void submitters_fini(struct submitters *submitters)
{
	size_t cursor = 0;
	uint64_t value;

	if (!submitters || !submitters->recording)
		return;
	while (hash_map_next(&submitters->known, &cursor, NULL, &value))
		free((void *)(uintptr_t)value);
	hash_map_fini(&submitters->known);
	hash_map_fini(&submitters->ends);
}

/* ---- identity -------------------------------------------------------------------------------- */

static struct program_image read_image(uint32_t pid)
{
	struct program_image image = {.start_ticks = proc_start_ticks(pid)};
	char path[64];
	struct stat file;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	if (image.start_ticks && stat(path, &file) == 0) {
		image.device = file.st_dev;
		image.inode = file.st_ino;
	}
	return image;
}

/* Compares the members that could be read both times. */
static bool is_same(const struct program_image *one, const struct program_image *other)
{
	if (one->start_ticks && other->start_ticks && one->start_ticks != other->start_ticks)
		return false;
	return !one->inode || !other->inode ||
	       (one->inode == other->inode && one->device == other->device);
}

static struct submitter *known_of(const struct submitters *submitters,
				  const struct process *process)
{
	return process->is_described ? hash_map_find_pointer(&submitters->known, process->row.id)
				     : NULL;
}

static uint64_t ticks_of(const struct submitter_name *name)
{
	static const uint64_t second_ns = 1000000000;

	return name->start_ns / (second_ns / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Reads start time and executable, unless the pid has another owner already. */
static void remember_image(struct submitters *submitters, struct processes *table,
			   struct process *process, const struct submitter_name *name)
{
	struct submitter *submitter;

	if (known_of(submitters, process))
		return;
	submitter = calloc(1, sizeof(*submitter));
	if (!submitter)
		return;
	submitter->pid = process->row.pid;
	submitter->image = read_image(process->row.pid);
	if (name->start_ns && submitter->image.start_ticks != ticks_of(name)) {
		submitter->image = (struct program_image){.start_ticks = ticks_of(name)};
		process->is_looked_at = true;
	}
	if (hash_map_put_pointer(&submitters->known, process_describe(table, process), submitter))
		free(submitter);
}

/* ---- owners of a pid ------------------------------------------------------------------------- */

static uint64_t start_of(const struct submitters *submitters, const struct process *process)
{
	const struct submitter *known = known_of(submitters, process);

	return known && known->image.start_ticks ? known->image.start_ticks
						 : process->row.start_ticks;
}

static bool is_its(const struct submitters *submitters, const struct process *process,
		   const struct submitter_name *name)
{
	const uint64_t end_ns = hash_map_get(&submitters->ends, process->row.pid, 0);
	const uint64_t start = start_of(submitters, process);

	if (process->has_ended && process->row.end_ns < name->time_ns)
		return false;
	if (start && name->start_ns && start != ticks_of(name))
		return false;
	return process->row.begin_ns > end_ns || end_ns >= name->time_ns;
}

static struct process *find_process(const struct submitters *submitters,
				    const struct submitter_name *name, struct processes **ret_table)
{
	struct processes *const tables[] = {submitters->recording->processes,
					    submitters->recording->others};

	for (size_t i = 0; i < ARRAY_COUNT(tables); i++) {
		struct process *process = processes_find(tables[i], name->pid);

		*ret_table = tables[i];
		if (process && is_its(submitters, process, name))
			return process;
	}
	return NULL;
}

struct process *submitters_find(struct submitters *submitters, const struct submitter_name *name,
				struct processes **ret_table)
{
	struct process *process = find_process(submitters, name, ret_table);

	if (!process)
		process = processes_begin(*ret_table, name->pid, name->time_ns);
	if (process)
		remember_image(submitters, *ret_table, process, name);
	return process;
}

/* ---- ends ------------------------------------------------------------------------------------ */

static uint32_t forget(struct submitters *submitters, uint32_t process)
{
	uint64_t value = 0;

	if (!hash_map_remove(&submitters->known, process, &value))
		return 0;
	free((void *)(uintptr_t)value);
	return process;
}

uint32_t submitters_end(struct submitters *submitters, const struct submitter_name *name)
{
	struct processes *table;
	struct process *process = find_process(submitters, name, &table);

	if (!process)
		return 0;
	if (submitters->ends.count >= MAX_ENDS)
		hash_map_clear(&submitters->ends);
	hash_map_put(&submitters->ends, name->pid, name->time_ns);
	/* the collector that records a process also sees its end, and knows more */
	if (table == submitters->recording->others)
		processes_end(table, name->pid, name->time_ns);
	return process->is_described ? forget(submitters, process->row.id) : 0;
}

/* Checks whether the pid still belongs to the same process. */
static bool is_still(const struct submitter *known, struct process *process)
{
	const uint64_t begin_ns = host_clocks_now_ns();
	struct program_image image;

	if (!lookup_budget_is_due(&process->looks, begin_ns))
		return true;
	image = read_image(process->row.pid);
	lookup_budget_spend(&process->looks, begin_ns, host_clocks_now_ns());
	return is_same(&known->image, &image);
}

uint32_t submitters_check(struct submitters *submitters, const struct submitter_name *name)
{
	struct processes *const others = submitters->recording->others;
	struct process *process = processes_find(others, name->pid);
	const struct submitter *known =
		process && !process->has_ended ? known_of(submitters, process) : NULL;

	if (!known || (is_its(submitters, process, name) && is_still(known, process)))
		return 0;
	processes_end(others, name->pid, name->time_ns - 1);
	return forget(submitters, process->row.id);
}

/* Checks a process, because no source reports ends reliably. */
static void look_at(struct submitters *submitters, uint32_t process_id,
		    const struct submitter *submitter, uint64_t now_ns)
{
	struct processes *const others = submitters->recording->others;
	struct process *process = processes_find(others, submitter->pid);
	struct program_image image;

	if (!process || process->row.id != process_id || process->has_ended)
		return;
	image = read_image(submitter->pid);
	if (!image.start_ticks || !is_same(&submitter->image, &image))
		processes_end(others, submitter->pid, now_ns);
}

void submitters_look(struct submitters *submitters, uint64_t now_ns)
{
	size_t cursor = 0;
	uint64_t id, value;

	while (hash_map_next(&submitters->known, &cursor, &id, &value))
		look_at(submitters, (uint32_t)id, (const struct submitter *)(uintptr_t)value,
			now_ns);
}

static bool is_there(const struct submitters *submitters, uint32_t process_id, uint32_t pid)
{
	const struct processes *const tables[] = {submitters->recording->processes,
						  submitters->recording->others};

	for (size_t i = 0; i < ARRAY_COUNT(tables); i++) {
		const struct process *process = processes_find(tables[i], pid);

		if (process && process->row.id == process_id && !process->has_ended)
			return true;
	}
	return false;
}

uint32_t submitters_take_ended(struct submitters *submitters)
{
	size_t cursor = 0;
	uint64_t id, value;

	while (hash_map_next(&submitters->known, &cursor, &id, &value))
		if (!is_there(submitters, (uint32_t)id,
			      ((const struct submitter *)(uintptr_t)value)->pid))
			return forget(submitters, (uint32_t)id);
	return 0;
}
