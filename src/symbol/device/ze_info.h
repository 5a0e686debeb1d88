/* SPDX-License-Identifier: MIT
 *
 * symbol/device/ze_info.h - read the kernels' properties in a zebin's .ze_info
 *
 * Only symbol/ includes this.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The keys of execution_env, with the same names; 0: missing. */
struct ze_info_kernel {
	uint32_t simd_size, grf_count, eu_thread_count;
	uint32_t slm_size, spill_size; /* bytes */
};

/* Called for each kernel that has a name. Damaged YAML gives the kernels before the damage, or
 * none. Errors: -ENOMEM. */
int ze_info_read(const char *text, size_t size,
		 void (*on_kernel)(void *context, const char *name,
				   const struct ze_info_kernel *kernel),
		 void *context);
