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

/* False: the receiver does not take this kind of data. */
bool pusher_is_on(struct pusher *pusher);
void pusher_read_counts(struct pusher *pusher, struct push_counts *ret_counts);
