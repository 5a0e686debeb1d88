/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/cpu_private.h - state and functions that the files of the CPU collector share
 *
 * cpu.c opens the collector and runs its rounds; attach.c attaches processes; records.c takes perf
 * records; losses.c and inspection.c note missing data; memory.c reads mappings; stacks.c walks
 * stacks; python_interpreters.c opens Python interpreters; python.c reads their frames;
 * python_merge.c merges them into native stacks; lock_samples.c samples their locks; kernels.c
 * finds samples inside PoCL kernels; waits.c tracks blocked threads; switch_cause.c finds
 * preemptors, wakers and lock holders with BPF; machine.c records the switches of the whole
 * machine, and machine_threads.c finds its threads; interrupts.c sums interrupt time; states.c
 * polls threads where perf is refused.
 */
#pragma once

#include "base/quota.h"
#include "collect/cpu/blocked.h"
#include "collect/cpu/cpu.h"
#include "collect/cpu/perf_rings.h"
#include "collect/kernel/watch.h"
#include "collect/processes.h"
#include "collect/stack/memory_places.h"
#include "collect/stack/walker.h"
#include "collect/start/process_tree.h"
#include "symbol/remote/python.h"

/* A thread that blocked, and whose switch row is not written yet. */
struct blocked_thread {
	uint32_t pid, tid;
	uint64_t since_ns;
};

/* A thread that is polled because perf events are refused. */
struct polled_thread {
	uint32_t pid, tid;
	uint64_t looked_ns;          /* time of the last look; 0: none yet */
	uint64_t sp, ip;             /* registers of the wait; 0: it is not waiting */
	uint64_t ran_ns, delayed_ns; /* totals from /proc/PID/task/TID/schedstat */
	uint64_t runs;               /* … at the last look at a wait */
	uint32_t skip, skipped; /* rounds: a thread that stays in one wait is polled less often */
	bool is_there;          /* in the latest list of its process's threads */
};

enum { CPU_UNWATCHED_NAMES = 8 };

/* Programs that the kernel hides from ordinary users: setuid, file capabilities, not dumpable. */
struct unwatched {
	struct {
		char name[PROCESS_NAME_BYTES];
		uint64_t count;
	} names[CPU_UNWATCHED_NAMES];
	size_t names_count;
	uint64_t count;
};

/* A native stack that may contain frames of a Python interpreter. */
struct cpu_walk {
	struct stack_walk native;
	uint32_t tid;
	uint64_t time_ns; /* time of the sample; 0: the stack is that of a wait or a switch */
	/* It was copied when the thread left its processor, and the thread may run again. */
	bool is_past;
	const struct kernel_python_stack *python; /* … with these frames; NULL: none */
};

/* A thread sleeps on a futex. */
struct cpu_futex {
	uint32_t tid;
	uint64_t address;
	uint64_t since_ns;
	/* memory of the lock from when the wait began; NULL: the lock is read now */
	const struct kernel_lock *copied;
};

/* A lock of an interpreter while a thread waits for it. */
struct cpu_lock {
	uint32_t holder;   /* the trace's id of the thread that holds it; 0: none, or not known */
	uint64_t switches; /* as of python_remote_holder */
};

/* A Python frame of a thread's stack. */
struct python_place {
	uint32_t frame; /* the trace's frame id; 0: not known */
	bool is_entry;
	uint64_t address, c_address; /* the members of python_remote_frame */
};

/* The Python frames that were read for a sample. */
struct python_glance {
	uint32_t tid;
	bool is_copied;   /* by BPF; time_ns then differs a little */
	uint64_t time_ns; /* time of the sample */
	int status;       /* result of python_remote_frames; -EBUSY: the time budget was spent */
	size_t first, count;
	struct python_remote_gap gap;
};

/* A moment at which a thread waited for an interpreter's lock. */
struct lock_sample {
	uint32_t tid;
	struct cpu_lock lock;
	uint64_t begin_ns, end_ns; /* it waited if it was in one wait for all of this time */
};

struct lock_samples {
	struct lock_sample samples[256]; /* the last ones, in turn */
	uint64_t count;                  /* samples taken so far */
	uint32_t waiters[8];             /* tids of threads that waited; 0: none */
	size_t next_waiter, cursor;
	int timer_fd; /* owned; -1: none */
	bool is_fast, is_awaited;
	uint64_t sampled_ns, fast_until_ns;
	int64_t budget_ns;
};

struct cpu_python {
	bool is_wanted;
	bool is_there; /* a process with an interpreter was seen */
	struct identities notes;
	struct python_glance *glances; /* owned; of samples that are still in the rings */
	size_t glance_count, glance_capacity;
	/* pid << 32 | tid -> time until which the thread is assumed to have no Python frames */
	struct hash_map strangers;
	/* key of pid and address of each frame object read, for Python up to 3.10 */
	struct hash_map objects;
	struct python_place *places; /* owned */
	size_t place_count, place_capacity;
	uint64_t spent_ns; /* processor time of reads that samples have not paid back yet */
	/* number of samples with all frames, with frames that may be of a later moment, without
	 * the innermost frames, without frames */
	uint64_t whole, doubtful, inner, torn;
	/* reasons of torn samples: stack larger than the read limit; time budget spent */
	uint64_t oversized, refused;
	uint64_t looks, late_ns; /* number of reads, and their total delay after the samples */
	struct lock_samples locks;
	struct python_remote_frame frames[STACK_FRAMES_MAX];
};

/* The thread that a processor switched to last, for recordings of the whole machine. */
struct cpu_processor {
	uint32_t thread, process; /* trace ids; 0: no recorded thread, or not known */
	bool is_idle;             /* the idle task runs */
	uint64_t seen_ns;         /* the last moment at which the thread is known to have run */
};

/* Causes of switches, which perf does not record: preemptor, waker, lock holder. From BPF. */
struct switch_causes {
	struct kernel_watch *watch; /* owned; NULL: disabled, or refused */
	bool is_wanted;             /* the user asked for it */
	bool is_ready;
	bool is_machine; /* records all threads of the machine, with BPF as the only source */
	struct cpu_processor processors[1024]; /* indexed by processor number */
	uint32_t processor_count;              /* highest number that had a switch, plus 1 */
	/* thread -> its process << 32 | switches missed since the last loss row */
	struct hash_map unseen;
	uint64_t begin_ns; /* when the first process was attached */
	/* key of pid and name of a process outside the recording -> the trace's string */
	struct hash_map names;
	struct hash_map waits; /* key of system call and object -> the trace's string */
	struct hash_map paths; /* key of system call and inode -> second of the look, string */
	uint32_t paths_looked; /* looks for a path in this second */
	struct hash_map locks; /* key of process and address of a lock or page -> … */
	struct memory_places places;
	struct hash_map stacks; /* key of BPF stack id and process -> the trace's stack */
	uint64_t lost; /* number of switches without a cause, because their BPF records were lost */
};

/* Time that interrupt handlers took while threads of a process were running. */
struct cpu_interrupts {
	bool is_wanted;
	uint64_t since_ns, now_ns; /* times of the previous and of this reading; 0: none yet */
	struct hash_map series;    /* process id << 32 | interrupt number -> the trace's series */
	uint64_t refused;
};

/* Number of records that the kernel dropped because a ring was full. */
struct cpu_losses {
	uint64_t samples, others;         /* since the last loss row … */
	uint64_t all_samples, all_others; /* … and in all */
	uint64_t since_ns;                /* time of the last loss row */
	/* The `others` are later than begin_ns, if all of them are, and not later than end_ns. */
	uint64_t begin_ns, end_ns;
	bool is_unbounded;
};

/* Max number of launching threads that are looked at before their records are taken. */
enum { CPU_AHEAD = 64 };

/* A wait that was inspected before its record was taken. */
struct ahead_wait {
	uint32_t pid, tid;
	struct thread_wait wait;
};

/* Threads that launch commands, and all others. The device waits for the former. */
enum cpu_waiter { CPU_OTHER, CPU_LAUNCHER, CPU_WAITERS };

/* Inspection of blocked threads: their system call and stack. */
struct cpu_blocked {
	/* processor time left for looks at threads of each kind; below 0: overspent */
	int64_t budgets_ns[CPU_WAITERS];
	uint64_t given_ns;       /* time up to which the budgets were refilled … */
	uint64_t sampled_ns;     /* … and sampled time since then, which refills CPU_OTHER */
	uint64_t short_until_ns; /* time until which short waits are expected */
	struct blocked_thread *threads; /* owned; in the order in which they blocked */
	size_t count, capacity;
	struct blocked_thread ahead[CPU_AHEAD]; /* launching threads that have just blocked */
	size_t ahead_count;
	struct ahead_wait found[CPU_AHEAD]; /* … and the last waits that were inspected */
	size_t found_count;
	bool has_tried;
	bool can_look;             /* children of ours may be inspected (blocked_try) … */
	uint64_t closed;           /* … number of other processes that may not be inspected */
	bool is_reported[2];       /* … the first one: [0] refused by a rule, [1] by itself */
	struct string_table files; /* calls with the files that looks found */
	struct blocked_look look;
};

/* Threads that are polled in turn, where perf events are refused. */
struct cpu_polled {
	struct process_tree process_tree; /* the processes */
	struct polled_thread *threads;    /* owned; sorted by (pid, tid) */
	size_t count, capacity, next;
	uint64_t next_list_ns;
	uint32_t rounds; /* polls so far; varies the time to the next one */
};

struct cpu {
	struct recording *recording; /* borrowed */
	struct processes *processes; /* borrowed */
	struct perf_rings *rings;    /* owned; NULL: refused, threads are polled instead */
	struct perf_rings_state state;
	struct stack_walker *walker; /* a reference */
	uint32_t source_string, faults_string;
	uint64_t samples; /* number written to the trace */
	uint64_t throttled, nameless;
	/* memory for stacks: per second, in total */
	struct quota second_stacks, all_stacks;
	uint32_t round; /* incremented when records of mappings may have been lost */
	struct cpu_losses losses;
	struct cpu_blocked blocked;
	struct cpu_polled polled;
	struct unwatched unwatched;
	uint64_t next_drain_ns;
	size_t round_records;     /* number of records in the last round */
	bool is_behind;           /* the last round ended before all records were taken */
	struct hash_map kernels;  /* process id << 32 | code_file.number -> the trace's code id */
	size_t frames_count;      /* frames of the last sample in walker->frames */
	struct stack_part *parts; /* owned */
	size_t part_count, part_capacity;
	uint32_t frequency_hz;
	struct cpu_python python;
	struct switch_causes who;
	struct cpu_interrupts interrupts;
};

/* Calls a function for each process of the recording. */
static inline void cpu_for_each_process(struct cpu *cpu,
					void (*what)(struct cpu *cpu, struct process *process))
{
	size_t cursor = 0;
	uint64_t value;

	while (hash_map_next(&cpu->processes->by_pid, &cursor, NULL, &value))
		what(cpu, (struct process *)(uintptr_t)value);
}

/* Whether the memory budget admits one more stack; counts a refused one. The recorder keeps stacks
 * in memory until it ends. */
static inline bool cpu_has_room(struct cpu *cpu)
{
	return quota_admit(&cpu->second_stacks) && quota_admit(&cpu->all_stacks);
}

/* Charges the memory that a stack took to the budget. */
static inline void cpu_charge_stacks(struct cpu *cpu, uint64_t bytes)
{
	quota_charge(&cpu->second_stacks, bytes);
	quota_charge(&cpu->all_stacks, bytes);
}

/* ---- cpu.c ---- */

/* Whether perf events were refused by a rule or a limit, so that polling can replace them. */
bool cpu_is_refusal(int error);
/* Switches to polling. The error chain holds the reason why perf events were refused. */
void cpu_use_states(struct cpu *cpu);

/* ---- cpu/records.c ---- */

/* Takes one perf record: writes its row and updates processes and threads. */
void cpu_take_record(struct cpu *cpu, const struct perf_record *record);
/* A process called exec. name: "" if not known. */
void cpu_begin_image(struct cpu *cpu, uint32_t pid, uint32_t tid, const char *name,
		     uint64_t time_ns);
/* Counts a process that the kernel no longer reports although it still runs. */
void cpu_lose_sight(struct cpu *cpu, struct process *process);

/* ---- cpu/inspection.c ---- */

/* Whether blocked threads and memory of processes may be inspected at all. */
bool cpu_can_look(struct cpu *cpu);
/* Counts a process whose threads and memory may not be inspected; reports the first one. */
void cpu_note_closed(struct cpu *cpu, struct process *process);
/* Notes the number of such processes, if there are several. */
void cpu_note_all_closed(struct cpu *cpu);

/* ---- cpu/losses.c ---- */

/* Counts records that are not samples and were lost between two times. begin_ns 0: not known. */
void cpu_lose_switches(struct cpu *cpu, uint64_t begin_ns, uint64_t end_ns, uint64_t count);
/* Notes for the report which data is missing, and why. */
void cpu_note_losses(struct cpu *cpu);
/* Writes the last losses, including those that no ring could report. */
void cpu_count_last_losses(struct cpu *cpu);

/* ---- cpu/memory.c ---- */

/* Adds a mapping that a perf record reports. */
void cpu_put_piece(struct cpu *cpu, struct process *process, const struct perf_map *map,
		   const char *path);
/* Reads all mappings of a process from /proc. */
void cpu_read_memory(struct cpu *cpu, struct process *process);

/* ---- cpu/stacks.c ---- */

/* The trace's stack of a sample; 0: none. */
uint32_t cpu_sampled_stack(struct cpu *cpu, struct process *process,
			   const struct perf_record *record);
/* A thread's wait: stack, cause and lock holder, as members of the switch row. */
struct cpu_wait {
	uint32_t stack, wait_string, holder;
	bool is_interpreters;   /* it waits for the lock of its Python interpreter (GIL) … */
	uint64_t lock_switches; /* … which had this number of switches */
};
/* The trace's stack of a thread whose registers and stack BPF copied when it left its processor; 0:
 * none. python: its Python frames; NULL: not copied. */
uint32_t cpu_bpf_stack(struct cpu *cpu, struct process *process, uint32_t tid,
		       const struct kernel_stack *stack_row,
		       const struct kernel_python_stack *python);
/* Inspects a blocked thread. False: it runs, has ended, or may not be inspected. */
bool cpu_look_at_blocked(struct cpu *cpu, struct process *process, uint32_t tid,
			 struct cpu_wait *ret_wait);

/* Reads new names of the process's JIT code; the second function is for the end of a process. */
void cpu_name_code(struct cpu *cpu, struct process *process);
void cpu_finish_code(struct cpu *cpu, struct process *process);

/* ---- cpu/kernels.c ---- */

/* Writes an instruction sample if the sample is inside a kernel of a CPU device. Uses the frames of
 * cpu_sampled_stack, which must have been called for this sample. */
void cpu_put_instruction(struct cpu *cpu, struct process *process,
			 const struct event_cpu_sample *sample);

/* ---- cpu/python_interpreters.c ---- */

/* Returns the enum stack_python of a file. */
uint32_t cpu_python_of(struct cpu *cpu, const struct process *process, struct code_file *file);
/* Prepares to read the Python frames of a process that has mapped this interpreter. */
void cpu_python_open(struct cpu *cpu, struct process *process, const struct memory_piece *piece);
/* The same; searches the process's mappings for an interpreter. */
void cpu_python_find(struct cpu *cpu, struct process *process);
/* Lets BPF read the Python frames of the process's threads, as soon as it can. */
void cpu_python_watch(struct cpu *cpu, struct process *process);
/* Whether the futex address that a thread sleeps on lies in the lock of an interpreter, and the
 * state of the lock. */
bool cpu_python_lock(struct cpu *cpu, struct process *process, const struct cpu_futex *futex,
		     struct cpu_lock *ret_lock);

/* ---- cpu/lock_samples.c ---- */

void lock_samples_init(struct lock_samples *locks);
void lock_samples_fini(struct lock_samples *locks);
/* Samples the locks of all interpreters if that is due. */
void cpu_sample_locks(struct cpu *cpu);
/* Whether a sample shows that a thread, off its processor in this time, waited for a lock. */
bool cpu_find_lock_sample(const struct cpu *cpu, uint32_t tid, uint64_t since_ns, uint64_t until_ns,
			  struct cpu_lock *ret_lock);

/* ---- cpu/python.c ---- */

/* Reads the Python frames of the threads of all samples that are new in the rings. */
void cpu_python_glance(struct cpu *cpu);
/* Takes the Python frames that BPF copied for a sample. */
void cpu_python_take_copied(void *context, const struct kernel_python_stack *copied);
/* Merges a native stack with its Python frames into cpu->parts. False: there are no Python
 * frames. */
bool cpu_python_merge(struct cpu *cpu, const struct cpu_walk *walk);
/* The trace's stack of a running thread without a native stack: Python frames alone; 0: none. */
uint32_t cpu_python_stack(struct cpu *cpu, struct process *process, uint32_t tid, uint64_t now_ns);
/* Notes for the report how many samples have Python frames. */
void cpu_python_note(struct cpu *cpu);
void cpu_python_fini(struct cpu *cpu);

/* ---- cpu/python_merge.c ---- */

/* Key of a frame object in cpu_python.objects. Keys may collide, so python_remote_object checks
 * each address that is found by its key. */
static inline uint64_t cpu_python_object_key(uint32_t pid, uint64_t address)
{
	return address / sizeof(uint64_t) ^ (uint64_t)pid << 44;
}

/* The trace's frame of a Python frame; 0: its function is not known. */
uint32_t cpu_python_frame(struct cpu *cpu, const struct python_remote_frame *frame);
/* The frame of a collection of garbage; 0: no memory. */
uint32_t cpu_python_collection(struct cpu *cpu);
/* Merges a native stack with a glance into cpu->parts; counts the result for a sample. False: no
 * Python function belongs to this stack. */
bool cpu_python_merge_glance(struct cpu *cpu, const struct cpu_walk *walk,
			     const struct python_glance *glance, bool is_sample);
/* Whether a native stack has frames of the interpreter's evaluation loop. */
bool cpu_python_has_evaluations(const struct cpu_walk *walk);
/* Counts a sample without Python frames, by its reason. */
void cpu_python_count_torn(struct cpu_python *python, const struct python_glance *glance);

/* ---- cpu/waits.c ---- */

void cpu_put_switch(struct cpu *cpu, uint32_t thread, const struct event_switch *row);
/* A thread blocks; it runs again, or ends. */
void cpu_begin_wait(struct cpu *cpu, struct process *process, struct process_thread *thread,
		    uint64_t time_ns, uint32_t processor);
void cpu_end_wait(struct cpu *cpu, struct process_thread *thread, uint64_t time_ns);
/* Inspects blocked threads. drained_ns: all records before this time were taken. */
void cpu_look_at_waiting(struct cpu *cpu, uint64_t drained_ns);
void cpu_put_all_waits(struct cpu *cpu);
/* Sets stack, wait string and holder of a switch row. is_look_valid: the look was during this wait.
 * The BPF record takes precedence. */
void cpu_say_wait(const struct thread_wait *wait, bool is_look_valid, struct event_switch *row);

/* ---- cpu/switch_cause.c ---- */

/* Starts loading the BPF programs in the background. is_wanted: the user asked for them. */
void switch_causes_open(struct cpu *cpu, const struct kernel_watch_options *options,
			bool is_wanted);
void switch_causes_close(struct cpu *cpu);
/* Describes BPF records without room, as in "the waker of 3 wakings"; "": none. */
void switch_causes_losses_text(const struct kernel_losses *losses, char *ret_text, size_t size);
/* Takes the BPF records. To be called before the perf records of the round are taken. */
void switch_causes_drain(struct cpu *cpu);
/* Returns the number of switches lost since the last call: in a recording of the machine, lost BPF
 * records are lost switches, otherwise only causes. */
uint64_t switch_causes_each_second(struct cpu *cpu, uint64_t now_ns);
void switch_causes_begin_process(struct cpu *cpu, uint32_t pid);
void switch_causes_end_process(struct cpu *cpu, uint32_t pid);
/* After a thread left its processor. took, for a preempted thread: the thread or process that got
 * the processor (0 in both: not known), and the stack. holds, for a blocked thread: sets in
 * thread->wait what it waits for. */
void switch_causes_took(struct cpu *cpu, struct process *process, struct process_thread *thread,
			struct event_switch *row);
void switch_causes_holds(struct cpu *cpu, struct process *process, struct process_thread *thread,
			 uint64_t time_ns);
/* When a thread runs again: its waker, a trace thread or a string for others; after a preemption
 * the thread that had its processor longest meanwhile, in holder or wait_string. */
void switch_causes_came(struct cpu *cpu, const struct process_thread *thread,
			struct event_switch *row);
/* The same from a given BPF record: the next thread on the processor; the cause of the wait; when
 * it runs again. */
void switch_causes_preempted(struct cpu *cpu, struct process_thread *thread,
			     const struct kernel_out *out, struct event_switch *row);
void switch_causes_fill_wait(struct cpu *cpu, struct process *process, const struct kernel_out *out,
			     struct thread_wait *wait);
void switch_causes_back(struct cpu *cpu, const struct process_thread *thread,
			const struct kernel_in *in, struct event_switch *row);

/* ---- cpu/interrupts.c ---- */

void cpu_interrupts_open(struct cpu *cpu);
/* Writes the interrupt time since the last call, also of processes that have ended since. */
void cpu_interrupts_read(struct cpu *cpu);
/* Reads once more. To be called before switch_causes_close. */
void cpu_interrupts_close(struct cpu *cpu);
/* "virtio0-input.0 (irq 25)", "softirq NET_RX". */
void cpu_interrupt_name(const struct kernel_interrupt_key *key,
			const struct kernel_interrupt *interrupt, char *ret_text, size_t size);

/* ---- cpu/machine.c ---- */

/* Takes a BPF record of any thread of the machine. */
void cpu_machine_take(void *context, const struct kernel_head *head);
/* Writes a loss row for each thread with switches that were missed since begin_ns. */
void cpu_machine_put_losses(struct cpu *cpu, uint64_t begin_ns, uint64_t end_ns);

/* ---- cpu/machine_threads.c ---- */

/* Finds or creates a thread. NULL: the idle task of a processor, or out of memory. */
struct process_thread *cpu_machine_thread(struct cpu *cpu, const struct kernel_task *task,
					  uint64_t time_ns, struct process **ret_process);
/* For a record of a tid whose thread has ended: the tid was reused, or another thread of the
 * process called exec. */
struct process_thread *cpu_machine_begin_again(struct cpu *cpu, struct process *process,
					       const struct kernel_task *task, uint64_t time_ns);

/* ---- cpu/states.c ---- */

/* Polls the threads of the attached processes and of their descendants. */
void cpu_look_at_all(struct cpu *cpu, uint64_t now_ns);
