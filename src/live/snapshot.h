/* SPDX-License-Identifier: MIT
 *
 * live/snapshot.h - what devices, processes and kernels did in a short interval of a running
 * recording
 *
 * A snapshot is a plain copy of the numbers of an analysis, so it outlives the recording's data.
 * `duet top`, `duet agent` and its endpoints show snapshots. All times are host nanoseconds
 * (CLOCK_MONOTONIC), all amounts are those of [begin_ns, end_ns).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/account/account.h"

struct analysis;

enum { LIVE_NAME = 128, LIVE_KEY = 256, LIVE_NO_INDEX = UINT32_MAX };

struct live_device {
	char name[LIVE_NAME]; /* numbered if another device has the same name */
	char key[LIVE_KEY];   /* UUID, PCI address, … */
	char vendor[32];
	uint64_t busy_ns;   /* part of the interval with a command in execution */
	uint64_t kernel_ns; /* parts of busy_ns: kernels, copies; the rest is other commands */
	uint64_t copy_ns;
	uint64_t idle_ns;             /* busy_ns + idle_ns = end_ns - begin_ns */
	uint64_t causes[CAUSE_COUNT]; /* parts of idle_ns */
	uint64_t launches, executions;
	uint64_t in_flight; /* commands launched and not ended at end_ns */
	/* Time that the oldest of them has taken so far; 0: none, or not known. */
	uint64_t in_flight_ns;
	bool is_measured;         /* false: no command is known on it, so busy_ns means nothing */
	enum account_cause cause; /* the one with most of idle_ns */
	uint64_t cause_ns;        /* 0: the device was not idle */
	/* The user's function in which launching threads were for most of cause_ns, with its file
	 * and line where they are known; "": not known, or no places were given. */
	char place[LIVE_NAME];
	/* The part of the interval after the last command, if the thread that launched it still
	 * runs. Its causes are provisional: the next command decides them. 0: none. */
	uint64_t open_ns;
	uint64_t no_command_ns; /* with open_ns: time since the last command, at end_ns */
	bool is_so_far;         /* most of cause_ns is provisional */
	char wait[64]; /* with is_so_far: the object of that thread's wait; "": not known */
};

struct live_process {
	int32_t pid;
	uint32_t rank;           /* number plus 1; 0: none */
	uint64_t start_ns;       /* with pid: identity */
	char name[LIVE_NAME];    /* command */
	char command[LIVE_NAME]; /* its arguments; "": not known */
	char cgroup[LIVE_NAME];  /* path of its control group; "": not known */
	uint64_t busy_ns;        /* its part of all devices' busy time */
	uint64_t launches, executions, calls, calls_ns;
	bool has_times; /* on_cpu_ns and blocked_ns are known */
	uint64_t on_cpu_ns, blocked_ns;
};

struct live_kernel {
	char *name;      /* owned */
	uint32_t device; /* index of devices; LIVE_NO_INDEX: not known */
	uint64_t count;
	uint64_t share_ns;         /* its part of the device's busy time */
	uint64_t total_ns, max_ns; /* sum and longest of its executions */
};

struct live_copy {
	char name[32]; /* "read", "write", "copy", … */
	uint32_t device;
	uint64_t count, bytes, total_ns;
};

struct live_queue {
	uint32_t id, device, process;
	uint64_t launches, executions;
	double mean_depth; /* commands launched and not ended, mean over the interval */
	uint64_t max_depth;
};

/* A counter: memory, power, clock, load of an engine, … */
struct live_metric {
	char name[64]; /* as in `duet report --by metric` */
	char unit[40];
	char instance[64]; /* engine, interface, file system, …; "": none */
	uint32_t device;   /* LIVE_NO_INDEX: not of a device */
	uint32_t process;  /* LIVE_NO_INDEX: not of a process */
	uint32_t cpu;      /* number plus 1; 0: not of a single processor */
	double mean, max;
	double limit; /* NAN: not known */
};

/* Busy time and idle time of one launching call path. */
struct live_stack {
	uint32_t device, process;
	char *text;            /* owned; frames, root first, separated by ";" */
	char *kernel;          /* owned; kernel or command that it launches; "": none */
	char place[LIVE_NAME]; /* the user's innermost function; "": not known */
	uint64_t busy_ns, idle_ns, count;
};

struct live_ledger {
	uint64_t launched, matched, in_flight, dropped, rejected, lost_rows;
};

struct live_snapshot {
	uint64_t begin_ns, end_ns;
	uint64_t start_ns; /* start of the recording */
	uint64_t real_ns;  /* CLOCK_REALTIME of end_ns */
	struct live_device *devices;
	size_t devices_count;
	struct live_process *processes;
	size_t processes_count;
	struct live_kernel *kernels; /* largest share first */
	size_t kernels_count;
	struct live_copy *copies;
	size_t copies_count;
	struct live_queue *queues;
	size_t queues_count;
	struct live_metric *metrics;
	size_t metrics_count;
	struct live_stack *stacks; /* only if requested */
	size_t stacks_count;
	struct live_ledger ledger;
};

/* The names of places, which outlive the recordings that they were found in: a stack is
 * symbolized once. */
struct live_in_flight;
struct live_places;
struct live_present;
int live_places_new(struct live_places **ret_places); /* -ENOMEM */
void live_places_free(struct live_places *places);    /* NULL-safe */

struct live_snapshot_options {
	bool has_stacks;                        /* needs an analysis by_thread if pid is set */
	struct live_places *places;             /* for live_device.place; NULL: none */
	const struct live_in_flight *in_flight; /* commands of earlier looks; NULL: not known */
	/* Launching threads of earlier looks, with this one's; their places are named. NULL: idle
	 * time after the last command has no provisional causes. */
	struct live_present *present;
	size_t max_kernels; /* 0: all; the others are summed up in a last row "other" per device */
	size_t max_stacks;  /* 0: 200 */
	/* The longest execution of each path, for the kernels of a process; NULL: not known. */
	const uint64_t *path_max_ns;
	size_t path_max_count;
	/* Kernels and stacks are those of this process, from an analysis by_thread; 0: all. */
	int32_t pid;
};

/* Copies the numbers of an analysis whose window is the interval. Errors: -ENOMEM. */
int live_snapshot_new(const struct analysis *analysis, const struct live_snapshot_options *options,
		      struct live_snapshot **ret_snapshot);
void live_snapshot_free(struct live_snapshot *snapshot); /* NULL-safe */
