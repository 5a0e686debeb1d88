/* SPDX-License-Identifier: MIT
 *
 * collect/family.c - some processes and all that they start, by looks at /proc
 *
 * Runs in:  the recorder: where the kernel refuses its records, and for who reads counters of each
 * Gets:     the first ones   Gives: who belongs to them, who is another program by now, who has ended
 * Owns:     the table of members, and of who was seen and is none
 * Fails:    what comes and goes between two looks is not seen
 * Why:      a list of children loses those whose parent has ended: they are somebody else's then. So each process
 *           that was not there before is asked once (15 us): whose child it is, in which group and session, and
 *           failing these, whether it has the variable that its recorder set.
 */
#include "collect/family.h"

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
	FRESH_MOST = 2048, /* asked in one look; who is left comes with the next */
	ENDED_MOST = 1 << 16
};

/* What /proc/PID/stat tells. */
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
	/* the name in parentheses may hold anything */
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

static struct family_member *find(const struct family *family, uint32_t pid)
{
	return hash_map_find_pointer(&family->members, pid);
}

static int add(struct family *family, uint32_t pid, const struct relation *relation,
	       bool is_running)
{
	struct family_member *member = calloc(1, sizeof(*member));

	if (!member || hash_map_put_pointer(&family->members, pid, member)) {
		free(member);
		return -ENOMEM;
	}
	*member = (struct family_member){.pid = pid,
					 .start_ticks = relation->start_ticks,
					 .stack = relation->stack,
					 .is_running = is_running,
					 .is_there = true};
	hash_map_remove(&family->ended, pid, NULL);
	hash_map_remove(&family->others, pid, NULL);
	return 0;
}

int family_add(struct family *family, uint32_t pid, int pid_fd, bool is_running)
{
	struct relation relation;

	if (!read_relation(pid, &relation) || !proc_is_alive(pid_fd, pid))
		return -ESRCH;
	return find(family, pid) ? 0 : add(family, pid, &relation, is_running);
}

/* ---- whose it is ------------------------------------------------------------------------------- */

/* Whether a group or session was made by a member. */
static bool has_led(const struct family *family, uint32_t pid)
{
	const struct family_member *member = find(family, pid);

	return member ? !member->is_running : hash_map_get(&family->ended, pid, 1) == 0;
}

static bool is_kin(const struct family *family, const struct relation *relation)
{
	return find(family, relation->parent) || hash_map_find(&family->ended, relation->parent) ||
	       has_led(family, relation->group) || has_led(family, relation->session);
}

/* A parent may be among the new ones that come later in the list. True: one was added. */
static bool take_fresh(struct family *family, bool is_last)
{
	size_t left = 0;
	bool is_added = false;

	for (size_t i = 0; i < family->fresh_count; i++) {
		uint32_t pid = family->fresh[i];
		struct relation relation;

		if (!read_relation(pid, &relation))
			continue;
		if (is_kin(family, &relation) ||
		    (is_last && proc_has_variable(pid, family->environment))) {
			is_added |= add(family, pid, &relation, false) == 0;
		} else {
			family->fresh[left++] = pid;
			if (is_last)
				hash_map_put(&family->others, pid, 1);
		}
	}
	family->fresh_count = left;
	return is_added;
}

/* ---- a look ------------------------------------------------------------------------------------ */

static void look_at(struct family *family, struct family_member *member)
{
	struct relation relation;

	if (!read_relation(member->pid, &relation) || relation.start_ticks != member->start_ticks)
		return;
	member->is_there = true;
	member->has_changed = member->stack && relation.stack && relation.stack != member->stack;
	if (relation.stack)
		member->stack = relation.stack;
}

/* Those that are not in `now` have ended: their numbers may come again. */
static int list(struct family *family, struct hash_map *now)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;

	if (!folder)
		return -ESRCH;
	family->fresh_count = 0;
	while ((entry = readdir(folder))) {
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (!pid || find(family, pid))
			continue;
		if (family->is_open && !hash_map_find(&family->others, pid)) {
			/* the number of one that has ended is somebody else's now */
			hash_map_remove(&family->ended, pid, NULL);
			if (family->fresh_count < FRESH_MOST &&
			    array_grow(family->fresh, family->fresh_capacity,
				       family->fresh_count + 1) == 0)
				family->fresh[family->fresh_count++] = pid;
		} else {
			hash_map_put(now, pid, 1);
		}
	}
	closedir(folder);
	return 0;
}

int family_init(struct family *family)
{
	int error;

	hash_map_init(&family->members);
	hash_map_init(&family->ended);
	hash_map_init(&family->others);
	error = list(family, &family->others);
	family->is_open = error == 0;
	return error;
}

void family_look(struct family *family)
{
	struct family_member *member;
	struct hash_map now;
	size_t cursor = 0;

	while ((member = family_next(family, &cursor))) {
		member->is_there = member->has_changed = false;
		look_at(family, member);
	}
	hash_map_init(&now);
	if (list(family, &now) == 0) {
		hash_map_fini(&family->others);
		family->others = now;
	}
	while (take_fresh(family, false))
		;
	if (take_fresh(family, true))
		take_fresh(family, false);
}

/* One that has ended; 0: none. A map must not be changed while it is gone through. */
static uint32_t find_ended(const struct family *family)
{
	struct family_member *member;
	size_t cursor = 0;

	while ((member = family_next(family, &cursor)))
		if (!member->is_there)
			return member->pid;
	return 0;
}

void family_forget(struct family *family)
{
	uint32_t pid;

	if (family->ended.count > ENDED_MOST)
		hash_map_clear(&family->ended);
	while ((pid = find_ended(family))) {
		struct family_member *member = find(family, pid);

		hash_map_remove(&family->members, pid, NULL);
		hash_map_put(&family->ended, pid, member->is_running);
		free(member);
	}
}

struct family_member *family_next(const struct family *family, size_t *cursor)
{
	uint64_t value;

	return hash_map_next(&family->members, cursor, NULL, &value) ? (void *)(uintptr_t)value
								     : NULL;
}

void family_fini(struct family *family)
{
	struct family_member *member;
	size_t cursor = 0;

	if (!family)
		return;
	while ((member = family_next(family, &cursor)))
		free(member);
	hash_map_fini(&family->members);
	hash_map_fini(&family->ended);
	hash_map_fini(&family->others);
	free(family->fresh);
	*family = (struct family){0};
}
