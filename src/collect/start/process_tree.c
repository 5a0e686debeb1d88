/* SPDX-License-Identifier: MIT
 *
 * collect/start/process_tree.c - tracks processes and all their descendants by polling /proc
 *
 * Runs in:  the recorder: if perf events are refused, and for collectors that read counters per
 *           process
 * Gets:     the first processes
 * Gives:    their descendants; the members that called exec; the members that have ended
 * Owns:     tables of members, of ended members and of other processes
 * Fails:    a process that starts and ends between two polls is missed
 * Why:      a child whose parent has ended gets another parent, so lists of children are
 *           incomplete. Each new process is therefore examined once (15 us): its parent, its
 *           process group and its session. If none of these is a member's, its environment is
 *           searched for the variable that the recorder set.
 */
#include "collect/start/process_tree.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "collect/proc.h"

enum {
	MAX_FRESH = 2048, /* max number examined in one poll; the rest follows in the next */
	MAX_ENDED = 1 << 16
};

/* Fields of /proc/PID/stat. */
struct relation {
	uint32_t parent, group, session;
	uint64_t start_ticks, stack;
};

static bool read_relation(uint32_t pid, struct relation *ret_relation)
{
	struct relation relation = {0};
	auto_free char *text = NULL;
	char path[64], *close;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (read_file(path, 4096, &text, NULL) < 0) {
		error_clear();
		return false;
	}
	/* the name in parentheses may contain any character */
	close = strrchr(text, ')');
	if (!close || close[1] != ' ' || close[2] == 'Z' || close[2] == 'X' ||
	    sscanf(close + 3,
		   " %" SCNu32 " %" SCNu32 " %" SCNu32
		   " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64
		   " %*s %*s %*s %*s %*s %" SCNu64,
		   &relation.parent, &relation.group, &relation.session, &relation.start_ticks,
		   &relation.stack) != 5)
		return false;
	*ret_relation = relation;
	return true;
}

static struct tree_process *find_member(const struct process_tree *process_tree, uint32_t pid)
{
	return hash_map_find_pointer(&process_tree->members, pid);
}

static int add_member(struct process_tree *process_tree, uint32_t pid,
		      const struct relation *relation, bool is_running)
{
	struct tree_process *member = calloc(1, sizeof(*member));

	if (!member || hash_map_put_pointer(&process_tree->members, pid, member)) {
		free(member);
		return -ENOMEM;
	}
	*member = (struct tree_process){.pid = pid,
					.start_ticks = relation->start_ticks,
					.stack = relation->stack,
					.is_running = is_running,
					.is_there = true};
	hash_map_remove(&process_tree->ended, pid, NULL);
	hash_map_remove(&process_tree->others, pid, NULL);
	return 0;
}

int process_tree_add(struct process_tree *process_tree, uint32_t pid, int pid_fd, bool is_running)
{
	struct relation relation;

	if (!read_relation(pid, &relation) || !proc_is_alive(pid_fd, pid))
		return -ESRCH;
	return find_member(process_tree, pid)
		       ? 0
		       : add_member(process_tree, pid, &relation, is_running);
}

/* ---- membership ------------------------------------------------------------------------------ */

/* Whether a group or session was created by a member. */
static bool has_led(const struct process_tree *process_tree, uint32_t pid)
{
	const struct tree_process *member = find_member(process_tree, pid);

	return member ? !member->is_running : hash_map_get(&process_tree->ended, pid, 1) == 0;
}

static bool is_kin(const struct process_tree *process_tree, const struct relation *relation)
{
	return find_member(process_tree, relation->parent) ||
	       hash_map_find(&process_tree->ended, relation->parent) ||
	       has_led(process_tree, relation->group) || has_led(process_tree, relation->session);
}

/* Adds the new processes that belong to the family. To be repeated while it returns true (one was
 * added): a parent may come later in the list than its child. is_last: also searches the
 * environment. */
static bool take_fresh(struct process_tree *process_tree, bool is_last)
{
	size_t left = 0;
	bool is_added = false;

	for (size_t i = 0; i < process_tree->fresh_count; i++) {
		uint32_t pid = process_tree->fresh[i];
		struct relation relation;

		if (!read_relation(pid, &relation))
			continue;
		if (is_kin(process_tree, &relation) ||
		    (is_last && proc_has_variable(pid, process_tree->environment))) {
			is_added |= add_member(process_tree, pid, &relation, false) == 0;
		} else {
			process_tree->fresh[left++] = pid;
			if (is_last)
				hash_map_put(&process_tree->others, pid, 1);
		}
	}
	process_tree->fresh_count = left;
	return is_added;
}

/* ---- polling --------------------------------------------------------------------------------- */

static void look_at(struct process_tree *process_tree, struct tree_process *member)
{
	struct relation relation;

	if (!read_relation(member->pid, &relation) || relation.start_ticks != member->start_ticks)
		return;
	member->is_there = true;
	member->has_changed = member->stack && relation.stack && relation.stack != member->stack;
	if (relation.stack)
		member->stack = relation.stack;
}

/* Lists /proc: puts new processes into `fresh` and known other ones into `now`. Others that are not
 * in `now` have ended, and their pids may be reused. */
static int list_processes(struct process_tree *process_tree, struct hash_map *now)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;

	if (!folder)
		return -ESRCH;
	process_tree->fresh_count = 0;
	while ((entry = readdir(folder))) {
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (!pid || find_member(process_tree, pid))
			continue;
		if (process_tree->is_open && !hash_map_find(&process_tree->others, pid)) {
			/* the pid of an ended member was reused */
			hash_map_remove(&process_tree->ended, pid, NULL);
			if (process_tree->fresh_count < MAX_FRESH &&
			    array_grow(process_tree->fresh, process_tree->fresh_capacity,
				       process_tree->fresh_count + 1) == 0)
				process_tree->fresh[process_tree->fresh_count++] = pid;
		} else {
			hash_map_put(now, pid, 1);
		}
	}
	closedir(folder);
	return 0;
}

int process_tree_init(struct process_tree *process_tree)
{
	int error;

	hash_map_init(&process_tree->members);
	hash_map_init(&process_tree->ended);
	hash_map_init(&process_tree->others);
	error = list_processes(process_tree, &process_tree->others);
	process_tree->is_open = error == 0;
	return error;
}

void process_tree_look(struct process_tree *process_tree)
{
	struct tree_process *member;
	struct hash_map now = {0};
	size_t cursor = 0;

	while ((member = process_tree_next(process_tree, &cursor))) {
		member->is_there = member->has_changed = false;
		look_at(process_tree, member);
	}
	if (list_processes(process_tree, &now) == 0) {
		hash_map_fini(&process_tree->others);
		process_tree->others = now;
	}
	while (take_fresh(process_tree, false))
		;
	if (take_fresh(process_tree, true))
		take_fresh(process_tree, false);
}

/* Finds one ended member; 0: none. It is not removed here, because a map must not change during an
 * iteration. */
static uint32_t find_ended(const struct process_tree *process_tree)
{
	struct tree_process *member;
	size_t cursor = 0;

	while ((member = process_tree_next(process_tree, &cursor)))
		if (!member->is_there)
			return member->pid;
	return 0;
}

void process_tree_forget(struct process_tree *process_tree)
{
	uint32_t pid;

	if (process_tree->ended.count > MAX_ENDED)
		hash_map_clear(&process_tree->ended);
	while ((pid = find_ended(process_tree))) {
		struct tree_process *member = find_member(process_tree, pid);

		hash_map_remove(&process_tree->members, pid, NULL);
		hash_map_put(&process_tree->ended, pid, member->is_running);
		free(member);
	}
}

struct tree_process *process_tree_next(const struct process_tree *process_tree, size_t *cursor)
{
	uint64_t value;

	return hash_map_next(&process_tree->members, cursor, NULL, &value)
		       ? (void *)(uintptr_t)value
		       : NULL;
}

void process_tree_fini(struct process_tree *process_tree)
{
	struct tree_process *member;
	size_t cursor = 0;

	if (!process_tree)
		return;
	while ((member = process_tree_next(process_tree, &cursor)))
		free(member);
	hash_map_fini(&process_tree->members);
	hash_map_fini(&process_tree->ended);
	hash_map_fini(&process_tree->others);
	free(process_tree->fresh);
	*process_tree = (struct process_tree){0};
}
