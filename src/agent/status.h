/* SPDX-License-Identifier: MIT
 *
 * agent/status.h - the state of an agent, in a file that its processes map and `duet agent status`
 * reads
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define AGENT_STATUS_MAGIC   UINT64_C(0x3174736147747564) /* "dutGast1" */
#define AGENT_STATUS_VERSION 4
#define AGENT_STATUS_NAME    "status"

enum { AGENT_ERRORS = 8, AGENT_ERROR_TEXT = 240, AGENT_VERSION_TEXT = 32, AGENT_PATH_TEXT = 512 };

struct agent_error {
	uint64_t boot_ns; /* CLOCK_BOOTTIME */
	char text[AGENT_ERROR_TEXT];
};

/* The newest errors. One process writes a list. */
struct agent_errors {
	uint64_t count; /* so far; the newest is at (count - 1) % AGENT_ERRORS */
	struct agent_error all[AGENT_ERRORS];
};

/* Totals since the agent's start, over all recorders. Only the recorder writes them. */
struct agent_counts {
	uint64_t processes;    /* that were recorded, each once */
	uint64_t refused;      /* processes that the filters or the sampling refused, each once */
	uint64_t refused_full; /* refusals because the sampling had too many processes */
	uint64_t rows;
};

/* Totals over the life of the spool (struct spool_counts), and its present state. */
struct agent_spool_state {
	uint64_t bytes, files, ring_bytes, next_sequence;
	uint64_t added, added_bytes, dropped, dropped_bytes, dropped_full, skipped, skipped_ns;
	uint64_t salvaged;          /* rings of killed recorders */
	uint64_t killed, killed_ns; /* recorders that were killed, and the time without one */
	uint64_t rows_lost;         /* that could not be written into the ring */
	uint64_t ring_end;          /* size of the ring with its holes */
	uint64_t start_real_ns;     /* CLOCK_REALTIME at which the counts began; 0: unknown */
};

/* Processes that are counted already. All recorders of an agent share it. A slot belongs to the
 * last of the pids that are equal modulo AGENT_SEEN. */
enum { AGENT_SEEN = 4096 };
enum agent_seen_as { SEEN_RECORDED = 1, SEEN_REFUSED = 2 };
struct agent_seen {
	struct agent_seen_process {
		uint32_t pid, seen_as;
		uint64_t start_ticks;
	} all[AGENT_SEEN];
};

/* A receiver to which data are pushed. */
enum { AGENT_RECEIVERS = 4, AGENT_RECEIVER_TEXT = 24, AGENT_URL_TEXT = 200 };
struct agent_receiver {
	char name[AGENT_RECEIVER_TEXT]; /* "otlp_metrics", … */
	char url[AGENT_URL_TEXT];       /* without a password */
	uint64_t sent, dropped, waiting;
	uint32_t is_on;         /* 0: it does not take this kind of data */
	uint32_t is_failing;    /* since its last error no push was accepted */
	uint64_t error_boot_ns; /* CLOCK_BOOTTIME of its last error; 0: none */
	char error[AGENT_ERROR_TEXT];
};

/* Address and receivers of the process of the metrics. */
struct agent_endpoints {
	char listen[AGENT_URL_TEXT]; /* "": no server */
	uint32_t count;
	struct agent_receiver all[AGENT_RECEIVERS];
};

struct agent_status {
	uint64_t magic;
	uint32_t version, size; /* size of this struct */
	char duet_version[AGENT_VERSION_TEXT];
	char spool[AGENT_PATH_TEXT];
	char config[AGENT_PATH_TEXT];
	/* Written by the agent: */
	int32_t pid, recorder_pid;
	uint64_t start_boot_ns, now_boot_ns;
	uint64_t max_disk_bytes, max_memory_bytes;
	uint64_t recorder_restarts; /* after its death; reloads are not counted */
	uint64_t recorder_recycles; /* for its memory */
	uint64_t recorder_turns;    /* for the size of its file */
	uint64_t recorder_hangs;    /* killed because it did not answer; also restarts */
	/* The same of the process that serves and pushes metrics. */
	int32_t metrics_pid; /* 0: none runs */
	uint64_t metrics_restarts, metrics_recycles, metrics_hangs;
	uint64_t reloads, reloads_refused;
	uint64_t cpu_ns;                   /* used by the agent and its children since its start */
	uint64_t recent_ns, recent_cpu_ns; /* the last minute, or less */
	uint64_t resident_bytes, private_bytes,
		max_resident_bytes; /* memory of the agent and its children */
	struct agent_errors errors;
	/* Written by the process of the metrics: */
	uint64_t metrics_beat_ns; /* CLOCK_MONOTONIC of its last round */
	struct agent_endpoints endpoints;
	struct agent_errors metrics_errors;
	/* Written by the recorder: */
	uint64_t beat_ns; /* CLOCK_MONOTONIC of its last tick */
	uint32_t is_ready;
	struct agent_counts counts;
	struct agent_spool_state spool_state;
	struct agent_errors recorder_errors;
};

/* Called once when another agent holds the folder, before the wait for its end. pid: the other
 * agent's; 0: unknown. */
struct agent_status_wait {
	void (*on_wait)(void *context, int pid);
	void *context;
};

/* Creates RUNTIME/status, locks and maps it. wait may be NULL. Errors: -errno with the error chain;
 * -EBUSY: another agent runs with it, also after 10 s. *ret_fd holds the lock. */
int agent_status_create(const char *runtime, const struct agent_status_wait *wait,
			struct agent_status **ret_status, int *ret_fd);
/* Removes the file and unmaps it. NULL-safe. */
void agent_status_remove(const char *runtime, struct agent_status *status, int fd);

/* Copies the status of an agent. *ret_running: an agent has it open. Errors: -errno with the error
 * chain; -ENOENT: no agent has run. */
int agent_status_read(const char *runtime, struct agent_status *ret_status, bool *ret_running);

void agent_errors_add(struct agent_errors *errors, const char *text);

/* Atomic accesses to a member that one process writes and others read. */
#define STATUS_SET(member, value) __atomic_store_n(&(member), (value), __ATOMIC_RELAXED)
#define STATUS_GET(member)        __atomic_load_n(&(member), __ATOMIC_RELAXED)
#define STATUS_ADD(member, value) STATUS_SET(member, (member) + (value))
