/* SPDX-License-Identifier: MIT
 *
 * inject/level_zero/level_zero.h - shared by the files of the Level Zero guest
 *
 *	level_zero.c   entry points; a wrapper of each call, made from abi/level_zero_calls.h
 *	handles.c      from a handle to the guest's structure for it
 *	objects.c      ids and properties of devices, contexts, queues and lists; clocks
 *	code.c         ids and properties of modules and kernels
 *	events.c       events that the guest creates for commands without one
 *	commands.c     commands from append to each execution of their list
 *	pending.c      launched commands, to their completion
 */
#pragma once

#include <stdbool.h>

#include "abi/level_zero.h"
#include "abi/level_zero_options.h"
#include "inject/describe.h"
#include "inject/guest.h"

#pragma GCC visibility push(hidden)

/* Functions of the next layer or the driver; NULL: the loader lacks this function. */
struct level_zero_functions {
#define ZE_FUNCTION(name, parameters)                              ze_result(*name) parameters;
#define ZE_CALL(number, name, table, slot, minor, parameters, ...) ZE_FUNCTION(name, parameters)
#define ZE_WAIT(number, name, table, slot, minor, parameters, ...) ZE_FUNCTION(name, parameters)
#define ZE_APPEND(number, name, table, slot, minor, command, parameters, ...) \
	ZE_FUNCTION(name, parameters)
#define ZE_EXECUTE(number, name, table, slot, minor, parameters, ...) ZE_FUNCTION(name, parameters)
#define ZE_QUIET(name, table, slot, minor, parameters, ...)           ZE_FUNCTION(name, parameters)
#define ZE_BELOW(name, table, slot, minor, parameters)                ZE_FUNCTION(name, parameters)
#define ZE_GIVE(name, table, slot, minor, parameters, ...)            ze_handle(*name) parameters;
#include "abi/level_zero_calls.h"
#undef ZE_CALL
#undef ZE_WAIT
#undef ZE_APPEND
#undef ZE_EXECUTE
#undef ZE_QUIET
#undef ZE_BELOW
#undef ZE_GIVE
};
extern struct level_zero_functions next;

/* The loader's function that translates its handles to the driver's; found when the loader asks for
 * the first table. */
extern zel_translate_handle *level_zero_translate;

/* ---- handles --------------------------------------------------------------------------------- */

enum level_zero_kind {
	LEVEL_ZERO_DEVICE = 1,
	LEVEL_ZERO_CONTEXT,
	LEVEL_ZERO_QUEUE,
	LEVEL_ZERO_LIST,
	LEVEL_ZERO_POOL,
	LEVEL_ZERO_EVENT,
	LEVEL_ZERO_MODULE,
	LEVEL_ZERO_KERNEL,
	LEVEL_ZERO_KINDS
};

/* The beginning of every structure behind a handle. */
struct level_zero_object {
	ze_handle handle;
	struct level_zero_object *next_free;
	uint32_t kind;
	uint32_t id;           /* the recorder's id; 0: none yet */
	uint32_t id_mode;      /* attachment in which the id was given out */
	_Atomic uint32_t mode; /* attachment in which the object is described */
	/* Generation of the structure. Structures are reused and never unmapped. 0: the object is
	 * destroyed. */
	_Atomic uint64_t serial;
	/* Number of consecutive failed attempts to describe it, and the time of the next attempt
	 * (clock of guest_now). */
	uint32_t failed;
	uint64_t next_attempt;
};

/* NULL: unknown, or of another kind. Takes no lock: entries never move, and memory is not freed. */
void *level_zero_find(ze_handle handle, enum level_zero_kind kind);
/* The structure of a new object, zeroed except its head; a former object of the handle is dropped.
 * NULL: no room, counted. */
void *level_zero_add(ze_handle handle, enum level_zero_kind kind);
/* is_unused: the guest holds no more pointers to the structure. Otherwise the structure is never
 * reused. */
void level_zero_remove(ze_handle handle, enum level_zero_kind kind, bool is_unused);
void level_zero_handles_forked(void);

static inline bool level_zero_is_there(const struct level_zero_object *object)
{
	return atomic_load_explicit(&object->serial, memory_order_acquire) != 0;
}

/* The driver is not called about this object any more. */
static inline void level_zero_mark_gone(struct level_zero_object *object)
{
	atomic_store_explicit(&object->serial, 0, memory_order_release);
}

static inline bool level_zero_is_described(const struct guest_thread *thread,
					   const struct level_zero_object *object)
{
	return atomic_load_explicit(&object->mode, memory_order_acquire) == thread->mode;
}

/* ---- objects --------------------------------------------------------------------------------- */

enum { NO_COMMAND = 0xffffffffu, MAX_LEVEL_ZERO_GROUPS = 8 };

/* A group of a device's engines. */
struct level_zero_group {
	uint32_t engines;
	bool computes;
};

struct level_zero_device {
	struct level_zero_object object;
	struct level_zero_device *older; /* all devices, newest first */
	uint64_t ticks_hz;
	uint32_t stamp_bits; /* width of a command's timestamps */
	uint32_t clock_bits; /* width of the device's clock */
	bool has_clock;
	uint32_t groups_count;
	struct level_zero_group groups[MAX_LEVEL_ZERO_GROUPS];
	struct guest_lock lock;
	uint64_t last_time,
		/* under the lock: the last reading of its clock, extended to 64 bits, and of the
		 * host's */
		last_ns;
	_Atomic uint64_t next_read; /* host time (clock of guest_now) */
	_Atomic uint64_t interval;
};

struct level_zero_event;

struct level_zero_context {
	struct level_zero_object object;
	ze_handle driver;
	struct level_zero_event *free_events; /* our events, ready to be signalled */
	struct level_zero_own_pool *pools;    /* the pools that contain them */
	struct level_zero_event *first_lost,
		*last_lost; /* our events whose commands are not tracked, oldest first */
	bool is_refused;    /* the driver refuses to create events */
	bool zex_asked;
	zex_kernel_get_base_address *zex;
};

struct level_zero_queue {
	struct level_zero_object object;
	/* next in the list of all queues; protected by the commands' lock */
	struct level_zero_queue *next_queue;
	struct level_zero_context *context;
	struct level_zero_device *device;
	uint32_t flags;          /* enum event_queue_flag */
	uint32_t ordinal, index; /* group of the device, and engine in it */
	bool is_synchronous;
	bool is_linked;       /* is in that list, from its first pending command on */
	uint32_t first, last; /* pending commands, oldest first */
};

/* The result of an append to a list: a launch record without a time. A list may have a million of
 * them, so they are small. */
enum { MAX_LEVEL_ZERO_WAITS = 6 };
struct level_zero_command {
	uint16_t function;
	uint8_t command, flags;
	uint8_t dimensions, wait_count;
	uint8_t from_memory, to_memory; /* enum event_memory, of a copy */
	uint32_t kernel, kernel_mode, waits_cut;
	uint32_t stack, stack_mode, stack_thread; /* thread whose ring has the stack's record */
	uint64_t bytes;
	struct level_zero_device *from_device, *to_device; /* NULL: the host, or not known */
	uint64_t global_size[3], local_size[3];
	uint64_t waits[MAX_LEVEL_ZERO_WAITS];
	struct level_zero_event *event; /* NULL: the command has no timestamps */
	/* generation of `event`; if it differs, the structure belongs to another event and the
	 * command has no timestamps */
	uint64_t event_serial;
	/* an earlier command of the list signals the same event, and the device resets the event
	 * between the two */
	bool is_renewed;
	ze_handle asked; /* the event that the program passed; NULL: none */
};

struct level_zero_list {
	struct level_zero_object object;
	struct level_zero_context *context;
	struct level_zero_device *device;
	struct level_zero_queue *queue; /* an immediate list's own queue; otherwise NULL */
	/* commands were appended to it while nothing was recorded */
	bool has_unseen;
	uint64_t contents; /* generation of its contents, new after each reset; never 0 */
	struct level_zero_command *commands;
	uint32_t count, capacity;
};

struct level_zero_pool {
	struct level_zero_object object;
	uint32_t asked_flags;
	/* is_timed: the event has timestamps; is_forced: because the guest requested them */
	bool is_timed, is_forced;
};

struct level_zero_event {
	struct level_zero_object object;
	struct level_zero_event *next_free_event;
	struct level_zero_context *context; /* context of our own event; otherwise NULL */
	bool is_timed, is_forced;
	/* Two commands signal it, or may. Its timestamps are valid again once the device has
	 * finished signalling it … */
	bool is_overtaken;
	bool is_mixed; /* … or not even then, because the order of the two commands is unknown */
	/* Generation of the list whose command got the event last, and whether that list resets the
	 * event after the command. */
	uint64_t contents;
	bool is_renewed;
	/* timestamps that the event had before its command; the command's own differ */
	struct ze_stamps before;
	uint32_t pending; /* the pending command that signals it; NO_COMMAND: none */
};

struct level_zero_module {
	struct level_zero_object object;
	struct level_zero_context *context;
	struct level_zero_device *device;
	/* code sizes of the module's kernels, read from its binary; NULL: unknown */
	struct level_zero_text *texts;
	uint32_t texts_count;
};

struct level_zero_kernel {
	struct level_zero_object object;
	struct level_zero_module *module;
	uint32_t group[3];
};

/* Called after the call that created the object. */
void level_zero_context_made(ze_handle handle, ze_handle driver);
/* Registers a context that the program did not create, such as the driver's default one. driver:
 * NULL if it is the only or the first one. */
void level_zero_context_met(ze_handle handle, ze_handle driver);
void level_zero_queue_made(ze_handle handle, ze_handle context, ze_handle device,
			   const struct ze_queue_desc *desc);
void level_zero_list_made(ze_handle handle, ze_handle context, ze_handle device,
			  const struct ze_queue_desc *desc);
void level_zero_module_made(ze_handle handle, ze_handle context, ze_handle device);
void level_zero_kernel_made(ze_handle handle, ze_handle module);
/* Returns a new generation for the contents of a list. */
uint64_t level_zero_new_contents(void);
/* Called before the handle is removed. */
void level_zero_before_module_goes(ze_handle handle);
void level_zero_clone_made(ze_handle handle, ze_handle list);

/* The device for a handle; NULL: no room. */
struct level_zero_device *level_zero_device(ze_handle handle);
/* The queue for a handle of a queue or an immediate list; NULL: neither. */
struct level_zero_queue *level_zero_queue(ze_handle handle);

/* Return the id of the object, which is described first if necessary. 0: no id. */
uint32_t level_zero_queue_id(struct guest_thread *thread, struct level_zero_queue *queue);
/* The device, too, is described first if necessary. The caller does not hold the lock. driver: NULL
 * if it is not known. */
uint32_t level_zero_device_id(struct guest_thread *thread, struct level_zero_device *device,
			      ze_handle driver);
/* now: a time at which the kernel existed (clock of guest_now). */
uint32_t level_zero_kernel_id(struct guest_thread *thread, ze_handle kernel, uint64_t now);
uint32_t level_zero_module_id(struct guest_thread *thread, struct level_zero_module *module);

/* Reads the devices' clocks next to ours if that is due; now: clock of guest_now. */
void level_zero_read_clocks(struct guest_thread *thread, uint64_t now);
/* Extends a command's timestamp to 64 bits. */
uint64_t level_zero_extend(struct level_zero_device *device, uint64_t stamp);

/* ---- events ---------------------------------------------------------------------------------- */

/* Returns an event of ours that is not signalled. NULL: no room, or the driver refuses. */
struct level_zero_event *level_zero_event_take(struct level_zero_context *context);
/* Resets the event and makes it available again. */
void level_zero_event_give_back(struct level_zero_event *event);
/* For an event of ours whose command is not tracked: it is reused after the device has signalled
 * it. */
void level_zero_event_lose(struct level_zero_event *event);
/* Called before the context is destroyed. */
void level_zero_events_destroy(struct level_zero_context *context);
void level_zero_events_forked(void);

/* ---- commands -------------------------------------------------------------------------------- */

/* State of one append while its call runs. */
struct level_zero_append {
	struct level_zero_command command;
	struct level_zero_list *list;
	ze_handle kernel;
	uint64_t place; /* return address of the call */
	const void *from,
		/* memory of a copy, whose direction is determined after the driver has accepted it
		 */
		*to;
	ze_handle from_context;
	const struct ze_desc *more;   /* further properties of the launch; NULL: none */
	uint32_t groups[3], group[3]; /* group: 0 if the kernel's own size applies */
	bool has_groups;
	uint32_t wait_count;
	const ze_handle *waits;
	struct guest_timing timing;
	uint64_t enter, exit;
};

void level_zero_append_init(struct level_zero_append *append, uint32_t function, uint32_t command,
			    ze_handle list);
/* Called before the append; returns the event to pass to the driver. signal: the program's event;
 * NULL: none. */
ze_handle level_zero_append_begin(struct guest_thread *thread, struct level_zero_append *append,
				  ze_handle signal);
/* Called after the append, with exit set. */
void level_zero_append_end(struct guest_thread *thread, struct level_zero_append *append,
			   ze_result result);
/* Called when a command was appended while nothing was recorded. */
void level_zero_append_unseen(ze_handle list);

/* State of one call that puts the commands of lists into a queue, while it runs. */
struct level_zero_execute {
	uint32_t function;
	struct level_zero_queue *queue;
	uint32_t count;
	const ze_handle *lists;
	ze_handle immediate; /* the list that they are appended to; NULL: a queue */
	ze_handle signal;    /* signalled when all of them have completed; NULL: none */
	uint32_t wait_count; /* number of events that the lists wait for */
	const ze_handle *waits;
	struct level_zero_event *event; /* the structure of `signal`, if it has timestamps */
	bool is_renewed;
	uint32_t stack;
	uint64_t place; /* return address of the call */
	struct guest_timing timing;
	uint64_t enter, exit;
};
void level_zero_execute_begin(struct guest_thread *thread, struct level_zero_execute *execute);
void level_zero_execute_end(struct guest_thread *thread, struct level_zero_execute *execute,
			    ze_result result);

/* Read the timestamps of completed commands, of one queue or of all. */
void level_zero_harvest(struct guest_thread *thread, struct level_zero_queue *queue);
void level_zero_harvest_all(struct guest_thread *thread);
/* Harvests if a command is pending and the previous poll was long enough ago in relation to its
 * cost. */
extern _Atomic uint32_t level_zero_pending_count;
void level_zero_poll_pending(struct guest_thread *thread);
static inline void level_zero_poll(struct guest_thread *thread)
{
	if (GUEST_UNLIKELY(atomic_load_explicit(&level_zero_pending_count, memory_order_relaxed)))
		level_zero_poll_pending(thread);
}

/* Called when the program has seen the event signalled. thread: NULL if the calling thread has no
 * ring. */
void level_zero_event_is_over(struct guest_thread *thread, ze_handle event);

/* Called when the program is about to signal or reset an event, or to reset or destroy the list.
 * Reads the timestamps of the last command first. thread: NULL if the calling thread has no
 * ring. */
void level_zero_before_event_changes(struct guest_thread *thread, ze_handle event);
void level_zero_before_list_changes(struct guest_thread *thread, ze_handle list);
/* Called when the program is about to destroy the object. False: another thread is using it, or
 * this thread was interrupted while using it, so its structure must stay. */
bool level_zero_before_event_goes(struct guest_thread *thread, ze_handle event);
bool level_zero_before_queue_goes(struct guest_thread *thread, ze_handle queue);
bool level_zero_before_context_goes(struct guest_thread *thread, ze_handle context);

/* Called when the device will reset or signal an event between the commands of a list. */
void level_zero_append_reset(ze_handle list, ze_handle event);
void level_zero_append_signal(struct guest_thread *thread, ze_handle event);
/* Called when the list was cloned: another list will signal the events of this one. */
void level_zero_list_cloned(struct guest_thread *thread, ze_handle list);

void level_zero_commands_forked(void);
void level_zero_objects_forked(void);

#pragma GCC visibility pop
