/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_kernel_watch.c - the same programs run, whichever way they are loaded
 *
 * As root, where the kernel lets programs in; skipped with the reason otherwise.
 */
#include "collect/kernel/watch.h"

#include <bpf/libbpf.h>
#include <string.h>

#include "base/error.h"
#include "collect/kernel/object.h"
#include "harness.h"

static uint32_t minor = LIBBPF_MINOR_VERSION;

/* Instead of libbpf's: of another one the quick loader takes nothing. */
uint32_t libbpf_minor_version(void)
{
	return minor;
}

/* What became of a program. -1: none can be loaded. */
static int state_of(const char *program)
{
	const struct kernel_program_report *reports;
	struct kernel_watch *watch = NULL;
	const char *reason;
	int state = -1;
	size_t count;

	CHECK_EQUAL(kernel_watch_try(&watch), 0);
	if (!watch)
		return -1;
	if (kernel_watch_state(watch, &reason) == KERNEL_WATCH_READY) {
		reports = kernel_watch_reports(watch, &count);
		for (size_t i = 0; i < count; i++)
			if (strcmp(reports[i].name, program) == 0)
				state = (int)reports[i].state;
	} else {
		printf("# %s\n", reason);
	}
	kernel_watch_stop(watch);
	return state;
}

/* The less sure program is taken only where the kernel itself refuses the other one. */
TEST(another_libbpf_tries_the_surer_program)
{
	static const char *const names[] = {"pcpu_hot", "__preempt_count"};
	int quick = state_of("on_waking"), slow;
	bool has[2];

	kernel_object_find_names(names, 2, has);
	if (!has[0] && !has[1])
		SKIP("this kernel has preempt_count elsewhere");
	minor++;
	slow = state_of("on_waking");
	minor--;
	CHECK(slow == KERNEL_PROGRAM_RUNS || slow == KERNEL_PROGRAM_REFUSED);
	CHECK_EQUAL(slow == KERNEL_PROGRAM_RUNS, quick == KERNEL_PROGRAM_RUNS);
	error_clear();
}

int main(void)
{
	if (state_of("on_switch") != KERNEL_PROGRAM_RUNS) {
		printf("1..0 # SKIP no programs inside the kernel: no right to, or no types\n");
		return 0;
	}
	RUN(another_libbpf_tries_the_surer_program);
	return harness_end();
}
