/* SPDX-License-Identifier: MIT
 *
 * cli/record_request.h - what the command line of `duet record` and its configuration file ask for
 */
#ifndef CLI_RECORD_REQUEST_H
#define CLI_RECORD_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/command.h"
#include "cli/option_file.h"
#include "collect/session.h"

enum { REQUEST_PIDS_MOST = 1024 };

struct record_values {
	const char *output, *config, *collect, *user, *stacks, *event, *pids;
	uint64_t duration_ns, max_size_bytes, max_memory_bytes, keep_ns, flush_ns, frequency_hz,
		owner_fd, turn;
	enum option_switch all, preload, verbose, archive;
	bool print_config;
};

struct request {
	const struct command *command;
	struct record_values values;
	struct option_file file;
	char **program;      /* with its arguments; NULL: none */
	char **file_program; /* the same, where the file says it: ours */
	bool has_pid_zero;   /* the file's, of a program that is to come */
};

extern const struct option_row request_options[];

/* Reads and checks both. False: that was all, help was printed or a mistake, and *ret_status is duet's own. */
bool request_read(struct request *request, const struct command *command, int argc, char **argv,
		  int *ret_status);
void request_fini(struct request *request);

/* Chooses the collectors and all else of a session but the paths that stand in no option; forgets what the file says of
 * collectors that the command line leaves out. pids: room for REQUEST_PIDS_MOST.
 * Returns RECORD_FAILED after it printed what is wrong. */
int request_fill(struct request *request, pid_t *pids, struct session_options *options);

/* Prints as a configuration file what was said, of which request_fill made the options, and the defaults that do not
 * depend on the machine. Returns the exit status. */
int request_print(const struct request *request, const struct session_options *options);

/* Says what is wrong with an option, of the file with its place. Returns RECORD_FAILED. */
__attribute__((format(printf, 3, 4))) int
request_refuse(const struct request *request, const char *option, const char *format, ...);

#endif
