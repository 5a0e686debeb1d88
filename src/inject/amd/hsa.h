/* SPDX-License-Identifier: MIT
 *
 * inject/amd/hsa.h - shared by the files of the HSA guest
 */
#pragma once

#include "abi/amd_options.h"
#include "abi/hsa.h"
#include "event/record_parts.h"
#include "inject/guest.h"

#pragma GCC visibility push(hidden)

/* Function ids of records. */
enum hsa_call {
#define HSA_CALL(number, name, text) HSA_CALL_##name = (number),
#include "abi/hsa_calls.h"
#undef HSA_CALL
};

/* The runtime's original functions, from OnLoad on; the recorder's options. */
extern struct hsa_functions hsa_next;
extern uint32_t hsa_options; /* enum ring_option, enum amd_option */

/* From OnLoad to OnUnload, in the process that called OnLoad: the runtime does not work in its
 * children. */
extern _Atomic bool hsa_loaded;
static inline bool hsa_is_loaded(void)
{
	return atomic_load_explicit(&hsa_loaded, memory_order_relaxed);
}

/* A runtime before ROCm 6.0 ends the program when one of its intercept queues is full. */
extern bool hsa_overflow_fatal;

/* ---- devices and queues (hsa_objects.c) ------------------------------------------------------ */

/* A GPU. */
struct hsa_device {
	uint32_t id; /* in the records, from 1 on */
	hsa_agent agent;
	_Atomic uint32_t mode; /* attachment in which the device is described */
	uint32_t copy_queue;   /* id of the pseudo queue for its copy engines */
	uint32_t compute_units;
	/* Work items of a work-group: the max, and a multiple that suits the device. */
	uint32_t group_most, group_multiple;
	bool is_cdna3; /* or 4 */
	uint64_t memory_bytes, local_bytes;
	char key[64], name[64], vendor[64];
};

/* Lists the agents, once. */
void hsa_devices_init(void);
/* NULL: not a GPU, or more GPUs than we track. */
struct hsa_device *hsa_device_of(hsa_agent agent);
/* The next GPU; NULL: the first; NULL when there are no more. */
struct hsa_device *hsa_device_next(const struct hsa_device *device);

/* Describes everything that this recorder does not know yet: all devices, their copy engines, a
 * context. */
void hsa_describe_devices(struct guest_thread *thread);
/* Returns a new id for a queue. */
uint32_t hsa_new_queue(void);
bool hsa_describe_queue(struct guest_thread *thread, const struct hsa_queue *queue, uint32_t id,
			const struct hsa_device *device);

/* Subtracts the time that the machine was suspended since OnLoad; 0 stays 0. */
void hsa_skip_suspend(struct hsa_times *times);
/* Records the runtime's clock beside ours, if that is due; always at the end. */
void hsa_read_clock(struct guest_thread *thread, bool is_end);
void hsa_objects_forked(void);

/* ---- kernels (hsa_code.c) -------------------------------------------------------------------- */

void hsa_code_loaded(struct guest_thread *thread, hsa_executable executable, hsa_agent agent,
		     hsa_loaded_code loaded);
void hsa_code_frozen(hsa_executable executable);
void hsa_code_destroyed(hsa_executable executable);
void hsa_code_fini(void); /* called when the runtime shuts down */
void hsa_code_forked(void);
/* Code id of the kernel that a packet names; 0: no room for it. */
uint32_t hsa_kernel(struct guest_thread *thread, uint64_t object);
bool hsa_any_kernels(void);

/* Position of a sample in the code. */
struct hsa_code_position {
	uint32_t code;   /* code id of the kernel; 0: unknown */
	uint64_t offset; /* in the file of its code object; code 0: the address itself */
};
/* A function that several kernels call counts for the kernel before it in memory. */
void hsa_find_code_position(struct guest_thread *thread, uint64_t pc,
			    struct hsa_code_position *ret_place);

/* ---- samples of instructions (hsa_samples.c) ------------------------------------------------- */

/* Starts sampling if the user requested it. Called once, before the first queue is created. */
void hsa_samples_begin(void);
void hsa_samples_end(void);
void hsa_samples_forked(void);

/* ---- signals (hsa_signals.c) ----------------------------------------------------------------- */

/* QUIET signals are polled and complete without an interrupt. A WAKING signal calls a handler and
 * takes an event of the driver. A process has 4096 events. A program that finds none left falls
 * back to polling, which the user would blame on the program. The guest therefore takes at most a
 * quarter of them. */
enum hsa_signal_kind { HSA_QUIET, HSA_WAKING };
enum { HSA_SIGNALS_FIRST = 64, MAX_HSA_QUIET = 4096, MAX_HSA_WAKING = 1024 };

/* A slot of the pool, and the command that uses its signal. */
struct hsa_slot {
	hsa_signal signal;
	struct hsa_slot *next; /* the next free slot */
	uint32_t kind;
	/* Number of the slot's command. WAKING: counted over all commands of the process. QUIET:
	 * the queue's id and the position in its list. 0: no command, or a thread has claimed the
	 * slot to end its command. */
	_Atomic uint64_t place;
	/* For a WAKING signal only. holders: the handler and the thread that ends the command.
	 * seen_ms: when the command was found complete; 0: not yet. */
	_Atomic uint32_t holders;
	_Atomic uint64_t seen_ms;
	/* The members below describe the command. */
	uint32_t queue_id; /* queue id in the records */
	uint32_t mode;     /* attachment in which the command was launched */
	bool is_copy;
	hsa_agent agent;
	hsa_signal original; /* the program's own signal, which ours replaces; 0: none */
	uint64_t correlation;
	/* Parts of the execution's record; `detail` has those that are valid, and the hardware
	 * queue. */
	uint32_t detail, local_bytes;
	uint64_t graph;
	struct record_transfer transfer;
};

/* Called in OnLoad, while the driver still has events. Creates the first waking signal, which shows
 * whether signals get events. */
void hsa_signals_begin(void);
/* Creates the first quiet signals. True: at least one exists. */
bool hsa_signals_init(void);
/* Takes up to `count` signals of one kind for the use of one queue; their values are 1. Returns how
 * many it took. 0: all are in use, or the runtime refuses more. */
uint32_t hsa_signals_take(enum hsa_signal_kind kind, uint32_t count, struct hsa_slot **ret_slots);
/* Gives slots back and sets their values to 1. Never waits. */
void hsa_signals_give(struct hsa_slot *const *slots, uint32_t count);
/* Returns all slots created so far, in use or not; NULL: none. They stay mapped. */
struct hsa_slot *hsa_signals_all(enum hsa_signal_kind kind, uint32_t *ret_count);
void hsa_signals_fini(void);
void hsa_signals_forked(void);
/* Number of signals that the runtime has created for the guest so far. */
uint32_t hsa_signals_created(void);

static inline struct hsa_signal_memory *hsa_signal_at(hsa_signal signal)
{
	return (struct hsa_signal_memory *)(uintptr_t)signal.handle;
}

static inline bool hsa_signal_is_done(hsa_signal signal)
{
	return atomic_load_explicit(&hsa_signal_at(signal)->value, memory_order_acquire) < 1;
}

/* False: the program has destroyed this signal. The runtime ends a program that changes a destroyed
 * signal, whereas a device only writes to the memory. */
bool hsa_signal_is_alive(hsa_signal signal);
/* Subtracts 1 from a signal of the program, as the device would have, unless it is destroyed. */
void hsa_signal_complete(hsa_signal original);
/* hsa_signal_destroy, excluded while the signal is being completed. */
hsa_status hsa_signal_end(hsa_signal signal);

/* ---- queues (hsa_queues.c) ------------------------------------------------------------------ */

/* Called before a queue of this agent is created. False: the queue cannot be tracked. */
bool hsa_before_queue(hsa_agent agent);
/* Tracks an intercept queue that another tool has made. is_above: that tool's handlers run after
 * ours, and ours adds no signals. */
enum hsa_join {
	HSA_JOINED,
	HSA_JOIN_PLAIN,  /* a plain queue, on which the runtime registers no handler */
	HSA_JOIN_REFUSED /* no memory, signals, times or handler for it */
};
enum hsa_join hsa_join_queue(struct hsa_queue *handle, hsa_agent agent, bool is_above);
/* Whether a queue of this size and type can be tracked. */
bool hsa_can_follow(uint32_t size, uint32_t type);
/* hsa_queue_create for a tracked queue; an error: no queue was created. */
hsa_status hsa_follow_queue(hsa_agent agent, uint32_t size, uint32_t type, hsa_queue_error *error,
			    void *data, uint32_t private_bytes, uint32_t group_bytes,
			    struct hsa_queue **ret_queue);
/* Registers a queue that is not tracked. Packets written into it are counted as this trouble. */
void hsa_queue_not_followed(struct hsa_queue *queue, uint32_t reason);
bool hsa_any_not_followed(void);
bool hsa_queue_is_followed(const struct hsa_queue *queue);
/* hsa_queue_ends reads the last times before the queue is destroyed; NULL if the queue was not
 * tracked. hsa_queue_ended gives up the remaining dispatches afterwards; the queue may be NULL. */
struct hsa_tracked_queue;
struct hsa_tracked_queue *hsa_queue_ends(struct hsa_queue *queue);
void hsa_queue_ended(struct hsa_tracked_queue *queue);
void hsa_queues_fini(void);
/* True once the guest has seen a queue. */
bool hsa_any_queues(void);
/* Counts packets written into untracked queues since the last call. */
void hsa_count_not_followed(void);

/* ---- harvests (hsa_harvest.c) ---------------------------------------------------------------- */

/* Reads the times of completed commands; several threads may do so at once. Returns the number of
 * commands. thread NULL: the commands leave the lists and are not recorded. */
uint32_t hsa_harvest(struct guest_thread *thread);
/* Yields briefly so that other threads can record the times they are reading, because the program
 * may end at once. */
void hsa_await_harvesters(void);
/* True if a command has not completed or its completion was not checked. */
bool hsa_is_pending(void);
/* Repeats hsa_harvest until nothing is pending, for at most max_ms. */
void hsa_harvest_last(uint64_t max_ms);

/* Writes the row of a command. started, ended: 0 if unknown. */
void hsa_put_execution(struct guest_thread *thread, const struct hsa_slot *slot,
		       const struct hsa_times *times);
/* Arranges that the command in this slot is ended: by a handler of the runtime, or by hsa_harvest
 * while the runtime's thread is busy. False: neither will end it. */
bool hsa_expect(struct hsa_slot *slot);
/* Called before the program waits. Makes sure that the helper checks the expected commands. */
void hsa_watch(void);

void hsa_dispatch_forked(void);

/* ---- the helper (hsa_helper.c) --------------------------------------------------------------- */

/* Starts the thread that checks for completion, once. False: there is no such thread. */
bool hsa_helper_start(void);
/* Wakes the helper because there is something to check. Without a helper the caller checks
 * itself. */
void hsa_helper_wake(void);
bool hsa_helper_is_asleep(void);
/* Makes the helper finish (hsa_finish) and end, and waits for it for at most max_ms. True: it has
 * ended. */
bool hsa_helper_stop(uint64_t last_ms, uint64_t max_ms);
/* True once that wait timed out. The runtime may then be unloaded, so the helper stops calling
 * it. */
bool hsa_helper_is_abandoned(void);
void hsa_helper_forked(void);

/* ---- the tables (hsa_tables.c) ----------------------------------------------------------------
 */

/* Size of a table in the version of this runtime. */
uint32_t hsa_table_bytes(const uint8_t *table);
/* Returns the function of an entry; NULL if the table is too short. */
void *hsa_table_entry(uint8_t *table, uint32_t offset);
/* The same for the table of AMD's extensions. offset: the one before ROCm 5.6. */
void *hsa_amd_entry(const struct hsa_tables *tables, uint32_t offset);
/* Replaces an entry of a table by our function; does nothing if the table is too short. `offset` of
 * AMD's extensions is the one before ROCm 5.6. */
void hsa_hook_core(struct hsa_tables *tables, uint32_t offset, void *function);
void hsa_hook_amd(struct hsa_tables *tables, uint32_t offset, void *function);

/* ---- copies (hsa_copies.c) ------------------------------------------------------------------- */

void hsa_copies_hook(struct hsa_tables *tables);
/* Stores the times of a copy for the program's own query, before its signal shows that it has
 * completed. */
void hsa_copy_ended(hsa_signal original, const struct hsa_times *times);

/* ---- the order of tools (hsa_order.c) -------------------------------------------------------- */

/* Writes the names of HSA_TOOLS_LIB with the guest's first. False: the guest is already first,
 * there are no names, or ret_tools is too small. */
bool hsa_order_tools(const char *tools, const char *guest, char *ret_tools, size_t size);
/* True if a function in the runtime's tables lies in another library than the runtime. */
bool hsa_is_others(const void *function, const void *runtime);

/* ---- HIP (hip.c) ----------------------------------------------------------------------------- */

/* True if HIP is loaded and programs linked to it bind to it instead of the wrappers. */
bool hip_is_before_wrappers(void);

/* ---- launches -------------------------------------------------------------------------------- */

/* One call or packet that puts a command into a queue. */
struct hsa_launch {
	uint32_t function, command, flags;
	uint32_t queue_id, kernel, stack;
	uint64_t enter, correlation, bytes;
	int32_t result;
	const struct hsa_dispatch_packet *packet; /* NULL: not launched by a packet */
};

/* Sets the call and its start. If a call of HIP launches this command, that call is recorded;
 * otherwise `function` and the current time. */
void hsa_launch_begin(struct guest_thread *thread, struct hsa_launch *launch, uint32_t function);
void hsa_put_launch(struct guest_thread *thread, const struct hsa_launch *launch);

/* A call of a runtime above HSA, while it runs in this thread: dispatches and copies in it are
 * launched by it. */
struct hsa_caller {
	uint32_t function;
	/* Command that the call's row shows: a copy or fill, whatever the runtime uses to do it.
	 * COMMAND_OTHER: the command that was put into the queue. */
	uint32_t command;
	uint32_t flags; /* enum event_launch_flag */
	uint32_t stack;
	bool has_stack, has_first;
	uint64_t site; /* the same for all calls from one place */
	uint64_t begin;
	uint64_t bytes; /* bytes that the call copies or fills */
	/* part of them already in the rows of the second and later commands */
	uint64_t later_bytes;
	uint64_t batched; /* dispatches that the call put into queues in batches */
	uint64_t graph;   /* handle of the graph that the call launches; 0: none */
	/* The call's first launch. Its row is the call's row and is written when the call has
	 * ended. */
	struct hsa_launch first;
	struct hsa_dispatch_packet packet;
};
extern _Thread_local struct hsa_caller *hsa_caller __attribute__((tls_model("initial-exec")));

static inline void hsa_caller_init(struct hsa_caller *caller, uint32_t function)
{
	caller->function = function;
	caller->site = guest_site(0, function, 0);
	caller->command = COMMAND_OTHER;
	caller->flags = 0;
	caller->stack = 0;
	caller->has_stack = caller->has_first = false;
	caller->bytes = caller->later_bytes = caller->batched = caller->graph = 0;
}

/* Sets the parts of the slot's execution. hardware_queue: bits of a record's detail. transfer: NULL
 * for a dispatch. Migrations are those that a call of HIP requested. */
static inline void hsa_slot_set_parts(struct hsa_slot *slot, uint32_t hardware_queue,
				      uint32_t local_bytes, const struct record_transfer *transfer)
{
	const bool is_migration = hsa_caller && hsa_caller->command == COMMAND_MIGRATE;

	slot->graph = hsa_caller ? hsa_caller->graph : 0;
	slot->local_bytes = local_bytes;
	slot->detail = hardware_queue | (local_bytes ? (uint32_t)RECORD_PART_SHAPE : 0) |
		       (slot->graph ? (uint32_t)RECORD_PART_GRAPH : 0);
	if (!transfer && !is_migration)
		return;
	slot->transfer = transfer ? *transfer : (struct record_transfer){0};
	slot->transfer.migration = is_migration ? MIGRATION_REQUESTED : MIGRATION_UNKNOWN;
	slot->detail |= RECORD_PART_TRANSFER;
}

/* The stack of the call, captured once. kernel: the one that it launches; 0: not known. */
static inline uint32_t hsa_caller_stack(struct guest_thread *thread, struct hsa_caller *caller,
					uint64_t kernel)
{
	if (!caller->has_stack)
		caller->stack = guest_stack_of(thread, guest_site(caller->site, 0, kernel));
	caller->has_stack = true;
	return caller->stack;
}

/* Writes the row of the call's first launch, after the call has ended. */
void hsa_caller_put_first(struct guest_thread *thread, struct hsa_caller *caller, uint64_t end);

/* The helper's last work: ends sampling and reads the times of completed dispatches, for at most
 * last_ms. */
void hsa_finish(uint64_t last_ms);

/* Registers this back end with the guest, once. */
void hsa_start_guest(void);

#pragma GCC visibility pop
