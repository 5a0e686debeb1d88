/* SPDX-License-Identifier: MIT
 *
 * collect/intel/eudebug_driver.h - what a driver tells the debugger of a process, in the words of none of them
 */
#ifndef COLLECT_INTEL_EUDEBUG_DRIVER_H
#define COLLECT_INTEL_EUDEBUG_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/intel/gpu_node.h"

enum eudebug_kind {
	EUDEBUG_NOTHING,   /* for who looks for code */
	EUDEBUG_BINARY,    /* the program has a code object: client, binary, size */
	EUDEBUG_SPACE,     /* … an address space: client, space */
	EUDEBUG_BOUND,     /* something lies at begin, size, and what was there is no more */
	EUDEBUG_PLACED,    /* … which is of a code object: binary */
	EUDEBUG_QUEUE,     /* … a queue whose threads can be stopped: client, queue, context */
	EUDEBUG_ATTENTION, /* threads of a queue stand still: … and mask, where it is told */
	EUDEBUG_UNKNOWN    /* what it is of was never told: counted */
};

enum { EUDEBUG_BINARIES_MOST = 16 };

struct eudebug_event {
	enum eudebug_kind kind;
	bool is_end; /* it goes */
	uint64_t client, space, queue, context;
	uint64_t begin, size; /* size 0, of what is unbound: no place is told */
	uint64_t binaries[EUDEBUG_BINARIES_MOST];
	uint32_t binaries_count;
	bool needs_ack;
	uint32_t type; /* the driver's, to acknowledge it */
	uint64_t number;
	const uint8_t *mask; /* in the event's bytes */
	uint32_t mask_bytes;
};

/* Of xe a bind is told in several events that name one another. All is zero before the first. */
enum { EUDEBUG_REFS = 256 };
struct eudebug_refs {
	struct eudebug_ref {
		uint64_t number; /* of the event; 0: none */
		uint64_t client, space;
		uint64_t begin, size;
	} all[EUDEBUG_REFS];
	uint32_t next;
};

/* Functions that fail return -errno, without the error chain. */
struct eudebug_driver {
	/* A descriptor, that does not block. */
	int (*connect)(const struct gpu_node *node, pid_t pid);
	/* One event into size bytes. Returns how many there are; 0: none now; -EMSGSIZE: *ret_needed are. */
	ssize_t (*read)(const struct gpu_node *node, int fd, void *bytes, size_t size,
			size_t *ret_needed);
	/* What it says; false: it is none. */
	bool (*decode)(struct eudebug_refs *refs, const void *bytes, size_t size,
		       struct eudebug_event *ret_event);
	int (*acknowledge)(const struct gpu_node *node, int fd, const struct eudebug_event *event);
	/* size 0: sets it. */
	int (*read_binary)(const struct gpu_node *node, int fd, uint64_t client, uint64_t binary,
			   void *bytes, uint64_t *inout_size);
	/* Of a queue. NULL: threads cannot be stopped. */
	int (*interrupt)(const struct gpu_node *node, int fd, const struct eudebug_event *queue);
	int (*stopped)(const struct gpu_node *node, int fd, const struct eudebug_event *queue,
		       uint8_t *mask, uint32_t *inout_bytes);
	int (*resume)(const struct gpu_node *node, int fd, const struct eudebug_event *queue,
		      const uint8_t *mask, uint32_t bytes);
	const char *lacks;       /* where a driver that can is to be had */
	const char *folder_file; /* in its device's folder: 1 switches it on */
};

extern const struct eudebug_driver eudebug_xe_driver, eudebug_i915_driver;

#endif
