/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/absent.c - kernel/watch.h, program_load.h and namer.h in a build without libbpf
 *
 * Runs in:  the recorder
 * Gets:     nothing
 * Gives:    nothing
 * Owns:     nothing
 * Fails:    always, with a reason
 */
#include <errno.h>

#include "bpf/objects.h"
#include "collect/kernel/absent.h"
#include "collect/kernel/namer.h"
#include "collect/kernel/program_load.h"
#include "collect/kernel/watch.h"

const unsigned char bpf_drm[1];
const size_t bpf_drm_size = 0;
const unsigned char bpf_xe[1];
const size_t bpf_xe_size = 0;
const unsigned char bpf_i915[1];
const size_t bpf_i915_size = 0;

/* Not formatted, because clang-format takes each * for a product. */
/* clang-format off */

/* ---- programs that follow threads ---------------------------------------------------------- */

ABSENT(int, kernel_watch_start,
	(const struct kernel_watch_options *options, struct kernel_watch **ret_watch),
	ABSENT_ERROR)
ABSENT(int, kernel_watch_try,
	(struct kernel_watch **ret_watch), kernel_watch_start(NULL, ret_watch))
ABSENT(uint64_t, kernel_watch_load_ns, (const struct kernel_watch *watch), 0)
ABSENT(void, kernel_watch_stop, (struct kernel_watch *watch), )

enum kernel_watch_state kernel_watch_state(const struct kernel_watch *watch,
					   const char **ret_reason)
{
	*ret_reason = "";
	return KERNEL_WATCH_REFUSED;
}

const struct kernel_program_report *kernel_watch_reports(const struct kernel_watch *watch,
							 size_t *ret_count)
{
	*ret_count = 0;
	return NULL;
}

ABSENT(void, kernel_watch_add, (struct kernel_watch *watch, uint32_t pid), )
ABSENT(void, kernel_watch_remove, (struct kernel_watch *watch, uint32_t pid), )
ABSENT(bool, kernel_watch_drain, (struct kernel_watch *watch), false)
ABSENT(const struct kernel_out *, kernel_watch_out,
	(struct kernel_watch *watch, uint32_t tid, uint64_t time_ns), NULL)
ABSENT(const struct kernel_in *, kernel_watch_in,
	(struct kernel_watch *watch, uint32_t tid, uint64_t time_ns), NULL)
ABSENT(struct kernel_stack *, kernel_watch_take_user_stack,
	(struct kernel_watch *watch, uint64_t user_stack, struct kernel_python_stack **ret_python),
	NULL)
ABSENT(void, kernel_watch_add_python,
	(struct kernel_watch *watch, uint32_t pid, const struct kernel_python *places), )
ABSENT(int, kernel_watch_sample_program, (struct kernel_watch *watch), -1)
ABSENT(void, kernel_watch_allow_stacks, (struct kernel_watch *watch, uint32_t count), )
ABSENT(size_t, kernel_watch_stack,
	(struct kernel_watch *watch, int32_t stack, uint64_t *ret_addresses, size_t most), 0)
ABSENT(uint64_t, kernel_watch_interrupts,
	(struct kernel_watch *watch, void (*each)(void *context, const struct kernel_interrupt_key
	*key, const struct kernel_interrupt *interrupt), void *context), 0)
ABSENT(uint64_t, kernel_watch_sweep, (struct kernel_watch *watch, uint64_t before_ns), 0)
ABSENT(bool, kernel_watch_needs_right, (const struct kernel_watch *watch), false)
ABSENT(uint64_t, kernel_watch_lost_processes, (const struct kernel_watch *watch), 0)

void kernel_watch_losses(const struct kernel_watch *watch, struct kernel_losses *ret_losses)
{
	*ret_losses = (struct kernel_losses){0};
}

/* ---- loads of other programs --------------------------------------------------------------- */

ABSENT(int, kernel_load_start,
	(const struct kernel_load_options *options, struct kernel_load **ret_load),
	ABSENT_ERROR)
ABSENT(void, kernel_load_stop, (struct kernel_load *load), )

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

ABSENT(bool, kernel_load_drain, (struct kernel_load *load), false)
ABSENT(uint64_t, kernel_load_lost, (const struct kernel_load *load), 0)
ABSENT(uint64_t, kernel_load_missed, (const struct kernel_load *load), 0)
ABSENT(uint64_t, kernel_load_counted, (const struct kernel_load *load, uint32_t key), 0)
ABSENT(int, kernel_load_put,
	(const struct kernel_load *load, const char *map, const void *key, const void *value),
	-ENOSYS)
ABSENT(int, kernel_load_remove,
	(const struct kernel_load *load, const char *map, const void *key), -ENOSYS)
ABSENT(int, kernel_object_put,
	(const struct kernel_object *object, const char *map, const void *key, const void *value),
	-ENOSYS)

/* ---- names --------------------------------------------------------------------------------- */

ABSENT(int, kernel_namer_open, (struct kernel_namer **ret_names), -ENOSYS)
ABSENT(void, kernel_namer_close, (struct kernel_namer *names), )
ABSENT(int, kernel_namer_find,
	(struct kernel_namer *names, struct kernel_symbol *symbols, size_t count), -ENOSYS)
/* clang-format on */
