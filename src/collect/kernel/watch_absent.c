/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/watch_absent.c - watch.h in a build without libbpf
 *
 * Runs in:  the recorder
 * Gets:     nothing
 * Gives:    nothing
 * Owns:     nothing
 * Fails:    always, with a reason
 */
#include "collect/kernel/watch.h"

#include <errno.h>

#include "base/error.h"

int kernel_watch_start(const struct kernel_watch_options *options, struct kernel_watch **ret_watch)
{
	return error_set(-ENOSYS, "this duet was built without libbpf");
}

int kernel_watch_try(struct kernel_watch **ret_watch)
{
	return kernel_watch_start(NULL, ret_watch);
}

uint64_t kernel_watch_load_ns(const struct kernel_watch *watch)
{
	return 0;
}

void kernel_watch_stop(struct kernel_watch *watch)
{
}

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

void kernel_watch_add(struct kernel_watch *watch, uint32_t pid)
{
}

void kernel_watch_remove(struct kernel_watch *watch, uint32_t pid)
{
}

bool kernel_watch_drain(struct kernel_watch *watch)
{
	return false;
}

const struct kernel_out *kernel_watch_out(struct kernel_watch *watch, uint32_t tid,
					  uint64_t time_ns)
{
	return NULL;
}

const struct kernel_in *kernel_watch_in(struct kernel_watch *watch, uint32_t tid, uint64_t time_ns)
{
	return NULL;
}

struct kernel_stack *kernel_watch_take_user_stack(struct kernel_watch *watch, uint64_t user_stack)
{
	return NULL;
}

void kernel_watch_allow_stacks(struct kernel_watch *watch, uint32_t count)
{
}

size_t kernel_watch_stack(struct kernel_watch *watch, int32_t stack, uint64_t *ret_addresses,
			  size_t most)
{
	return 0;
}

uint64_t kernel_watch_interrupts(struct kernel_watch *watch,
				 void (*each)(void *context, const struct kernel_interrupt_key *key,
					      const struct kernel_interrupt *interrupt),
				 void *context)
{
	return 0;
}

uint64_t kernel_watch_sweep(struct kernel_watch *watch, uint64_t before_ns)
{
	return 0;
}

bool kernel_watch_needs_right(const struct kernel_watch *watch)
{
	return false;
}

uint64_t kernel_watch_lost_processes(const struct kernel_watch *watch)
{
	return 0;
}

void kernel_watch_losses(const struct kernel_watch *watch, struct kernel_losses *ret_losses)
{
	*ret_losses = (struct kernel_losses){0};
}
