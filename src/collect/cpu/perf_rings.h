/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/perf_rings.h - the kernel's records of what threads do, in the order of time
 *
 * Two rings for each processor, one of samples and one of all else, filled by perf events of the threads that are
 * attached and of all that they start. Needs no rights at perf_event_paranoid up to 2; what is refused is told by
 * perf_rings_open.
 */
#ifndef COLLECT_CPU_PERF_RINGS_H
#define COLLECT_CPU_PERF_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_rings;

/* Which event takes samples. */
struct perf_event_source {
	uint32_t type; /* PERF_TYPE_* */
	uint64_t config, config1, config2;
	char name[64]; /* as perf names it */
};

struct perf_rings_options {
	struct perf_event_source
		source;        /* name "": cycles where the machine counts them, else cpu-clock */
	uint32_t frequency_hz; /* 0: no samples, switches and lifetimes alone */
	uint32_t stack_bytes;  /* of the user's stack with each sample; a multiple of 8 */
	bool faults;           /* samples of page faults too */
};

/* What can be had. */
struct perf_rings_state {
	struct perf_event_source source; /* in use */
	bool has_kernel;                 /* samples inside the kernel, with its stacks */
	bool has_build_ids;              /* in PERF_RECORD_MMAP2 */
	bool has_faults;                 /* samples of page faults */
	bool counts_lost; /* perf_rings_lost says all; else PERF_LOST says some of it */
	/* Of each ring of samples, and of all else; smaller where the limit of locked memory says so. */
	uint32_t samples_bytes, life_bytes;
};

/* Makes the rings, with nothing attached. Errors: -EACCES, -EPERM, -ENOSYS: refused, with the reason and what to
 * do in the error chain; -ENOENT, -EINVAL: no such event; -ENOMEM, -EMFILE. */
int perf_rings_open(const struct perf_rings_options *options, struct perf_rings **ret_rings);
void perf_rings_close(struct perf_rings *rings); /* NULL-safe */

void perf_rings_state(const struct perf_rings *rings, struct perf_rings_state *ret_state);

/* Attaches a thread and all that it starts from now on; on_exec: from its next exec on. One that comes with another
 * that was attached is told of once all the same. pid_fd: of its process: where that has ended by the time the thread is
 * attached, it may have been another one's; -1: not asked. Errors: -ESRCH where it is gone, else as perf_rings_open. */
int perf_rings_attach(struct perf_rings *rings, pid_t thread, int pid_fd, bool on_exec);

/* A descriptor that can be read from when a ring is a quarter full; perf_rings_next takes that back. */
int perf_rings_descriptor(const struct perf_rings *rings);

enum perf_record_kind {
	PERF_SAMPLE = 1, /* found running; stack */
	PERF_OUT,        /* it went off its processor */
	PERF_IN,         /* it came back */
	PERF_FORK,       /* other_pid, other_tid: who started pid, tid */
	PERF_EXIT,
	PERF_EXEC,     /* text: its new name */
	PERF_NAME,     /* text: its new name */
	PERF_MAP,      /* a piece of a file, or of no file, is mapped as code */
	PERF_LOST,     /* count records of this ring; has_samples says which it is */
	PERF_THROTTLED /* the kernel takes no samples for a while */
};

struct perf_map {
	uint64_t address, size_bytes, file_offset_bytes;
	uint64_t inode;
	uint32_t major, minor;
	uint32_t build_id_bytes; /* 0: not told */
	uint8_t build_id[20];
};

/* Pointers are valid until the next call. */
struct perf_record {
	enum perf_record_kind kind;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t pid, tid, cpu;
	bool is_preempted; /* PERF_OUT */
	bool is_kernel;    /* PERF_SAMPLE: it was inside the kernel */
	bool is_fault;     /* … it faulted; weight: so many faults */
	bool has_samples;  /* PERF_LOST: samples, else what the others tell */
	uint32_t other_pid, other_tid;
	uint64_t count;   /* PERF_LOST */
	uint64_t weight;  /* PERF_SAMPLE: of the source's unit */
	uint64_t address; /* … where it was */
	/* The user's registers and stack from sp on; has_user false: a thread of the kernel. */
	bool has_user;
	uint64_t ip, sp, bp;
	const uint8_t *stack;
	size_t stack_bytes;
	const uint64_t *kernel; /* addresses, innermost first */
	size_t kernel_count;
	const char *text; /* name, or path of the file that is mapped */
	struct perf_map map;
};

/* How many samples, and how many other records, the kernel could not write so far. 0 where it does not count them. */
void perf_rings_lost(const struct perf_rings *rings, uint64_t *ret_samples, uint64_t *ret_others);

/* The next record older than until_ns, over all rings in the order of time. A record that is written may be up to
 * PERF_RINGS_LATE_NS older than the moment when it can be read: until_ns should leave that to the next round. */
enum { PERF_RINGS_LATE_NS = 1000000 };
bool perf_rings_next(struct perf_rings *rings, uint64_t until_ns, struct perf_record *ret_record);

/* Whether a ring is a quarter full, or more. */
bool perf_rings_are_filling(const struct perf_rings *rings);

/* A sample that is new in its ring: it is read, and told, later. */
struct perf_glance {
	uint64_t time_ns;
	uint32_t pid, tid;
	bool is_fault; /* it tells no time */
};
bool perf_rings_glance(struct perf_rings *rings, struct perf_glance *ret_glance);

/* From now on the descriptor can be read from for each new sample, unless they come too fast for that. */
void perf_rings_wake(struct perf_rings *rings);

#endif
