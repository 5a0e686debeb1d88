/* SPDX-License-Identifier: MIT
 *
 * collect/processes.h - the processes and threads of a recording, whoever sees them first
 *
 * A guest that says hello and the kernel's records tell of the same processes: here each gets its one id.
 * An exec makes a new image, which is a process of its own in the trace; of a pid the newest image counts.
 */
#ifndef COLLECT_PROCESSES_H
#define COLLECT_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "collect/images.h"
#include "collect/look_time.h"
#include "collect/made_code.h"
#include "collect/recording.h"

/* Off its processor, because it is blocked. */
struct thread_wait {
	uint64_t since_ns;  /* 0: it is not */
	uint64_t looked_ns; /* when its stack had been read; 0: it has not */
	uint32_t cpu;
	uint32_t stack;  /* the trace's */
	bool is_written; /* that it went */
};

/* Ids are given out when a row is written. */
struct process_thread {
	struct event_thread row;
	bool is_described; /* in the trace */
	bool is_adopted;   /* … by somebody who goes on writing it */
	struct thread_wait wait;
};

/* One image. Its row is shared: whoever changes it describes it again. */
struct process {
	struct event_process row;
	uint32_t references;
	bool is_described, is_adopted; /* as of a thread */
	struct hash_map threads;       /* tid -> struct process_thread *, owned */
	struct memory_map *memory;     /* owned; what it executes; NULL: not known */
	char *exe;                     /* owned; path of the program; NULL: not known */
	struct made_code made; /* owned; frames in code that it makes, which wait for a name */
	struct images images;  /* owned; where its files of names may be */
	struct look_time looks;
};

struct processes {
	struct recording *recording; /* borrowed */
	struct hash_map by_pid;      /* pid -> struct process *: newest images, a reference each */
};

void processes_init(struct processes *processes, struct recording *recording);
void processes_fini(struct processes *processes); /* NULL-safe */

/* The newest image of a pid; NULL: not known. */
struct process *processes_find(const struct processes *processes, uint32_t pid);

/* A new image of a pid, in the place of what was there before. Nothing is written until process_describe. NULL: out
 * of memory. */
struct process *processes_begin(struct processes *processes, uint32_t pid, uint64_t now_ns);

/* For who holds an image longer than the table does: past its end, or an exec. */
struct process *process_get(struct process *process);
void process_put(struct process *process); /* NULL-safe */

/* The process has ended: its row is written once more, and the table forgets it. */
void processes_end(struct processes *processes, uint32_t pid, uint64_t now_ns);

/* Reads /proc for what is not known of it, and writes it where that has not been done. Returns its id. */
uint32_t process_describe(struct processes *processes, struct process *process);

/* A thread by its number in our pid namespace, made where it is new. NULL: out of memory. */
struct process_thread *process_thread(struct processes *processes, struct process *process,
				      uint32_t tid, uint64_t now_ns);

/* Writes the thread, and its process, where that has not been done. Returns its id. */
uint32_t process_thread_describe(struct processes *processes, struct process *process,
				 struct process_thread *thread);

/* The name of a thread, or of its process, has changed: what was written is written again. */
void process_thread_renamed(struct processes *processes, struct process *process,
			    struct process_thread *thread);

/* The thread is written once more, and forgotten. */
void process_thread_end(struct processes *processes, struct process *process, uint32_t tid,
			uint64_t now_ns);

/* Somebody else knows more of a process, or a thread, and writes it from now on: gives ret_row its id. */
void process_adopt(struct processes *processes, uint32_t pid, struct event_process *ret_row);
/* It has ended: the table forgets it, unless a newer image has its pid. */
void process_abandon(struct processes *processes, const struct event_process *row);
void process_thread_adopt(struct processes *processes, uint32_t pid, struct event_thread *ret_row);

#endif
