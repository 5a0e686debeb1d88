/* SPDX-License-Identifier: MIT
 *
 * inject/level_zero.h - shared by the parts of the Level Zero guest
 *
 *	level_zero.c           a wrapper of every call, made from event/level_zero_calls.h; the way in
 *	level_zero_handles.c   from a handle to what is known of it
 *	level_zero_objects.c   devices, contexts, queues, lists, modules and kernels: what they are, and their ids
 *	level_zero_events.c    events of the program's and of ours
 *	level_zero_commands.c  commands from append to completion
 */
#ifndef INJECT_LEVEL_ZERO_H
#define INJECT_LEVEL_ZERO_H

#include <stdbool.h>

#include "inject/describe.h"
#include "inject/guest.h"
#include "inject/level_zero_abi.h"

#pragma GCC visibility push(hidden)

/* The functions below our layer; NULL: the loader has none. */
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
#include "event/level_zero_calls.h"
#undef ZE_CALL
#undef ZE_WAIT
#undef ZE_APPEND
#undef ZE_EXECUTE
#undef ZE_QUIET
#undef ZE_BELOW
#undef ZE_GIVE
};
extern struct level_zero_functions next;

/* The loader's own functions, found when it asks for the first table. */
extern zel_translate_handle *level_zero_translate;

/* ---- handles ----------------------------------------------------------------------------------- */

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

/* What every structure behind a handle begins with. */
struct level_zero_object {
	ze_handle handle;
	struct level_zero_object *next_free;
	uint32_t kind;
	uint32_t id;           /* as the recorder knows it; 0: none yet */
	uint32_t id_mode;      /* of the attachment that the id was given out in */
	_Atomic uint32_t mode; /* of the attachment that it is described in */
	/* Of this use of the structure, which is used again, but never unmapped; 0: what it was of is gone. */
	_Atomic uint64_t serial;
	/* Attempts to describe it that have failed, one after the other, and when the next one is due: as guest_now. */
	uint32_t failed;
	uint64_t next_attempt;
};

/* NULL: not known, or of another kind. Takes no lock: entries never move, and memory is not given back. */
void *level_zero_find(ze_handle handle, enum level_zero_kind kind);
/* The structure of a new object, zeroed but for its head; what had the handle before is forgotten. NULL: no room,
 * counted. */
void *level_zero_add(ze_handle handle, enum level_zero_kind kind);
/* is_unused: nothing of ours points to the structure any more; else it is left alone for good. */
void level_zero_remove(ze_handle handle, enum level_zero_kind kind, bool is_unused);
void level_zero_handles_forked(void);

static inline bool level_zero_is_there(const struct level_zero_object *object)
{
	return atomic_load_explicit(&object->serial, memory_order_acquire) != 0;
}

/* The driver is never asked about it again. */
static inline void level_zero_mark_gone(struct level_zero_object *object)
{
	atomic_store_explicit(&object->serial, 0, memory_order_release);
}

static inline bool level_zero_is_described(const struct guest_thread *thread,
					   const struct level_zero_object *object)
{
	return atomic_load_explicit(&object->mode, memory_order_acquire) == thread->mode;
}

/* ---- objects ----------------------------------------------------------------------------------- */

enum { NO_COMMAND = 0xffffffffu };

struct level_zero_device {
	struct level_zero_object object;
	struct level_zero_device *older; /* all there are, newest first */
	uint64_t ticks_hz;
	uint32_t stamp_bits; /* that a command's time stamp has … */
	uint32_t clock_bits; /* … and the device's clock */
	bool has_clock;
	struct guest_lock lock;
	uint64_t last_time,
		last_ns; /* under the lock: of its clock with all 64 bits, and of the host's */
	_Atomic uint64_t next_read; /* host time, as guest_now */
	_Atomic uint64_t interval;
};

struct level_zero_event;

struct level_zero_context {
	struct level_zero_object object;
	ze_handle driver;
	struct level_zero_event *free_events; /* of ours, ready to be signalled … */
	struct level_zero_own_pool *pools;    /* … and what they are of */
	struct level_zero_event *first_lost,
		*last_lost; /* … that a command of nobody's will signal: oldest first */
	bool is_refused;    /* the driver gives none */
	bool zex_asked;
	zex_kernel_get_base_address *zex;
};

struct level_zero_queue {
	struct level_zero_object object;
	struct level_zero_queue *next_queue; /* all there are; under the commands' lock */
	struct level_zero_context *context;
	struct level_zero_device *device;
	uint32_t flags; /* enum event_queue_flag */
	bool is_synchronous;
	bool is_linked;       /* is one of those; from its first pending command on */
	uint32_t first, last; /* pending commands, oldest first */
};

/* What an append put into a list: a launch record without when it was launched. */
enum { LEVEL_ZERO_WAITS_MOST = 6 };
struct level_zero_command {
	uint32_t function, command, flags;
	uint32_t kernel, kernel_mode;
	uint32_t dimensions, wait_count, waits_cut;
	uint64_t bytes;
	uint64_t global_size[3], local_size[3];
	uint64_t waits[LEVEL_ZERO_WAITS_MOST];
	uint32_t stack, stack_mode, stack_thread; /* whose ring knows the stack */
	struct level_zero_event *event;           /* NULL: it has no time stamps … */
	uint64_t event_serial; /* … nor where the structure is another event's by now */
	bool is_renewed; /* another command of its list signals the event before it, and the device resets it between */
	ze_handle asked; /* the program's event; NULL: it gave none */
};

struct level_zero_list {
	struct level_zero_object object;
	struct level_zero_context *context;
	struct level_zero_device *device;
	struct level_zero_queue *queue; /* of an immediate list: its own; else NULL */
	bool has_unseen;                /* commands that were appended while nobody recorded */
	uint64_t contents; /* a number of what it holds, another one after each reset; never 0 */
	struct level_zero_command *commands;
	uint32_t count, capacity;
};

struct level_zero_pool {
	struct level_zero_object object;
	uint32_t asked_flags;
	bool is_timed, is_forced; /* has time stamps; … because duet asked for them */
};

struct level_zero_event {
	struct level_zero_object object;
	struct level_zero_event *next_free_event;
	struct level_zero_context *context; /* of one of ours; else NULL */
	bool is_timed, is_forced;
	/* What is not over signals it too, or may: whose a signal is can be told when the device signals it no more … */
	bool is_overtaken;
	bool is_mixed; /* … and not even then, since nothing says which of the two is the later one */
	/* The list whose command was the last to be given it, and whether the list resets it behind that. */
	uint64_t contents;
	bool is_renewed;
	struct ze_stamps
		before;   /* what it showed before: the time stamps of its command are others */
	uint32_t pending; /* the command that signals it and is not over; NO_COMMAND: none */
};

struct level_zero_module {
	struct level_zero_object object;
	struct level_zero_context *context;
	struct level_zero_device *device;
	struct level_zero_text *texts; /* of its kernels, as its binary has them; NULL: not known */
	uint32_t texts_count;
};

struct level_zero_kernel {
	struct level_zero_object object;
	struct level_zero_module *module;
	uint32_t group[3];
};

/* After the call that made it. */
void level_zero_context_made(ze_handle handle, ze_handle driver);
/* One that the program did not make: it is the driver's. driver: NULL where it is the only or the first one. */
void level_zero_context_met(ze_handle handle, ze_handle driver);
void level_zero_queue_made(ze_handle handle, ze_handle context, ze_handle device,
			   const struct ze_queue_desc *desc);
void level_zero_list_made(ze_handle handle, ze_handle context, ze_handle device,
			  const struct ze_queue_desc *desc);
void level_zero_module_made(ze_handle handle, ze_handle context, ze_handle device);
void level_zero_kernel_made(ze_handle handle, ze_handle module);
/* Before the handle is removed. */
void level_zero_before_module_goes(ze_handle handle);
void level_zero_clone_made(ze_handle handle, ze_handle list);

/* The queue of a handle of a queue or an immediate list; NULL: neither. */
struct level_zero_queue *level_zero_queue(ze_handle handle);

/* Their ids; one that was not described yet is. 0: none. */
uint32_t level_zero_queue_id(struct guest_thread *thread, struct level_zero_queue *queue);
/* now: as guest_now, a time at which the kernel was there. */
uint32_t level_zero_kernel_id(struct guest_thread *thread, ze_handle kernel, uint64_t now);
uint32_t level_zero_module_id(struct guest_thread *thread, struct level_zero_module *module);

/* Reads the device's clock next to ours where that is due; now: as guest_now. */
void level_zero_read_clocks(struct guest_thread *thread, uint64_t now);
/* A command's time stamp with the bits that it lacks. */
uint64_t level_zero_extend(struct level_zero_device *device, uint64_t stamp);

/* ---- events ------------------------------------------------------------------------------------ */

/* One of ours, not signalled. NULL: no room, or the driver refuses. */
struct level_zero_event *level_zero_event_take(struct level_zero_context *context);
/* Resets it. */
void level_zero_event_give_back(struct level_zero_event *event);
/* Of a command that nobody follows: used again when the device has signalled it. */
void level_zero_event_lose(struct level_zero_event *event);
/* Before their context goes. */
void level_zero_events_destroy(struct level_zero_context *context);
void level_zero_events_forked(void);

/* ---- commands ---------------------------------------------------------------------------------- */

/* One append while it runs. */
struct level_zero_append {
	struct level_zero_command command;
	struct level_zero_list *list;
	ze_handle kernel;
	const void *from,
		*to; /* of a copy, whose kind is found out when the driver has accepted it */
	ze_handle from_context;
	uint32_t groups[3], group[3]; /* group: 0 where the kernel's own counts */
	bool has_groups;
	uint32_t wait_count;
	const ze_handle *waits;
	uint64_t enter, exit;
};

void level_zero_append_init(struct level_zero_append *append, uint32_t function, uint32_t command,
			    ze_handle list);
/* Before the call: the event to pass on. signal: the program's, NULL: none. */
ze_handle level_zero_append_begin(struct guest_thread *thread, struct level_zero_append *append,
				  ze_handle signal);
/* After it, exit set. */
void level_zero_append_end(struct guest_thread *thread, struct level_zero_append *append,
			   ze_result result);
/* Something was appended that nobody recorded. */
void level_zero_append_unseen(ze_handle list);

/* One call that puts the commands of lists into a queue, while it runs. */
struct level_zero_execute {
	uint32_t function;
	struct level_zero_queue *queue;
	uint32_t count;
	const ze_handle *lists;
	ze_handle immediate; /* the list that they are appended to; NULL: it is a queue */
	ze_handle signal;    /* when all of them are over; NULL: nothing */
	uint32_t wait_count; /* … that they wait for */
	const ze_handle *waits;
	struct level_zero_event *event; /* that of `signal`, where it has time stamps */
	bool is_renewed;
	uint32_t stack;
	uint64_t enter, exit;
};
void level_zero_execute_begin(struct guest_thread *thread, struct level_zero_execute *execute);
void level_zero_execute_end(struct guest_thread *thread, struct level_zero_execute *execute,
			    ze_result result);

/* Takes the time stamps of what is over. */
void level_zero_harvest(struct guest_thread *thread, struct level_zero_queue *queue);
void level_zero_harvest_all(struct guest_thread *thread);
/* Where something is pending, and as long ago as it costs. */
void level_zero_poll(struct guest_thread *thread);

/* The program has seen the event signalled. thread: NULL where the calling one has no ring. */
void level_zero_event_is_over(struct guest_thread *thread, ze_handle event);

/* The program is about to signal or reset an event, or to reset or destroy what holds it: what it says of the last
 * command is read before. thread: NULL where the calling one has no ring. */
void level_zero_before_event_changes(struct guest_thread *thread, ze_handle event);
void level_zero_before_list_changes(struct guest_thread *thread, ze_handle list);
/* … or destroys it. False: another thread is at work on it, or this one was interrupted there, and its structure must
 * stay. */
bool level_zero_before_event_goes(struct guest_thread *thread, ze_handle event);
bool level_zero_before_queue_goes(struct guest_thread *thread, ze_handle queue);
bool level_zero_before_context_goes(struct guest_thread *thread, ze_handle context);

/* The device resets an event, or signals it, in between the commands of a list. */
void level_zero_append_reset(ze_handle list, ze_handle event);
void level_zero_append_signal(struct guest_thread *thread, ze_handle event);
/* From now on another list signals the events of this one. */
void level_zero_list_cloned(struct guest_thread *thread, ze_handle list);
uint64_t level_zero_new_contents(void);

void level_zero_commands_forked(void);
void level_zero_objects_forked(void);

#pragma GCC visibility pop

#endif
