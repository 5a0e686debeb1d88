/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/cpu_private.h - what the parts of the CPU collector share
 *
 * cpu.c leads and takes the kernel's records; cpu_stacks.c walks stacks; cpu_python.c puts Python functions into them;
 * cpu_kernels.c tells which samples are a device's; cpu_waits.c follows who is off its processor; cpu_states.c looks at
 * threads where there are no records.
 */
#ifndef COLLECT_CPU_CPU_PRIVATE_H
#define COLLECT_CPU_CPU_PRIVATE_H

#include "collect/cpu/blocked.h"
#include "collect/code_files.h"
#include "collect/cpu/cpu.h"
#include "collect/family.h"
#include "collect/cpu/perf_rings.h"
#include "collect/kernel_frames.h"
#include "collect/kernel_watch.h"
#include "collect/memory_places.h"
#include "collect/processes.h"
#include "symbol/python_remote.h"
#include "symbol/unwind_walk.h"

enum { CPU_FRAMES_MOST = 512 };

/* A thread that went, and was not looked at yet, or whose going is not written. */
struct waiting {
	uint32_t pid, tid;
	uint64_t since_ns;
};

/* A thread, where the kernel keeps no records for us. */
struct watched {
	uint32_t pid, tid;
	uint64_t looked_ns;          /* 0: not yet */
	uint64_t sp, ip;             /* where it waits; 0: it does not */
	uint64_t ran_ns, delayed_ns; /* in all, as the scheduler counts */
	uint32_t skip, skipped;      /* rounds: who does not move is looked at less often */
	bool is_there;               /* still in the list of its process */
};

enum { CPU_UNWATCHED_NAMES = 8 };

/* Programs that the kernel lets nobody look at. */
struct unwatched {
	struct {
		char name[PROCESS_NAME_BYTES];
		uint64_t count;
	} names[CPU_UNWATCHED_NAMES];
	size_t names_count;
	uint64_t count;
};

/* A native stack. */
struct cpu_walk {
	struct process *process;
	uint32_t tid;
	uint64_t time_ns; /* of the sample; 0: the thread is blocked */
	const struct unwind_state *state;
	const struct unwind_walk_frame *frames; /* innermost first */
	const struct memory_piece **pieces;     /* of each frame; NULL: not known */
	size_t count;
	enum unwind_walk_end end;
};

/* A frame of the stack that is put together, innermost first. */
struct stack_part {
	uint32_t frame; /* the trace's; 0: the native one */
	size_t native;
};

/* A Python function that a thread is in. */
struct python_place {
	uint32_t frame; /* the trace's; 0: not known */
	bool is_entry;
	uint64_t address, c_address; /* as of a python_remote_frame */
};

/* What was read for a sample. */
struct python_glance {
	uint32_t tid;
	uint64_t time_ns; /* the sample's */
	int status;       /* of python_remote_frames; -EBUSY: no time */
	size_t first, count;
	struct python_remote_gap gap;
};

struct cpu_python {
	bool is_wanted;
	bool is_there; /* a process with an interpreter was seen */
	struct identities notes;
	struct python_glance *glances; /* owned; for samples that are still in the rings */
	size_t glance_count, glance_capacity;
	struct hash_map
		strangers; /* pid << 32 | tid -> up to when it is taken to have no functions */
	struct hash_map objects;     /* pid and address of frames that were told, up to 3.10 */
	struct python_place *places; /* owned */
	size_t place_count, place_capacity;
	uint64_t spent_ns; /* of the time for reading, and not given since */
	uint64_t whole, doubtful, inner,
		torn; /* samples: all functions, perhaps of a moment later, not the inner
					       * ones, none */
	uint64_t oversized, refused; /* of the torn: larger than is read; no time */
	uint64_t looks, late_ns;     /* all, and how long after their samples */
	struct python_remote_frame frames[CPU_FRAMES_MOST];
};

/* The thread that a processor was given to last, by the switches of the whole machine. */
struct cpu_processor {
	uint32_t thread, process; /* the trace's; 0: none that is recorded, or not known */
	bool is_idle;             /* known to have none */
	uint64_t seen_ns;         /* the last moment at which the thread is known to have run */
};

/* What the kernel knows of switches beyond what perf tells. */
struct cpu_who {
	struct kernel_watch *watch; /* owned; NULL: not wanted, or refused */
	bool is_wanted;             /* it was asked for */
	bool is_ready;
	bool is_machine; /* all threads of the machine are told of, and of no other source */
	struct cpu_processor processors[1024]; /* … by number */
	uint32_t processor_count;              /* that had a switch */
	struct hash_map
		unseen; /* thread -> its process << 32 | switches that were missed, since the last loss */
	uint64_t begin_ns; /* when the first process was there */
	struct hash_map
		names; /* pid and name -> who it is, of those that are not recorded: the trace's string */
	struct hash_map waits; /* call, and the words for its file -> the trace's string */
	struct hash_map locks; /* process, and address of a lock or page -> … */
	struct memory_places places;
	struct hash_map stacks; /* number of a user's stack, and process -> the trace's stack */
	uint64_t lost;          /* records of switches */
};

/* What interrupts took of the time of processes. */
struct cpu_interrupts {
	bool is_wanted;
	uint64_t since_ns, now_ns; /* of the reading before, and of this one; 0: there was none */
	struct hash_map series;    /* process id << 32 | handler -> the trace's series */
	uint64_t refused;
};

struct cpu {
	struct recording *recording; /* borrowed */
	struct processes *processes; /* borrowed */
	struct perf_rings *rings;    /* owned; NULL: refused, threads are looked at instead */
	struct perf_rings_state state;
	struct code_files files;
	uint32_t source_string, faults_string;
	struct kernel_frames kernel_frames;

	uint64_t lost_samples, lost_others; /* since the last loss row … */
	uint64_t told_samples, told_others; /* … and in all */
	uint64_t samples;                   /* put into the trace */
	uint64_t throttled, nameless, crowded;
	uint32_t round;       /* one more each time that records of mappings may have been lost */
	uint64_t stack_bytes; /* that stacks of this second take … */
	uint64_t all_stack_bytes; /* … and of all */
	uint64_t stacks_refused;
	int64_t look_ns;     /* time for looks at who waits; below 0: spent before it was there */
	uint64_t looked_ns;  /* until when it was given … */
	uint64_t sampled_ns; /* … and what was sampled since */
	uint64_t last_loss_ns;
	struct waiting *waiting; /* owned; in the order in which they went */
	size_t waiting_count, waiting_capacity;
	struct unwatched unwatched;
	bool has_tried_looks;
	bool can_look;           /* at a process that we started … */
	uint64_t closed;         /* … of all others those that may not be looked at */
	bool is_told[2];         /* … of one by a rule of the system, and by its own wish */
	struct family family;    /* without rings: whose threads are looked at */
	struct watched *watched; /* owned; sorted by (pid, tid) */
	size_t watched_count, watched_capacity, watched_next;
	uint64_t next_list_ns, next_drain_ns;
	size_t round_records; /* that the last round brought */
	bool is_behind;       /* it had no time for all */
	struct blocked_look look;
	struct blocked_files proc;
	struct hash_map kernels; /* process id << 32 | number of the file -> the trace's code id */
	struct hash_map calls;   /* place in a file's code -> enum unwind_code */
	size_t frames_count;     /* of the stack that was walked last, innermost first */
	struct unwind_walk_frame frames[CPU_FRAMES_MOST];
	const struct memory_piece *pieces[CPU_FRAMES_MOST]; /* of each */
	struct stack_part *parts;                           /* owned */
	size_t part_count, part_capacity;
	uint32_t frequency_hz;
	struct cpu_python python;
	struct cpu_who who;
	struct cpu_interrupts interrupts;
};

/* ---- cpu.c ---- */

/* Another image of a process; name: "" where it is not known. */
void cpu_begin_image(struct cpu *cpu, uint32_t pid, uint32_t tid, const char *name,
		     uint64_t time_ns);
/* Nothing more is told of a process that goes on. */
void cpu_lose_sight(struct cpu *cpu, struct process *process);
/* Its threads and memory may not be looked at. */
bool cpu_can_look(struct cpu *cpu);
void cpu_note_closed(struct cpu *cpu, struct process *process);

/* ---- cpu_stacks.c ---- */

/* A mapping, as the kernel tells it. */
void cpu_put_piece(struct cpu *cpu, struct process *process, const struct perf_map *map,
		   const char *path);
/* All mappings, of a process that was there before us. */
void cpu_read_memory(struct cpu *cpu, struct process *process);

/* The trace's stack of a sample; 0: none. */
uint32_t cpu_sampled_stack(struct cpu *cpu, struct process *process,
			   const struct perf_record *record);
/* Where a thread waits, and what for, as the row of a switch says it. */
struct cpu_wait {
	uint32_t stack, wait_string, holder;
	bool is_interpreters; /* it waits for the lock of its interpreter */
};
/* The trace's stack of one of which the kernel told registers and stack when it went; 0: none. */
uint32_t cpu_told_stack(struct cpu *cpu, struct process *process, uint32_t tid,
			const struct kernel_stack *told);
/* Of a thread that does not run; false: it does, is gone, or we may not look. */
bool cpu_look_at_blocked(struct cpu *cpu, struct process *process, uint32_t tid,
			 struct cpu_wait *ret_wait);

/* Names for code that a process made; the last time when it ends. */
void cpu_name_code(struct cpu *cpu, struct process *process);
void cpu_finish_code(struct cpu *cpu, struct process *process);

/* Whether the recorder may keep one more stack; a refused one is counted. */
bool cpu_has_room(struct cpu *cpu);
uint32_t cpu_cut_mark(const struct cpu *cpu, uint64_t frames);

/* ---- cpu_kernels.c ---- */

/* After cpu_sampled_stack: a sample inside a kernel of a CPU device is one of its instructions too. */
void cpu_put_instruction(struct cpu *cpu, struct process *process,
			 const struct event_cpu_sample *sample);

/* ---- cpu_python.c ---- */

/* enum stack_python of a file. */
uint32_t cpu_python_of(struct cpu *cpu, const struct process *process, struct code_file *file);
/* Gets ready to read the functions of a process that has this interpreter. */
void cpu_python_open(struct cpu *cpu, struct process *process, const struct memory_piece *piece);
/* … that has one mapped somewhere. */
void cpu_python_find(struct cpu *cpu, struct process *process);
/* Reads the functions for all samples that are new in the rings. */
void cpu_python_glance(struct cpu *cpu);
/* Puts a native stack and its functions together in cpu->parts. False: there are none. */
bool cpu_python_merge(struct cpu *cpu, const struct cpu_walk *walk);
/* The trace's stack of a running thread of which nothing else is known: of its functions alone; 0: none. */
uint32_t cpu_python_stack(struct cpu *cpu, struct process *process, uint32_t tid, uint64_t now_ns);
/* Whether an address that a thread sleeps on is its interpreter's lock; *ret_holder: the trace's thread that has it, or
 * 0. */
bool cpu_python_lock(struct cpu *cpu, struct process *process, uint32_t tid, uint64_t address,
		     uint32_t *ret_holder);
/* How much was read, for the report. */
void cpu_python_note(struct cpu *cpu);
void cpu_python_fini(struct cpu *cpu);

/* ---- cpu_waits.c ---- */

void cpu_put_switch(struct cpu *cpu, uint32_t thread, const struct event_switch *row);
/* A thread goes off its processor and waits; comes back, or ends. */
void cpu_begin_wait(struct cpu *cpu, struct process *process, struct process_thread *thread,
		    uint64_t time_ns, uint32_t processor);
void cpu_end_wait(struct cpu *cpu, struct process_thread *thread, uint64_t time_ns);
/* drained_ns: all that happened before is known. */
void cpu_look_at_waiting(struct cpu *cpu, uint64_t drained_ns);
void cpu_put_all_waits(struct cpu *cpu);
/* Stack, words and holder of a row, by what a look found, where that is of this wait, and by what the kernel told. */
void cpu_say_wait(const struct thread_wait *wait, bool is_look_valid, struct event_switch *row);

/* ---- cpu_who.c ---- */

/* Loads the programs, beside all else. */
void cpu_who_open(struct cpu *cpu, bool is_wanted);
void cpu_who_close(struct cpu *cpu);
void cpu_who_losses_text(const struct kernel_losses *losses, char *ret_text, size_t size);
/* Takes what there is; to be called before perf's records are taken. */
void cpu_who_drain(struct cpu *cpu);
void cpu_who_each_second(struct cpu *cpu, uint64_t now_ns);
void cpu_who_begin_process(struct cpu *cpu, uint32_t pid);
void cpu_who_end_process(struct cpu *cpu, uint32_t pid);
/* A thread went: preempted (who got its processor; 0 in both: not known), or blocked (for what it waits: put into its
 * wait). */
void cpu_who_took(struct cpu *cpu, uint32_t tid, uint64_t time_ns, uint32_t *ret_string,
		  uint32_t *ret_holder);
void cpu_who_holds(struct cpu *cpu, struct process *process, struct process_thread *thread,
		   uint64_t time_ns);
/* The same of a record that is there: who got the processor; what is waited for; who let it go on. */
void cpu_who_name_next(struct cpu *cpu, const struct kernel_out *out, uint32_t *ret_string,
		       uint32_t *ret_holder);
void cpu_who_tell(struct cpu *cpu, struct process *process, const struct kernel_out *out,
		  struct thread_wait *wait);
void cpu_who_name_waker(struct cpu *cpu, const struct kernel_in *in, uint32_t *ret_thread,
			uint32_t *ret_string);
/* It came back. */
void cpu_who_woke(struct cpu *cpu, uint32_t tid, uint64_t time_ns, uint32_t *ret_thread,
		  uint32_t *ret_string);

/* ---- cpu_interrupts.c ---- */

void cpu_interrupts_open(struct cpu *cpu);
/* Writes what came since the last time, also of processes that have ended since. */
void cpu_interrupts_read(struct cpu *cpu);
/* … once more. Before cpu_who_close. */
void cpu_interrupts_close(struct cpu *cpu);
/* "virtio0-input.0 (irq 25)", "softirq NET_RX". */
void cpu_interrupt_name(const struct kernel_interrupt_key *key,
			const struct kernel_interrupt *interrupt, char *ret_text, size_t size);

/* ---- cpu_machine.c ---- */

/* A record of any thread. */
void cpu_machine_take(void *context, const struct kernel_head *head);
/* Writes a loss for each thread of which switches were missed since begin_ns. */
void cpu_machine_put_losses(struct cpu *cpu, uint64_t begin_ns, uint64_t end_ns);
/* The thread, made where it is new. NULL: the processor's own idle one, or out of memory. */
struct process_thread *cpu_machine_thread(struct cpu *cpu, const struct kernel_task *task,
					  uint64_t time_ns, struct process **ret_process);

/* ---- cpu_states.c ---- */

/* Looks at the threads of the programs and of what they started. */
void cpu_look_at_all(struct cpu *cpu, uint64_t now_ns);

#endif
