/* SPDX-License-Identifier: MIT
 *
 * net/pusher.h - send bodies to a receiver in a thread of its own; nothing waits for the receiver
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/push_queue.h"

struct pusher;

enum { PUSHER_URL = 200, PUSHER_PROBLEM = 400 };

struct pusher_options {
	const char *name; /* in messages: "otlp metrics" */
	const char *content_type;
	const char *content_encoding; /* NULL: none */
	const char *const *headers;   /* as in struct http_post */
	size_t max_items, max_bytes;  /* as in struct push_queue */
	uint64_t max_age_ns;
	uint32_t timeout_ms; /* limit of one request */
	bool is_optional;    /* a receiver without this kind of data switches the pusher off */
	/* A line for the log, without a newline; called in the pusher's thread. It comes when a
	 * receiver begins to fail, when it works again, and when the pusher is switched off. */
	void (*on_message)(void *context, const char *text);
	void *context;
};

/* Keeps the pointers of the options. Call it in the first thread. Errors: those of http_client_new;
 * -EAGAIN: no thread. */
int pusher_new(const struct pusher_options *options, struct pusher **ret_pusher);

/* Waits up to drain_ns until the queue is empty, then stops. NULL-safe. *ret_counts (may be NULL):
 * the last counts. */
void pusher_free(struct pusher *pusher, uint64_t drain_ns, struct push_counts *ret_counts);

/* Queues a body. Takes ownership of url and body, which come from malloc. Never waits for the
 * network. A NULL body or url (out of memory) is counted as a drop. */
void pusher_send(struct pusher *pusher, char *url, void *body, size_t size);

/* Counts a body that could not be made. is_slow: it took too long. problem: the reason, for
 * pusher_read_state. */
void pusher_skip(struct pusher *pusher, bool is_slow, const char *problem);

/* False: the receiver does not take this kind of data. */
bool pusher_is_on(struct pusher *pusher);

struct pusher_state {
	bool is_on;
	bool is_failing;     /* the last push was not accepted, or not made */
	uint64_t problem_ns; /* CLOCK_MONOTONIC of the last problem; 0: there was none */
	char problem[PUSHER_PROBLEM];
	struct push_counts counts;
};
void pusher_read_state(struct pusher *pusher, struct pusher_state *ret_state);

/* The part of a URL that a log may contain: no password, and no query, which differs each time. */
void pusher_show_url(const char *url, char ret_text[PUSHER_URL]);
