/* SPDX-License-Identifier: MIT
 *
 * ui/top.h - duet top: the loop of the terminal view, and of --batch
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live_watch;

struct ui_top_options {
	struct live_watch *watch; /* borrowed */
	const char *title;        /* the watched file or processes */
	uint64_t interval_ns;
	uint64_t count;  /* pictures; 0: until the user or a signal ends it. --batch of a recording
			    that has ended: its last ones, 0 is one */
	bool has_json;   /* --batch */
	bool from_start; /* --batch: all intervals since the start of the recording */
	/* Key r. Writes one line for the user into ret_text. Returns 0, or -errno for a failure
	 * that the line describes. *ret_is_recording: a recorder runs until the next call. */
	int (*on_record)(void *context, int32_t pid, bool *ret_is_recording, char *ret_text,
			 size_t size);
	/* Called with each picture. Returns a line for the user, or NULL. *ret_is_over: the
	 * recorder has ended. */
	const char *(*on_picture)(void *context, bool *ret_is_over);
	/* Why no device is known; NULL: the reason is not known. */
	const char *(*explain_no_device)(void *context);
	void *context;
};

/* Shows the terminal view until the user leaves it. Errors: -errno with the error chain.
 * *ret_signal is the signal that ended it; 0: none. */
int ui_top_run(const struct ui_top_options *options, int *ret_signal);

/* Prints pictures on stdout. Errors: -errno with the error chain. */
int ui_top_print(const struct ui_top_options *options, int *ret_signal);
