/* SPDX-License-Identifier: MIT
 *
 * collect/session/private.h - declarations for the files of a session
 *
 * Each file calls only files above it in this list: notes.c, collectors.c, program.c, limits.c,
 * guests.c, end.c, session.c.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "collect/collector.h"
#include "collect/enter/inject_running.h"
#include "collect/feed/client.h"
#include "collect/feed/server.h"
#include "collect/guest/attach.h"
#include "collect/guest/injected.h"
#include "collect/recording.h"
#include "collect/session.h"
#include "collect/start/environment.h"
#include "collect/start/quotas.h"
#include "collect/start/running.h"
#include "collect/start/wake.h"

enum {
	POLL_LEAST_NS = 1000000,
	POLL_MAX_NS = 10000000,
	/* Used for a second after a guest was attached: its process may end soon and remove the
	 * files with the names of its JIT code. */
	POLL_YOUNG_NS = 5000000,
	FLUSH_NS = 100000000,  /* interval of requests to the writer to write out */
	SECOND_NS = 1000000000 /* interval of losses and clock readings */
};

/* Work on many guests is done in parts. Other guests are served in between. */
enum {
	PROCESS_NS = 5000000, /* for the rings of one process in one round */
	LOOK_NS = 10000000,   /* between two looks at hellos and signals; a guest waits 250 ms */
	HELLOS_A_LOOK = 64,   /* take some 20 ms */
	LAST_NS = 1000000000, /* to read the rest of limited users' rings, at their end or ours */
	ANSWER_NS = 500000000 /* for all guests to hand over what their runtimes hold back */
};

struct session_limit;

struct attached {
	struct injected *injected; /* owned */
	int connection;            /* owned; -1 after the guest's farewell */
	bool dead;
	uint64_t dead_ns; /* when the end was seen */
	bool is_asked;    /* for data that its runtime holds back */
	bool is_leaving;  /* not wanted any more (wants_process); it lives on */
	bool is_stopped;  /* is_leaving, and its rings are disabled */
	uint64_t leaving_ns;
	uint64_t stopped_ns;         /* when its rings were disabled; 0: they were not */
	struct feed_owned owned;     /* as other recorders know it */
	struct session_limit *limit; /* owned; NULL: its cost is not limited */
};

/* Reasons why a process was not recorded. The first of each is noted, and their number at the
 * end. */
enum refusal {
	REFUSED_DESCRIPTORS,
	REFUSED_PROCESSES,
	REFUSED_BYTES,
	REFUSED_HELLOS,
	REFUSED_LATE,
	REFUSED_SILENT,
	REFUSED_OTHER,
	REFUSALS
};

/* The attached guests. */
struct session_guests {
	struct attached *all; /* owned */
	size_t count, capacity;
	size_t first;  /* index of the first guest of the next round */
	bool has_more; /* the last round ended before all rings were empty */
};

/* The program that the session starts. */
struct session_child {
	pid_t pid;        /* 0: none, or waited for already */
	pid_t begun_pid;  /* its pid, also after its end */
	bool is_filtered; /* it has installed a seccomp filter */
	bool has_guest;   /* it said hello, before or after an exec */
	/* Why the first collector's guest cannot be loaded into it; NULL: no reason found. */
	const char *obstacle;
	struct program_state state;
	char mark[320]; /* entry in its environment, "" without one */
};

/* The descriptors that the session waits for. */
struct session_polled {
	struct pollfd *entries; /* owned */
	size_t entries_capacity;
	size_t attach_entries; /* behind that of signals */
	size_t first_collector, collector_entries;
	struct wake wake;
};

/* Times of CLOCK_MONOTONIC, and the interval of rounds. */
struct session_times {
	uint64_t begin_ns, next_round_ns, next_flush_ns, next_early_flush_ns, next_second_ns,
		next_look_ns, interval_ns, young_until_ns;
	uint64_t limits_ns; /* end of the next window of --max-overhead */
	uint64_t ahead_ns;  /* until the next session_look_ahead */
};

enum { EXPLAINED_MAX = 3 }; /* processes of -p to explain; the reason is usually the same for all */

struct session {
	const struct session_options *options;
	struct session_result *result;
	struct trace_writer *writer;
	struct recording recording;
	bool recording_open;
	/* Owned; by index of the collector; NULL: it is not running. */
	void *states[MAX_COLLECTORS];
	struct attach attach;
	struct feed_server feed_server; /* recorders that read this recording */
	struct feeds feeds;             /* recorders from which this one takes over rows */
	struct running running;         /* processes that were running before the recording */
	struct enterings enterings;     /* guests that are being loaded into them */
	struct environment environment;
	struct session_guests guests;
	struct session_child child;
	struct session_polled polled;
	struct session_times times;
	struct user_quotas shares;
	bool has_greeted[MAX_COLLECTORS]; /* by collector: a guest of it was attached */
	uint64_t refused[REFUSALS];
	int signal_fd;
	bool output_begun;
	bool ending;
	char unrecorded[EXPLAINED_MAX][400]; /* why processes of -p have no recorded call */
	/* The first peer of a user whose programs are not recorded; pid 0: there was none. */
	struct ucred foreign;
};

/* ---- notes.c --------------------------------------------------------------------------------- */

/* Whether the first collector is chosen. Most users expect its calls. Notes that belong to no
 * collector are made in its name. */
bool session_collects_first(const struct session *session);
void session_note(struct session *session, uint32_t state, const char *text);
void session_refuse(struct session *session, enum refusal refusal, const char *text);
void session_note_refusals(struct session *session);
/* Notes a program whose hello was too late for an answer. */
void session_refuse_late(struct session *session);
void session_refuse_for_descriptors(struct session *session);
void session_note_turned_away(struct session *session);
void session_note_gap(struct session *session, struct injected *injected);
/* Notes a process that was running before and whose first guest has attached late. */
void session_note_joined(struct session *session, const struct injected *injected);
/* Looks for the reason why processes of -p have no recorded call. Call it each second: /proc no
 * longer shows it after their end. */
void session_look_at_running(struct session *session);
void session_note_no_guest(struct session *session);

/* ---- collectors.c ---------------------------------------------------------------------------- */

/* *ret_armed: at least one guest can be loaded. */
int session_arm_guests(struct session *session, bool *ret_armed);
void session_open_collectors(struct session *session);
/* Whether a collector is chosen that works without a guest. */
bool session_has_other_collectors(const struct session_options *options);
bool session_has_guests(const struct session_options *options);
bool session_has_collectors(const struct session *session);
void session_watch_program(void *context, pid_t pid);
/* Attaches the collectors to all processes of -p. Processes that have ended meanwhile are
 * skipped. */
void session_attach_running(struct session *session);
/* In a recording of all programs: attaches the collectors to a process whose guest has attached,
 * once. */
void session_attach_guest(struct session *session, pid_t pid, int pid_fd);
/* Adds the collectors' descriptors. Returns the number of entries used, at most
 * MAX_COLLECTORS. */
size_t session_poll_collectors(const struct session *session, struct pollfd *entries);
/* Time of the next drain; UINT64_MAX: no collector runs. */
uint64_t session_next_drain_ns(const struct session *session, uint64_t now_ns);
void session_second_collectors(struct session *session, uint64_t now_ns);
/* Returns the index of a guest's collector; collectors_count: unknown. */
size_t session_find_collector(const struct attach_hello *hello);
/* Notes runtimes that were not recorded although the user may expect them to be. */
void session_note_missing(struct session *session);
void session_drain_collectors(struct session *session);
/* Returns the time until the next call. */
uint64_t session_look_ahead(struct session *session);
void session_close_collectors(struct session *session);

/* ---- program.c ------------------------------------------------------------------------------- */

void session_reap_program(struct session *session);
/* True: a signal asked for the end. */
bool session_read_signals(struct session *session, int *ret_signal);
int session_open_signals(struct session *session);
const char *session_seccomp_value(char *text, size_t size);
int session_prepare_environment(struct session *session);
int session_start_program(struct session *session, int *ret_exec_error);
bool session_is_over(const struct session *session, uint64_t now_ns);
/* Waits after the end of the recording, because duet returns the program's status. */
void session_wait_for_program(struct session *session);

/* ---- limits.c -------------------------------------------------------------------------------- */

/* With --max-overhead: starts to measure what the recording of this guest costs. */
void session_begin_limit(struct session *session, struct attached *attached);
/* Ends the windows that are over, and begins the next ones. */
void session_step_limits(struct session *session, uint64_t now_ns);
/* Writes the cost of the last interval. NULL-safe. */
void session_end_limit(struct session *session, struct attached *attached);

/* ---- guests.c -------------------------------------------------------------------------------- */

bool attached_is_alive(const struct attached *attached);
void session_read_farewell(struct session *session, struct attached *attached);
/* Detaches a guest whose rings are read, or given up. */
void session_end_guest(struct session *session, struct attached *attached);
/* Disables the rings of a guest: its calls from now on are not recorded. */
void session_stop_guest(struct attached *attached);
/* Announces to other recorders since when the calls of new guests are recorded. Call it every 100
 * ms. */
void session_share_guests(struct session *session);
/* Whether the caller of the session wants a process whose guest is attached to another recorder. */
bool session_wants_fed(const struct session *session, const struct event_process *row);
/* Returns the bytes read from the fullest ring. */
size_t session_drain_guest(struct session *session, struct attached *attached);
/* False: there may be more. */
bool session_take_hellos(struct session *session);
size_t session_drain_guests(struct session *session);
void session_remove_dead(struct session *session, uint64_t now_ns);
/* Ends the recording of processes that are not wanted any more. */
void session_retire_unwanted(struct session *session, uint64_t now_ns);

/* ---- end.c ----------------------------------------------------------------------------------- */

void session_end_recording(struct session *session);
void session_close_writer(struct session *session);
