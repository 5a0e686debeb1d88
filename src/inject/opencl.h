/* SPDX-License-Identifier: MIT
 *
 * inject/opencl.h - shared by the parts of the OpenCL guest
 *
 *	opencl.c           a wrapper of every call, made from event/opencl_calls.h; the ways in (layer, preload)
 *	opencl_handles.c   the tables behind handles
 *	opencl_objects.c   handles to ids: devices, contexts, queues, kernels, programs
 *	opencl_commands.c  commands from enqueue to completion
 *	opencl_code.c      sources, build logs, binaries
 */
#ifndef INJECT_OPENCL_H
#define INJECT_OPENCL_H

#include <stdbool.h>

#include "inject/describe.h"
#include "inject/guest.h"
#include "inject/opencl_abi.h"

#pragma GCC visibility push(hidden)

/* The runtime's own functions: the loader's table below our layer, or the preloaded library's. */
extern struct opencl_functions next;

/* ---- objects ----------------------------------------------------------------------------------- */

enum { NO_COMMAND = 0xffffffffu, QUEUE_PROPERTIES_MOST = 16 };

struct opencl_device;

struct opencl_queue {
	cl_command_queue handle;
	struct opencl_queue *next_busy; /* under the commands' lock, as are busy, first, last */
	uint32_t busy; /* the process in whose list of queues with pending commands it is, or
			* taken out to be looked through */
	uint32_t id;
	uint32_t flags; /* enum event_queue_flag */
	struct opencl_device *device;
	bool callbacks;    /* its platform's completion callbacks are tested and cheap */
	bool marks_graphs; /* the event of a command buffer is that of a marker behind its commands */
	bool free_binaries;   /* its platform has a program's binaries ready after a build */
	bool asked_as_array;  /* created by …WithProperties */
	uint32_t asked_count; /* of entries in asked, the ending 0 included */
	cl_ulong asked[QUEUE_PROPERTIES_MOST]; /* properties as the program gave them */
	uint32_t first, last;                  /* pending commands, oldest first */
};

/* False where what the runtime answers would not be recorded, or once the process exits. */
static inline bool opencl_may_ask(const struct guest_thread *thread)
{
	return guest_is_current(thread) && !guest_exit_has_begun();
}

/* Ids as the recorder knows them; a handle not seen before is asked about and described first. 0: none. */
uint32_t opencl_device(struct guest_thread *thread, cl_device_id handle);
/* queue: where it is launched; may be NULL. */
uint32_t opencl_kernel(struct guest_thread *thread, cl_kernel handle,
		       const struct opencl_queue *queue);
uint32_t opencl_program(struct guest_thread *thread, cl_program handle);

/* A handle was (re)used for a new object: what was known of it is the old one's. */
void opencl_forget(const void *handle);
/* It is the same object, with other properties. */
void opencl_describe_again(const void *handle);

/* A queue was just made; forced: duet added the profiling flag. */
void opencl_queue_made(cl_command_queue handle, bool forced, const cl_ulong *asked,
		       uint32_t asked_count, bool as_array);
/* The queue if duet forced the profiling flag on it, else NULL. */
struct opencl_queue *opencl_forced_queue(cl_command_queue handle);
bool opencl_any_forced(void);

/* The first queue that a command buffer was made for; NULL: made while nobody recorded. */
void opencl_command_buffer_made(cl_command_buffer_khr handle, cl_command_queue queue);
cl_command_queue opencl_command_buffer_queue(cl_command_buffer_khr handle);

/* In a forked child. */
void opencl_objects_forked(void);

/* Reads clGetDeviceAndHostTimer of the queue's device, of all devices, where it has one and that is due. */
void opencl_read_device_timer(struct guest_thread *thread, const struct opencl_queue *queue,
			      uint64_t now);
void opencl_read_device_timers(struct guest_thread *thread, uint64_t now);

/* A new id for a code object. */
uint32_t opencl_new_code(void);

/* ---- commands ---------------------------------------------------------------------------------- */

/* One enqueue call while it runs. */
struct opencl_launch {
	uint32_t function, command, flags;
	cl_command_queue queue;
	cl_kernel kernel;
	uint32_t dimensions;
	const size_t *global_size, *local_size;
	uint64_t bytes;
	bool measured; /* the bytes are worked out after the call, from these, or NULL */
	const size_t *region, *sizes;
	const cl_mem *objects;
	cl_mem image;
	cl_uint count; /* of sizes or objects */
	cl_uint wait_count;
	const cl_event *wait_list;
	cl_event *asked; /* where the program wants its event; NULL: it does not */
	cl_event own;    /* ours where it does not */
	struct opencl_queue *known;
	uint32_t stack;
	bool timed;
	uint64_t began; /* recording it, where guest_is_timed chose it; else 0 */
	uint64_t enter, exit;
};

/* Field by field: for an initialiser of this size the compiler takes `rep stos`, which costs more than
 * everything else that happens before the call. The sizes count only where dimensions does. */
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

/* Before the call: returns the event pointer to pass on. */
cl_event *opencl_launch_begin(struct guest_thread *thread, struct opencl_launch *launch,
			      cl_event *event);
/* After the call, launch->exit set. */
void opencl_launch_end(struct guest_thread *thread, struct opencl_launch *launch, cl_int result);

/* Takes the time stamps of the completed commands of a queue; of all queues. */
void opencl_harvest(struct guest_thread *thread, struct opencl_queue *queue);
void opencl_harvest_all(struct guest_thread *thread);

/* Commands whose completion only polling will show. */
extern _Atomic uint32_t opencl_polled;
void opencl_poll(struct guest_thread *thread);

/* In a forked child: what was pending is the parent's. */
void opencl_commands_forked(void);

/* ---- code -------------------------------------------------------------------------------------- */

/* After a build, compile or link, and for programs first met when a kernel of theirs is launched: keeps
 * source and log, once per program and build. */
void opencl_keep_program(struct guest_thread *thread, cl_program program, uint32_t code,
			 cl_int status);
/* Its device binaries, where the platform is known to have them ready (free_binaries). */
void opencl_keep_binaries(struct guest_thread *thread, cl_program program, uint32_t code);

#pragma GCC visibility pop

#endif
