/* SPDX-License-Identifier: MIT
 *
 * collect/drm/kernel_jobs.h - jobs of GPUs as the kernel's scheduler and fences tell of them, into a recording
 */
#ifndef COLLECT_DRM_KERNEL_JOBS_H
#define COLLECT_DRM_KERNEL_JOBS_H

#include <stdint.h>

#include "collect/drm/cards.h"
#include "collect/recording.h"

struct kernel_jobs;

/* cards: borrowed. Nothing is told before the kernel's programs are loaded, which goes on beside the caller; what cannot
 * be told is noted. Errors: -ENOMEM, -EAGAIN, -ENOSYS with the error chain. */
int kernel_jobs_open(struct recording *recording, const struct cards *cards,
		     struct kernel_jobs **ret_jobs);
/* Jobs that have not ended are written. */
void kernel_jobs_close(struct kernel_jobs *jobs); /* NULL-safe */

void kernel_jobs_drain(struct kernel_jobs *jobs);
void kernel_jobs_each_second(struct kernel_jobs *jobs, uint64_t now_ns);

#endif
