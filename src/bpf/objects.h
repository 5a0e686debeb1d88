/* SPDX-License-Identifier: MIT
 *
 * bpf/objects.h - the compiled programs for the kernel
 */
#ifndef BPF_OBJECTS_H
#define BPF_OBJECTS_H

#include <stddef.h>

extern const unsigned char bpf_sched[];
extern const size_t bpf_sched_size;
extern const unsigned char bpf_sched_hot[];
extern const size_t bpf_sched_hot_size;
extern const unsigned char bpf_sched_unsure[];
extern const size_t bpf_sched_unsure_size;
extern const unsigned char bpf_drm[];
extern const size_t bpf_drm_size;
extern const unsigned char bpf_xe[];
extern const size_t bpf_xe_size;
extern const unsigned char bpf_i915[];
extern const size_t bpf_i915_size;
extern const unsigned char bpf_calls[];
extern const size_t bpf_calls_size;
extern const unsigned char bpf_batch[];
extern const size_t bpf_batch_size;
extern const unsigned char bpf_preempt[];
extern const size_t bpf_preempt_size;
extern const unsigned char bpf_names[];
extern const size_t bpf_names_size;

#endif
