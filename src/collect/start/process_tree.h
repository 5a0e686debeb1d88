/* SPDX-License-Identifier: MIT
 *
 * collect/start/process_tree.h - tracks processes and all their descendants by polling /proc
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct tree_process {
	uint32_t pid;
	uint64_t start_ticks; /* start time; identifies the process together with the pid */
	/* start address of its stack, which changes with each exec; 0: not known */
	uint64_t stack;
	/* it ran before the recording: its group and session may contain other processes */
	bool is_running;
	bool is_there;
	bool has_changed; /* it called exec since the last poll; false for its first image */
};

/* All zero: no members, no poll yet. */
struct process_tree {
	struct hash_map members; /* pid -> struct tree_process *, owned */
	/* pids of former members -> is_running; their groups and sessions may still exist */
	struct hash_map ended;
	struct hash_map others;  /* pids of processes that are not members */
	const char *environment; /* borrowed; "NAME=VALUE" that members have; NULL: none */
	uint32_t *fresh;         /* owned; pids seen for the first time in this look */
	size_t fresh_count, fresh_capacity;
	bool is_open;
};

/* Registers all present processes as non-members. Errors: -ENOMEM; -ESRCH: /proc cannot be read. */
int process_tree_init(struct process_tree *process_tree);
void process_tree_fini(struct process_tree *process_tree); /* NULL-safe */

/* Adds a first process. is_running: it ran before the recording. pid_fd: its pidfd, to detect reuse
 * of the pid; -1: none. Errors: -ESRCH, -ENOMEM. */
int process_tree_add(struct process_tree *process_tree, uint32_t pid, int pid_fd, bool is_running);

/* Polls for new members, for members that called exec (has_changed) and for ended ones. An ended
 * member has is_there false and stays until process_tree_forget. */
void process_tree_look(struct process_tree *process_tree);
void process_tree_forget(struct process_tree *process_tree);

/* Iterates as hash_map_next does; NULL at the end. */
struct tree_process *process_tree_next(const struct process_tree *process_tree, size_t *cursor);
