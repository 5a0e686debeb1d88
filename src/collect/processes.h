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
#include "symbol/python_remote.h"

/* Off its processor, because it is blocked. */
struct thread_wait {
	uint64_t since_ns;  /* 0: it is not */
	uint64_t looked_ns; /* when its stack had been read; 0: it has not */
	uint32_t cpu;
	uint32_t stack;               /* the trace's */
	uint32_t wait_string, holder; /* as in an event_switch */
	bool is_interpreters;         /* it waits for its lock, of which the kernel knows nothing */
	uint32_t told_stack, told_string,
		told_holder; /* the same, as the kernel told it when it went; 0: it did not */
	bool is_written;     /* that it went */
};

enum { PROCESS_NAME_BYTES = 16 }; /* the kernel's own limit */

/* Ids are given out when a row is written. */
struct process_thread {
	struct event_thread
		row; /* end_ns: it has ended, and is kept for what is still said of it */
	char name[PROCESS_NAME_BYTES]; /* "": not known */
	uint64_t named_ns;             /* when it was last written with a new name */
	bool is_described;             /* in the trace */
	bool is_adopted;               /* … by somebody who goes on writing it */
	struct thread_wait wait;
};

/* One image. Its row is shared: whoever changes it describes it again. */
struct process {
	struct event_process row;
	uint32_t references;
	bool is_described, is_adopted; /* as of a thread */
	bool has_ended, is_looked_at;
	bool is_new_image; /* of an exec: no code has been mapped yet */
	bool is_unwatched; /* it goes on, and nothing more is told of it */
	bool is_closed;    /* its threads and memory may not be looked at */
	char name[PROCESS_NAME_BYTES];
	uint32_t living;           /* threads */
	struct hash_map threads;   /* tid -> struct process_thread *, owned */
	struct memory_map *memory; /* a reference; what it executes; NULL: not known */
	uint32_t memory_round; /* of the CPU collector: whether something may be missing in it */
	char *exe;             /* owned; path of the program; NULL: not known */
	struct python_remote
		*python;        /* owned; of the CPU collector: its interpreter; NULL: none known */
	bool is_python_refused; /* … and none will be */
	uint32_t python_looks;  /* so often looked for in vain */
	struct made_code made;  /* owned; frames in code that it makes, which wait for a name */
	struct images images;   /* owned; where its files of names may be */
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

/* The process has ended: its row is written once more. It is found for PROCESSES_LINGER_NS more: the kernel tells of
 * the last switch behind the end, and a guest's ring may be read after it. */
void processes_end(struct processes *processes, uint32_t pid, uint64_t now_ns);
#define PROCESSES_LINGER_NS UINT64_C(2000000000)

/* Forgets who ended longer ago; to be called each second. */
void processes_forget(struct processes *processes, uint64_t now_ns);

/* What a new image has of the one before it, or a forked child of its parent. */
void process_inherit(struct process *process, const struct process *from, bool is_child);

/* Reads /proc, once: an image is looked at while it is there. */
void process_look(struct processes *processes, struct process *process);

/* Looks at it, and writes it where that has not been done. Returns its id. */
uint32_t process_describe(struct processes *processes, struct process *process);

/* A thread by its number in our pid namespace, made where it is new. NULL: out of memory. */
struct process_thread *process_thread(struct processes *processes, struct process *process,
				      uint32_t tid, uint64_t now_ns);

/* A new thread, whoever had its number before. NULL: out of memory. */
struct process_thread *process_thread_begin(struct processes *processes, struct process *process,
					    uint32_t tid, uint64_t now_ns);

/* Writes the thread, and its process, where that has not been done. Returns its id. */
uint32_t process_thread_describe(struct processes *processes, struct process *process,
				 struct process_thread *thread);

/* A thread, and with its first one the process, has another name. What was written is written again, at most once a
 * second. */
void process_thread_rename(struct processes *processes, struct process *process,
			   struct process_thread *thread, const char *name, uint64_t now_ns);

/* The thread is written once more, and found for a while as its process is. */
void process_thread_end(struct processes *processes, struct process *process, uint32_t tid,
			uint64_t now_ns);

/* Somebody else knows more of a process, or a thread, and writes it from now on: gives ret_row its id. */
void process_adopt(struct processes *processes, uint32_t pid, struct event_process *ret_row);
/* It has ended, unless a newer image has its pid: as processes_end. */
void process_abandon(struct processes *processes, const struct event_process *row);
void process_thread_adopt(struct processes *processes, uint32_t pid, struct event_thread *ret_row);

#endif
