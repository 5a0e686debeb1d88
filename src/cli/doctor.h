/* SPDX-License-Identifier: MIT
 *
 * cli/doctor.h - what a collector needs of this machine, as checks with what mends them
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

enum { DOCTOR_CHECKS_MOST = 32 };

struct doctor_check {
	const char *name;
	bool ok;
	bool needed; /* a check that fails and is not needed does not make a collector unavailable */
	char text[1400];
	const char *fix; /* a command; NULL where there is nothing to do */
};

struct doctor_collector {
	const char *name;
	struct doctor_check checks[DOCTOR_CHECKS_MOST];
	size_t check_count;
};

__attribute__((format(printf, 6, 7))) void doctor_add(struct doctor_collector *collector,
						      const char *name, bool ok, bool needed,
						      const char *fix, const char *format, ...);

/* Whether the guest of this file name is there; knows: what is said after its path. */
void doctor_check_guest(struct doctor_collector *collector, const char *name, const char *knows);

/* Whether programs can be loaded into the kernel, for the collector cpu. */
void doctor_examine_kernel(struct doctor_collector *collector);

/* What recordings of ROCm need. root: stands before every absolute path, "" or DUET_DOCTOR_ROOT. */
void doctor_examine_amd(struct doctor_collector *collector, const char *root);
/* … and of Level Zero. */
void doctor_examine_level_zero(struct doctor_collector *collector, const char *root);
/* … and counters of GPUs, by NVML and by the kernel's drivers. */
void doctor_examine_nvidia(struct doctor_collector *collector, const char *root);
void doctor_examine_drm(struct doctor_collector *collector, const char *root);
/* … samples and counters of Intel's GPUs. */
void doctor_examine_intel(struct doctor_collector *collector, const char *root);

/* Whether instructions of Intel's GPUs can be shown here, which no recording needs. */
void doctor_check_iga(struct doctor_collector *collector);

/* Which counters there are; the same root. */
void doctor_examine_system(struct doctor_collector *collector, const char *root);

#endif
