/* SPDX-License-Identifier: MIT
 *
 * inject/hsa.h - what the files of the HSA guest share
 */
#ifndef INJECT_HSA_H
#define INJECT_HSA_H

#include "inject/guest.h"
#include "inject/hsa_abi.h"

#pragma GCC visibility push(hidden)

/* Function ids of records. */
enum hsa_call {
#define HSA_CALL(number, name, text) HSA_CALL_##name = (number),
#include "event/hsa_calls.h"
#undef HSA_CALL
};

/* The runtime below, from OnLoad on; its options as the recorder gave them. */
extern struct hsa_functions hsa_next;
extern uint32_t hsa_options; /* enum ring_option */

/* From OnLoad to OnUnload, in the process that was in there: the runtime works in no child of it. */
bool hsa_is_loaded(void);
/* A runtime before ROCm 6.0 ends the program when an intercept queue of it is full. */
bool hsa_is_overflow_fatal(void);

/* ---- devices and queues (hsa_objects.c) -------------------------------------------------------- */

struct hsa_device; /* a GPU */

/* Learns the agents there are, once. */
void hsa_devices_init(void);
/* NULL: no GPU, or one too many. */
struct hsa_device *hsa_device_of(hsa_agent agent);
hsa_agent hsa_device_agent(const struct hsa_device *device);
/* Work items of a work-group: at most, and a multiple that suits the device. */
uint32_t hsa_device_group_most(const struct hsa_device *device);
uint32_t hsa_device_group_multiple(const struct hsa_device *device);
uint32_t hsa_device_id(const struct hsa_device *device);
bool hsa_device_is_cdna3(const struct hsa_device *device); /* or 4 */
/* The next GPU; NULL: the first; NULL when there are no more. */
struct hsa_device *hsa_device_next(const struct hsa_device *device);

/* Describes what this recorder does not know yet: all devices, their copy engines, a context. */
void hsa_describe_devices(struct guest_thread *thread);
/* Id of the queue that stands for the copy engines of a device. */
uint32_t hsa_copy_queue(const struct hsa_device *device);
/* A new id for a queue, and its description. */
uint32_t hsa_new_queue(void);
bool hsa_describe_queue(struct guest_thread *thread, const struct hsa_queue *queue, uint32_t id,
			const struct hsa_device *device);

/* Takes off the time that the machine slept since OnLoad; 0 stays 0. */
void hsa_skip_suspend(struct hsa_times *times);
/* The runtime's clock beside ours, where that is due; always at the end. */
void hsa_read_clock(struct guest_thread *thread, bool is_end);
void hsa_objects_forked(void);

/* ---- kernels (hsa_code.c) ---------------------------------------------------------------------- */

void hsa_code_loaded(struct guest_thread *thread, hsa_executable executable, hsa_agent agent,
		     hsa_loaded_code loaded);
void hsa_code_frozen(hsa_executable executable);
void hsa_code_destroyed(hsa_executable executable);
void hsa_code_fini(void); /* the runtime ends */
void hsa_code_forked(void);
/* Code id of the kernel that a packet names; 0: it could not be remembered. */
uint32_t hsa_kernel(struct guest_thread *thread, uint64_t object);
bool hsa_any_kernels(void);

/* Where a device was found executing. */
struct hsa_place {
	uint32_t code;   /* of the kernel; 0: not known */
	uint64_t offset; /* in the file of its code object; code 0: the address itself */
};
/* A function that several kernels call is that one's which lies before it. */
void hsa_find_place(struct guest_thread *thread, uint64_t pc, struct hsa_place *ret_place);

/* ---- samples of instructions (hsa_samples.c) --------------------------------------------------- */

/* Where the user asked for them: before the first queue; once. */
void hsa_samples_begin(void);
void hsa_samples_end(void);
void hsa_samples_forked(void);

/* ---- signals (hsa_signals.c) ------------------------------------------------------------------- */

/* QUIET ones are looked at, and complete without an interrupt. A WAKING one calls a handler; each takes an event of the
 * driver. Of those a process has 4096, and a program that finds none left falls back to polling, for which nobody would
 * blame us: a quarter is ours at most. */
enum hsa_signal_kind { HSA_QUIET, HSA_WAKING };
enum { HSA_SIGNALS_FIRST = 64, HSA_QUIET_MOST = 4096, HSA_WAKING_MOST = 1024 };

/* A place of the pool, and the command that its signal is in. */
struct hsa_slot {
	hsa_signal signal;
	struct hsa_slot *next; /* of those that are free */
	uint32_t kind;
	/* Which command it is in, among all that there were: a QUIET one's place in the list of a queue. 0: in none, or
	 * somebody has taken it to end the command. */
	_Atomic uint64_t place;
	/* Of a WAKING one: its handler, and who ends the command; when the command was seen to be done, 0: not yet. */
	_Atomic uint32_t holders;
	_Atomic uint64_t seen_ms;
	/* The rest is the command's. */
	uint32_t queue_id; /* of the records */
	uint32_t mode;     /* of the attachment it was launched in */
	bool is_copy;
	hsa_agent agent;
	hsa_signal original; /* the program's own, which ours stands for; 0: none */
	uint64_t correlation;
};

/* In OnLoad, when the driver has events yet: the first waking one, by which later ones are judged. */
void hsa_signals_begin(void);
/* Creates the first quiet ones; true: there are some. */
bool hsa_signals_init(void);
/* Takes up to `count` of one kind at value 1, for one queue's use; returns how many. 0: all are out, or the runtime
 * refuses more. */
uint32_t hsa_signals_take(enum hsa_signal_kind kind, uint32_t count, struct hsa_slot **ret_slots);
/* Gives back; their values are set to 1 here. Waits for nobody. */
void hsa_signals_give(struct hsa_slot *const *slots, uint32_t count);
/* Those that were made, taken or not. NULL: none. They stay mapped. */
struct hsa_slot *hsa_signals_all(enum hsa_signal_kind kind, uint32_t *ret_count);
void hsa_signals_fini(void);
void hsa_signals_forked(void);
/* How many the runtime was asked to create so far. */
uint32_t hsa_signals_created(void);

static inline struct hsa_signal_memory *hsa_signal_at(hsa_signal signal)
{
	return (struct hsa_signal_memory *)(uintptr_t)signal.handle;
}

static inline bool hsa_signal_is_done(hsa_signal signal)
{
	return atomic_load_explicit(&hsa_signal_at(signal)->value, memory_order_acquire) < 1;
}

/* False: it was one, and is destroyed. A runtime ends the program that has it change such a one, where a device only
 * writes to memory that was a signal. */
bool hsa_signal_is_alive(hsa_signal signal);
/* Takes 1 off a signal of the program's, as the device would have, unless it is destroyed. */
void hsa_signal_complete(hsa_signal original);
/* What hsa_signal_destroy does: not while it is completed. */
hsa_status hsa_signal_end(hsa_signal signal);

/* ---- dispatches (hsa_dispatch.c) --------------------------------------------------------------- */

/* Before a queue of this agent is made that is to be followed; false: it cannot be. */
bool hsa_before_queue(hsa_agent agent);
/* Follows an intercept queue that another tool has made. is_above: that tool's handlers come behind ours, and ours adds
 * no signals. False: it is a plain queue. */
bool hsa_join_queue(struct hsa_queue *handle, hsa_agent agent, bool is_above);
/* A queue of this size and type. */
bool hsa_can_follow(uint32_t size, uint32_t type);
/* What hsa_queue_create does where packets are followed: of a queue that can be; an error: there is none. */
hsa_status hsa_follow_queue(hsa_agent agent, uint32_t size, uint32_t type, hsa_queue_error *error,
			    void *data, uint32_t private_bytes, uint32_t group_bytes,
			    struct hsa_queue **ret_queue);
/* One that is not: what is written into it is counted as this trouble. */
void hsa_queue_not_followed(struct hsa_queue *queue, enum ring_trouble reason);
bool hsa_any_not_followed(void);
bool hsa_queue_is_followed(const struct hsa_queue *queue);
/* Before the queue goes its last times are taken; when it is gone the rest is given up. ends: NULL where it was not
 * followed. ended: NULL-safe. */
struct hsa_followed;
struct hsa_followed *hsa_queue_ends(struct hsa_queue *queue);
void hsa_queue_ended(struct hsa_followed *queue);
void hsa_queues_fini(void);
/* One was met. */
bool hsa_any_queues(void);
/* Counts what was written into queues that are not followed since the last time. */
void hsa_count_not_followed(void);

/* Takes the times of what has completed, beside other threads that do; returns of how many. thread NULL: they are taken
 * off the lists and not recorded. */
uint32_t hsa_harvest(struct guest_thread *thread);
/* Gives others who are taking times some turns to write them down: the program may end at once. */
void hsa_await_harvesters(void);
/* Something has not completed, or nobody has looked. */
bool hsa_is_pending(void);
/* The same until nothing is pending, at most so long. */
void hsa_harvest_last(uint64_t most_ms);

/* Writes the row of a command. started, ended: 0 where they are not known. */
void hsa_put_execution(struct guest_thread *thread, const struct hsa_slot *slot,
		       const struct hsa_times *times);
/* A handler of the runtime's will finish the command in this slot, or who looks (hsa_harvest) while the thread of the
 * runtime's that calls it is busy; false: nobody will. */
bool hsa_expect(struct hsa_slot *slot);
/* Before the program waits: somebody looks after what is expected. */
void hsa_watch(void);

void hsa_dispatch_forked(void);

/* ---- the helper (hsa_helper.c) ----------------------------------------------------------------- */

/* Starts the thread that looks after what completes, once; false: there is none. */
bool hsa_helper_start(void);
/* There is something to look after. */
void hsa_helper_wake(void);
bool hsa_helper_is_asleep(void);
/* Has it finish (hsa_finish) and end, and waits for that, at most so long; true: it has ended. */
bool hsa_helper_stop(uint64_t last_ms, uint64_t most_ms);
/* True once that wait ended in vain: the runtime may be gone, and the helper asks it nothing more. */
bool hsa_helper_is_abandoned(void);
void hsa_helper_forked(void);

/* ---- the tables (hsa.c) ------------------------------------------------------------------------ */

/* Puts a function of ours into an entry of a table; nothing where the table is too short. Of AMD's extensions by its
 * offset before ROCm 5.6. */
void hsa_hook_core(struct hsa_tables *tables, uint32_t offset, void *function);
void hsa_hook_amd(struct hsa_tables *tables, uint32_t offset, void *function);

/* ---- copies (hsa_copies.c) --------------------------------------------------------------------- */

void hsa_copies_hook(struct hsa_tables *tables);
/* Remembers the times of a copy for the program's own question, before its signal says that it is over. */
void hsa_copy_ended(hsa_signal original, const struct hsa_times *times);

/* ---- the order of tools (hsa_order.c) ---------------------------------------------------------- */

/* The names of HSA_TOOLS_LIB with the guest's first. False: it is first, there are none, or there is no room. */
bool hsa_order_tools(const char *tools, const char *guest, char *ret_tools, size_t size);
/* A function in the runtime's tables lies in another library than the runtime, which calls us from there. */
bool hsa_is_others(const void *function, const void *runtime);

/* ---- HIP (hip.c) ------------------------------------------------------------------------------- */

/* HIP is there, and who is linked to it finds that instead of the wrappers. */
bool hip_is_before_wrappers(void);

/* ---- launches ---------------------------------------------------------------------------------- */

/* One call or packet that puts a command into a queue. */
struct hsa_launch {
	uint32_t function, command, flags;
	uint32_t queue_id, kernel, stack;
	uint64_t enter, correlation, bytes;
	int32_t result;
	const struct hsa_dispatch_packet *packet; /* NULL: it is not one */
};

/* Whose it is and since when: of the runtime above where a call of that launches it, else of `function` and now. */
void hsa_launch_begin(struct guest_thread *thread, struct hsa_launch *launch, uint32_t function);
void hsa_put_launch(struct guest_thread *thread, const struct hsa_launch *launch);

/* A call of a runtime above HSA, while it runs in this thread: what it dispatches and copies is launched by it. */
struct hsa_caller {
	uint32_t function;
	uint32_t
		command; /* where it copies or fills, whatever does that; COMMAND_OTHER: what is put into the queue */
	uint32_t flags; /* enum event_launch_flag */
	uint32_t stack;
	bool has_stack, has_first;
	uint64_t begin;
	uint64_t bytes;       /* it copies or fills */
	uint64_t later_bytes; /* of those in the rows of the second and later ones */
	uint64_t batched;     /* dispatches that it put into queues in batches */
	/* What it launched first has the call's row, which is written when the call has ended. */
	struct hsa_launch first;
	struct hsa_dispatch_packet packet;
};
extern _Thread_local struct hsa_caller *hsa_caller __attribute__((tls_model("initial-exec")));

static inline void hsa_caller_init(struct hsa_caller *caller, uint32_t function)
{
	caller->function = function;
	caller->command = COMMAND_OTHER;
	caller->flags = 0;
	caller->stack = 0;
	caller->has_stack = caller->has_first = false;
	caller->bytes = caller->later_bytes = caller->batched = 0;
}

/* Its stack, taken once. */
static inline uint32_t hsa_caller_stack(struct guest_thread *thread, struct hsa_caller *caller)
{
	if (!caller->has_stack)
		caller->stack = guest_stack(thread);
	caller->has_stack = true;
	return caller->stack;
}

/* It has ended, and launched something. */
void hsa_caller_put_first(struct guest_thread *thread, struct hsa_caller *caller, uint64_t end);

/* The last that the helper does: ends samples, and takes the times of what completes, at most so long. */
void hsa_finish(uint64_t last_ms);

/* Tells the guest who it is, once. */
void hsa_start_guest(void);

#pragma GCC visibility pop

#endif
