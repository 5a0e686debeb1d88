/* SPDX-License-Identifier: MIT
 *
 * collect/intel/gpu_node.h - a render node of one of Intel's drivers, and what its driver says of the GPU
 */
#ifndef COLLECT_INTEL_GPU_NODE_H
#define COLLECT_INTEL_GPU_NODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { GPU_NODE_FIRST = 128, GPU_NODE_LAST = 191 }; /* minor numbers of render nodes */

struct gpu_node {
	int fd; /* owned */
	int minor;
	char driver[16];  /* "xe", "i915" */
	char address[64]; /* on PCI "0000:03:00.0"; else what its device is called */
	char folder[64];  /* of its card, in which a driver lists metric sets: below /sys */
	/* The kernel's, for streams that were opened here, too; a test has its own. */
	int (*ioctl)(int fd, unsigned long request, void *argument);
	ssize_t (*read)(int fd, void *buffer, size_t size);
};

/* False: there is none, it is not ours to open, or it is another vendor's. */
bool gpu_node_open(int minor, struct gpu_node *ret_node);
/* Whether it is one of theirs, which this user may not open, and what mends that: "/dev/dri/renderD128 …". root: "", or where
 * /dev and /sys lie. */
bool gpu_node_is_shut(const char *root, int minor, char *ret_text, size_t size);
void gpu_node_close(struct gpu_node *node);

/* Of xe: the answer to a query (enum xe_query) is the caller's. Errors: -errno, without the error chain. */
int gpu_node_ask(const struct gpu_node *node, uint32_t query, void **ret_answer,
		 uint32_t *ret_size);

/* A graphics technology: a part of the GPU with engines of its own. Of several tiles each has one. */
struct gpu_gt {
	uint32_t id;
	uint32_t major, minor; /* its graphics IP, "20.01" */
};

/* Of xe: the nth that computes (others are for media). Errors, with the error chain: -ENOENT: there are not so many;
 * -ENOTSUP: the kernel is too old to tell their IP; -errno. */
int gpu_node_find_gt(const struct gpu_node *node, uint32_t nth, struct gpu_gt *ret_gt);

#endif
