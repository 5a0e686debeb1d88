/* SPDX-License-Identifier: MIT
 *
 * event/event.h - what happened: the kinds of event and the rows that carry them
 *
 * Runs in:  every territory; freestanding, needs no libc
 * Frozen:   kinds, their numbers and the meaning of each field. A field may be added at the end of
 * a row; none is removed or given another meaning (docs/design/events.md, tests/golden/event).
 *
 * A row holds times as they were read, in the clock domain named by the chunk that carries it
 * (`clock`, an event_clock id); only rows of EVENT_HOST … EVENT_SERIES, which describe things that
 * live for a while, are in CLOCK_MONOTONIC nanoseconds. Ids are given out by the recorder, count
 * from 1 and are unique within one trace; 0 means "none" or "not known". A `_string` field is the
 * id of a text in the trace's dictionary, 0 for the empty one.
 */
#ifndef EVENT_EVENT_H
#define EVENT_EVENT_H

#include <stdint.h>

/* Bumped when an old reader could misread a new file; a reader refuses a newer major number. */
#define EVENT_SCHEMA_MAJOR 1
#define EVENT_SCHEMA_MINOR \
	13 /* 1: stacks; 2: files' times; 3: samples, switches; 4: what was started; 5: needs of kernels, holders, named code of files; 6: ranges; 7: counters; 8: wakers that are not recorded; 9: names of queues, batches, addresses of code, stacks and texts of instruction samples; 10: launches that are parts of batches; 11: ranks of processes; 12: registers of kernels; 13: the guest's own time */

enum event_kind {
	EVENT_PADDING = 0, /* fills the end of a ring; never in a file */
	/* things: they have an id and a lifetime, and every segment of a file repeats the live ones
	 */
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
	/* happenings: rows with a time */
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
	EVENT_KIND_COUNT
};
#define EVENT_THING_LAST EVENT_SERIES

/* The machine a trace was recorded on. Identity: boot_id. */
struct event_host {
	uint32_t id;
	uint32_t boot_id_string;
	uint32_t name_string;
	uint32_t kernel_string; /* uname -r */
	uint32_t cpu_string;    /* model name */
	uint32_t cpu_count;
	uint64_t memory_bytes;
	uint64_t begin_ns, end_ns; /* the recording; end 0 while it runs */
	uint32_t
		command_string; /* what was started to be recorded, escaped as in a shell; "": nothing was */
	uint32_t reserved;
};

/* A process. Identity: (host, pid, start_ticks): a pid alone is reused. */
struct event_process {
	uint32_t id;
	uint32_t host;
	uint32_t parent; /* process id of the parent where it is recorded too */
	uint32_t pid;    /* as the recorder's pid namespace counts */
	uint32_t ns_pid; /* as the process itself counts */
	uint32_t parent_pid;
	uint32_t uid;
	uint32_t name_string;    /* comm */
	uint32_t exe_string;     /* path of the executable */
	uint32_t command_string; /* arguments, separated by one space, escaped as in a shell */
	uint32_t cgroup_string;
	uint32_t ended;            /* 1: seen to end while recorded; 0: lived on, or not known */
	int32_t status;            /* wait status where the recorder is the parent, else -1 */
	uint64_t start_ticks;      /* field 22 of /proc/PID/stat: clock ticks since boot */
	uint64_t begin_ns, end_ns; /* first and last seen */
	/* Stacks that were taken a second way too, and those of them of which that said otherwise. */
	uint64_t stacks_checked, stacks_wrong;
	/* Of a job of several processes, as its launcher told them: one more than it counts, 0: none. */
	uint32_t rank;       /* in the job */
	uint32_t local_rank; /* among those of its host */
	uint32_t rank_count; /* how many it has; 0: not known */
	/* Time that guests spent in the process and that has no rows. Sections below the threshold of a row: */
	uint64_t guest_sections, guest_sections_ns;
	/* A sample of the calls: what recording each one took, without sections that have rows. */
	uint64_t guest_timed_calls, guest_timed_ns;
};

struct event_thread {
	uint32_t id;
	uint32_t process;
	uint32_t tid;
	uint32_t ns_tid;
	uint32_t name_string;
	uint64_t begin_ns, end_ns;
};

/* A piece of a file mapped into a process; an address is (mapping, offset), so that dlclose and
 * dlopen at the same place do not mix. */
struct event_mapping {
	uint32_t id;
	uint32_t process;
	uint32_t path_string;
	uint32_t build_id_string; /* lower-case hexadecimal, empty where the file has none */
	uint64_t address, size_bytes, file_offset_bytes;
	uint64_t begin_ns, end_ns;
};

enum event_device_type { DEVICE_OTHER = 0, DEVICE_CPU = 1, DEVICE_GPU = 2, DEVICE_ACCELERATOR = 3 };

/* A device. Identity: key, which is a UUID or a PCI address; where the vendor gives neither, the
 * names of platform and device. Never an ordinal. */
struct event_device {
	uint32_t id;
	uint32_t key_string;
	uint32_t name_string;
	uint32_t vendor_string;
	uint32_t driver_string;   /* driver version */
	uint32_t platform_string; /* OpenCL: platform name and version */
	uint32_t type;            /* enum event_device_type */
	uint32_t compute_units;
	uint64_t memory_bytes;
	uint64_t begin_ns, end_ns;
	uint64_t local_bytes; /* local memory of a compute unit; 0: not known */
};

struct event_context {
	uint32_t id;
	uint32_t process;
	uint64_t handle; /* the runtime's own name for it */
	uint64_t begin_ns, end_ns;
};

enum event_queue_flag {
	QUEUE_OUT_OF_ORDER = 1,
	QUEUE_TIMED = 2,         /* its commands have device time stamps */
	QUEUE_TIMING_FORCED = 4, /* … because duet asked for them, not the program */
	QUEUE_DIRECT = 8 /* the device has a command when the call that launches it returns */
};

struct event_queue {
	uint32_t id;
	uint32_t process;
	uint32_t context;
	uint32_t device;
	uint32_t clock; /* domain of its commands' device time stamps */
	uint32_t flags; /* enum event_queue_flag */
	uint64_t handle;
	uint64_t begin_ns, end_ns;
	uint32_t name_string; /* by its driver or its program: "gfx_0.0.0"; "": it has none */
	uint32_t reserved;
};

enum event_clock_type {
	CLOCK_TYPE_MONOTONIC =
		1, /* the reference: every other domain is aligned to it; always id 1 */
	CLOCK_TYPE_MONOTONIC_RAW = 2,
	CLOCK_TYPE_BOOTTIME = 3,
	CLOCK_TYPE_REALTIME = 4,
	CLOCK_TYPE_TSC = 5, /* cycles of the processor's invariant time stamp counter */
	CLOCK_TYPE_DEVICE = 6
};
#define CLOCK_ID_MONOTONIC 1u

/* A clock domain. An epoch ends with a suspend, a device reset or a migration; a new one is a new
 * id. */
struct event_clock {
	uint32_t id;
	uint32_t type;    /* enum event_clock_type */
	uint32_t device;  /* CLOCK_TYPE_DEVICE: whose */
	uint32_t process; /* … as seen by which process; 0 where all see the same */
	uint32_t epoch;
	uint64_t frequency_hz; /* nominal; 1000000000 where the unit is the nanosecond */
	uint64_t begin_ns, end_ns;
};

enum event_collector_state {
	COLLECTOR_AVAILABLE = 0,
	COLLECTOR_PARTIAL = 1,
	COLLECTOR_REFUSED = 2
};

/* What a collector could and could not do, and why. */
struct event_collector {
	uint32_t id;
	uint32_t name_string;
	uint32_t state; /* enum event_collector_state */
	uint32_t reason_string;
	uint32_t process; /* the process it is about, 0: the whole recording */
	uint64_t begin_ns, end_ns;
};

enum event_code_type {
	CODE_SOURCE = 1,    /* text handed to the runtime's compiler */
	CODE_BINARY = 2,    /* device binary, in the vendor's own container */
	CODE_IL = 3,        /* SPIR-V and other intermediate languages */
	CODE_BUILD_LOG = 4, /* what the compiler said */
	CODE_KERNEL = 5     /* one entry point; parent is the program it is in */
};

/* A code object or a part of one. Identity: content hash (XXH3, 128 bits) where it has content. */
struct event_code {
	uint32_t id;
	uint32_t process;
	uint32_t parent; /* code id of the program a kernel, log or binary belongs to */
	uint32_t type;   /* enum event_code_type */
	/* Of a kernel, of a binary that holds one alone, of a source that is a file where another program tells which
	 * (imported traces); else empty. */
	uint32_t name_string;
	uint32_t options_string; /* build options */
	uint32_t device;         /* binaries and logs: for which device; kernels: see below */
	int32_t status;          /* builds: the runtime's result */
	uint64_t handle;
	uint64_t hash_low, hash_high; /* of the content, 0 and 0 where none was kept */
	uint64_t size_bytes;
	uint64_t begin_ns, end_ns;
	/* KERNEL: what its runtime says of it for `device`, where it was launched first. Work items of a work-group: at
	 * most, and a multiple that suits the device; 0: not known. */
	uint64_t group_most, group_multiple;
	/* Of a work-group, with what its launches ask for, and of a work item on its own; not known where neither group_most nor
	 * registers is, or CODE_UNKNOWN. */
	uint64_t local_bytes, private_bytes;
	/* Of a kernel, or a binary, on its device from begin_ns to end_ns: where its size_bytes are. 0: not known. */
	uint64_t address;
	uint32_t registers; /* KERNEL: of a work item; 0: not known */
};
#define CODE_UNKNOWN UINT64_MAX

enum event_series_type {
	SERIES_LEVEL = 0, /* how much there is, or how fast it goes: as it was at the end */
	/* how much came between begin and end: sums are exact, and what is shown is the sum by the real time */
	SERIES_AMOUNT = 1,
	SERIES_RATIO =
		2, /* between begin and end, so much of so much: the sum of the one by that of the other */
	SERIES_TYPE_COUNT
};

/* What is counted: one metric of one thing. Identity: the metric with all of host, process, device, cpu and instance. */
struct event_series {
	uint32_t id;
	uint32_t metric_string; /* lower case, words behind dots: "cpu.busy", "process.io.read" */
	/* of value and of, always a base unit: "bytes", "ns", "events", "mC" (thousandths of a degree Celsius), "uJ", "Hz" */
	uint32_t unit_string;
	uint32_t source_string; /* where it was read: "/proc/stat" */
	uint32_t type;          /* enum event_series_type */
	uint32_t host;          /* 0: the only one */
	uint32_t process;       /* process, device and cpu: what it is of; all 0: the machine */
	uint32_t device;
	uint32_t cpu;             /* number of the processor, and 1; 0: none */
	uint32_t instance_string; /* what of it, by its own name: "sda", "eth0", "package-0" */
	/* The most that there can be, honestly: of a LEVEL its value, of an AMOUNT what comes in a second, of a RATIO a
	 * whole number of times; 0: not known. */
	uint64_t limit;
	uint64_t interval_ns; /* as it was asked for: what it was is in the rows; 0: none */
	uint64_t begin_ns, end_ns;
};

enum event_api_type {
	API_TYPE_CALL = 0, /* an ordinary call */
	API_TYPE_WAIT = 1, /* its duration is (mostly) waiting for the device */
	API_TYPE_DUET =
		2 /* no call of the program: duet's guest worked for itself (event/guest_sections.h) */
};

/* A call of a runtime's interface that did not launch anything. Sorted by begin. */
struct event_api {
	uint64_t begin, end;
	uint32_t thread;
	uint32_t function_string;
	int32_t result;    /* as the call returned it; handles: 0 or the error written through a
			      pointer */
	uint32_t type;     /* enum event_api_type */
	uint64_t argument; /* bytes, or the queue id of a wait: what the function's row in the table
			      says */
	uint32_t stack;    /* id of an event_stack; 0: none was taken */
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
	COMMAND_NATIVE = 10, /* a host function run by the queue */
	COMMAND_GRAPH = 11,  /* a command buffer or graph */
	COMMAND_ACQUIRE = 12,
	COMMAND_RELEASE = 13,
	COMMAND_SEMAPHORE = 14,
	COMMAND_FREE = 15,
	COMMAND_BATCH =
		16, /* a buffer of commands, as a driver of the kernel hands it to its device */
	COMMAND_COUNT
};

enum event_launch_flag {
	LAUNCH_BLOCKING = 1, /* the call returned only when the command was complete */
	LAUNCH_UNTIMED = 2,  /* no device time stamps were asked for or none can be had */
	LAUNCH_FURTHER =
		4, /* the call has put a command into a queue before: it is no call of its own */
	LAUNCH_PART =
		8 /* of the batch that its call launched before it: it has no execution of its own */
};

/* A call that put a command into a queue: it is an API call too, with all an event_api has, and no
 * event_api row repeats it. A call that failed has result != 0 and launched nothing. Sorted by
 * enter. */
struct event_launch {
	uint64_t enter, exit;
	uint32_t thread;
	uint32_t function_string;
	int32_t result;
	uint32_t queue;
	uint64_t
		correlation; /* unique within the process, counts from 1; 0 where the call failed */
	uint32_t command;    /* enum event_command */
	uint32_t flags;      /* enum event_launch_flag */
	uint32_t kernel;     /* code id of a CODE_KERNEL */
	uint32_t dimensions; /* 0 … 3: how many of the sizes below count */
	uint64_t bytes;
	uint64_t global_size[3], local_size[3]; /* work items; local 0: left to the runtime */
	uint64_t handle; /* of the event the program was given; 0 where it asked for none */
	uint32_t stack;
};

/* One entry of a command's wait list: `correlation` waits for whatever command had the event
 * `handle` when the call was entered. Sorted by time, which is the enter of the launch. */
struct event_dependency {
	uint64_t time;
	uint32_t process;
	uint64_t correlation;
	uint64_t handle;
};

enum event_execution_valid {
	EXECUTION_QUEUED = 1,
	EXECUTION_SUBMITTED = 2,
	EXECUTION_STARTED = 4,
	EXECUTION_ENDED = 8,
	EXECUTION_TIMED = 15
};

/* What the device did for one launch. The four times are in the device's clock and each may be
 * absent; `seen` is when the program's process knew of the completion, in the host clock of the
 * launch (the chunk's `seen_clock`). Sorted by started, or by seen in a chunk without device times.
 */
struct event_execution {
	uint64_t queued, submitted, started, ended;
	uint64_t seen;
	uint64_t correlation;
	uint32_t process;
	uint32_t queue;
	uint32_t valid; /* enum event_execution_valid: which times are real */
	int32_t status; /* 0: complete; negative: the command failed, the runtime's own error */
};

enum event_mode { MODE_UNKNOWN = 0, MODE_USER = 1, MODE_KERNEL = 2, MODE_HYPERVISOR = 3 };

/* A thread was found running. What it costs stands in weight, not in the number of samples: a sampler that is
 * throttled, or counts cycles, takes fewer of more each. Sorted by time. */
struct event_cpu_sample {
	uint64_t time;
	uint64_t
		weight; /* of the source since its sample before: nanoseconds of cpu-clock, cycles … */
	uint32_t thread;
	uint32_t cpu;
	uint32_t source_string; /* the event as perf names it: "cpu-clock", "cycles" … */
	uint32_t mode;          /* enum event_mode */
	uint32_t stack;
};

enum event_switch_reason {
	SWITCH_NOT_KNOWN = 0,
	SWITCH_BLOCKED = 1,   /* it waits for something */
	SWITCH_PREEMPTED = 2, /* it could have gone on; something else was given the processor */
	SWITCH_EXITED = 3
};

/* A processor goes from one thread to another. A thread that is not recorded is 0, and so is one that nobody may
 * be told of: without rights only a recorded thread's own coming and going is seen, as a row each. Sorted by
 * time. */
struct event_switch {
	uint64_t time;
	uint32_t previous, next; /* threads */
	uint32_t cpu;
	uint32_t reason; /* enum event_switch_reason: why previous went */
	uint32_t waker;  /* thread that let next go on; 0: none that is recorded, or not known */
	uint32_t stack;  /* of previous */
	/* What previous waits for: "Python GIL", "read (disk sda)"; of one that is preempted, who got its processor:
	 * "stress (process 4711)". Empty: not known. */
	uint32_t wait_string;
	uint32_t holder; /* thread that had it then */
	uint32_t
		waker_string; /* who let next go on, where waker is 0: "interrupt", "dd (process 4711)" */
	uint32_t reserved;
};

/* Device instructions that were found executing, or stalled. Either correlation says for which command, or the
 * window [begin, end] is all that is known. Sorted by begin. */
struct event_instruction_sample {
	uint64_t begin, end; /* the same for a single moment */
	uint64_t offset;     /* in the code object, bytes; code 0: the device's own address */
	uint64_t correlation;
	uint64_t count;              /* samples, all with the same of everything here */
	uint64_t period;             /* of one sample, in units of period_unit_string */
	uint32_t period_unit_string; /* "ns", "cycles" … */
	uint32_t process;
	uint32_t device;
	uint32_t code; /* of type CODE_BINARY, or a CODE_KERNEL in one */
	uint32_t
		stall_string; /* the vendor's name of the reason; empty: it was executing, or nobody knows */
	uint32_t thread; /* that executed it, of a device that is the host's processor */
	uint32_t
		stack; /* that launched it, where whoever sampled it knew; 0: correlation or window tell */
	uint32_t
		text_string; /* the instruction, where another program has disassembled it (imported traces), else empty */
};

/* A reading of a series. What could not be read has no row: 0 is a measured 0. Sorted by begin. */
struct event_counter {
	/* From the reading before to this one: nobody knows what was between. They are the same for the first of a LEVEL. */
	uint64_t begin, end;
	int64_t value;
	uint64_t of; /* RATIO: what value is a part of, never 0; else 0 */
	uint32_t series;
	uint32_t reserved;
};

enum event_range_type {
	RANGE_PUSH = 0,  /* pushed and popped by one thread: those of a thread and a domain nest */
	RANGE_START = 1, /* started by one thread and stopped by any */
	RANGE_MARK = 2,  /* a moment: the end is the begin */
	RANGE_TYPE_COUNT
};

enum event_range_flag {
	RANGE_OPEN = 1, /* it was not seen to end: the end is when nobody could see that any more */
	RANGE_UNBEGUN =
		2 /* it was not seen to begin, so that it has no name: the begin is the end */
};

/* A stretch of the program that the program named itself, by roctx, NVTX, ITT or libduet. Sorted by begin. */
struct event_range {
	uint64_t begin, end;
	uint32_t thread; /* that began it; UNBEGUN: that ended it */
	uint32_t process;
	uint32_t domain_string; /* "roctx", "NVTX" and "duet" where the program chose none */
	uint32_t name_string;
	uint32_t type;  /* enum event_range_type */
	uint32_t flags; /* enum event_range_flag */
	uint32_t stack; /* 0: none was taken */
};

/* One reading of a clock next to the host's: at device time `time` CLOCK_MONOTONIC was within
 * [host_lower_ns, host_upper_ns]. Sorted by time; the chunk's clock is the domain. */
struct event_clock_pair {
	uint64_t time;
	uint64_t host_lower_ns, host_upper_ns;
};

/* A call stack is a chain of nodes from the innermost frame outwards; stacks share their outer part. */
struct event_stack {
	uint32_t caller; /* id of the stack of all frames further out; 0: this is the outermost */
	uint32_t frame;  /* id of the innermost */
};

enum event_frame_type {
	FRAME_NATIVE = 1, /* code of a file */
	FRAME_PYTHON = 2, /* a Python function at a line */
	FRAME_JIT = 3,    /* code of no file */
	FRAME_TRUNCATED =
		4, /* frames left out: of a very deep stack, or of all that called code without unwind
			     * tables */
	FRAME_KERNEL = 5 /* code of the operating system's kernel */
};

enum event_frame_flag {
	FRAME_RETURN =
		1, /* offset is where a call returns to: what was called from is just before it */
	FRAME_INLINED = 2 /* NATIVE with a name: it is inlined in what stands for its caller */
};

/* Says by itself what it is: no process need be known for it. */
struct event_frame {
	uint32_t type;          /* enum event_frame_type */
	uint32_t flags;         /* enum event_frame_flag */
	uint32_t module_string; /* NATIVE: path of the file as its process saw it */
	uint32_t
		build_id_string; /* NATIVE: lower-case hexadecimal, empty where the file has none */
	uint32_t
		name_string; /* PYTHON: qualified name; JIT: as the process told it, else empty; KERNEL: function;
			      * NATIVE: function, where another program has named it (imported traces), else empty */
	uint32_t file_string; /* PYTHON: as in the code object */
	uint32_t line;        /* PYTHON: of the call; 0: not known */
	uint32_t first_line;  /* PYTHON: of the function */
	uint64_t
		offset; /* NATIVE: in the file, bytes; JIT and KERNEL: address; TRUNCATED: how many, 0: not known */
	/* NATIVE without build id: of the file when it was recorded; 0: not known */
	uint64_t file_size_bytes, file_modified_ns; /* since 1970; FRAME_FILE_GONE */
};
#define FRAME_FILE_GONE UINT64_MAX /* the path was another file's, or nobody's, already */

enum event_loss_reason {
	LOSS_RING_FULL = 1,   /* the recorder did not keep up */
	LOSS_NO_RING = 2,     /* more threads than rings */
	LOSS_NESTED = 3,      /* a signal handler called the runtime while its thread was writing */
	LOSS_RING_BROKEN = 4, /* bytes in a ring made no sense */
	LOSS_TRACKING = 5,    /* too many commands pending to follow one more */
	LOSS_DISK = 6,        /* rows that could not be written to the file */
	LOSS_GAP = 7,         /* for a while the process had no recorder, or a counter no value */
	LOSS_UNSEEN = 8       /* the kernel did not report a switch: rows close its interval */
};

enum { LOSS_KIND_STACK = 70 }; /* beside enum event_kind */

enum { LOSS_COUNT_UNKNOWN = 0 }; /* there were some, nobody knows how many */

/* Rows that are not in the file. kind is what was lost; for EVENT_LAUNCH and EVENT_EXECUTION the
 * ledger adds count to `dropped`; LOSS_COUNT_UNKNOWN: it cannot be said. Sorted by begin. */
struct event_loss {
	uint64_t begin, end;
	uint32_t process;
	uint32_t thread;
	uint32_t kind;
	uint32_t reason;
	uint64_t count;
};

#endif
