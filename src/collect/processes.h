/* SPDX-License-Identifier: MIT
 *
 * collect/processes.h - one id per process and thread, whichever collector sees it first
 *
 * Guests and kernel records report the same processes; each process gets one id. An exec makes a
 * new image, which is a process of its own in the trace. A pid refers to its newest image.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "collect/recording.h"
#include "collect/stack/images.h"
#include "collect/stack/jit_code.h"
#include "collect/start/lookup_budget.h"
#include "symbol/remote/python.h"

/* A wait of a blocked thread. */
struct thread_wait {
	uint64_t since_ns;  /* 0: the thread does not wait */
	uint64_t looked_ns; /* when its stack was read; 0: not yet */
	uint32_t cpu;
	uint32_t stack;               /* id of the trace */
	uint32_t wait_string, holder; /* as in struct event_switch */
	/* A look found that it waits for Python's interpreter lock; lock_switches: see struct
	 * python_remote_holder. */
	bool is_interpreters;
	uint64_t lock_switches;
	uint32_t bpf_stack, bpf_string,
		bpf_holder; /* holder, as the kernel reported it at the switch; 0: unknown */
	bool is_written;    /* the switch is written */
};

enum { PROCESS_NAME_BYTES = 16 }; /* limit of the kernel, with the NUL byte */

/* A thread. It gets its id when its row is written. */
struct process_thread {
	/* end_ns: not 0 after its end; the entry is kept for events that arrive later */
	struct event_thread row;
	char name[PROCESS_NAME_BYTES]; /* "": not known */
	uint64_t named_ns;             /* when a new name was last written */
	bool is_described;             /* the row is in the trace */
	bool is_adopted;               /* a guest has taken over the row and writes it */
	bool has_launched;             /* commands for a device */
	struct thread_wait wait;
	/* used by the CPU collector: the last wait for Python's lock that has a stack */
	uint32_t lock_stack;
	uint64_t lock_switches;
	uint64_t ahead_ns; /* used by the CPU collector: the last switch that it looked ahead at */
	uint64_t preempted_ns; /* used by the CPU collector: time of the kernel's record of its last
				  preemption; 0: none, or by a limit */
};

/* One image of a process. Its row is shared: a caller that changes it must write it again. */
struct process {
	struct event_process row;
	uint32_t references;
	bool is_described, is_adopted; /* as for a thread */
	bool is_fed; /* its rows come from another recorder, to which its guest is attached */
	bool has_ended, is_looked_at;
	bool is_new_image; /* after an exec, until code is mapped */
	bool is_unwatched; /* still running, but events of it are no longer reported */
	bool is_closed;    /* no right to read its threads and memory */
	bool is_attached;  /* the session has attached the collectors to it, or to its parent */
	bool is_paused;    /* not wanted at present: collectors write no rows of it */
	char name[PROCESS_NAME_BYTES];
	uint32_t living;           /* number of living threads */
	struct hash_map threads;   /* tid -> struct process_thread *, owned */
	struct memory_map *memory; /* a reference; its executable mappings; NULL: not known */
	uint32_t memory_round;     /* used by the CPU collector: mappings may be missing */
	char *exe;                 /* owned; path of the program; NULL: not known */
	/* owned; used by the CPU collector: its Python interpreter; NULL: not found */
	struct python_remote *python;
	bool is_python_refused; /* there will be none */
	bool is_python_watched; /* BPF programs read its Python frames */
	uint32_t python_looks;  /* number of failed searches */
	struct jit_code made;   /* owned; frames in JIT code that wait for a name */
	struct images images;   /* owned; folders that may have its files of names */
	struct lookup_budget looks;
};

struct processes {
	struct recording *recording; /* borrowed */
	struct hash_map by_pid; /* pid -> struct process *, the newest image; holds a reference */
};

void processes_init(struct processes *processes, struct recording *recording);
void processes_fini(struct processes *processes); /* NULL-safe */

/* Finds the newest image of a pid; NULL: not known. */
struct process *processes_find(const struct processes *processes, uint32_t pid);

/* Adds a new image of a pid and replaces the last one. It is written by process_describe. NULL: out
 * of memory. */
struct process *processes_begin(struct processes *processes, uint32_t pid, uint64_t now_ns);

/* Takes a reference, for callers that need an image after its end or an exec. */
struct process *process_get(struct process *process);
void process_put(struct process *process); /* NULL-safe */

/* Ends a process and writes its row again. The entry stays for PROCESSES_LINGER_NS, because the
 * kernel reports the last switch after the end, and a guest's ring may be read later. */
void processes_end(struct processes *processes, uint32_t pid, uint64_t now_ns);
#define PROCESSES_LINGER_NS UINT64_C(2000000000)

/* Drops processes and threads that ended longer ago. Call it each second. */
void processes_forget(struct processes *processes, uint64_t now_ns);

/* Whether the collectors are to be attached to a process now: once for all its images. */
bool processes_begin_attaching(struct processes *processes, uint32_t pid);
/* Whether a process that lives on is recorded. */
void processes_pause(struct processes *processes, uint32_t pid, bool is_paused);

/* Copies what a new image shares with the one before it, or a forked child with its parent. */
void process_inherit(struct process *process, const struct process *from, bool is_child);

/* Reads /proc once, while the image exists. */
void process_look(struct processes *processes, struct process *process);

/* Reads /proc and writes the row, if not done yet. Returns the id. */
uint32_t process_describe(struct processes *processes, struct process *process);

/* Finds or adds a thread by its tid in our pid namespace. NULL: out of memory. */
struct process_thread *process_thread(struct processes *processes, struct process *process,
				      uint32_t tid, uint64_t now_ns);

/* Adds a new thread and ends an older one with the same tid. NULL: out of memory. */
struct process_thread *process_thread_begin(struct processes *processes, struct process *process,
					    uint32_t tid, uint64_t now_ns);

/* Writes the thread and its process, if not done yet. Returns the thread's id. */
uint32_t process_thread_describe(struct processes *processes, struct process *process,
				 struct process_thread *thread);

/* Sets a thread's name, and with the first thread the process's name. Rows in the trace are written
 * again, at most once a second. */
void process_thread_rename(struct processes *processes, struct process *process,
			   struct process_thread *thread, const char *name, uint64_t now_ns);

/* Ends a thread and writes its row again. The entry stays for a while, as that of a process. */
void process_thread_end(struct processes *processes, struct process *process, uint32_t tid,
			uint64_t now_ns);

/* Hands the row over to the caller, who knows more and writes it from now on. Sets the id in
 * ret_row. */
void process_adopt(struct processes *processes, uint32_t pid, struct event_process *ret_row);
/* Ends an adopted process as processes_end does, unless a newer image has its pid. */
void process_abandon(struct processes *processes, const struct event_process *row);
void process_thread_adopt(struct processes *processes, uint32_t pid, struct event_thread *ret_row);
/* Notes that a thread launches commands. row: as adopted. */
void process_thread_launches(struct processes *processes, uint32_t pid,
			     const struct event_thread *row);
