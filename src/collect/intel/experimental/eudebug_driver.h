/* SPDX-License-Identifier: MIT
 *
 * collect/intel/experimental/eudebug_driver.h - the functions of a driver for debugger events of a
 * process, in a common form
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/intel/gpu_node.h"

enum eudebug_kind {
	EUDEBUG_NOTHING,   /* an event without use for code objects */
	EUDEBUG_BINARY,    /* a code object of the program: client, binary, size */
	EUDEBUG_SPACE,     /* an address space: client, space */
	EUDEBUG_BOUND,     /* something was bound at begin, size; what was there is gone */
	EUDEBUG_PLACED,    /* the binding belongs to a code object: binary */
	EUDEBUG_QUEUE,     /* a queue whose threads can be stopped: client, queue, context */
	EUDEBUG_ATTENTION, /* threads of a queue have stopped: as QUEUE, and mask if reported */
	EUDEBUG_UNKNOWN    /* refers to an object that was never reported; it is counted */
};

enum { MAX_EUDEBUG_BINARIES = 16 };

struct eudebug_event {
	enum eudebug_kind kind;
	bool is_end; /* the object ends */
	uint64_t client, space, queue, context;
	uint64_t begin, size; /* size 0 in an unbind: the address is unknown */
	uint64_t binaries[MAX_EUDEBUG_BINARIES];
	uint32_t binaries_count;
	bool needs_ack;
	uint32_t type; /* type of the driver's event, to acknowledge it */
	uint64_t number;
	const uint8_t *mask; /* points into the event's bytes */
	uint32_t mask_bytes;
};

/* xe reports a bind in several events that refer to one another. All zero at the start. */
enum { EUDEBUG_REFS = 256 };
struct eudebug_refs {
	struct eudebug_ref {
		uint64_t number; /* sequence number of the event; 0: none */
		uint64_t client, space;
		uint64_t begin, size;
	} all[EUDEBUG_REFS];
	uint32_t next;
};

/* Functions that fail return -errno, without the error chain. */
struct eudebug_driver {
	/* Returns a non-blocking descriptor. */
	int (*connect)(const struct gpu_node *node, pid_t pid);
	/* Reads one event into size bytes. Returns its size; 0: none now; -EMSGSIZE: *ret_needed
	 * bytes are needed. */
	ssize_t (*read)(const struct gpu_node *node, int fd, void *bytes, size_t size,
			size_t *ret_needed);
	/* Decodes an event; false: it is not one. */
	bool (*decode)(struct eudebug_refs *refs, const void *bytes, size_t size,
		       struct eudebug_event *ret_event);
	int (*acknowledge)(const struct gpu_node *node, int fd, const struct eudebug_event *event);
	/* With size 0 it sets the size. */
	int (*read_binary)(const struct gpu_node *node, int fd, uint64_t client, uint64_t binary,
			   void *bytes, uint64_t *inout_size);
	/* Stop and resume a queue's threads. NULL: the driver cannot. */
	int (*interrupt)(const struct gpu_node *node, int fd, const struct eudebug_event *queue);
	int (*stopped)(const struct gpu_node *node, int fd, const struct eudebug_event *queue,
		       uint8_t *mask, uint32_t *inout_bytes);
	int (*resume)(const struct gpu_node *node, int fd, const struct eudebug_event *queue,
		      const uint8_t *mask, uint32_t bytes);
	const char *lacks;       /* note that explains where to get a driver with this interface */
	const char *folder_file; /* file in its device's folder; 1 enables the interface */
};

extern const struct eudebug_driver eudebug_xe_driver, eudebug_i915_driver;
