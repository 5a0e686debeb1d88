/* SPDX-License-Identifier: MIT
 *
 * symbol/remote/python_private.h - the reader object that python.c, python_stack.c and
 * python_lock.c share
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/python_offsets.h"
#include "symbol/remote/memory.h"
#include "symbol/remote/python.h"
#include "symbol/remote/python_codes.h"
#include "symbol/remote/python_evaluation.h"
#include "symbol/remote/python_threads.h"

enum {
	PYTHON_MAX_CHUNKS = 256,
	PYTHON_MAX_FETCHES = 1 << 11, /* windows that one call may add */
	PYTHON_OWNED_BY_GENERATOR = 1 /* value of python_raw_frame.owner */
};

/* Heads are read before, between and after the copies. */
enum { HEAD_BEGIN, HEAD_MIDDLE, HEAD_END, HEAD_COUNT };

/* The part of the thread state that leads to the frames. */
struct python_head {
	uint64_t identity;
	uint64_t pointer; /* to the frame, or to the C structure that points to it */
	uint64_t frame;
	uint64_t chunk, top;
};

/* A frame as stored in the memory of the other process. */
struct python_raw_frame {
	uint64_t address, code, instruction, previous;
	uint8_t owner, entry;
	struct remote_python_code *known;
};

struct python_raw_frames {
	struct python_raw_frame *frames;
	size_t count, capacity;
};

/* A part of the thread's data stack, where CPython 3.11 and later keep frames. */
struct python_chunk {
	uint64_t address, end;
};

/* A frame to be returned, before its names and line are looked up. */
struct python_built_frame {
	struct remote_python_code *code;
	uint64_t address, c_address; /* see struct python_remote_frame */
	uint32_t instruction;
	bool is_entry;
};

/* The locks (GIL) of the process's interpreters. */
struct python_locks {
	uint64_t addresses[PYTHON_MAX_INTERPRETERS];
	size_t count;
	uint64_t listed_ns; /* 0: not listed yet */
};

struct python_remote {
	struct remote_memory memory;
	struct python_offsets at;
	struct python_types types;
	uint64_t frame_type; /* PyFrame_Type */
	struct python_evaluation evaluation;
	struct python_threads threads;
	struct python_codes *codes;
	struct python_locks locks;
	size_t state_bytes, frame_bytes;
	/* the stack that is being read */
	struct python_thread *thread;
	struct python_head heads[HEAD_COUNT];
	size_t head_at[HEAD_COUNT];
	uint64_t newest;    /* address of the interpreter's newest thread state */
	bool is_collecting; /* the main interpreter collects garbage */
	uint32_t owner;     /* tid, according to the state */
	uint8_t *bytes;
	size_t bytes_count, bytes_capacity;
	struct remote_piece *pieces;
	size_t pieces_capacity;
	struct python_chunk chunks[PYTHON_MAX_CHUNKS];
	size_t chunk_count;
	uint64_t next_chunk;
	uint32_t fetches;
	size_t fetched_bytes;
	bool is_missed; /* the walk needed memory that was not read together with the rest */
	bool is_glance; /* one copy only; see python_remote_frames */
	struct python_raw_frames raw[2];
	struct python_built_frame *built;
	size_t built_count, built_capacity;
	bool is_inside; /* the current C evaluation frame has a complete Python frame */
	/* its frame that has not started yet, reported if no complete one follows */
	struct python_built_frame left;
};

/* Reads the code objects of remote->raw[0]. 0: all are as known before; 1: one is new. Errors:
 * those of python_codes_read. */
int python_frames_ask_codes(struct python_remote *remote);
/* Returns remote->raw[0] as python_remote_frames does. */
int python_frames_return(struct python_remote *remote, struct python_remote_frame *frames,
			 size_t most, struct python_remote_gap *gap);

/* The address of the flag that the main interpreter collects garbage, if remote->threads.newest_at
 * is known. */
uint64_t python_collecting_at(const struct python_remote *remote);
/* Whether the thread with this state holds the main interpreter's lock now. */
bool python_holds_lock(struct python_remote *remote, uint64_t state);

/* Reads the frames of remote->thread into remote->raw[0], innermost first. 1: done; 0: the thread
 * runs no Python. *ret_is_moving: calls and returns happened during the read. Errors: -EAGAIN: the
 * stack changed during every read; -E2BIG: too deep; -ENOMEM, -ESRCH, -EPERM. */
int python_stack_read(struct python_remote *remote, bool *ret_is_moving);
