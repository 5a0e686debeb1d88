/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/perf_rings.h - reads the perf rings and returns their records in the order of time
 *
 * Each processor has two rings: one for samples, one for all other records. Perf events of the
 * attached threads and of all their descendants fill them. With kernel.perf_event_paranoid up to 2
 * this needs no rights. perf_rings_open reports refusals.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_rings;

/* The event that takes samples. */
struct perf_event_source {
	uint32_t type; /* PERF_TYPE_* */
	uint64_t config, config1, config2;
	char name[64]; /* its name in perf(1) */
};

struct perf_rings_options {
	/* name "": cycles if the machine counts them, otherwise cpu-clock */
	struct perf_event_source source;
	uint32_t frequency_hz; /* 0: no samples, only switches and lifetimes */
	uint32_t stack_bytes;  /* bytes of user stack copied with each sample; a multiple of 8 */
	bool faults;           /* samples of page faults, too */
};

/* The features that the kernel grants. */
struct perf_rings_state {
	struct perf_event_source source; /* in use */
	bool has_kernel;                 /* samples inside the kernel, with kernel stacks */
	bool has_build_ids;              /* in PERF_RECORD_MMAP2 */
	bool has_faults;                 /* samples of page faults */
	/* perf_rings_lost returns all losses; if false, PERF_LOST reports some of them */
	bool counts_lost;
	/* Size of each ring of samples and of each other ring; the limit of locked memory may
	 * reduce both. */
	uint32_t samples_bytes, life_bytes;
};

/* Creates the rings without attaching a thread. Errors: -EACCES, -EPERM, -ENOSYS: refused, with
 * reason and remedy in the error chain; -ENOENT, -EINVAL: no such event; -ENOMEM, -EMFILE. */
int perf_rings_open(const struct perf_rings_options *options, struct perf_rings **ret_rings);
void perf_rings_close(struct perf_rings *rings); /* NULL-safe */

void perf_rings_state(const struct perf_rings *rings, struct perf_rings_state *ret_state);

/* Attaches a thread and all threads and processes that it starts from now on; on_exec: from its
 * next exec on. A thread that already inherited the events of another attached one is still
 * reported once. pid_fd: pidfd of its process; if the process has ended when the thread is
 * attached, the tid may have been reused, and the result is -ESRCH; -1: no such check. Errors:
 * -ESRCH: the thread has ended; otherwise as perf_rings_open. */
int perf_rings_attach(struct perf_rings *rings, pid_t thread, int pid_fd, bool on_exec);

/* Runs a BPF program at each sample, of the threads attached so far and later, and of threads that
 * they start from now on. -1: none. */
void perf_rings_run(struct perf_rings *rings, int program);

/* A descriptor that is readable while a ring is at least a quarter full; perf_rings_next empties
 * the rings. */
int perf_rings_descriptor(const struct perf_rings *rings);
/* Makes that descriptor also readable while `fd` is. It is removed when it is closed. -errno. */
int perf_rings_add(struct perf_rings *rings, int fd);

enum perf_record_kind {
	PERF_SAMPLE = 1, /* a running thread, with its stack */
	PERF_OUT,        /* the thread left its processor */
	PERF_IN,         /* the thread runs again */
	PERF_FORK,       /* other_pid, other_tid: the thread that started pid, tid */
	PERF_EXIT,
	PERF_EXEC,     /* text: its new name */
	PERF_NAME,     /* text: its new name */
	PERF_MAP,      /* executable memory was mapped, from a file or anonymous */
	PERF_LOST,     /* `count` records of one ring were lost; has_samples: the kind of ring */
	PERF_THROTTLED /* the kernel paused sampling */
};

struct perf_map {
	uint64_t address, size_bytes, file_offset_bytes;
	uint64_t inode;
	uint32_t major, minor;
	uint32_t build_id_bytes; /* 0: not known */
	uint8_t build_id[20];
};

/* Pointers are valid until the next call. */
struct perf_record {
	enum perf_record_kind kind;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t pid, tid, cpu;
	bool is_preempted; /* PERF_OUT */
	bool is_kernel;    /* PERF_SAMPLE: inside the kernel */
	bool is_fault;     /* … of a page fault; weight: number of faults it stands for */
	bool has_samples;  /* PERF_LOST: samples were lost; false: other records */
	uint32_t other_pid, other_tid;
	/* PERF_LOST; since_ns: time of the record before the lost ones, 0: none */
	uint64_t count, since_ns;
	uint64_t weight;  /* PERF_SAMPLE: in the unit of its source */
	uint64_t address; /* … instruction pointer */
	/* User registers and stack from sp upwards; has_user false: a kernel thread. */
	bool has_user;
	uint64_t ip, sp, bp;
	const uint8_t *stack;
	size_t stack_bytes;
	const uint64_t *kernel; /* addresses, innermost first */
	size_t kernel_count;
	const char *text; /* the thread's name, or the path of the mapped file */
	struct perf_map map;
};

/* Number of samples and of other records that the kernel could not write so far; 0 if this kernel
 * does not count them. *ret_since_ns: other records that no PERF_LOST reports are later than that;
 * 0: not known. */
void perf_rings_lost(const struct perf_rings *rings, uint64_t *ret_samples, uint64_t *ret_others,
		     uint64_t *ret_since_ns);

/* Returns the next record older than until_ns, over all rings in the order of time. A record
 * becomes readable up to PERF_RINGS_LATE_NS after its timestamp. until_ns should therefore be at
 * least that much before now. */
enum { PERF_RINGS_LATE_NS = 1000000 };
bool perf_rings_next(struct perf_rings *rings, uint64_t until_ns, struct perf_record *ret_record);

/* Whether a ring is at least a quarter full. */
bool perf_rings_are_filling(const struct perf_rings *rings);

/* A look ahead at a new sample or switch. perf_rings_next returns the whole record later. The
 * switches of a thread on several processors may come out of order. */
struct perf_glance {
	uint64_t time_ns;
	uint32_t pid, tid;
	bool is_fault;   /* page fault: it does not stand for processor time */
	bool is_blocked; /* switch: the thread blocked; false: it runs again, or was preempted */
};
bool perf_rings_glance(struct perf_rings *rings, bool is_of_switches,
		       struct perf_glance *ret_glance);

/* From now on, each new sample makes the descriptor readable, unless the frequency is too high for
 * that. */
void perf_rings_wake(struct perf_rings *rings);
