/* SPDX-License-Identifier: MIT
 *
 * inject/nvidia/cuda.h - shared by the files of the CUDA guest
 *
 *	cuda.c        start by the driver, enabled kinds of activity, end
 *	library.c     find libcupti
 *	calls.c       calls of the driver, in the program's threads
 *	slots.c       match a device record to the call that launched the command
 *	activity.c    CUPTI's buffers and records
 *	overheads.c   time that CUPTI and the driver take from the program
 *	refusals.c    calls that CUPTI refuses
 *	memory.c      allocated memory
 *	objects.c     ids of devices, contexts, streams and kernels; the clock
 *	modules.c     code of kernels, if instructions are sampled
 *	samples.c     samples of instructions
 *	helper.c      thread that flushes buffers and reads samples
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "abi/cupti.h"
#include "abi/nvidia_options.h"
#include "inject/guest.h"

#pragma GCC visibility push(hidden)

/* Functions of libcupti; OPTIONAL ones may be NULL. cuda_version: from cuptiGetVersion. */
extern struct cupti_functions cuda_cupti;
extern uint32_t cuda_version;

/* ---- the library (library.c) ----------------------------------------------------------------- */

/* Opens the libcupti that this process has loaded, or one that fits its driver. NULL: complete;
 * otherwise the name of the missing function, or "libcupti" if none was found. */
const char *cuda_library_open(void);
/* Returns a function of the driver that the process has loaded; NULL: no driver is loaded. */
void *cuda_driver_function(const char *name);

/* ---- start and end (cuda.c) ------------------------------------------------------------------ */

/* True from InitializeInjection to the end, in the process that called it. */
bool cuda_is_live(void);
/* True if records of this kind will come. */
bool cuda_has_kind(uint32_t kind);
/* Called when the program has a graph. thread NULL: not recording. */
void cuda_saw_graph(struct guest_thread *thread);
/* From now on the launch of a graph gives one record instead of one per node. */
cupti_result cuda_record_whole_graphs(void);
/* Called at the end of a call. Gives CUPTI back if there is no recorder. */
void cuda_leave(void);

/* ---- refusals (refusals.c) ---------------------------------------------------------------------
 */

/* Reports a refusal to the recorder. holder: the tool that holds the interface; "": unknown. thread
 * NULL: only a later recorder gets the report. */
void cuda_refused(struct guest_thread *thread, enum record_refusal refusal, const char *function,
		  cupti_result result, const char *holder);
/* Forgets refusals of functions whose name starts with `begin`, because they are called again. */
void cuda_forget_refusals(const char *begin);
/* Reports the earlier refusals to this thread's recorder. */
void cuda_repeat_refusals(struct guest_thread *thread);
void cuda_reset_refusals(void);

/* ---- calls (calls.c) ------------------------------------------------------------------------- */

/* Enables CUPTI's callbacks for all recorded calls. Returns the first result that is not
 * success. */
cupti_result cuda_calls_enable(cupti_subscriber subscriber, bool has_modules);
/* Stops recording calls in this attachment, which is about to end. */
void cuda_calls_end(uint32_t mode);
void cuda_on_callback(void *user, cupti_domain domain, uint32_t cbid, const void *data);

/* ---- commands (slots.c) ---------------------------------------------------------------------- */

enum cuda_slot_kind {
	CUDA_SLOT_NONE,   /* the call was too long ago */
	CUDA_SLOT_OTHERS, /* not recorded in this attachment */
	CUDA_SLOT_FIRST,  /* the only command of a call */
	CUDA_SLOT_NODE    /* one of several commands of a call */
};

/* Extends CUPTI's id of a call to 64 bits, which do not wrap. */
uint64_t cuda_correlation(uint32_t correlation);
/* False: no memory. */
bool cuda_slots_init(void);
/* Drops open slots: no records are expected for them any more. */
void cuda_slots_reset(void);
/* Opens a slot: this call may launch from now on. False: the slot is open already for the outer
 * call of which this is a part. */
bool cuda_slot_open(uint64_t correlation, uint32_t mode, bool is_graph);
/* From now on calls belong to another attachment. */
void cuda_slots_begin(void);
/* The call with this correlation may launch commands that are not recorded. */
void cuda_slot_pass(uint64_t correlation);
/* The call launched nothing. */
void cuda_slot_close(uint64_t correlation);
/* Finds the slot for a record that has come. */
enum cuda_slot_kind cuda_slot_take(uint64_t correlation, uint32_t mode);
/* True if a command was launched whose record has not come. */
bool cuda_slots_are_awaited(void);
/* True if cuda_slots_are_awaited, or if a graph had a recent record. */
bool cuda_slots_are_open(void);
/* True if a graph was launched. Its contents are unknown, and so is whether all of it has run. */
bool cuda_slots_have_graphs(void);

/* ---- activity (activity.c) ------------------------------------------------------------------- */

void cuda_buffer_requested(uint8_t **ret_buffer, size_t *ret_bytes, size_t *ret_max);
void cuda_buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
			   size_t valid_bytes);
/* Counts CUPTI's losses since the last call. */
void cuda_count_dropped(void);
/* Number of records of graph nodes so far. */
uint64_t cuda_nodes(void);
void cuda_activity_reset(void);
/* True: the records that CUPTI delivers now are of a forced flush. One without times is of a
 * command that has not completed. */
void cuda_activity_set_last(bool is_last);
void cuda_activity_forked(void);

/* ---- overheads (overheads.c) ----------------------------------------------------------------- */

/* If CUPTI uses CLOCK_MONOTONIC: reads that clock beside the ring's. */
void cuda_overheads_begin(const struct guest_thread *thread);
/* Whether records of overhead have ids of threads as Linux has them, and not of pthreads. */
void cuda_overheads_name_threads(bool has_threads);
void cuda_take_overhead(struct guest_thread *thread, const struct cupti_activity_overhead *record);
void cuda_take_wait(struct guest_thread *thread,
		    const struct cupti_activity_synchronization *record);
/* Converts a record's time, CLOCK_MONOTONIC, to the ring's clock. False: not possible. */
bool cuda_to_guest(const struct guest_thread *thread, uint64_t time_ns, uint64_t *ret_time);

/* ---- memory (memory.c) ----------------------------------------------------------------------- */

void cuda_take_memory(struct guest_thread *thread,
		      const struct cupti_activity_memory_operation *record);
void cuda_memory_forked(void);

/* ---- objects (objects.c) --------------------------------------------------------------------- */

enum { MAX_CUDA_DEVICES = 64 };

/* Return ids that the recorder knows; a new object is described first. 0: none, or no room. device:
 * CUDA's ordinal. */
uint32_t cuda_device(struct guest_thread *thread, uint32_t device);
/* Number of multiprocessors of a device that cuda_device returned; 0: unknown. */
uint32_t cuda_device_units(uint32_t device);
/* Describes the device in this thread's ring too. The recorder reads rings one after the other, and
 * loses a record with device times that it reads before the description. */
void cuda_device_here(struct guest_thread *thread, uint32_t device);
uint32_t cuda_queue(struct guest_thread *thread, uint32_t device, uint32_t context,
		    uint32_t stream);
/* Returns the queue for a handle in a call; NULL is the default stream. */
uint32_t cuda_queue_of(struct guest_thread *thread, CUcontext context, uint32_t context_id,
		       CUstream stream, bool is_per_thread);
/* True if the queue represents all streams of a device that have no queue of their own. A call that
 * waits for one of these streams does not wait for the queue. */
bool cuda_queue_is_shared(uint32_t queue);
uint32_t cuda_kernel(struct guest_thread *thread, const char *name);
/* Records the resources of a multiprocessor that a launch of this kernel used: at the first launch,
 * and when the shared memory grows. */
void cuda_kernel_needs(struct guest_thread *thread, const char *name, uint32_t registers,
		       uint32_t shared_bytes);
/* Returns an id for code that is not described yet. */
uint32_t cuda_new_code(void);
/* A stream or a context was created; its handle may have belonged to another one before. */
void cuda_handles_changed(void);
/* A stream is about to be destroyed; NULL: all streams of its context. Records of its commands may
 * still come. */
void cuda_stream_ends(CUcontext context, CUstream stream);
/* Records CUPTI's clock beside ours if that is due; always if is_end. */
void cuda_read_clock(struct guest_thread *thread, bool is_end);
void cuda_objects_forked(void);

/* ---- code (modules.c) ------------------------------------------------------------------------ */

/* Called in CUPTI's callback for a loaded module. Describes the module if this recorder has not
 * received its content yet.
 */
void cuda_module_loaded(CUcontext context, const struct cupti_module_resource *resource);
/* Position of a function in a cubin. */
struct cuda_code_position {
	uint32_t code;   /* code id of the function */
	uint64_t offset; /* offset of its first byte in the cubin */
};
/* Looks up a function by CUPTI's checksum of the cubin and its name there. False: unknown. */
bool cuda_find_place(struct guest_thread *thread, uint64_t crc, const char *name,
		     struct cuda_code_position *ret_place);
void cuda_modules_forked(void);

/* ---- samples of instructions (samples.c) ----------------------------------------------------- */

/* Reads the requested period. False: sampling was not requested. */
bool cuda_samples_begin(const struct guest_thread *thread);
/* As cuda_samples_begin, if an earlier recording left sampling on. ret_is_kept: sampling stays
 * configured; a new period counts from the next context on. */
bool cuda_samples_renew(struct guest_thread *thread, bool *ret_is_kept);
/* Called in the callbacks for a created and a destroyed context. */
void cuda_samples_add(CUcontext context);
void cuda_samples_remove(CUcontext context);
/* Reads the samples of all contexts. */
void cuda_samples_turn(struct guest_thread *thread);
/* Takes the last samples of a recording, which CUPTI gives when sampling is disabled. */
void cuda_samples_last(struct guest_thread *thread);
/* Switches sampling off until the next turn. Called while there is no recorder. */
void cuda_samples_rest(void);
/* Reads the remaining samples and switches sampling off. */
void cuda_samples_end(struct guest_thread *thread);
void cuda_samples_forked(void);

/* ---- the helper (helper.c) ------------------------------------------------------------------- */

/* Starts the thread, once. */
void cuda_helper_start(void);
/* Makes the helper flush for the last time and waits for it, at most max_ms. False: it is still
 * inside CUPTI. */
bool cuda_helper_stop(uint64_t max_ms);
/* Graph nodes are recorded again, and their rate is watched again. */
void cuda_helper_watch_graphs(void);
/* Allows another thread to be started. */
void cuda_helper_reset(void);

#pragma GCC visibility pop
