/* SPDX-License-Identifier: MIT
 *
 * inject/opencl/opencl.h - shared by the files of the OpenCL guest
 *
 *	opencl.c     entry points (layer, preload); a wrapper of each call, made from
 *	             abi/opencl_calls.table
 *	handles.c    the tables behind handles
 *	objects.c    from handles to ids: devices, contexts, queues, kernels, programs
 *	commands.c   commands from enqueue to completion
 *	profiling.c  queues with the profiling flag
 *	code.c       sources, build logs, binaries
 *	layers.c     the list of OpenCL layers
 */
#pragma once

#include <stdbool.h>

#include "abi/opencl.h"
#include "inject/describe.h"
#include "inject/guest.h"

#pragma GCC visibility push(hidden)

/* The runtime's own functions: the loader's table below our layer, or the preloaded library's. */
extern struct opencl_functions next;

/* ---- objects --------------------------------------------------------------------------------- */

enum { NO_COMMAND = 0xffffffffu, MAX_QUEUE_PROPERTIES = 16 };

struct opencl_device;

struct opencl_queue {
	cl_command_queue handle;
	struct opencl_queue *next_busy; /* under the commands' lock, as are busy, first, last */
	/* value of the process counter while the queue is in the list of queues with pending
	 * commands, or was taken from it for a check */
	uint32_t busy;
	uint32_t id;
	uint32_t flags; /* enum event_queue_flag */
	struct opencl_device *device;
	bool callbacks; /* completion callbacks of its platform are tested and cheap */
	/* the event of a command buffer belongs to a marker behind its commands */
	bool marks_graphs;
	bool free_binaries;   /* its platform has the binaries of a program ready after a build */
	bool asked_as_array;  /* created by clCreateCommandQueueWithProperties */
	uint32_t asked_count; /* entries in `asked`, the ending 0 included */
	cl_ulong asked[MAX_QUEUE_PROPERTIES]; /* the program's own properties */
	uint32_t first, last;                 /* pending commands, oldest first */
};

/* False if the answer would not be recorded, or once the process exits. */
static inline bool opencl_may_ask(const struct guest_thread *thread)
{
	return guest_is_current(thread) && !guest_exit_has_begun();
}

/* Return ids that the recorder knows; a new handle is queried and described first. 0: no id. */
uint32_t opencl_device(struct guest_thread *thread, cl_device_id handle);
/* queue: the queue of the launch; may be NULL. */
uint32_t opencl_kernel(struct guest_thread *thread, cl_kernel handle,
		       const struct opencl_queue *queue);
uint32_t opencl_program(struct guest_thread *thread, cl_program handle);

/* Called when a handle was reused for a new object: the guest's data belongs to the old one. */
void opencl_forget(const void *handle);
/* Called when the object is the same but has other properties. */
void opencl_describe_again(const void *handle);

/* Called when a queue was created; forced: the guest added the profiling flag. */
void opencl_queue_made(cl_command_queue handle, bool forced, const cl_ulong *asked,
		       uint32_t asked_count, bool as_array);
/* Returns the queue if the guest forced the profiling flag on it, otherwise NULL. */
struct opencl_queue *opencl_forced_queue(cl_command_queue handle);
bool opencl_any_forced(void);

/* The first queue for which the command buffer was created; NULL: created without a recorder. */
void opencl_command_buffer_made(cl_command_buffer_khr handle, cl_command_queue queue);
cl_command_queue opencl_command_buffer_queue(cl_command_buffer_khr handle);

/* Called in a forked child. */
void opencl_objects_forked(void);

/* Reads clGetDeviceAndHostTimer of the queue's device, or of all devices, if the device has that
 * timer and a reading is due. */
void opencl_read_device_timer(struct guest_thread *thread, const struct opencl_queue *queue,
			      uint64_t now);
void opencl_read_device_timers(struct guest_thread *thread, uint64_t now);

/* Returns a new id for a code object. */
uint32_t opencl_new_code(void);

/* ---- commands -------------------------------------------------------------------------------- */

/* State of one enqueue call while it runs. */
struct opencl_launch {
	uint32_t function, command, flags;
	uint64_t site; /* the same for all launches from one place */
	cl_command_queue queue;
	cl_kernel kernel;
	uint32_t dimensions;
	const size_t *global_size, *local_size;
	uint64_t bytes;
	/* the size in bytes is calculated after the call, from the members below; NULL members are
	 * unused */
	bool measured;
	const size_t *region, *sizes;
	const cl_mem *objects;
	cl_mem image;
	cl_uint count; /* number of sizes or objects */
	cl_uint wait_count;
	const cl_event *wait_list;
	cl_event *asked; /* pointer to which the program wants its event written; NULL: none */
	cl_event own;    /* our event if the program wants none */
	struct opencl_queue *known;
	uint32_t stack;
	bool timed;
	struct guest_timing timing;
	uint64_t enter, exit;
};

/* Sets single fields, because for an initializer of this size the compiler emits `rep stos`, which
 * costs more than the rest of the work before the call. The sizes are valid only if dimensions is
 * set. */
static inline void opencl_launch_init(struct opencl_launch *launch, uint32_t function,
				      uint32_t command)
{
	launch->function = function;
	launch->command = command;
	launch->flags = 0;
	launch->queue = NULL;
	launch->kernel = NULL;
	launch->dimensions = 0;
	launch->bytes = 0;
	launch->measured = false;
	launch->region = launch->sizes = NULL;
	launch->objects = NULL;
	launch->image = NULL;
	launch->wait_count = 0;
	launch->wait_list = NULL;
	launch->own = NULL;
}

/* PoCL (3.1) enqueues the commands of a buffer and a marker behind them, whose event the buffer
 * gets. Three kernels of 84 ms had an event that was submitted when they had ended and took 70
 * ns. */
static inline bool opencl_is_marker(const struct opencl_launch *launch)
{
	return launch->command == COMMAND_GRAPH && launch->known && launch->known->marks_graphs;
}

/* Called before the enqueue; returns the event pointer to pass on. */
cl_event *opencl_launch_begin(struct guest_thread *thread, struct opencl_launch *launch,
			      cl_event *event);
/* Called after the enqueue, with launch->exit set. */
void opencl_launch_end(struct guest_thread *thread, struct opencl_launch *launch, cl_int result);

/* Attributes of an event's command. */
struct opencl_followed {
	uint64_t correlation;
	/* queue id; the structure may belong to another queue when the command completes */
	uint32_t queue_id;
	uint8_t stamps; /* EXECUTION_…: times of the event that belong to the command */
	bool is_migration;
};
/* Returns 0 if unavailable. Some drivers return success without writing the value. */
uint64_t opencl_read_stamp(cl_event event, cl_uint what);
/* ended: as read from the event. seen: when the program's side learned of the completion. */
void opencl_put_execution(struct guest_thread *thread, cl_event event,
			  const struct opencl_followed *of, cl_int status, uint64_t ended,
			  uint64_t seen);

/* Read the timestamps of completed commands, of one queue or of all. */
void opencl_harvest(struct guest_thread *thread, struct opencl_queue *queue);
void opencl_harvest_all(struct guest_thread *thread);

/* Called when the program has seen that the event's command has completed. Queries the runtime only
 * for tracked events; has a section of its own. */
void opencl_event_is_over(struct guest_thread *thread, cl_event event);

/* Number of commands whose completion only polling can detect. */
extern _Atomic uint32_t opencl_polled;
void opencl_poll(struct guest_thread *thread);

/* Called in a forked child: pending commands belong to the parent. */
void opencl_commands_forked(void);

/* ---- code ------------------------------------------------------------------------------------ */

/* Called after a build, compile or link, and at the first launch of a kernel of an unknown program.
 * Records source and log, once per program and build. */
void opencl_keep_program(struct guest_thread *thread, cl_program program, uint32_t code,
			 cl_int status);
/* Records the program's device binaries if the platform is known to have them ready
 * (free_binaries). */
void opencl_keep_binaries(struct guest_thread *thread, cl_program program, uint32_t code);

/* ---- the list of layers (layers.c) ----------------------------------------------------------- */

/* `own`: the path of this library in the list. */
void opencl_join_layers(const char *own);

#pragma GCC visibility pop
