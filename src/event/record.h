/* SPDX-License-Identifier: MIT
 *
 * event/record.h - the records a guest writes into a ring
 *
 * Runs in:  guests write them, the recorder reads them; freestanding
 * Trust:    the recorder treats every byte as hostile: sizes, counts and ids are checked before use.
 *
 * A record begins with struct record; `size` counts the whole record in bytes and is a multiple of 8,
 * so that every 64-bit field is aligned. Ids in records are the guest's own and are translated by the
 * recorder; they count from 1 in each process and go on from one attachment to the next, while correlations
 * begin anew with each. Times are in the clock the recorder chose for the
 * region (struct ring_region.clock). Texts are NUL-terminated and follow the fixed part in the order
 * the struct names them.
 */
#ifndef EVENT_RECORD_H
#define EVENT_RECORD_H

#include <stdint.h>

struct record {
	uint16_t kind; /* enum event_kind, or RECORD_BYTES */
	uint16_t size;
	uint32_t detail; /* what the kind says */
};

/* Records that are not an event of their own. */
enum {
	RECORD_BYTES = 64,        /* a piece of a code object's content */
	RECORD_END = 65,          /* a thing is gone */
	RECORD_STACK = 66,        /* a call stack */
	RECORD_PYTHON_CODE = 67,  /* a Python function in it */
	RECORD_MODULE = 68,       /* a library whose code is in it */
	RECORD_FUNCTION = 69,     /* the name of a function of the runtime's */
	RECORD_NODE = 70,         /* a command that a call launched beside others */
	RECORD_REFUSED = 71,      /* what the guest needs and did not get */
	RECORD_CAPTURED = 72,     /* where a node of a graph comes from */
	RECORD_SAMPLES = 73,      /* instruction samples that the device's runtime has counted */
	RECORD_KERNEL_NEEDS = 74, /* what a kernel that is described takes of a compute unit */
	RECORD_KIND_END           /* one beyond the last */
};

/* A piece of content never makes a record larger than this, so that a small ring can take it. */
enum { RECORD_PIECE_BYTES = 16384, RECORD_TEXT_BYTES = 4096 };

/* EVENT_API; detail: function | type << 16. With size 40 the argument is there. */
struct record_api {
	struct record head;
	uint64_t begin, end;
	int32_t result;
	uint32_t stack; /* 0: none was taken */
	uint64_t argument;
};
enum { RECORD_API_BYTES = 32, RECORD_API_ARGUMENT_BYTES = 40 };

/* EVENT_LAUNCH; detail: function | command << 16 | flags << 24. Then dimensions * 2 sizes (global,
 * local), then wait_count event handles, then with RECORD_LAUNCH_STACK the id of the stack. */
struct record_launch {
	struct record head;
	uint64_t enter, exit;
	uint64_t correlation;
	uint64_t bytes;
	uint64_t handle;
	int32_t result;
	uint32_t queue;
	uint32_t kernel;
	uint16_t dimensions;
	uint16_t wait_count;
	uint64_t values[];
};
/* Beside enum event_launch_flag. PARENT: nodes may name it by its correlation, a COMMAND_GRAPH has nothing else. */
enum { RECORD_LAUNCH_STACK = 0x80, RECORD_LAUNCH_PARENT = 0x40 };
/* Longer wait lists are cut, and the cut entries counted as lost dependencies. */
enum { RECORD_WAIT_MOST = 1024 };

/* EVENT_EXECUTION; detail: enum event_execution_valid. */
struct record_execution {
	struct record head;
	uint64_t correlation;
	uint64_t queued, submitted, started, ended;
	uint64_t seen;
	uint32_t queue;
	int32_t status;
};

/* EVENT_INSTRUCTION_SAMPLE; detail: stall | unit of the period << 16, by event/pc_sampling.h. */
struct record_instruction {
	struct record head;
	uint64_t time; /* of the device's clock */
	uint64_t offset;
	uint64_t period;
	uint32_t code; /* of a kernel; 0: the offset is the device's own address */
	uint32_t device;
};

/* RECORD_SAMPLES; detail: stall | unit of the period << 16. The stall is one of event/pc_sampling.h, or as RECORD_FUNCTION
 * names it. */
struct record_samples {
	struct record head;
	uint64_t begin, end; /* of the device's clock: when they were taken */
	uint64_t offset;
	uint64_t correlation; /* of the command; 0: of any that ran meanwhile */
	uint64_t count;
	uint64_t period;
	uint32_t code; /* as in struct record_instruction */
	uint32_t device;
};

/* EVENT_DEVICE; detail: enum event_device_type. Texts: key, name, vendor, driver, platform. With
 * RECORD_DEVICE_LOCAL the last 8 bytes are the local memory of a compute unit. */
struct record_device {
	struct record head;
	uint32_t device;
	uint32_t compute_units;
	uint64_t memory_bytes;
	uint64_t frequency_hz; /* of the time stamps; 1000000000 for nanoseconds */
	char texts[];
};
enum { RECORD_DEVICE_LOCAL = 0x80 }; /* beside enum event_device_type */

/* EVENT_CONTEXT */
struct record_context {
	struct record head;
	uint64_t handle;
	uint32_t context;
	uint32_t reserved;
};

/* EVENT_QUEUE; detail: enum event_queue_flag */
struct record_queue {
	struct record head;
	uint64_t handle;
	uint32_t queue, context, device;
	uint32_t reserved;
};

/* EVENT_CODE; detail: enum event_code_type. Texts: name, options. Content follows in RECORD_BYTES. With
 * RECORD_CODE_NEEDS, of a kernel, the last bytes are a struct record_needs. */
struct record_code {
	struct record head;
	uint64_t handle;
	uint64_t size_bytes;
	uint32_t code, parent, device;
	int32_t status;
	char texts[];
};
/* Beside enum event_code_type. PLACED, of a kernel: behind its needs, if any, is a struct record_place. */
enum { RECORD_CODE_NEEDS = 0x80, RECORD_CODE_PLACED = 0x40 };

/* As in struct event_code. */
struct record_needs {
	uint64_t group_most, group_multiple, local_bytes, private_bytes;
};

/* RECORD_KERNEL_NEEDS, as its launches tell of it; the newest is what counts. */
struct record_kernel_needs {
	struct record head;
	uint64_t local_bytes; /* of a work-group: the most that a launch has taken */
	uint32_t code;
	uint32_t registers; /* of a work item */
};

/* Where its code is on the device; size_bytes 0: not known. time: since when at the latest, as times of calls; 0: not known.
 * The same kernel at another address is another one. */
struct record_place {
	uint64_t address, size_bytes, time;
};

/* RECORD_BYTES; detail: number of bytes that follow. Pieces of one content are written by one thread
 * one after the other; a piece that is missing makes the content incomplete, and it is not kept. */
struct record_bytes {
	struct record head;
	uint64_t offset;
	uint32_t code;
	uint32_t reserved;
	uint8_t bytes[];
};

/* EVENT_CLOCK_PAIR: the device showed `time` somewhere between two readings of the host clock. */
struct record_clock_pair {
	struct record head;
	uint64_t time;
	uint64_t before, after;
	uint32_t device;
	uint32_t reserved;
};

/* RECORD_END; detail: enum event_kind of the thing. */
struct record_end {
	struct record head;
	uint64_t time;
	uint32_t id;
	uint32_t reserved;
};

/* Stacks, functions and modules have ids of the ring that describes them, and are described in it before they
 * are named; rings are read one after the other. */

/* RECORD_STACK; detail: how many frames, innermost first. A frame is the address that its callee returns to (47
 * bits), or with RECORD_FRAME_EXACT the one that was interrupted, and from bit 47 on the module's id (15 bits; 0:
 * code of no file); with RECORD_FRAME_PYTHON a function's id << 32 (30 bits) and the byte offset of its
 * instruction. Where `truncated` frames of a deep stack were left out, they lie before frames[kept]; where
 * `is_cut` is set, what called the last frame is not known. */
struct record_stack {
	struct record head;
	uint64_t truncated;
	uint32_t stack, kept;
	uint32_t is_cut, reserved;
	uint64_t frames[];
};
#define RECORD_FRAME_EXACT  (UINT64_C(1) << 63)
#define RECORD_FRAME_PYTHON (UINT64_C(1) << 62)
enum { RECORD_FRAME_MODULE_SHIFT = 47 };

/* RECORD_PYTHON_CODE; detail: the interpreter's version, 0x030b for 3.11. Texts: name, file; behind them the
 * line table. */
struct record_python_code {
	struct record head;
	uint32_t code, first_line;
	uint32_t lines_bytes;
	uint32_t reserved;
	char texts[];
};

/* EVENT_RANGE; detail: enum event_range_type | enum record_range_of << 8, and RECORD_RANGE_END where it ends. Texts:
 * domain, and where it begins or is a mark, name. */
struct record_range {
	struct record head;
	uint64_t time;
	/* START: given by the interface. PUSH: how many of the domain the thread has open, this one among them; 0: not
	 * known. */
	uint64_t id;
	char texts[];
};
enum { RECORD_RANGE_END = 0x80 };
/* Each gives ids of its own. */
enum record_range_of {
	RANGE_OF_ROCTX = 1,
	RANGE_OF_NVTX = 2,
	RANGE_OF_ITT = 3,
	RANGE_OF_LIBDUET = 4,
	RANGE_OF_CUPTI = 5
};
enum { RECORD_RANGE_TEXT_BYTES = 1024 }; /* longer texts are cut */

/* EVENT_COUNTER; detail: the device that it is of, described in this ring; 0: none. Texts: metric, unit. */
struct record_counter {
	struct record head;
	uint64_t time;
	int64_t value;
	char texts[];
};

/* RECORD_FUNCTION; detail: its number, from RECORD_FUNCTION_FIRST on; the runtime's names of stalls are among them. Text:
 * name. Of the ring that describes it, and
 * described in it before it is named. */
struct record_function {
	struct record head;
	char texts[];
};
enum { RECORD_FUNCTION_FIRST = 2048, RECORD_FUNCTION_MOST = 4096 };

/* RECORD_NODE; detail: enum event_execution_valid | command << 16. A launch and its execution in one, as the device
 * tells of both: of a graph, whose call says nothing of what is in it, and of a call that made several commands. It
 * may be read before the call that it names. Then dimensions * 2 sizes (global, local). */
struct record_node {
	struct record head;
	uint64_t parent; /* correlation of the call; 0: not known */
	uint64_t correlation;
	uint64_t queued, submitted, started, ended;
	uint64_t seen;
	uint64_t bytes;
	uint64_t graph_node; /* as in RECORD_CAPTURED; 0: none */
	uint32_t queue;
	uint32_t kernel;
	int32_t status;
	uint32_t dimensions;
	uint64_t values[];
};

/* RECORD_CAPTURED; detail: number of the function whose call made the node. A copy, as an executable graph has of each,
 * has the function and the stack of its original. */
struct record_captured {
	struct record head;
	uint64_t node;     /* the runtime's id */
	uint64_t original; /* 0: it is none's copy */
	uint32_t stack;    /* 0: none was taken */
	uint32_t reserved;
};

/* RECORD_REFUSED; detail: enum record_refusal. What a function of the runtime's answered that the guest needs. Texts:
 * the function, and who holds what was asked for, "" where nobody is named. */
struct record_refused {
	struct record head;
	int32_t result; /* as it returned it */
	uint32_t reserved;
	char texts[];
};
enum record_refusal {
	REFUSED_ALL = 0,  /* nothing of the runtime is recorded */
	REFUSED_PART = 1, /* something of it is not */
	REFUSED_END = 2,  /* the runtime was left alone before the end */
	REFUSED_LATER = 3 /* nothing is missing: what will not be done at the end */
};

/* RECORD_MODULE; detail: its id. Text: path. */
struct record_module {
	struct record head;
	uint64_t address, size_bytes, file_offset_bytes;
	uint32_t build_id_bytes;
	uint32_t reserved;
	uint8_t build_id[32];
	char texts[];
};

#endif
