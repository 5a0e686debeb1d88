/* SPDX-License-Identifier: MIT
 *
 * bpf/objects.h - the compiled programs for the kernel
 */
#pragma once

#include <stddef.h>

#define BPF_OBJECT(name)                         \
	extern const unsigned char bpf_##name[]; \
	extern const size_t bpf_##name##_size
BPF_OBJECT(sched);
BPF_OBJECT(sched_hot);
BPF_OBJECT(sched_unsure);
BPF_OBJECT(drm);
BPF_OBJECT(xe);
BPF_OBJECT(i915);
BPF_OBJECT(calls);
BPF_OBJECT(batch);
BPF_OBJECT(preempt);
BPF_OBJECT(names);
#undef BPF_OBJECT
