/* SPDX-License-Identifier: MIT
 *
 * cli/top/recorder.h - duet record as a child of duet top
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct top_recorder;

enum { TOP_RECORDER_WORDS = 24 };

/* Options of the child and their values, as on the command line of duet record, without
 * -o. Ends with NULL. */
struct top_request {
	const char *words[TOP_RECORDER_WORDS];
	size_t count;
	char *const *program; /* a program to run and its arguments; NULL: none */
	const char *output;   /* file for what the program prints; NULL: nothing is kept */
};
void top_request_add(struct top_request *request, const char *word);

/* Starts a recorder that keeps the newest keep_ns in memory, and waits until it records.
 * *ret_fd: a descriptor of that memory for a follower, which owns it. Errors: -errno with the error
 * chain: the recorder's own message. *ret_status: its exit status then, if it has ended by itself.
 */
int top_recorder_start(const struct top_request *request, uint64_t keep_ns,
		       struct top_recorder **ret_recorder, int *ret_fd, int *ret_status);
pid_t top_recorder_pid(const struct top_recorder *recorder);
/* The exit status of a recorder that is over: its program's, if it has one. */
int top_recorder_status(const struct top_recorder *recorder);
/* Starts a recorder that writes a file. */
int top_recorder_start_file(const struct top_request *request, const char *path,
			    struct top_recorder **ret_recorder);
/* Asks the recorder to end and waits for it. NULL-safe. Returns the recorder's exit status. */
int top_recorder_stop(struct top_recorder *recorder);

/* The recorder's next message that was not returned yet, without "duet: "; NULL: none. Valid until
 * the next call. */
const char *top_recorder_message(struct top_recorder *recorder);
/* Whether the recorder has ended by itself. */
bool top_recorder_is_over(struct top_recorder *recorder);
