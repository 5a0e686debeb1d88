/* SPDX-License-Identifier: MIT
 *
 * cli/doctor/doctor.h - checks of what each collector needs, with a fix for each failed check
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { MAX_DOCTOR_CHECKS = 32 };

struct doctor_check {
	const char *name;
	bool ok;
	bool needed; /* true: the collector is unavailable if this check fails
		      */
	char text[1400];
	const char *fix; /* a command; NULL: nothing to do, or no command fixes it */
};

struct doctor_collector {
	const char *name;
	struct doctor_check checks[MAX_DOCTOR_CHECKS];
	size_t check_count;
};

__attribute__((format(printf, 6, 7))) void doctor_add(struct doctor_collector *collector,
						      const char *name, bool ok, bool needed,
						      const char *fix, const char *format, ...);

/* Adds a check whether the guest with this file name is installed. knows: text printed after the
 * guest's path. */
void doctor_check_guest(struct doctor_collector *collector, const char *name, const char *knows);

/* Adds checks for the collector cpu: whether BPF programs can be loaded. */
void doctor_examine_kernel(struct doctor_collector *collector);

/* Each of these adds the checks of one vendor or collector. ROCm; root: prefix of every absolute
 * path, "" or DUET_DOCTOR_ROOT. */
void doctor_examine_amd(struct doctor_collector *collector, const char *root);
/* Level Zero. */
void doctor_examine_level_zero(struct doctor_collector *collector, const char *root);
/* CUDA, and GPU counters from NVML and from the kernel's drivers. */
void doctor_examine_nvidia(struct doctor_collector *collector, const char *root);
void doctor_examine_drm(struct doctor_collector *collector, const char *root);
/* Samples and counters of Intel GPUs. */
void doctor_examine_intel(struct doctor_collector *collector, const char *root);

/* Whether instructions of Intel GPUs can be disassembled; recordings do not need this. */
void doctor_check_iga(struct doctor_collector *collector);

/* Counters of the machine. */
void doctor_examine_system(struct doctor_collector *collector, const char *root);
