/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/program_load_absent.c - kernel/program_load.h in a build without libbpf
 *
 * Runs in:  the recorder
 * Gets:     nothing
 * Gives:    nothing
 * Owns:     nothing
 * Fails:    always, with a reason
 */
#include "collect/kernel/program_load.h"

#include <errno.h>

#include "base/error.h"
#include "bpf/objects.h"

const unsigned char bpf_drm[1];
const size_t bpf_drm_size = 0;
const unsigned char bpf_xe[1];
const size_t bpf_xe_size = 0;
const unsigned char bpf_i915[1];
const size_t bpf_i915_size = 0;

int kernel_load_start(const struct kernel_load_options *options, struct kernel_load **ret_load)
{
	return error_set(-ENOSYS, "this duet was built without libbpf");
}

void kernel_load_stop(struct kernel_load *load)
{
}

enum kernel_load_state kernel_load_state(const struct kernel_load *load, const char **ret_reason)
{
	*ret_reason = "";
	return KERNEL_LOAD_REFUSED;
}

const struct kernel_program_report *kernel_load_reports(const struct kernel_load *load,
							size_t *ret_count)
{
	*ret_count = 0;
	return NULL;
}

bool kernel_load_drain(struct kernel_load *load)
{
	return false;
}

uint64_t kernel_load_lost(const struct kernel_load *load)
{
	return 0;
}

uint64_t kernel_load_missed(const struct kernel_load *load)
{
	return 0;
}

uint64_t kernel_load_counted(const struct kernel_load *load, uint32_t key)
{
	return 0;
}

int kernel_load_put(const struct kernel_load *load, const char *map, const void *key,
		    const void *value)
{
	return -ENOSYS;
}

int kernel_load_remove(const struct kernel_load *load, const char *map, const void *key)
{
	return -ENOSYS;
}

int kernel_object_put(const struct kernel_object *object, const char *map, const void *key,
		      const void *value)
{
	return -ENOSYS;
}
