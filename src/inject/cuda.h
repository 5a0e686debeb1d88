/* SPDX-License-Identifier: MIT
 *
 * inject/cuda.h - what the files of the CUDA guest share
 *
 *	cuda.c            taken in by the driver; which kinds of activity there are; the end
 *	cuda_library.c    finds libcupti
 *	cuda_calls.c      calls of the driver: the program's threads
 *	cuda_slots.c      commands from their call to what the device tells of them
 *	cuda_activity.c   CUPTI's buffers and records
 *	cuda_overheads.c  what CUPTI takes the program's time for
 *	cuda_memory.c     what is allocated
 *	cuda_objects.c    devices, contexts, streams and kernels to ids, the clock
 *	cuda_modules.c    the code of kernels, where their instructions are sampled
 *	cuda_samples.c    samples of instructions
 *	cuda_helper.c     a thread that has buffers handed over, and opens windows of sampling
 */
#ifndef INJECT_CUDA_H
#define INJECT_CUDA_H

#include <stdbool.h>
#include <stdint.h>

#include "event/cuda_abi.h"
#include "event/cupti_abi.h"
#include "inject/guest.h"

#pragma GCC visibility push(hidden)

/* libcupti's functions; those that are OPTIONAL may be NULL. Its version as cuptiGetVersion says it. */
extern struct cupti_functions cuda_cupti;
extern uint32_t cuda_version;

/* ---- the library (cuda_library.c) -------------------------------------------------------------- */

/* Opens the libcupti that this process has, or that fits its driver. NULL: all is there; else which function is
 * missing, or "libcupti" where none was found. */
const char *cuda_library_open(void);
/* A function of the driver that the process has loaded; NULL: it has not. */
void *cuda_driver_function(const char *name);

/* ---- begin and end (cuda.c) -------------------------------------------------------------------- */

/* From InitializeInjection to the end, in the process that was in there. */
bool cuda_is_live(void);
/* Whether records of a kind will come. */
bool cuda_has_kind(uint32_t kind);
/* Tells the recorder what was refused, with who holds it; "": nobody is named. thread: NULL: a later recorder alone. */
void cuda_refused(struct guest_thread *thread, enum record_refusal refusal, const char *function,
		  cupti_result result, const char *holder);
/* The program has a graph. thread: NULL: nobody records it. */
void cuda_saw_graph(struct guest_thread *thread);
/* From now on a launch of a graph is one record. */
cupti_result cuda_record_whole_graphs(void);
/* In a call that ends: where nobody records any more, gives the runtime back. */
void cuda_leave(void);

/* ---- calls (cuda_calls.c) ---------------------------------------------------------------------- */

/* Has CUPTI tell of all calls that are recorded; the first answer that is no success. */
cupti_result cuda_calls_enable(cupti_subscriber subscriber, bool has_modules);
/* In this attachment no more calls are recorded: it is about to end. */
void cuda_calls_end(uint32_t mode);
void cuda_on_callback(void *user, cupti_domain domain, uint32_t cbid, const void *data);

/* ---- commands (cuda_slots.c) ------------------------------------------------------------------- */

enum cuda_slot_kind {
	CUDA_SLOT_NONE,   /* a call too long ago */
	CUDA_SLOT_OTHERS, /* one that this attachment has not recorded */
	CUDA_SLOT_FIRST,  /* the one command of a call */
	CUDA_SLOT_NODE    /* one of several */
};

/* CUPTI's id of a call, in 64 bits, in which it does not wrap. */
uint64_t cuda_correlation(uint32_t correlation);
/* False: no memory. */
bool cuda_slots_init(void);
/* What was open stays so: nothing comes of it any more. */
void cuda_slots_reset(void);
/* The call with this correlation may launch from now on. False: another call has it already, of which this is a part. */
bool cuda_slot_open(uint64_t correlation, uint32_t mode, bool is_graph);
/* From now on calls are another attachment's. */
void cuda_slots_begin(void);
/* The call with this correlation may launch what nobody records. */
void cuda_slot_pass(uint64_t correlation);
/* It launched nothing. */
void cuda_slot_close(uint64_t correlation);
/* A record with this correlation has come. */
enum cuda_slot_kind cuda_slot_take(uint64_t correlation, uint32_t mode);
/* Something was launched of which nothing has come. */
bool cuda_slots_are_awaited(void);
/* … or a graph of which something came just now. */
bool cuda_slots_are_open(void);
/* A graph was launched: what is in it, and whether all of it has run, nobody says. */
bool cuda_slots_have_graphs(void);
/* Something was launched, ever. */
bool cuda_slots_were_used(void);

/* ---- activity (cuda_activity.c) ---------------------------------------------------------------- */

void cuda_buffer_requested(uint8_t **ret_buffer, size_t *ret_bytes, size_t *ret_most);
void cuda_buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
			   size_t valid_bytes);
/* Counts what CUPTI has lost since the last time. */
void cuda_count_dropped(void);
/* Records of nodes of graphs so far. */
uint64_t cuda_nodes(void);
void cuda_activity_reset(void);
void cuda_activity_forked(void);

/* ---- overheads (cuda_overheads.c) -------------------------------------------------------------- */

/* Where CUPTI's clock is CLOCK_MONOTONIC: reads it beside the ring's. */
void cuda_overheads_begin(const struct guest_thread *thread);
void cuda_take_overhead(struct guest_thread *thread, const struct cupti_activity_overhead *record);
void cuda_take_wait(struct guest_thread *thread,
		    const struct cupti_activity_synchronization *record);
/* A time of a record's, which is CLOCK_MONOTONIC, in the ring's clock. False: nobody can say. */
bool cuda_to_guest(const struct guest_thread *thread, uint64_t time_ns, uint64_t *ret_time);

/* ---- memory (cuda_memory.c) -------------------------------------------------------------------- */

void cuda_take_memory(struct guest_thread *thread,
		      const struct cupti_activity_memory_operation *record);
void cuda_memory_forked(void);

/* ---- objects (cuda_objects.c) ------------------------------------------------------------------ */

enum { CUDA_DEVICES_MOST = 64 };

/* Ids as the recorder knows them, described first where they are not yet. 0: none, or no room. device: CUDA's ordinal. */
uint32_t cuda_device(struct guest_thread *thread, uint32_t device);
/* Of an id: describes it in this thread's ring too. Rings are read one after the other, and what is timed by the device is
 * lost where it is read first. */
void cuda_device_here(struct guest_thread *thread, uint32_t device);
uint32_t cuda_queue(struct guest_thread *thread, uint32_t device, uint32_t context,
		    uint32_t stream);
/* Of a handle in a call; NULL is the default stream. */
uint32_t cuda_queue_of(struct guest_thread *thread, CUcontext context, uint32_t context_id,
		       CUstream stream, bool is_per_thread);
uint32_t cuda_kernel(struct guest_thread *thread, const char *name);
/* What a launch of it has taken of a multiprocessor: told where nobody knows it yet, or it is more shared memory. */
void cuda_kernel_needs(struct guest_thread *thread, const char *name, uint32_t registers,
		       uint32_t shared_bytes);
/* An id for code that is not described yet. */
uint32_t cuda_new_code(void);
/* A stream or a context was made: their handles may have been others'. */
void cuda_handles_changed(void);
/* One is about to go, NULL: with its context; what runs in it may still be told of. */
void cuda_stream_ends(CUcontext context, CUstream stream);
/* CUPTI's clock beside ours, where that is due; always at the end. */
void cuda_read_clock(struct guest_thread *thread, bool is_end);
void cuda_objects_forked(void);

/* ---- code (cuda_modules.c) --------------------------------------------------------------------- */

/* In the callback of a module that is loaded: describes it, where this recorder has not seen its content yet. */
void cuda_module_loaded(CUcontext context, const struct cupti_module_resource *resource);
/* A function of a cubin, by CUPTI's checksum and the name there. */
struct cuda_place {
	uint32_t code;   /* of the function */
	uint64_t offset; /* of its first byte in the cubin */
};
/* False: it was not seen. */
bool cuda_find_place(struct guest_thread *thread, uint64_t crc, const char *name,
		     struct cuda_place *ret_place);
void cuda_modules_forked(void);

/* ---- samples of instructions (cuda_samples.c) -------------------------------------------------- */

/* Reads how often they are wanted. False: not at all. */
bool cuda_samples_begin(const struct guest_thread *thread);
/* As begin, where an earlier recording has left them on: *ret_is_kept, as they are, for windows of the new one's. */
bool cuda_samples_renew(struct guest_thread *thread, bool *ret_is_kept);
/* In the callbacks of a context. */
void cuda_samples_add(CUcontext context);
void cuda_samples_remove(CUcontext context);
/* Opens and closes windows, takes what came. Gives ms to the next time that it is to be called, at most most_ms. */
uint32_t cuda_samples_turn(struct guest_thread *thread, uint32_t most_ms);
/* Nobody records: sampling is off until the next turn. */
void cuda_samples_rest(void);
/* Takes the rest, and switches sampling off. */
void cuda_samples_end(struct guest_thread *thread);
void cuda_samples_forked(void);

/* ---- the helper (cuda_helper.c) ---------------------------------------------------------------- */

/* Starts the thread, once. */
void cuda_helper_start(void);
/* Has it flush for the last time and waits for it, at most so long; false: it is still in the runtime. */
bool cuda_helper_stop(uint64_t most_ms);
/* Nodes of graphs are recorded again: they are watched anew. */
void cuda_helper_watch_graphs(void);
/* Another thread may be started. */
void cuda_helper_reset(void);

#pragma GCC visibility pop

#endif
