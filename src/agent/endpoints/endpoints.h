/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/endpoints.h - serve and push metrics of a recording while it is written
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/endpoints/options.h"
#include "agent/endpoints/own.h"

/* Values and callbacks from the caller. All callbacks may be NULL; on_message is called in
 * several threads, read_beat in that of the server. */
struct endpoints_hooks {
	const char *version; /* duet's */
	uint64_t begin_ns;   /* CLOCK_MONOTONIC from which data are counted; 0: from now on */
	/* An interval is counted this time after its end, when the recorder has written it: its
	 * interval of flushes plus 0.8 s; 0: 1 s. */
	uint64_t lag_ns;
	uint64_t drain_ns;       /* time for the last pushes; 0: 5 s */
	uint64_t profile_memory; /* limit of the process that makes a profile; 0: 256 MiB */
	uint64_t profile_ns;     /* time limit of that process; 0: 20 s */
	pid_t recorder_pid;      /* its cost is shown; 0: not known */
	bool ends_with_file;     /* return when the recording has ended */
	/* Instead of recorder_pid, of a recorder that may be replaced; 0: none runs now. */
	pid_t (*read_recorder_pid)(void *context);
	/* CLOCK_MONOTONIC of the recorder's last sign of life, for /healthz. */
	uint64_t (*read_beat)(void *context);
	bool (*read_spool)(void *context, struct endpoints_spool *ret_spool);
	/* Called about once per second, for a watch over the process. NULL: not called. */
	void (*on_round)(void *context, uint64_t now_ns);
	/* Called about once per second with the state of the pushes. */
	void (*on_streams)(void *context, const struct own_stream *streams, size_t count);
	void (*on_listen)(void *context, uint16_t port);
	void (*on_message)(void *context, const char *text);
	void *context;
};

/* Follows the recording at `path`, also one that replaces it, until stop_fd can be read or the
 * process gets SIGTERM or SIGINT; both signals are blocked in the process from then on. It needs a
 * process with one thread. Errors: -errno with the error chain, if an endpoint cannot start. */
int endpoints_run(const struct endpoints_options *options, const struct endpoints_hooks *hooks,
		  const char *path, int stop_fd);
