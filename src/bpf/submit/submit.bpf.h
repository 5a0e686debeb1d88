/* SPDX-License-Identifier: MIT
 *
 * bpf/submit/submit.bpf.h - shared by the programs at Intel's drivers: calls, ids, memory, and the
 * records of a submission
 *
 * Runs in:  the kernel, in the thread that calls the driver
 * Gives:    submit_record, submit_unbound, submit_process, submit_dropped, kernel_stack in
 *           `records`
 * Fails:    records without room are counted in `counts`
 * Why:      a driver's ids, handles and pointers are reused. State that outlives a call is kept
 *           under numbers that are never reused: a file, its address spaces and its buffers each
 *           get a number at their first use. A closed file or buffer is no longer found under any
 *           number. Memory is read through the program's mapping, and only while the kernel's own
 *           list shows that the mapping is unchanged. So munmap, which every process calls, need
 *           not be traced.
 *
 * Include with these macros defined, or functions: find_range, on_found, on_missed.
 */
#pragma once

#include "bpf/drm_types.h"

#define GPU_RANGES_FUNCTION __attribute__((noinline))
#include "bpf/gpu_ranges.bpf.h"
#include "bpf/maps.h"
#include "event/submit_record.h"

struct submit_scratch;
struct submit_call;
/* The end of a call was missed: drops the state that it may have changed. */
static __always_inline void on_missed(const struct submit_call *call);
/* Kernels were found and are sent next. */
static __always_inline void on_found(struct submit_scratch *scratch);
/* The range at an address of the submission's address space; false: unknown. */
static __always_inline bool find_range(struct submit_scratch *scratch, __u64 address,
				       struct gpu_range *ret_range);

#define BATCH_FUNCTION                                      static __attribute__((noinline))
#define BATCH_READ                                          submit_fetch
#define BATCH_SEE(context, address, number, header, dwords) ((void)(address))
static __always_inline long submit_fetch(void *context, __u64 vm, __u64 address, __u32 bytes,
					 void *target);
#include "shared/batch_parser.h"

/* Each call has a function of its own, so that not all of them need room on one stack. */
#define SUBMIT_CALL static __attribute__((noinline)) void

#include "bpf/submit/records.bpf.h"
#include "bpf/submit/identities.bpf.h"
#include "bpf/submit/calls.bpf.h"
#include "bpf/submit/memory.bpf.h"
#include "bpf/submit/batches.bpf.h"
