/* SPDX-License-Identifier: MIT
 *
 * collect/intel/eudebug_links.h - connections to processes as the debugger of their GPU programs
 */
#ifndef COLLECT_INTEL_EUDEBUG_LINKS_H
#define COLLECT_INTEL_EUDEBUG_LINKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/intel/eudebug_driver.h"

enum { EUDEBUG_LINKS_MOST = 64 };

enum eudebug_told_kind {
	EUDEBUG_TOLD_BINARY, /* bytes, size: the taker's from now on */
	EUDEBUG_TOLD_BINARY_END,
	EUDEBUG_TOLD_BOUND,
	EUDEBUG_TOLD_PLACED,
	EUDEBUG_TOLD_SPACE_END,
	EUDEBUG_TOLD_STOPPED, /* size: threads; begin: for how many ns */
	EUDEBUG_TOLD_CLOSED   /* error: why */
};

/* Between two stops of a process. */
#define EUDEBUG_STOP_EVERY_NS UINT64_C(100000000)

struct eudebug_told {
	enum eudebug_told_kind kind;
	uint32_t link;
	uint64_t time_ns; /* when it was read */
	uint64_t client, space, binary;
	uint64_t begin, size; /* on the GPU; as in struct eudebug_event */
	void *bytes;
	int error;
};

struct eudebug_counts {
	uint64_t events, acknowledged;
	uint64_t broken; /* events that were none, or of what was never told */
	uint64_t lost;   /* code objects that could not be read, or had no room */
	uint64_t stops, stopped_ns, stopped_most_ns;
	uint64_t resumed; /* threads that stood still of themselves */
};

struct eudebug_links;

/* Errors, with the error chain: -ENOMEM, -EAGAIN where there is no thread. */
int eudebug_links_open(struct eudebug_links **ret_links);

/* node: borrowed, until all is closed. stops: its threads are stopped ten times a second. Returns the link's number, that
 * no other ever has; -errno as the driver has it, -ENOSPC where there are too many; without the error chain. */
int eudebug_links_connect(struct eudebug_links *links, const struct gpu_node *node, pid_t pid,
			  bool stops);

/* What was told since the last time, in order; but a binary may come behind places of it. */
void eudebug_links_take(struct eudebug_links *links,
			void (*on_told)(void *context, const struct eudebug_told *told),
			void *context);

void eudebug_links_counted(struct eudebug_links *links, struct eudebug_counts *ret_counts);

/* Lets go of all: nobody waits for us any more. */
void eudebug_links_stop(struct eudebug_links *links);
void eudebug_links_close(struct eudebug_links *links); /* NULL-safe */

#endif
