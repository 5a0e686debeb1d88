/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_agent.h - what the parts of the capturing library share
 */
#pragma once

#include "capture_cupti.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum capture_mode { CAPTURE_NULL, CAPTURE_SUBSCRIBE, CAPTURE_RECORD };
enum capture_stack { CAPTURE_STACK_NONE, CAPTURE_STACK_FP, CAPTURE_STACK_UNWIND };
enum capture_log { CAPTURE_LOG_NONE, CAPTURE_LOG_KNOWN, CAPTURE_LOG_ALL };
/* RANGES: continuous, but stopped to be drained, and started again */
enum capture_pc_mode {
	CAPTURE_PC_OFF,
	CAPTURE_PC_CONTINUOUS,
	CAPTURE_PC_SERIALIZED,
	CAPTURE_PC_RANGES
};
enum capture_flush { CAPTURE_FLUSH_NONE, CAPTURE_FLUSH_NORMAL, CAPTURE_FLUSH_FORCED };

struct capture_options {
	char out[512], what[64], kinds[128];
	enum capture_mode mode;
	enum capture_stack stack;
	enum capture_log log;
	enum capture_pc_mode pc;
	enum capture_flush flush;
	enum capture_stamp stamp;
	uint32_t period_log2;  /* 0: the library's own */
	uint32_t buffer_limit; /* buffers that we have at most */
	uint32_t pool_limit;   /* buffers in the GPU's memory; 0: the library's own */
	/* Told and not asked: in cuInit the driver is not to be called. */
	uint32_t driver_version;
	uint64_t record_limit;
	bool has_graph_trace, has_cubins, is_holder;
	bool is_late; /* loaded by hand, when there is a context already */
};

/* One thread's rows and the costs of its stacks. Never freed. */
enum { CAPTURE_ROWS = 1024, CAPTURE_COSTS = 1 << 16 };
struct capture_thread {
	struct capture_thread *next;
	uint32_t tid, row_count;
	uint64_t stack_low, stack_high;
	pthread_mutex_t lock; /* of the rows */
	void *walker;         /* struct unwind_thread */
	uint64_t cost_count;
	uint32_t costs_ns[CAPTURE_COSTS], depths[CAPTURE_COSTS];
	struct capture_callback rows[CAPTURE_ROWS];
};

struct agent {
	struct capture_options options;
	struct capture_cupti cupti;
	struct capture_file *file;
	cupti_subscriber subscriber;
	pid_t pid;
	atomic_bool is_live; /* from the first success to the end */
	atomic_bool is_over; /* nothing is written any more */
	atomic_bool is_exiting;
	atomic_bool is_awake; /* a callback came: cuInit is over */
	pthread_t worker;
	bool has_worker;
	uint32_t kind_count; /* that are enabled; 0: the library has nothing to flush, and may hang
				over it */
	_Atomic(struct capture_thread *) threads;
	atomic_ullong row_count, rows_lost;
	const char *stage; /* of the end, for whoever waits for it */
};

extern struct agent capture_agent;

/* Memory of zeros that stays; NULL: there is none. */
void *guest_memory(size_t bytes);

/* capture_options.c; false: a word is not known, *ret_wrong is it. */
bool capture_options_parse(const char *text, struct capture_options *ret_options,
			   char ret_wrong[64]);

/* capture_activity.c */
bool capture_activity_start(struct agent *agent);
void capture_activity_flush(struct agent *agent, uint32_t flag);
void capture_activity_facts(struct agent *agent);

/* capture_callbacks.c */
bool capture_callbacks_start(struct agent *agent);
void capture_callbacks_write(struct agent *agent);
struct capture_thread *capture_thread_mine(struct agent *agent);

/* capture_stack.c */
/* Takes the stack of the launch in whose callback this is called. */
void capture_stack_take(struct agent *agent, struct capture_thread *thread, uint64_t ret_data[2]);
void capture_stack_facts(struct agent *agent);

/* capture_pc.c */
void capture_pc_context(struct agent *agent, CUcontext context);
/* The context of the calling thread, which was there before. */
void capture_pc_late(struct agent *agent);
void capture_pc_drain(struct agent *agent);
/* Of one context that ends, or of all: NULL. */
void capture_pc_stop(struct agent *agent, CUcontext context);
void capture_pc_facts(struct agent *agent);
