/* SPDX-License-Identifier: MIT
 *
 * cli/doctor/kernel.c - check whether this kernel loads the BPF programs of the collector cpu
 *
 * Runs in:  our own process; a separate thread loads the programs and then drops its rights
 * Gets:     the machine
 * Gives:    checks
 * Owns:     nothing
 * Fails:    never; a missing part is a result
 * Why:      the programs are loaded as in a recording, because the kernel's version does not show
 *           what its verifier accepts
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/string.h"
#include "cli/doctor/doctor.h"
#include "collect/kernel/watch.h"
#include "collect/start/rights.h"

#define WITHOUT "preemptors, wakers, and holders of locks and disks are not recorded: "

/* Each of these functions adds one check. */
static bool check_types(struct doctor_collector *collector)
{
	const bool has_types = access(KERNEL_TYPES, R_OK) == 0;

	if (has_types)
		doctor_add(collector, "types", true, false, NULL,
			   "the kernel's type information is in " KERNEL_TYPES);
	else
		doctor_add(collector, "types", false, false, NULL,
			   WITHOUT "the kernel has no type information in " KERNEL_TYPES
				   " (%s); use a kernel built with CONFIG_DEBUG_INFO_BTF, as "
				   "distributions do",
			   strerror(errno));
	return has_types;
}

static bool check_rights(struct doctor_collector *collector)
{
	char setcap[PATH_MAX + 100];

	if (rights_can_load()) {
		doctor_add(collector, "rights", true, false, NULL, "BPF programs can be loaded, %s",
			   geteuid() ? "with cap_bpf and cap_perfmon" : "as root");
		return true;
	}
	rights_setcap_text(RIGHTS_BPF, setcap, sizeof(setcap));
	doctor_add(collector, "rights", false, false, NULL,
		   WITHOUT "more rights are needed; record as root, or %s", setcap);
	return false;
}

static bool runs(const struct kernel_program_report *report)
{
	return report->state == KERNEL_PROGRAM_RUNS;
}

static void check_programs(struct doctor_collector *collector, const struct kernel_watch *watch)
{
	struct string_builder names = {0};
	size_t count;
	const struct kernel_program_report *reports = kernel_watch_reports(watch, &count);

	for (size_t i = 0; i < count; i++) {
		if (runs(&reports[i])) {
			string_builder_append(&names, names.length ? ", " : "");
			string_builder_append(&names, reports[i].name);
		} else if (reports[i].state != KERNEL_PROGRAM_SPARED && reports[i].lacks) {
			doctor_add(collector, "bpf", false, false, NULL,
				   "%s is not recorded: the kernel %s%s%s; a newer kernel may "
				   "support it",
				   reports[i].lacks,
				   reports[i].state == KERNEL_PROGRAM_ABSENT
					   ? "has no attach point for it"
					   : "refused the BPF program",
				   reports[i].reason[0] ? ": " : "", reports[i].reason);
		}
	}
	doctor_add(collector, "bpf", true, false, NULL,
		   "the kernel loaded %s in %.0f ms; preemptors and wakers are unknown in the "
		   "first %.0f "
		   "ms of a recording",
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
