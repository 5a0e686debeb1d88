/* SPDX-License-Identifier: MIT
 *
 * collect/session.h - a recording, from its start to its end
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/collector_options.h"
#include "collect/start/program.h"
#include "trace/writer.h"

struct device_choice;
struct event_process;

struct session_options {
	const char *output;
	struct trace_writer_options writer;
	uint64_t duration_ns;  /* 0: until the program ends or a signal arrives */
	char *const *command;  /* NULL-terminated; NULL: no program is started */
	const pid_t *pids;     /* running processes to record */
	size_t pids_count;     /* 0: a command, or any */
	int owner_fd;          /* descriptor of the process that records itself; 0: none */
	int viewer_fd;         /* pipe whose other end a viewer holds; 0: none */
	bool any;              /* record all programs of the machine that have a guest loaded */
	bool native_stacks;    /* record stacks of launches and waits */
	bool python_stacks;    /* include Python functions in them */
	bool has_frequency;    /* frequency_hz was given by the user */
	uint32_t frequency_hz; /* samples per second of a running thread; 0: none */
	const char *event;     /* perf event for samples; NULL: the best available */
	/* Quota for tables of samples and for the recorder; 0: the default. */
	uint64_t memory_bytes;
	double max_overhead;           /* 0.02: 2 %; 0: no limit */
	const char *overhead_range;    /* the yardstick: ranges of this name; NULL: launches */
	bool preload;                  /* load guests by LD_PRELOAD instead of the loader's layer */
	struct device_choice *devices; /* borrowed; devices to record; NULL: all */
	/* Folder for copies of files that may be deleted before the end; NULL: none. */
	const char *archive;
	struct program_user user;
	/* Called with a line that the user should see during the recording. NULL: not called. */
	void (*on_warning)(void *context, const char *text);
	void (*on_hint)(void *context,
			const char *text); /* the same, for hints that users at a terminal need */
	void *warning_context;
	/* Called every 100 ms, in the loop that reads the rings; it must return within a few ms. It
	 * may cut the trace (trace_writer_cut). true: the recording ends. NULL: not called. */
	bool (*on_tick)(void *context, struct trace_writer *writer, uint64_t now_ns);
	/* Called once all rows are written, before the file is closed; it may cut the trace too.
	 * program_status: wait status; NULL: there is no program, or it has not ended. NULL: not
	 * called. */
	void (*on_end)(void *context, struct trace_writer *writer, uint64_t now_ns,
		       const int *program_status);
	void *tick_context; /* for on_tick and on_end */
	/* Whether a process is recorded. Called at each hello of one of its guests, and each second
	 * while it is recorded; false then ends its recording, until a later hello. NULL: all are.
	 */
	bool (*wants_process)(void *context, pid_t pid, uid_t uid, bool is_recorded);
	/* Completes the row of a process with a guest: when it is attached, and when its recording
	 * ends. NULL: not called. */
	void (*describe_process)(void *context, struct trace_writer *writer,
				 struct event_process *row, bool is_new);
	void *process_context;
	/* The chosen collectors with their options (collectors_choose). */
	struct collector_slot collected[MAX_COLLECTORS];
};

struct session_result {
	int program_status; /* wait status; valid with has_program */
	bool has_program;
	bool interrupted;   /* a second signal arrived before the program ended */
	int signal;         /* the last signal that asked for the end */
	bool has_others;    /* collectors without guests were recording */
	uint32_t processes; /* number of processes with a recorded guest */
	uint32_t survivors; /* those of them that are still alive */
	uint64_t rows, rows_lost, bytes;
	int write_error; /* -errno of the first failed write */
	char note[512];  /* one note for the user; "": none */
	/* One sentence about processes that the program started and that still run; "": none. */
	char left[400];
	/* One sentence about running programs that have no guest (-a); "": none. */
	char without_guest[400];
	const char *missed; /* runtime of the note; NULL: that of the first collector */
};

/* Checks the options of all collectors. Errors: -errno with the error chain, as from
 * session_run. */
int session_check(const struct session_options *options);

/* Records. Errors: -errno with the error chain; nothing was recorded. *ret_exec_error: the errno of
 * exec; 0: the error is not that of exec. */
int session_run(const struct session_options *options, struct session_result *ret_result,
		int *ret_exec_error);
