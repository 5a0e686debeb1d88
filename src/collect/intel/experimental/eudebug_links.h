/* SPDX-License-Identifier: MIT
 *
 * collect/intel/experimental/eudebug_links.h - connections to processes as the debugger of their
 * GPU programs
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/intel/experimental/eudebug_driver.h"

enum { MAX_EUDEBUG_LINKS = 64 };

enum eudebug_link_event_kind {
	EUDEBUG_LINK_BINARY, /* the receiver owns the bytes; size */
	EUDEBUG_LINK_BINARY_END,
	EUDEBUG_LINK_BOUND,
	EUDEBUG_LINK_PLACED,
	EUDEBUG_LINK_SPACE_END,
	EUDEBUG_LINK_STOPPED, /* size: number of threads; begin: duration in ns */
	EUDEBUG_LINK_CLOSED   /* error: the reason */
};

/* Time between two stops of a process. */
#define EUDEBUG_STOP_EVERY_NS UINT64_C(100000000)

struct eudebug_link_event {
	enum eudebug_link_event_kind kind;
	uint32_t link;
	uint64_t time_ns; /* when the event was read */
	uint64_t client, space, binary;
	uint64_t begin, size; /* on the GPU; as in struct eudebug_event */
	void *bytes;
	int error;
};

struct eudebug_counts {
	uint64_t events, acknowledged;
	uint64_t broken; /* malformed events, or events about objects that were never reported */
	uint64_t lost;   /* code objects that could not be read, or had no room */
	uint64_t stops, stopped_ns, stopped_max_ns;
	uint64_t resumed; /* threads that had stopped by themselves */
};

struct eudebug_links;

/* Errors, with the error chain: -ENOMEM, -EAGAIN: no thread. */
int eudebug_links_open(struct eudebug_links **ret_links);

/* node: borrowed until eudebug_links_close. stops: its threads are stopped ten times a second.
 * Returns the link's number, which is never used again; -errno of the driver, -ENOSPC: too many
 * links; without the error chain. */
int eudebug_links_connect(struct eudebug_links *links, const struct gpu_node *node, pid_t pid,
			  bool stops);

/* Delivers the events since the last call in order, except that a binary may come after its
 * addresses. */
void eudebug_links_take(struct eudebug_links *links,
			void (*on_link_event)(void *context,
					      const struct eudebug_link_event *link_event),
			void *context);

void eudebug_links_counted(struct eudebug_links *links, struct eudebug_counts *ret_counts);

/* Closes all connections, so that no process waits for the recorder afterwards. */
void eudebug_links_stop(struct eudebug_links *links);
void eudebug_links_close(struct eudebug_links *links); /* NULL-safe */
