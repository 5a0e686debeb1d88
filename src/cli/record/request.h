/* SPDX-License-Identifier: MIT
 *
 * cli/record/request.h - read the command line and configuration file of `duet record`
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/command.h"
#include "cli/record/option_file.h"
#include "cli/record/trigger_request.h"
#include "collect/device_choice.h"
#include "collect/session.h"

enum { MAX_REQUEST_PIDS = 1024 };

struct record_values {
	const char *output, *config, *collect, *user, *stacks, *event, *pids, *devices,
		*max_overhead, *overhead_range;
	uint64_t duration_ns, max_size_bytes, max_memory_bytes, keep_ns, flush_ns, frequency_hz,
		owner_fd, turn, ring_ns, viewer_fd;
	struct trigger_values trigger;
	enum option_switch all, preload, verbose, archive;
	bool print_config;
};

struct request {
	const struct cli_command *command;
	struct record_values values;
	struct option_file file;
	char **program;      /* the program and its arguments from the command line; NULL: none */
	char **file_program; /* the same from the file; the list is owned */
	struct device_choice devices;
	struct trigger_request triggers;
	bool has_pid_zero; /* the file has pid 0: the program that duet starts */
};

extern const struct option_row request_options[];

/* Reads and checks command line and file. False: help or a mistake was printed; exit with
 * *ret_status. */
bool request_read(struct request *request, const struct cli_command *command, int argc, char **argv,
		  int *ret_status);
void request_fini(struct request *request);

/* Fills the options of a session, except paths that have no option. Removes fields of the file for
 * collectors that the command line leaves out. pids: room for MAX_REQUEST_PIDS. Returns 0, or
 * RECORD_FAILED after printing the mistake. */
int request_fill(struct request *request, pid_t *pids, struct session_options *options);

/* Sets the paths of the guests. ret_paths: owned by the caller. */
void request_find_guests(struct session_options *options, char *ret_paths[MAX_COLLECTORS]);

/* Prints the request as a configuration file, with the defaults that do not depend on the machine.
 * Call it after request_fill. Returns the exit status. */
int request_print(const struct request *request, const struct session_options *options);

/* Prints a mistake in an option; an option from the file gets its place there. Returns
 * RECORD_FAILED. */
__attribute__((format(printf, 3, 4))) int
request_refuse(const struct request *request, const char *option, const char *format, ...);
