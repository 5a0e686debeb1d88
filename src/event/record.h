/* SPDX-License-Identifier: MIT
 *
 * event/record.h - the records a guest writes into a ring
 *
 * Runs in:  guests write them, the recorder reads them; freestanding
 * Trust:    the recorder treats every byte as hostile and checks sizes, counts and ids before use.
 *
 * A record begins with struct record. `size` is the size of the whole record in bytes, a multiple
 * of 8, so that every 64-bit field is aligned. Ids in records are assigned by the guest; the
 * recorder translates them. They count from 1 in each process and continue after a detach and new
 * attach, whereas correlation ids start again. Times are in the clock that the recorder chose for
 * the region (struct ring_region.clock). Texts are NUL-terminated. They follow the fixed part in
 * the order that the comment of the struct gives.
 */
#pragma once

#include <stdint.h>

struct record {
	uint16_t kind; /* enum event_kind, or RECORD_BYTES */
	uint16_t size;
	uint32_t detail; /* its meaning depends on the kind */
};

/* Kinds of records that are not an event. */
enum {
	RECORD_BYTES = 64,        /* a piece of the content of a code object */
	RECORD_END = 65,          /* an entity has ended */
	RECORD_STACK = 66,        /* a call stack */
	RECORD_PYTHON_CODE = 67,  /* a Python function of a stack */
	RECORD_MODULE = 68,       /* a library with code in a stack */
	RECORD_FUNCTION = 69,     /* the name of a function of the runtime */
	RECORD_NODE = 70,         /* one of several commands of one call, such as a graph's node */
	RECORD_REFUSED = 71,      /* the runtime refused a service that the guest needs */
	RECORD_CAPTURED = 72,     /* the call that created a node of a graph */
	RECORD_SAMPLES = 73,      /* instruction samples, counted by the device's runtime */
	RECORD_KERNEL_NEEDS = 74, /* registers and local memory of a known kernel */
	RECORD_KIND_END           /* one more than the last kind */
};

/* Limit of a record with a piece of content, in bytes, so that it fits into a small ring. */
enum { RECORD_PIECE_BYTES = 16384, RECORD_TEXT_BYTES = 4096 };

/* EVENT_API; detail: function | type << 16. A record of 40 bytes has the argument, one of 32 bytes
 * has none. */
struct record_api {
	struct record head;
	uint64_t begin, end;
	int32_t result;
	uint32_t stack; /* 0: none was captured */
	uint64_t argument;
};
/* In the id of a stack: it was not captured at this call, but at an earlier one of the same call
 * site and thread. */
#define RECORD_STACK_CARRIED 0x80000000u

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
/* Further flags beside enum event_launch_flag. PARENT: RECORD_NODE records may name this call by
 * its correlation id. A COMMAND_GRAPH with PARENT has only those nodes and no execution of its
 * own. EXECUTED: the launch has no device times, and the guest writes its EVENT_EXECUTION, which
 * has parts. */
enum { RECORD_LAUNCH_STACK = 0x80, RECORD_LAUNCH_PARENT = 0x40, RECORD_LAUNCH_EXECUTED = 0x20 };
/* Max number of event handles. Longer wait lists are cut, and the cut entries are counted as lost
 * dependencies. */
enum { MAX_RECORD_WAIT = 1024 };

/* EVENT_EXECUTION; detail: enum event_execution_valid, enum record_part, and the hardware queue of
 * event/record_parts.h. The parts that detail names follow the fixed part. */
struct record_execution {
	struct record head;
	uint64_t correlation;
	uint64_t queued, submitted, started, ended;
	uint64_t seen;
	uint32_t queue;
	int32_t status;
};

/* Optional parts of EVENT_EXECUTION and RECORD_NODE, in this order, so that a command without
 * them costs nothing more. The members mean the same as in struct event_execution. */
enum record_part {
	RECORD_PART_TRANSFER = 0x10, /* struct record_transfer */
	RECORD_PART_SHAPE = 0x20,    /* struct record_shape */
	RECORD_PART_GRAPH = 0x40,    /* uint64_t: the runtime's id of the graph */
	RECORD_PARTS = 0x70
};
struct record_transfer {
	uint32_t source_device, destination_device; /* the guest's ids; 0: the host, or unknown */
	uint8_t source_memory, destination_memory;  /* enum event_memory */
	uint8_t migration;                          /* enum event_migration */
	uint8_t reserved[5];
};
struct record_shape {
	uint32_t cluster[3];
	uint32_t local_bytes;
};

/* EVENT_INSTRUCTION_SAMPLE; detail: stall | unit of the period << 16, with the numbers of
 * event/pc_sampling.h. */
struct record_instruction {
	struct record head;
	uint64_t time; /* in the device's clock */
	uint64_t offset;
	uint64_t period;
	uint32_t code; /* id of a kernel; 0: the offset is an address of the device */
	uint32_t device;
};

/* RECORD_SAMPLES; detail: stall | unit of the period << 16. The stall is a number of
 * event/pc_sampling.h or one that a RECORD_FUNCTION names. */
struct record_samples {
	struct record head;
	uint64_t begin, end; /* the window of the samples, in the device's clock */
	uint64_t offset;
	uint64_t correlation; /* the command's; 0: any command that ran in the window */
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
	uint64_t frequency_hz; /* frequency of the timestamps; 1000000000 for nanoseconds */
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

/* EVENT_CODE; detail: enum event_code_type. Texts: name, options. Content follows in RECORD_BYTES.
 * With RECORD_CODE_NEEDS, only for kernels, the record ends with a struct record_needs. */
struct record_code {
	struct record head;
	uint64_t handle;
	uint64_t size_bytes;
	uint32_t code, parent, device;
	int32_t status;
	char texts[];
};
/* Flags beside enum event_code_type. PLACED, only for kernels: a struct record_place ends the
 * record, after the struct record_needs if there is one. */
enum { RECORD_CODE_NEEDS = 0x80, RECORD_CODE_PLACED = 0x40 };

/* The members mean the same as in struct event_code. */
struct record_needs {
	uint64_t group_most, group_multiple, local_bytes, private_bytes;
};

/* RECORD_KERNEL_NEEDS: needs of a kernel as its launches report them. The latest record counts. */
struct record_kernel_needs {
	struct record head;
	uint64_t local_bytes; /* per work-group: the maximum of all launches so far */
	uint32_t code;
	uint32_t registers; /* per work item */
};

/* Device address of a kernel's code; size_bytes 0: not known. time: a time, in the clock of calls,
 * from which on the code is there at the latest; 0: not known. A kernel that is loaded at two
 * addresses has two code ids. */
struct record_place {
	uint64_t address, size_bytes, time;
};

/* RECORD_BYTES; detail: number of bytes that follow. One thread writes all pieces of a content in
 * order. If a piece is missing, the recorder discards the whole content. */
struct record_bytes {
	struct record head;
	uint64_t offset;
	uint32_t code;
	uint32_t reserved;
	uint8_t bytes[];
};

/* EVENT_CLOCK_PAIR: the device clock was `time` between two readings of the host clock. */
struct record_clock_pair {
	struct record head;
	uint64_t time;
	uint64_t before, after;
	uint32_t device;
	uint32_t reserved;
};

/* RECORD_END; detail: enum event_kind of the entity. */
struct record_end {
	struct record head;
	uint64_t time;
	uint32_t id;
	uint32_t reserved;
};

/* Ids of stacks, functions and modules are valid only in the ring that describes them, and the
 * description comes before the first use. The recorder reads the rings one after the other, so a
 * description in another ring could come too late. */

/* RECORD_STACK; detail: number of frames, innermost first. A native frame is a return address (47
 * bits), or with RECORD_FRAME_EXACT the interrupted address. Bits 47 to 61 are the module's id; 0:
 * code without a file. With RECORD_FRAME_PYTHON a frame is a function's id << 32 (30 bits) plus the
 * byte offset of its instruction. `truncated` frames are left out before frames[kept]. is_cut: the
 * caller of the last frame is not known. */
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

/* RECORD_PYTHON_CODE; detail: the interpreter's version, 0x030b for 3.11. Texts: name, file. The
 * line table follows them. */
struct record_python_code {
	struct record head;
	uint32_t code, first_line;
	uint32_t lines_bytes;
	uint32_t reserved;
	char texts[];
};

/* EVENT_RANGE; detail: enum event_range_type | enum record_range_of << 8, and RECORD_RANGE_END at
 * the end of a range. Texts: domain, and name at a begin or mark; with RECORD_RANGE_ATTRIBUTES a
 * third one: the colour (8 hexadecimal digits, AARRGGBB), a digit of enum record_payload, the
 * payload (16 hexadecimal digits), and the category's name. */
struct record_range {
	struct record head;
	uint64_t time;
	/* START: the id from the interface; of CUPTI, the upper half is the tid, or 0. PUSH: number
	 * of ranges of the domain that the thread has open, including this one; 0: not known. */
	uint64_t id;
	char texts[];
};
enum { RECORD_RANGE_END = 0x80, RECORD_RANGE_ATTRIBUTES = 0x40 };
/* Types of a payload, as NVTX numbers them. */
enum record_payload {
	RECORD_PAYLOAD_NONE = 0,
	RECORD_PAYLOAD_U64 = 1,
	RECORD_PAYLOAD_I64 = 2,
	RECORD_PAYLOAD_DOUBLE = 3,
	RECORD_PAYLOAD_U32 = 4,
	RECORD_PAYLOAD_I32 = 5,
	RECORD_PAYLOAD_FLOAT = 6
};
enum { RECORD_ATTRIBUTES_BYTES = 8 + 1 + 16 }; /* before the category */
/* The interfaces, each with its own space of range ids. */
enum record_range_of {
	RANGE_OF_ROCTX = 1,
	RANGE_OF_NVTX = 2,
	RANGE_OF_ITT = 3,
	RANGE_OF_LIBDUET = 4,
	RANGE_OF_CUPTI = 5
};
enum { RECORD_RANGE_TEXT_BYTES = 1024 }; /* longer texts are cut */

/* EVENT_COUNTER; detail: id of the counter's device, which this ring has described; 0: none. Texts:
 * metric, unit. */
struct record_counter {
	struct record head;
	uint64_t time;
	int64_t value;
	char texts[];
};

/* RECORD_FUNCTION; detail: the function's number, from RECORD_FUNCTION_FIRST on. The runtime's
 * stall reasons have such numbers too. Text: name. The number is valid only in this ring. */
struct record_function {
	struct record head;
	char texts[];
};
enum { RECORD_FUNCTION_FIRST = 2048, MAX_RECORD_FUNCTION = 4096 };

/* RECORD_NODE; detail: as for EVENT_EXECUTION | RECORD_NODE_COOPERATIVE | command << 16. A launch
 * and its execution in one record, for commands that the device reports but the call does not:
 * nodes of a graph, and further commands of one call. The recorder may read it before the record of
 * the call. Then dimensions * 2 sizes (global, local), then the parts. */
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
enum { RECORD_NODE_COOPERATIVE = 0x80 }; /* LAUNCH_COOPERATIVE */

/* RECORD_CAPTURED; detail: number of the function whose call created the node. An executable graph
 * has a copy of each node. A copy gets the function and stack of its original. */
struct record_captured {
	struct record head;
	uint64_t node;     /* the runtime's id of the node */
	uint64_t original; /* id of the node that it is a copy of; 0: none */
	uint32_t stack;    /* 0: none was captured */
	uint32_t reserved;
};

/* RECORD_REFUSED; detail: enum record_refusal. A function of the runtime that the guest needs has
 * failed. Texts: the function, and the process or tool that holds the resource ("" if not
 * known). */
struct record_refused {
	struct record head;
	int32_t result; /* the function's result */
	uint32_t reserved;
	char texts[];
};
enum record_refusal {
	REFUSED_ALL = 0,  /* the runtime is not recorded at all */
	REFUSED_PART = 1, /* the runtime is recorded in part */
	REFUSED_END = 2,  /* recording of the runtime stopped before the end */
	REFUSED_LATER = 3 /* nothing is missing; a step at the end will be skipped */
};

/* RECORD_MODULE; detail: the module's id. Text: path. */
struct record_module {
	struct record head;
	uint64_t address, size_bytes, file_offset_bytes;
	uint32_t build_id_bytes;
	uint32_t reserved;
	uint8_t build_id[32];
	char texts[];
};
