/* SPDX-License-Identifier: MIT
 *
 * tests/programs/storm.h - a path through functions, shared by storm.c, its plugins and its C++
 * part
 *
 * A path is a word of four bits a hop, the first hop lowest. A hop is a function that goes on with
 * the rest of the path; hop 0 launches a kernel. What it launches says where it was: global size x
 * is the path, y the plugin (1: a, 2: b) and the place (STORM_…), z how many hops were on the
 * stack.
 */
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdint.h>

struct storm_path;
typedef void storm_hop(struct storm_path *path);

enum { STORM_HOPS = 16, STORM_END = 16, STORM_CAUGHT = 32, STORM_UNWINDING = 48 };

struct storm_path {
	uint64_t code, left;
	uint32_t hops;     /* on the stack, the launching one included */
	uint32_t catchers; /* C++ frames that catch, with no signal handler in between */
	volatile uint32_t returns;
	storm_hop *const *table;
	void (*launch)(struct storm_path *path, uint32_t place, uint32_t hops);
	/* for a library that launches by itself */
	cl_command_queue queue;
	cl_kernel kernel;
	uint32_t plugin;
};

#define STORM_FRAME __attribute__((noinline))

/* No frame of its own. After it each hop but one has something left to do, so that its frame
 * stays. */
static inline __attribute__((always_inline)) void storm_go_on(struct storm_path *path)
{
	storm_hop *next = path->table[path->left % STORM_HOPS];

	path->left /= STORM_HOPS;
	path->hops++;
	next(path);
}

/* Of a plugin. */
typedef void storm_enter(struct storm_path *path, storm_hop *back);

/* Of the C++ part: puts its hops into the table. */
typedef void storm_fill(storm_hop **table);
