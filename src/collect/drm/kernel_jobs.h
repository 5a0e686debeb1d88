/* SPDX-License-Identifier: MIT
 *
 * collect/drm/kernel_jobs.h - records jobs of GPUs from the kernel's scheduler and fence events
 */
#pragma once

#include <stdint.h>

#include "collect/drm/cards.h"
#include "collect/recording.h"

struct kernel_jobs;

/* cards: borrowed. Records start when the BPF programs are loaded, which happens in another thread;
 * missing parts are noted. Errors: -ENOMEM, -EAGAIN, -ENOSYS with the error chain. */
int kernel_jobs_open(struct recording *recording, const struct cards *cards,
		     struct kernel_jobs **ret_jobs);
/* Writes jobs that have not ended. */
void kernel_jobs_close(struct kernel_jobs *jobs); /* NULL-safe */

void kernel_jobs_drain(struct kernel_jobs *jobs);
void kernel_jobs_each_second(struct kernel_jobs *jobs, uint64_t now_ns);
