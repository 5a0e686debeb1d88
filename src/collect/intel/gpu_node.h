/* SPDX-License-Identifier: MIT
 *
 * collect/intel/gpu_node.h - a render node of an Intel driver, and facts that the driver reports
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { GPU_NODE_FIRST = 128, GPU_NODE_LAST = 191 }; /* minor numbers of render nodes */

struct gpu_node {
	int fd; /* owned */
	int minor;
	char driver[16];  /* "xe", "i915" */
	char address[64]; /* PCI address "0000:03:00.0"; otherwise the name of its device */
	char folder[64];  /* folder of its card below /sys, in which the driver lists metric sets */
	/* Functions of the kernel, also used for streams of this GPU; tests replace them. */
	int (*ioctl)(int fd, unsigned long request, void *argument);
	ssize_t (*read)(int fd, void *buffer, size_t size);
};

/* False: there is no such node, no right to open it, or it belongs to another vendor. */
bool gpu_node_open(int minor, struct gpu_node *ret_node);
/* Whether it is a node of an Intel driver that this user may not open. ret_text names the remedy:
 * "/dev/dri/renderD128 …". root: "", or the folder that contains /dev and /sys. */
bool gpu_node_is_shut(const char *root, int minor, char *ret_text, size_t size);
void gpu_node_close(struct gpu_node *node);

/* Makes a descriptor usable that an ioctl has just returned, or -1 with errno. keeps: reads do not
 * wait, and exec does not inherit it; for a driver that has no flags for that. enable: the request
 * that starts the stream; 0: none. Returns the descriptor; -errno: it is closed. */
int gpu_node_begin(const struct gpu_node *node, int fd, bool keeps, unsigned long enable);

/* Why a driver may refuse a stream, in the words of its kind. */
struct gpu_stream_words {
	const char *what, *allowed, *busy, *stream;
};
/* Sets the error chain for that errno and returns an error. */
int gpu_node_refused(const struct gpu_stream_words *words, const char *driver, int error);

/* xe only: sends a query (enum xe_query). The caller frees the answer. Errors: -errno, without the
 * error chain. */
int gpu_node_ask(const struct gpu_node *node, uint32_t query, void **ret_answer,
		 uint32_t *ret_size);

/* A GT (graphics technology): a part of the GPU with engines of its own. Each tile has its own. */
struct gpu_gt {
	uint32_t id;
	uint32_t major, minor; /* its graphics IP, "20.01" */
};

/* xe only: the nth compute GT (others are for media). Errors, with the error chain: -ENOENT: there
 * are fewer; -ENOTSUP: the kernel is too old to report their IP; -errno. */
int gpu_node_find_gt(const struct gpu_node *node, uint32_t nth, struct gpu_gt *ret_gt);
