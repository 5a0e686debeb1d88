/* SPDX-License-Identifier: MIT
 *
 * cli/doctor_kernel.c - whether programs can be loaded into this kernel, and what of them it takes
 *
 * Runs in:  our own process; loading in a thread of its own, which gives up its rights
 * Gets:     the machine   Gives: checks
 * Owns:     nothing
 * Fails:    never; what is missing is its result
 * Why:      they are loaded as a recording would load them: no version of a kernel says what its verifier takes
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/string.h"
#include "cli/doctor.h"
#include "collect/kernel_watch.h"
#include "collect/rights.h"

#define WITHOUT \
	"who preempts and wakes threads, and whose locks and disks they wait for is not told: "

/* Each with a line of its own. */
static bool check_types(struct doctor_collector *collector)
{
	const bool has_types = access(KERNEL_TYPES, R_OK) == 0;

	if (has_types)
		doctor_add(collector, "types", true, false, NULL,
			   "the kernel tells its types in " KERNEL_TYPES);
	else
		doctor_add(collector, "types", false, false, NULL,
			   WITHOUT "the kernel tells no types in " KERNEL_TYPES
				   " (%s): take one that was built with CONFIG_DEBUG_INFO_BTF, as "
				   "distributions' are",
			   strerror(errno));
	return has_types;
}

static bool check_rights(struct doctor_collector *collector)
{
	char setcap[PATH_MAX + 100];

	if (rights_can_load()) {
		doctor_add(collector, "rights", true, false, NULL,
			   "programs may be loaded into the kernel, %s",
			   geteuid() ? "by cap_bpf and cap_perfmon" : "as root");
		return true;
	}
	rights_setcap_text(RIGHTS_BPF, setcap, sizeof(setcap));
	doctor_add(collector, "rights", false, false, NULL,
		   WITHOUT "that takes more rights: record as root, or %s", setcap);
	return false;
}

static bool runs(const struct kernel_program_report *report)
{
	return report->state == KERNEL_PROGRAM_RUNS;
}

static void check_programs(struct doctor_collector *collector, const struct kernel_watch *watch)
{
	struct string_builder names;
	size_t count;
	const struct kernel_program_report *reports = kernel_watch_reports(watch, &count);

	string_builder_init(&names);
	for (size_t i = 0; i < count; i++) {
		if (runs(&reports[i])) {
			string_builder_append(&names, names.length ? ", " : "");
			string_builder_append(&names, reports[i].name);
		} else if (reports[i].state != KERNEL_PROGRAM_SPARED && reports[i].lacks) {
			doctor_add(collector, "bpf", false, false, NULL,
				   "%s is not told: the kernel %s%s%s: a newer one may take it",
				   reports[i].lacks,
				   reports[i].state == KERNEL_PROGRAM_ABSENT
					   ? "has no place to see it"
					   : "refuses a program",
				   reports[i].reason[0] ? ": " : "", reports[i].reason);
		}
	}
	doctor_add(collector, "bpf", true, false, NULL,
		   "the kernel takes %s; that took %.0f ms, so that of a recording's first %.0f ms "
		   "it is not told who preempts and wakes",
		   string_builder_text(&names), (double)kernel_watch_load_ns(watch) / 1e6,
		   (double)(kernel_watch_load_ns(watch) + KERNEL_WATCH_DELAY_NS) / 1e6);
	string_builder_fini(&names);
}

void doctor_examine_kernel(struct doctor_collector *collector)
{
	struct kernel_watch *watch;
	const char *reason;

	if (!check_types(collector) || !check_rights(collector))
		return;
	if (kernel_watch_try(&watch)) {
		doctor_add(collector, "bpf", false, false, NULL, WITHOUT "%s", error_text());
		error_clear();
		return;
	}
	if (kernel_watch_state(watch, &reason) == KERNEL_WATCH_READY)
		check_programs(collector, watch);
	else
		doctor_add(collector, "bpf", false, false, NULL, WITHOUT "%s", reason);
	kernel_watch_stop(watch);
}
