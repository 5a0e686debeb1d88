/* SPDX-License-Identifier: MIT
 *
 * event/event.h - the kinds of rows in a trace, and their structs
 *
 * Runs in:  BPF programs, guests and our own process; freestanding, needs no libc
 * Frozen:   kinds, their numbers and the meaning of each field. A field may be added at the end of
 *           a row; none is removed or given another meaning (docs/design/events.md,
 *           tests/golden/event).
 * Fields:   event/fields.def defines them and documents each (docs/events-fields.md)
 *
 * Times in a row are raw readings in the clock domain of the row's chunk (trace_chunk.clock, an
 * event_clock id). Rows of entities (EVENT_HOST … EVENT_TRIGGER) are an exception: their times are
 * CLOCK_MONOTONIC ns. The recorder assigns ids; they count from 1 and are unique within one trace.
 * 0 means "none" or "not known". A `_string` field is the id of a text in the trace's dictionary, 0
 * for the empty text.
 */
#pragma once

#include <stdint.h>

/* The major number grows if an old reader could misread a new file. A reader refuses a newer major
 * number. */
#define EVENT_SCHEMA_MAJOR   1
#define VERSION(minor, what) EVENT_SCHEMA_1_##minor = minor,
enum event_schema_minor {
#include "event/fields.def"
	EVENT_SCHEMA_NEXT
};
#define EVENT_SCHEMA_MINOR (EVENT_SCHEMA_NEXT - 1)

enum event_kind {
	EVENT_PADDING = 0, /* fills the end of a ring; never in a file */
	/* entities: rows with an id and a lifetime; each segment of a file repeats live ones */
	EVENT_HOST = 1,
	EVENT_PROCESS = 2,
	EVENT_THREAD = 3,
	EVENT_MAPPING = 4,
	EVENT_DEVICE = 5,
	EVENT_CONTEXT = 6,
	EVENT_QUEUE = 7,
	EVENT_CLOCK = 8,
	EVENT_COLLECTOR = 9,
	EVENT_CODE = 10,
	EVENT_SERIES = 11,
	EVENT_TRIGGER = 12,
	/* events: rows with a time */
	EVENT_API = 16,
	EVENT_LAUNCH = 17,
	EVENT_DEPENDENCY = 18,
	EVENT_EXECUTION = 19,
	EVENT_GRAPH = 20,
	EVENT_INSTRUCTION_SAMPLE = 21,
	EVENT_CPU_SAMPLE = 22,
	EVENT_SWITCH = 23,
	EVENT_COUNTER = 24,
	EVENT_RANGE = 25,
	EVENT_CLOCK_PAIR = 26,
	EVENT_LOSS = 27,
	EVENT_COLLECTIVE = 28,
	EVENT_KIND_COUNT
};
#define EVENT_ENTITY_LAST EVENT_TRIGGER

enum event_device_type { DEVICE_OTHER = 0, DEVICE_CPU = 1, DEVICE_GPU = 2, DEVICE_ACCELERATOR = 3 };

enum event_queue_flag {
	QUEUE_OUT_OF_ORDER = 1,
	QUEUE_TIMED = 2,         /* its commands have device timestamps */
	QUEUE_TIMING_FORCED = 4, /* duet requested the timestamps, not the program */
	QUEUE_DIRECT = 8         /* a command is on the device when its launching call returns */
};

enum event_clock_type {
	CLOCK_TYPE_MONOTONIC =
		1, /* the reference clock, to which all others are aligned; always id 1 */
	CLOCK_TYPE_MONOTONIC_RAW = 2,
	CLOCK_TYPE_BOOTTIME = 3,
	CLOCK_TYPE_REALTIME = 4,
	CLOCK_TYPE_TSC = 5, /* cycles of the processor's invariant timestamp counter */
	CLOCK_TYPE_DEVICE = 6
};
#define CLOCK_ID_MONOTONIC 1u

enum event_collector_state {
	COLLECTOR_AVAILABLE = 0,
	COLLECTOR_PARTIAL = 1,
	COLLECTOR_REFUSED = 2
};

enum event_code_type {
	CODE_SOURCE = 1,    /* source text passed to the runtime's compiler */
	CODE_BINARY = 2,    /* device binary, in the vendor's own container */
	CODE_IL = 3,        /* SPIR-V and other intermediate languages */
	CODE_BUILD_LOG = 4, /* output of the compiler */
	CODE_KERNEL = 5     /* one entry point; parent is its program */
};

#define CODE_UNKNOWN UINT64_MAX /* local_bytes and private_bytes of a kernel: not known */

enum event_series_type {
	SERIES_LEVEL = 0, /* a quantity or a speed, measured at the end of the reading */
	/* an amount added from begin to end. Sums are exact. The displayed rate is the sum divided
	 * by the real time */
	SERIES_AMOUNT = 1,
	SERIES_RATIO = 2, /* value is a part of `of`, from begin to end; the displayed ratio is the
			     sum of value divided by the sum of `of` */
	SERIES_TYPE_COUNT
};

enum event_api_type {
	API_TYPE_CALL = 0, /* an ordinary call */
	API_TYPE_WAIT = 1, /* a call that waits for the device (for most of its duration) */
	/* work of duet's guest, not a call of the program (event/guest_sections.h) */
	API_TYPE_DUET = 2,
	API_TYPE_SIGNAL = 3,   /* a call that sets an event, for which commands may wait */
	API_TYPE_OPERATOR = 4, /* an operator of a framework: aten::mm */
	API_TYPE_FUNCTION = 5, /* a function of the program that a tracer recorded */
	API_TYPE_OS = 6        /* a call of the operating system or C library that may block */
};

enum event_command {
	COMMAND_OTHER = 0,
	COMMAND_KERNEL = 1,
	COMMAND_READ = 2,  /* device to host */
	COMMAND_WRITE = 3, /* host to device */
	COMMAND_COPY = 4,  /* device to device */
	COMMAND_FILL = 5,
	COMMAND_MAP = 6,
	COMMAND_UNMAP = 7,
	COMMAND_MIGRATE = 8,
	COMMAND_BARRIER = 9, /* barriers, markers, waits put into a queue */
	COMMAND_NATIVE = 10, /* a host function that the queue runs */
	COMMAND_GRAPH = 11,  /* a command buffer or graph */
	COMMAND_ACQUIRE = 12,
	COMMAND_RELEASE = 13,
	COMMAND_SEMAPHORE = 14,
	COMMAND_FREE = 15,
	COMMAND_BATCH =
		16, /* a buffer of commands that an OS kernel driver submits to its device */
	COMMAND_COUNT
};

enum event_launch_flag {
	LAUNCH_BLOCKING = 1, /* the call returned only when the command was complete */
	LAUNCH_UNTIMED = 2,  /* device timestamps were not requested or are not available */
	LAUNCH_FURTHER = 4,  /* a further command of a call that has a launch row already */
	LAUNCH_PART = 8,     /* a part of the batch that the same call launched before it; it has no
				execution of its own */
	LAUNCH_COOPERATIVE = 16 /* its work-groups can wait for each other */
};

enum event_execution_valid {
	EXECUTION_QUEUED = 1,
	EXECUTION_SUBMITTED = 2,
	EXECUTION_STARTED = 4,
	EXECUTION_ENDED = 8,
	EXECUTION_TIMED = 15
};

/* Kinds of memory of a transfer. */
enum event_memory {
	MEMORY_UNKNOWN = 0,
	MEMORY_PAGEABLE = 1, /* host memory */
	MEMORY_PINNED = 2,   /* page-locked host memory */
	MEMORY_DEVICE = 3,
	MEMORY_MANAGED = 4, /* moves between host and device */
	MEMORY_ARRAY = 5,   /* device memory in a layout of its own */
	MEMORY_DEVICE_STATIC = 6,
	MEMORY_COUNT
};

/* Why managed memory moved. */
enum event_migration {
	MIGRATION_UNKNOWN = 0,
	MIGRATION_REQUESTED = 1, /* the program prefetched it */
	MIGRATION_PAGE_FAULT = 2,
	MIGRATION_SPECULATIVE = 3, /* the driver prefetched it */
	MIGRATION_EVICTION = 4,    /* other memory needed its place */
	MIGRATION_COUNT
};

enum event_collective_flag {
	COLLECTIVE_COUNTED = 1 /* sequence was counted, because the recording has none */
};

enum event_mode { MODE_UNKNOWN = 0, MODE_USER = 1, MODE_KERNEL = 2, MODE_HYPERVISOR = 3 };

enum event_switch_reason {
	SWITCH_NOT_KNOWN = 0,
	SWITCH_BLOCKED = 1,   /* it waits for an object or an event */
	SWITCH_PREEMPTED = 2, /* it was runnable, but another thread got the processor */
	SWITCH_EXITED = 3
};

/* The "preemptor" of a thread that could run while its processor idled: the limit of CPU time of
 * its cgroup (cpu.max) does not let it run. */
#define SWITCH_CPU_LIMIT   "CPU limit of the cgroup"
/* The wait text of a thread that waits for the lock (GIL) of its Python interpreter. */
#define SWITCH_PYTHON_LOCK "Python GIL"

enum event_range_type {
	RANGE_PUSH = 0,  /* pushed and popped by one thread; ranges of one thread and domain nest */
	RANGE_START = 1, /* started by one thread and stopped by any thread */
	RANGE_MARK = 2,  /* a moment: end equals begin */
	RANGE_TYPE_COUNT
};

/* Category of the ranges of domain "CUPTI" in which a profiler held the thread. */
#define RANGE_CATEGORY_PROFILER "profiler overhead"

enum event_range_flag {
	RANGE_OPEN = 1, /* its end was not recorded; `end` is the latest time at which its end could
			   have been recorded */
	RANGE_UNBEGUN = 2 /* its begin was not recorded, so it has no name; begin equals end */
};

/* The C type of a member for each field type. */
#define EVENT_TYPE_TEXT                      uint32_t
#define EVENT_TYPE_U32                       uint32_t
#define EVENT_TYPE_U32_DELTA                 uint32_t
#define EVENT_TYPE_U32_AROUND(base)          uint32_t
#define EVENT_TYPE_I32                       int32_t
#define EVENT_TYPE_U64                       uint64_t
#define EVENT_TYPE_U64_DELTA                 uint64_t
#define EVENT_TYPE_U64_RISING                uint64_t
#define EVENT_TYPE_U64_AFTER(base)           uint64_t
#define EVENT_TYPE_U64_AROUND_OR_DELTA(base) uint64_t
#define EVENT_TYPE_I64                       int64_t

/* struct event_host, struct event_process, … */
#define ENTITY(event, ...)                              struct event_##event {
#define HAPPENING(event, ...)                           struct event_##event {
#define FIELD(event, number, name, member, type, ...)   EVENT_TYPE_##type member;
#define FIELD_3(event, number, name, member, type, ...) EVENT_TYPE_##type member[3];
#define RESERVED(event)                                 uint32_t reserved;
#define EVENT_END(event) \
	}                \
	;
#include "event/fields.def"

/* A node of a call stack. A stack is a chain of nodes from the innermost frame outwards. Stacks
 * share their outer nodes. */
struct event_stack {
	uint32_t caller; /* id of the stack without the innermost frame; 0: this frame is the
			    outermost */
	uint32_t frame;  /* id of the innermost frame */
};

enum event_frame_type {
	FRAME_NATIVE = 1,    /* code of a file */
	FRAME_PYTHON = 2,    /* a Python function at a line */
	FRAME_JIT = 3,       /* JIT code: not from a file */
	FRAME_TRUNCATED = 4, /* stands for missing frames: the stack was very deep, or a function
				has no unwind tables */
	FRAME_KERNEL = 5     /* code of the operating system's kernel */
};

enum event_frame_flag {
	FRAME_RETURN = 1, /* offset is a return address; the call instruction is just before it */
	FRAME_INLINED = 2 /* NATIVE with a name: inlined into the next outer frame */
};

/* A frame is complete in itself: it needs no process or mapping to be symbolized. */
struct event_frame {
	uint32_t type;          /* enum event_frame_type */
	uint32_t flags;         /* enum event_frame_flag */
	uint32_t module_string; /* NATIVE: path of the file in the view of its process */
	/* NATIVE: lower-case hexadecimal; empty if the file has none */
	uint32_t build_id_string;
	/* PYTHON: qualified name; JIT: name reported by the process, or empty; KERNEL: function;
	 * NATIVE: function in imported traces, or FRAME_GARBAGE, otherwise empty */
	uint32_t name_string;
	uint32_t file_string; /* PYTHON: file name in the code object */
	uint32_t line;        /* PYTHON: line of the call; 0: not known */
	uint32_t first_line;  /* PYTHON: first line of the function */
	uint64_t offset; /* NATIVE: offset in the file, bytes; JIT and KERNEL: address; TRUNCATED:
			    number of missing frames, 0: not known */
	/* NATIVE without build id: size and modification time of the recorded file; 0: not known */
	uint64_t file_size_bytes, file_modified_ns; /* ns since 1970; FRAME_FILE_GONE */
};
/* Name of a NATIVE frame without a file: the interpreter collects garbage. Its caller is the Python
 * function in which the collection began, or a finalizer that the collection runs. */
#define FRAME_GARBAGE "[Python garbage collection]"
#define FRAME_FILE_GONE \
	UINT64_MAX /* during the recording, the path was already gone or named another file */

enum event_loss_reason {
	LOSS_RING_FULL = 1, /* the recorder read the ring too slowly */
	LOSS_NO_RING = 2,   /* more threads than rings */
	LOSS_NESTED = 3, /* a signal handler called the runtime while its thread was writing to the
			    ring */
	LOSS_RING_BROKEN = 4, /* the bytes in a ring were invalid */
	LOSS_TRACKING = 5,    /* too many commands were pending to track one more */
	LOSS_DISK = 6,        /* rows that could not be written to the file */
	LOSS_GAP = 7,   /* the process had no recorder, or a counter no value, for some time */
	LOSS_LIMIT = 9, /* left out on purpose, to hold the limit of --max-overhead */
	LOSS_UNSEEN = 8 /* the kernel did not report a switch; inserted rows close the thread's
			   interval */
};

enum { LOSS_KIND_STACK = 70 }; /* a loss of stacks; extends enum event_kind */

enum { LOSS_COUNT_UNKNOWN = 0 }; /* rows were lost, but their number is not known */
