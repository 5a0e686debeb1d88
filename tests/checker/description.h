/* SPDX-License-Identifier: MIT
 *
 * tests/checker/description.h - traces from a text that a person can check by hand
 *
 * One thing or row a line; '#' begins a comment; "---" ends the description. Times are ns of
 * CLOCK_MONOTONIC, of executions in the clock of their queue. "-": absent.
 *
 *	window BEGIN END [FIELD=VALUE ...]   the recording (else: first to last moment)
 *	host ID NAME BEGIN END               another machine
 *	clock ID OFFSET [type=boottime|realtime]
 *	                                     a device clock; host = device + OFFSET, read at 0 and
 *	                                         10^9
 *	device ID NAME [type=cpu] [FIELD=VALUE ...]
 *	process ID PID NAME [FIELD=VALUE ...]
 *	                                     where it is not just any; before what names it. FIELD:
 *	                                     as event/fields.def has it
 *	thread ID PROCESS [name=NAME] [end=T]
 *	queue ID DEVICE [clock=ID] [context=ID] [out_of_order=1] [direct=1] [process=ID]
 *	call THREAD BEGIN END call|wait|signal FUNCTION [result=R] [queue=ID] [event=H] [stack=ID]
 *	launch CORRELATION THREAD QUEUE ENTER EXIT COMMAND [name=KERNEL] [bytes=N] [handle=H]
 *	       [result=R] [blocking=1] [function=NAME] [global=XxYxZ] [local=XxYxZ] [untimed=1]
 *	       [further=1] [part=1] [stack=ID] [code=ID]
 *	needs KERNEL DEVICE MOST MULTIPLE [local=BYTES] [private=BYTES]
 *	                                     of its work-groups, before it is launched; local,
 *	                                         private: not known
 *	frame ID python NAME [file=F] [line=N] [first=N]
 *	frame ID native MODULE [offset=N] [build_id=HEX] [name=NAME]
 *	frame ID jit|kernel|truncated NAME
 *	stack ID FRAME ...                   root first
 *	chain ID DEPTH FRAME                 a stack of one frame DEPTH times; stack=@N is the
 *	                                     writer's own Nth
 *	wait PROCESS CORRELATION TIME HANDLE
 *	execution PROCESS CORRELATION QUEUE QUEUED SUBMITTED STARTED ENDED [status=S] [seen=T]
 *	sample THREAD TIME WEIGHT [stack=ID] [mode=kernel] [source=NAME]
 *	switch THREAD TIME blocked|preempted|exited|unseen|in [cpu=N] [stack=ID] [wait=TEXT]
 *	    [holder=THREAD]
 *	       [waker=THREAD] [waker_name=TEXT]
 *	code ID PROCESS DEVICE ADDRESS SIZE BEGIN END [name=KERNEL] [image=FILE]
 *	                                     a kernel on a device, ID above 200; SIZE 0: not known,
 *	                                         END 0: to the last; image: the
 *	                                     code object that it is in
 *	log ID PROGRAM RESULT TEXT [process=ID]
 *	                                     the log of a build of the code object PROGRAM
 *	address DEVICE BEGIN END ADDRESS [count=N] [period=N] [stall=S] [correlation=N]
 *	                                     a sample of an instruction of which nothing but that is
 *	                                         known
 *	instruction PROCESS TIME KERNEL OFFSET [count=N] [period=N] [stall=S] [correlation=N]
 *	    [image=FILE] [end=TIME] [device=ID]
 *	                                     image: the code object that it is in, of which the
 *	                                         offset is
 *	range THREAD BEGIN END NAME [domain=D] [type=start|mark] [open=1] [unbegun=1] [process=ID]
 *	    [category=C] [colour=N] [payload=P]
 *	collective PROCESS BEGIN END NAME COMMUNICATOR SEQUENCE [bytes=N] [correlation=N]
 *	series ID METRIC level|amount|ratio UNIT [process=ID] [device=ID] [cpu=N] [instance=TEXT]
 *	    [source=TEXT]
 *	       [limit=N] [interval=NS] [begin=T] [end=T]
 *	counter SERIES BEGIN END VALUE [OF]
 *	loss KIND COUNT [time=T] [unseen=1] [end=T] [limit=PROCESS]
 *	                                     end: the lost rows lie between time and end; limit:
 *	                                         left out by --max-overhead
 *	trigger ID BEGIN END EXPRESSION REASON
 *	collector ID NAME available|partial|refused [reason=TEXT]
 *
 * In names %HH is a byte, so that they can be anything: "%ff%20" is no UTF-8 and ends in a blank.
 */
#pragma once

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "event/event.h"
#include "trace/format.h"
#include "trace/writer.h"

#define DESCRIPTION_WORDS 16
#define DESCRIPTION_IDS   64
#define DESCRIPTION_LINE  32768 /* names of C++ templates are long */

struct description {
	struct trace_writer *writer;
	uint32_t queue_clock[DESCRIPTION_IDS];
	uint32_t kernels; /* described so far: code ids count from 1 */
	char kernel_names[DESCRIPTION_IDS][256];
	bool has_process[DESCRIPTION_IDS], has_context[DESCRIPTION_IDS];
	uint32_t frames[DESCRIPTION_IDS], stacks[DESCRIPTION_IDS]; /* the writer's own ids */
};

static inline uint64_t description_number(const char *word)
{
	return strtoull(word, NULL, 0);
}

/* The value of "key=value" among the words from `first` on; `otherwise` where there is none. */
static inline const char *description_option(char **words, int first, int count, const char *key,
					     const char *otherwise)
{
	size_t length = strlen(key);

	for (int i = first; i < count; i++) {
		if (strncmp(words[i], key, length) == 0 && words[i][length] == '=')
			return words[i] + length + 1;
	}
	return otherwise;
}

static inline uint32_t description_text(struct description *description, const char *text)
{
	return trace_writer_string(description->writer, text, strlen(text));
}

/* Copies a name, with %HH for any byte; returns its length. */
static inline size_t description_decode(const char *name, char ret_text[DESCRIPTION_LINE])
{
	size_t used = 0;

	while (*name && used < DESCRIPTION_LINE - 1) {
		char digits[3] = {0};

		if (*name == '%' && name[1] && name[2]) {
			memcpy(digits, name + 1, 2);
			ret_text[used++] = (char)strtoul(digits, NULL, 16);
			name += 3;
		} else {
			ret_text[used++] = *name++;
		}
	}
	ret_text[used] = '\0';
	return used;
}

/* The same with %HH for any byte. */
static inline uint32_t description_name(struct description *description, const char *name)
{
	char text[DESCRIPTION_LINE];

	return trace_writer_string(description->writer, text, description_decode(name, text));
}

static inline int description_process(struct description *description, uint32_t id)
{
	struct event_process process = {.id = id, .host = 1, .pid = 1000 + id, .status = -1};

	if (id >= DESCRIPTION_IDS || description->has_process[id])
		return 0;
	description->has_process[id] = true;
	process.name_string = description_text(description, "program");
	process.command_string = description_text(description, "program --described");
	return trace_writer_entity(description->writer, EVENT_PROCESS, &process);
}

/* Sets each field of a row that a word from `first` on names: FIELD=VALUE. */
static inline void description_fields(struct description *description, uint32_t kind, void *row,
				      char **words, int first, int count)
{
	const struct trace_format *format = trace_format_find(kind);

	for (size_t i = 0; i < format->column_count; i++) {
		const struct trace_column *column = &format->columns[i];
		const char *value = description_option(words, first, count, column->name, NULL);

		if (value)
			trace_field_write(row, column->offset, column->type,
					  column->type == FIELD_STRING
						  ? description_name(description, value)
						  : description_number(value));
	}
}

static inline int description_one_process(struct description *description, char **words, int count)
{
	struct event_process process = {.host = 1, .status = -1};

	process.id = (uint32_t)description_number(words[1]);
	process.pid = (uint32_t)description_number(words[2]);
	process.name_string = description_name(description, words[3]);
	description_fields(description, EVENT_PROCESS, &process, words, 4, count);
	if (process.id < DESCRIPTION_IDS)
		description->has_process[process.id] = true;
	return trace_writer_entity(description->writer, EVENT_PROCESS, &process);
}

static inline int description_host(struct description *description, char **words, int count)
{
	struct event_host host = {.cpu_count = 1};

	host.id = (uint32_t)description_number(words[1]);
	host.begin_ns = description_number(words[3]);
	host.end_ns = description_number(words[4]);
	host.name_string = description_name(description, words[2]);
	return trace_writer_entity(description->writer, EVENT_HOST, &host);
}

static inline int description_window(struct description *description, char **words, int count)
{
	struct event_host host = {.id = 1, .cpu_count = 1};

	host.begin_ns = description_number(words[1]);
	host.end_ns = description_number(words[2]);
	host.name_string = description_text(description, "described");
	description_fields(description, EVENT_HOST, &host, words, 3, count);
	return trace_writer_entity(description->writer, EVENT_HOST, &host);
}

static inline int description_clock(struct description *description, char **words, int count)
{
	struct event_clock clock = {.type = CLOCK_TYPE_DEVICE, .frequency_hz = 1000000000};
	struct trace_source source = {.source = 1};
	uint64_t offset = description_number(words[2]);
	const char *type = description_option(words, 3, count, "type", "");
	int error;

	if (strcmp(type, "boottime") == 0)
		clock.type = CLOCK_TYPE_BOOTTIME;
	else if (strcmp(type, "realtime") == 0)
		clock.type = CLOCK_TYPE_REALTIME;
	clock.id = source.clock = (uint32_t)description_number(words[1]);
	error = trace_writer_entity(description->writer, EVENT_CLOCK, &clock);
	for (uint64_t time = 0; !error && time <= 1000000000; time += 1000000000) {
		struct event_clock_pair pair = {time, time + offset, time + offset};

		error = trace_writer_row(description->writer, EVENT_CLOCK_PAIR, &source, &pair);
	}
	return error;
}

static inline int description_device(struct description *description, char **words, int count)
{
	struct event_device device = {.type = DEVICE_GPU};

	device.id = (uint32_t)description_number(words[1]);
	device.name_string = description_name(description, words[2]);
	device.key_string = device.name_string;
	device.vendor_string = description_text(description, "vendor");
	description_fields(description, EVENT_DEVICE, &device, words, 3, count);
	if (strcmp(description_option(words, 3, count, "type", ""), "cpu") == 0)
		device.type = DEVICE_CPU;
	return trace_writer_entity(description->writer, EVENT_DEVICE, &device);
}

static inline int description_thread(struct description *description, char **words, int count)
{
	struct event_thread thread = {0};
	int error;

	thread.id = (uint32_t)description_number(words[1]);
	thread.process = (uint32_t)description_number(words[2]);
	thread.tid = 2000 + thread.id;
	thread.name_string =
		description_name(description, description_option(words, 3, count, "name", ""));
	thread.end_ns = description_number(description_option(words, 3, count, "end", "0"));
	error = description_process(description, thread.process);
	return error ? error : trace_writer_entity(description->writer, EVENT_THREAD, &thread);
}

static inline int description_queue(struct description *description, char **words, int count)
{
	struct event_queue queue = {.flags = QUEUE_TIMED};
	struct event_context context = {.process = 1};

	queue.process =
		(uint32_t)description_number(description_option(words, 3, count, "process", "1"));
	queue.id = (uint32_t)description_number(words[1]);
	queue.device = (uint32_t)description_number(words[2]);
	if (*description_option(words, 3, count, "out_of_order", "0") == '1')
		queue.flags |= QUEUE_OUT_OF_ORDER;
	if (*description_option(words, 3, count, "direct", "0") == '1')
		queue.flags |= QUEUE_DIRECT;
	queue.clock =
		(uint32_t)description_number(description_option(words, 3, count, "clock", "1"));
	queue.context = context.id =
		(uint32_t)description_number(description_option(words, 3, count, "context", "0"));
	if (queue.id < DESCRIPTION_IDS)
		description->queue_clock[queue.id] = queue.clock;
	if (context.id && context.id < DESCRIPTION_IDS && !description->has_context[context.id]) {
		int error = trace_writer_entity(description->writer, EVENT_CONTEXT, &context);

		if (error)
			return error;
		description->has_context[context.id] = true;
	}
	return trace_writer_entity(description->writer, EVENT_QUEUE, &queue);
}

static inline uint32_t description_id(const uint32_t *ids, const char *word)
{
	uint64_t id = description_number(word[0] == '@' ? word + 1 : word);

	if (word[0] == '@')
		return (uint32_t)id;
	return id < DESCRIPTION_IDS ? ids[id] : 0;
}

static inline int description_frame(struct description *description, char **words, int count)
{
	uint64_t id = description_number(words[1]);
	struct event_frame frame = {.type = FRAME_JIT};

	frame.offset = description_number(description_option(words, 4, count, "offset", "0"));
	if (strcmp(words[2], "native") == 0) {
		frame.type = FRAME_NATIVE;
		frame.module_string = description_name(description, words[3]);
		frame.build_id_string = description_text(
			description, description_option(words, 4, count, "build_id", ""));
		frame.name_string = description_name(
			description, description_option(words, 4, count, "name", ""));
	} else {
		frame.name_string = description_name(description, words[3]);
	}
	if (strcmp(words[2], "kernel") == 0)
		frame.type = FRAME_KERNEL;
	if (strcmp(words[2], "truncated") == 0)
		frame.type = FRAME_TRUNCATED;
	if (strcmp(words[2], "python") == 0) {
		frame.type = FRAME_PYTHON;
		frame.file_string = description_name(
			description, description_option(words, 4, count, "file", "script.py"));
		frame.line = (uint32_t)description_number(
			description_option(words, 4, count, "line", "0"));
		frame.first_line = (uint32_t)description_number(
			description_option(words, 4, count, "first", "0"));
	}
	if (id < DESCRIPTION_IDS)
		description->frames[id] = trace_writer_frame(description->writer, &frame);
	return 0;
}

/* Frames root first. */
static inline int description_stack(struct description *description, char **words, int count)
{
	uint64_t id = description_number(words[1]);
	uint32_t stack = 0;

	for (int i = 2; i < count; i++)
		stack = trace_writer_stack(description->writer, stack,
					   description_id(description->frames, words[i]));
	if (id < DESCRIPTION_IDS)
		description->stacks[id] = stack;
	return 0;
}

/* A stack of one frame many times. */
static inline int description_chain(struct description *description, char **words, int count)
{
	uint64_t id = description_number(words[1]), depth = description_number(words[2]);
	uint32_t stack = 0;

	(void)count;
	for (uint64_t i = 0; i < depth; i++)
		stack = trace_writer_stack(description->writer, stack,
					   description_id(description->frames, words[3]));
	if (id < DESCRIPTION_IDS)
		description->stacks[id] = stack;
	return 0;
}

static inline int description_call(struct description *description, char **words, int count)
{
	struct event_api row = {.begin = description_number(words[2]),
				.end = description_number(words[3])};
	struct trace_source source = {.clock = CLOCK_ID_MONOTONIC};

	row.thread = source.source = (uint32_t)description_number(words[1]);
	row.type = strcmp(words[4], "wait") == 0     ? API_TYPE_WAIT
		   : strcmp(words[4], "duet") == 0   ? API_TYPE_DUET
		   : strcmp(words[4], "signal") == 0 ? API_TYPE_SIGNAL
						     : API_TYPE_CALL;
	row.function_string = description_name(description, words[5]);
	row.result = atoi(description_option(words, 6, count, "result", "0"));
	row.argument = description_number(description_option(
		words, 6, count, row.type == API_TYPE_SIGNAL ? "event" : "queue", "0"));
	row.stack = description_id(description->stacks,
				   description_option(words, 6, count, "stack", "0"));
	return trace_writer_row(description->writer, EVENT_API, &source, &row);
}

static inline uint32_t description_command(const char *name)
{
	for (uint32_t i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(analysis_command_name(i), name) == 0)
			return i;
	}
	return COMMAND_OTHER;
}

/* needs: NULL, or what a new one needs. */
static inline uint32_t description_kernel(struct description *description, const char *name,
					  const struct event_code *needs)
{
	struct event_code code = {.type = CODE_KERNEL, .process = 1};

	if (needs)
		code = *needs;
	if (!*name)
		return 0;
	for (uint32_t i = 0; i < description->kernels; i++) {
		if (strcmp(description->kernel_names[i], name) == 0)
			return i + 1;
	}
	if (description->kernels == DESCRIPTION_IDS)
		return 0;
	snprintf(description->kernel_names[description->kernels],
		 sizeof(description->kernel_names[0]), "%s", name);
	code.id = ++description->kernels;
	code.name_string = description_name(description, name);
	return trace_writer_entity(description->writer, EVENT_CODE, &code) ? 0 : code.id;
}

static inline int description_needs(struct description *description, char **words, int count)
{
	struct event_code needs = {.type = CODE_KERNEL,
				   .process = 1,
				   .device = (uint32_t)description_number(words[2]),
				   .group_most = description_number(words[3]),
				   .group_multiple = description_number(words[4])};

	/* CODE_UNKNOWN is -1 */
	needs.local_bytes =
		(uint64_t)strtoll(description_option(words, 5, count, "local", "-1"), NULL, 0);
	needs.private_bytes =
		(uint64_t)strtoll(description_option(words, 5, count, "private", "-1"), NULL, 0);
	return description_kernel(description, words[1], &needs) ? 0 : -22;
}

/* "64x4": two dimensions. */
static inline uint32_t description_sizes(const char *text, uint64_t ret_sizes[3])
{
	uint32_t count = 0;

	while (count < 3 && *text) {
		char *end;

		ret_sizes[count++] = strtoull(text, &end, 10);
		text = *end ? end + 1 : end;
	}
	return count;
}

static inline int description_launch(struct description *description, char **words, int count)
{
	struct event_launch row = {.correlation = description_number(words[1]),
				   .enter = description_number(words[4]),
				   .exit = description_number(words[5])};
	struct trace_source source = {.clock = CLOCK_ID_MONOTONIC};

	row.thread = source.source = (uint32_t)description_number(words[2]);
	row.queue = (uint32_t)description_number(words[3]);
	row.command = description_command(words[6]);
	row.kernel = description_kernel(description,
					description_option(words, 7, count, "name", ""), NULL);
	if (!row.kernel)
		row.kernel = (uint32_t)description_number(
			description_option(words, 7, count, "code", "0"));
	row.bytes = description_number(description_option(words, 7, count, "bytes", "0"));
	row.handle = description_number(description_option(words, 7, count, "handle", "0"));
	row.result = atoi(description_option(words, 7, count, "result", "0"));
	if (*description_option(words, 7, count, "blocking", "") == '1')
		row.flags = LAUNCH_BLOCKING;
	if (*description_option(words, 7, count, "untimed", "") == '1')
		row.flags |= LAUNCH_UNTIMED;
	if (*description_option(words, 7, count, "further", "") == '1')
		row.flags |= LAUNCH_FURTHER;
	if (*description_option(words, 7, count, "part", "") == '1')
		row.flags |= LAUNCH_UNTIMED | LAUNCH_FURTHER | LAUNCH_PART;
	row.stack = description_id(description->stacks,
				   description_option(words, 7, count, "stack", "0"));
	row.dimensions = description_sizes(description_option(words, 7, count, "global", ""),
					   row.global_size);
	description_sizes(description_option(words, 7, count, "local", ""), row.local_size);
	row.function_string =
		description_name(description, description_option(words, 7, count, "function",
								 row.command == COMMAND_KERNEL
									 ? "clEnqueueNDRangeKernel"
									 : "clEnqueueCommand"));
	return trace_writer_row(description->writer, EVENT_LAUNCH, &source, &row);
}

static inline int description_wait(struct description *description, char **words, int count)
{
	struct event_dependency row = {.process = (uint32_t)description_number(words[1]),
				       .correlation = description_number(words[2]),
				       .time = description_number(words[3]),
				       .handle = description_number(words[4])};
	struct trace_source source = {.source = 1, .clock = CLOCK_ID_MONOTONIC};

	return trace_writer_row(description->writer, EVENT_DEPENDENCY, &source, &row);
}

static inline int description_execution(struct description *description, char **words, int count)
{
	struct event_execution row = {.process = (uint32_t)description_number(words[1]),
				      .correlation = description_number(words[2]),
				      .queue = (uint32_t)description_number(words[3])};
	struct trace_source source = {.seen_clock = CLOCK_ID_MONOTONIC};
	uint64_t *times[] = {&row.queued, &row.submitted, &row.started, &row.ended};

	for (unsigned int i = 0; i < 4; i++) {
		if (strcmp(words[4 + i], "-") == 0)
			continue;
		*times[i] = description_number(words[4 + i]);
		row.valid |= 1u << i;
	}
	row.status = atoi(description_option(words, 8, count, "status", "0"));
	row.seen = description_number(description_option(words, 8, count, "seen", words[7]));
	source.source = row.queue;
	source.clock = CLOCK_ID_MONOTONIC;
	if ((row.valid & EXECUTION_STARTED) && row.queue < DESCRIPTION_IDS &&
	    description->queue_clock[row.queue])
		source.clock = description->queue_clock[row.queue];
	else
		source.source += 1000; /* untimed rows have a chunk of their own */
	return trace_writer_row(description->writer, EVENT_EXECUTION, &source, &row);
}

static inline int description_sample(struct description *description, char **words, int count)
{
	bool is_kernel = !strcmp(description_option(words, 4, count, "mode", ""), "kernel");
	struct event_cpu_sample row = {.thread = (uint32_t)description_number(words[1]),
				       .time = description_number(words[2]),
				       .weight = description_number(words[3]),
				       .mode = is_kernel ? MODE_KERNEL : MODE_USER};
	struct trace_source source = {.source = row.thread, .clock = CLOCK_ID_MONOTONIC};

	row.source_string = description_text(
		description, description_option(words, 4, count, "source", "cpu-clock"));
	row.stack = description_id(description->stacks,
				   description_option(words, 4, count, "stack", "0"));
	return trace_writer_row(description->writer, EVENT_CPU_SAMPLE, &source, &row);
}

static inline int description_switch(struct description *description, char **words, int count)
{
	uint32_t thread = (uint32_t)description_number(words[1]);
	struct event_switch row = {.time = description_number(words[2])};
	char own[16];
	struct trace_source source = {.source = thread, .clock = CLOCK_ID_MONOTONIC};

	/* each thread has a processor of its own unless it is given one */
	snprintf(own, sizeof(own), "%u", thread - 1);
	row.cpu = (uint32_t)description_number(description_option(words, 4, count, "cpu", own));
	if (!strcmp(words[3], "in"))
		row.next = thread;
	else
		row.previous = thread;
	if (row.previous)
		row.reason = strcmp(words[3], "blocked") == 0  ? SWITCH_BLOCKED
			     : strcmp(words[3], "exited") == 0 ? SWITCH_EXITED
			     : strcmp(words[3], "unseen") == 0 ? SWITCH_NOT_KNOWN
							       : SWITCH_PREEMPTED;
	row.wait_string =
		description_name(description, description_option(words, 4, count, "wait", ""));
	row.holder =
		(uint32_t)description_number(description_option(words, 4, count, "holder", "0"));
	row.waker = (uint32_t)description_number(description_option(words, 4, count, "waker", "0"));
	row.waker_string = description_name(description,
					    description_option(words, 4, count, "waker_name", ""));
	row.stack = description_id(description->stacks,
				   description_option(words, 4, count, "stack", "0"));
	return trace_writer_row(description->writer, EVENT_SWITCH, &source, &row);
}

/* The bytes of a code object, with their hash. */
static inline int description_image(struct description *description, const char *path,
				    struct event_code *code)
{
	static char bytes[1 << 20];
	FILE *file = fopen(path, "re");
	size_t size = file ? fread(bytes, 1, sizeof(bytes), file) : 0;

	if (!file || !size || fclose(file))
		return -1;
	code->size_bytes = size;
	return trace_writer_content(description->writer, bytes, size, &code->hash_low,
				    &code->hash_high);
}

static inline int description_code(struct description *description, char **words, int count)
{
	struct event_code row = {.id = (uint32_t)description_number(words[1]),
				 .process = (uint32_t)description_number(words[2]),
				 .device = (uint32_t)description_number(words[3]),
				 .address = description_number(words[4]),
				 .size_bytes = description_number(words[5]),
				 .begin_ns = description_number(words[6]),
				 .end_ns = description_number(words[7]),
				 .type = CODE_KERNEL};
	struct event_code binary = {.type = CODE_BINARY};
	const char *image = description_option(words, 8, count, "image", "");

	row.name_string =
		description_name(description, description_option(words, 8, count, "name", ""));
	if (*image) {
		binary.id = row.parent = row.id + 1000;
		binary.process = row.process;
		binary.device = row.device;
		if (description_image(description, image, &binary) ||
		    trace_writer_entity(description->writer, EVENT_CODE, &binary))
			return -1;
	}
	return trace_writer_entity(description->writer, EVENT_CODE, &row);
}

static inline int description_log(struct description *description, char **words, int count)
{
	struct event_code row = {.id = (uint32_t)description_number(words[1]),
				 .process = (uint32_t)description_number(
					 description_option(words, 5, count, "process", "1")),
				 .parent = (uint32_t)description_number(words[2]),
				 .status = (int32_t)strtol(words[3], NULL, 10),
				 .type = CODE_BUILD_LOG};
	char text[DESCRIPTION_LINE];

	row.size_bytes = description_decode(words[4], text);
	if (trace_writer_content(description->writer, text, row.size_bytes, &row.hash_low,
				 &row.hash_high))
		return -1;
	return trace_writer_entity(description->writer, EVENT_CODE, &row);
}

static inline int description_address(struct description *description, char **words, int count)
{
	struct event_instruction_sample row = {
		.device = (uint32_t)description_number(words[1]),
		.begin = description_number(words[2]),
		.end = description_number(words[3]),
		.offset = description_number(words[4]),
		.count = description_number(description_option(words, 5, count, "count", "1")),
		.period = description_number(description_option(words, 5, count, "period", "10")),
		.correlation =
			description_number(description_option(words, 5, count, "correlation", "0")),
	};
	struct trace_source source = {.source = row.device, .clock = CLOCK_ID_MONOTONIC};

	row.period_unit_string = description_text(description, "cycles");
	row.stall_string =
		description_name(description, description_option(words, 5, count, "stall", ""));
	return trace_writer_row(description->writer, EVENT_INSTRUCTION_SAMPLE, &source, &row);
}

/* Code objects that hold one kernel have ids behind those of the kernels. */
static inline int description_instruction(struct description *description, char **words, int count)
{
	struct event_instruction_sample row = {
		.process = (uint32_t)description_number(words[1]),
		.begin = description_number(words[2]),
		.end = description_number(description_option(words, 5, count, "end", words[2])),
		.offset = description_number(words[4]),
		.count = description_number(description_option(words, 5, count, "count", "1")),
		.period = description_number(description_option(words, 5, count, "period", "10")),
		.correlation =
			description_number(description_option(words, 5, count, "correlation", "0")),
		.device = (uint32_t)description_number(
			description_option(words, 5, count, "device", "0")),
	};
	struct trace_source source = {.source = row.process, .clock = CLOCK_ID_MONOTONIC};
	struct event_code code = {.type = CODE_BINARY, .process = row.process};
	uint32_t kernel = description_kernel(description, words[3], NULL);
	const char *image = description_option(words, 5, count, "image", "");

	if (*image && description_image(description, image, &code))
		return -1;
	code.id = row.code = DESCRIPTION_IDS + kernel;
	code.name_string = description_name(description, words[3]);
	row.period_unit_string = description_text(description, "ns");
	row.stall_string =
		description_name(description, description_option(words, 5, count, "stall", ""));
	if (!kernel || trace_writer_entity(description->writer, EVENT_CODE, &code))
		return -1;
	return trace_writer_row(description->writer, EVENT_INSTRUCTION_SAMPLE, &source, &row);
}

static inline int description_range(struct description *description, char **words, int count)
{
	const char *type = description_option(words, 5, count, "type", "");
	struct event_range row = {.thread = (uint32_t)description_number(words[1]),
				  .begin = description_number(words[2]),
				  .end = description_number(words[3]),
				  .process = (uint32_t)description_number(
					  description_option(words, 5, count, "process", "1")),
				  .name_string = description_name(description, words[4])};
	struct trace_source source = {.source = row.thread, .clock = CLOCK_ID_MONOTONIC};

	row.domain_string =
		description_name(description, description_option(words, 5, count, "domain", ""));
	row.category_string =
		description_name(description, description_option(words, 5, count, "category", ""));
	row.payload_string =
		description_name(description, description_option(words, 5, count, "payload", ""));
	row.colour =
		(uint32_t)description_number(description_option(words, 5, count, "colour", "0"));
	if (*type)
		row.type = strcmp(type, "mark") == 0 ? RANGE_MARK : RANGE_START;
	if (*description_option(words, 5, count, "open", ""))
		row.flags |= RANGE_OPEN;
	if (*description_option(words, 5, count, "unbegun", ""))
		row.flags |= RANGE_UNBEGUN;
	return trace_writer_row(description->writer, EVENT_RANGE, &source, &row);
}

static inline int description_collective(struct description *description, char **words, int count)
{
	struct event_collective row = {
		.process = (uint32_t)description_number(words[1]),
		.begin = description_number(words[2]),
		.end = description_number(words[3]),
		.name_string = description_name(description, words[4]),
		.communicator_string = description_name(description, words[5]),
		.sequence = description_number(words[6]),
		.bytes = description_number(description_option(words, 7, count, "bytes", "0")),
		.correlation = description_number(
			description_option(words, 7, count, "correlation", "0"))};
	struct trace_source source = {.source = row.process, .clock = CLOCK_ID_MONOTONIC};

	return trace_writer_row(description->writer, EVENT_COLLECTIVE, &source, &row);
}

static inline int description_series(struct description *description, char **words, int count)
{
	struct event_series row = {
		.id = (uint32_t)description_number(words[1]),
		.metric_string = description_name(description, words[2]),
		.unit_string = description_name(description, words[4]),
		.process = (uint32_t)description_number(
			description_option(words, 5, count, "process", "0")),
		.device = (uint32_t)description_number(
			description_option(words, 5, count, "device", "0")),
		.limit = description_number(description_option(words, 5, count, "limit", "0")),
		.interval_ns =
			description_number(description_option(words, 5, count, "interval", "0")),
		.begin_ns = description_number(description_option(words, 5, count, "begin", "0")),
		.end_ns = description_number(description_option(words, 5, count, "end", "0"))};
	const char *cpu = description_option(words, 5, count, "cpu", "");

	for (uint32_t i = 0; i < SERIES_TYPE_COUNT; i++) {
		if (strcmp(analysis_series_type(i), words[3]) == 0)
			row.type = i;
	}
	row.cpu = *cpu ? (uint32_t)description_number(cpu) + 1 : 0;
	row.instance_string =
		description_name(description, description_option(words, 5, count, "instance", ""));
	row.source_string =
		description_name(description, description_option(words, 5, count, "source", ""));
	return trace_writer_entity(description->writer, EVENT_SERIES, &row);
}

static inline int description_counter(struct description *description, char **words, int count)
{
	struct event_counter row = {.series = (uint32_t)description_number(words[1]),
				    .begin = description_number(words[2]),
				    .end = description_number(words[3]),
				    .value = strtoll(words[4], NULL, 0),
				    .of = count > 5 ? description_number(words[5]) : 0};
	struct trace_source source = {.source = 1, .clock = CLOCK_ID_MONOTONIC};

	return trace_writer_row(description->writer, EVENT_COUNTER, &source, &row);
}

static inline int description_loss(struct description *description, char **words, int count)
{
	const bool is_unseen =
		description_number(description_option(words, 3, count, "unseen", "0"));
	struct event_loss row = {.reason = is_unseen ? LOSS_UNSEEN : LOSS_RING_FULL,
				 .count = description_number(words[2])};
	struct trace_source source = {.source = 1, .clock = CLOCK_ID_MONOTONIC};

	row.process =
		(uint32_t)description_number(description_option(words, 3, count, "limit", "0"));
	if (row.process)
		row.reason = LOSS_LIMIT;
	row.begin = row.end = description_number(description_option(words, 3, count, "time", "0"));
	if (*description_option(words, 3, count, "end", "")) {
		row.end = description_number(description_option(words, 3, count, "end", ""));
		row.bounded = 1;
	}
	for (uint32_t i = 0; i < EVENT_KIND_COUNT; i++) {
		if (strcmp(analysis_kind_name(i), words[1]) == 0)
			row.kind = i;
	}
	return trace_writer_row(description->writer, EVENT_LOSS, &source, &row);
}

static inline int description_trigger(struct description *description, char **words, int count)
{
	struct event_trigger row = {.id = (uint32_t)description_number(words[1]),
				    .begin_ns = description_number(words[2]),
				    .end_ns = description_number(words[3]),
				    .expression_string = description_name(description, words[4]),
				    .reason_string = description_name(description, words[5])};

	(void)count;
	return trace_writer_entity(description->writer, EVENT_TRIGGER, &row);
}

static inline int description_collector(struct description *description, char **words, int count)
{
	static const char *const states[] = {[COLLECTOR_AVAILABLE] = "available",
					     [COLLECTOR_PARTIAL] = "partial",
					     [COLLECTOR_REFUSED] = "refused"};
	struct event_collector row = {.id = (uint32_t)description_number(words[1]),
				      .name_string = description_text(description, words[2])};

	while (row.state < 3 && strcmp(states[row.state], words[3]) != 0)
		row.state++;
	if (row.state == 3) {
		fprintf(stderr, "no state of a collector: %s\n", words[3]);
		return -EINVAL;
	}
	row.reason_string =
		description_name(description, description_option(words, 4, count, "reason", ""));
	return trace_writer_entity(description->writer, EVENT_COLLECTOR, &row);
}

static const struct {
	const char *word;
	int least; /* words */
	int (*write)(struct description *description, char **words, int count);
} description_verbs[] = {
	{"window", 3, description_window},       {"clock", 3, description_clock},
	{"host", 5, description_host},           {"process", 4, description_one_process},
	{"device", 3, description_device},       {"thread", 3, description_thread},
	{"queue", 3, description_queue},         {"call", 6, description_call},
	{"launch", 7, description_launch},       {"wait", 5, description_wait},
	{"frame", 4, description_frame},         {"stack", 3, description_stack},
	{"chain", 4, description_chain},         {"loss", 3, description_loss},
	{"execution", 8, description_execution}, {"sample", 4, description_sample},
	{"switch", 4, description_switch},       {"instruction", 5, description_instruction},
	{"needs", 5, description_needs},         {"range", 5, description_range},
	{"series", 5, description_series},       {"counter", 5, description_counter},
	{"code", 8, description_code},           {"log", 5, description_log},
	{"address", 5, description_address},     {"collector", 4, description_collector},
	{"trigger", 6, description_trigger},     {"collective", 7, description_collective},
};

static inline int description_line(struct description *description, char *line)
{
	char *words[DESCRIPTION_WORDS], *rest = line, *word;
	int count = 0;

	line[strcspn(line, "#\n")] = 0;
	while (count < DESCRIPTION_WORDS && (word = strtok_r(rest, " \t", &rest)))
		words[count++] = word;
	if (!count)
		return 0;
	for (size_t i = 0; i < sizeof(description_verbs) / sizeof(description_verbs[0]); i++) {
		if (strcmp(words[0], description_verbs[i].word) == 0 &&
		    count >= description_verbs[i].least)
			return description_verbs[i].write(description, words, count);
	}
	fprintf(stderr, "bad line: %s\n", words[0]);
	return -22;
}

/* Writes the trace that `file` describes up to its end or "---". */
static inline int description_write(FILE *file, const char *path)
{
	struct trace_writer_options options = {0};
	struct description description = {0};
	char line[DESCRIPTION_LINE];
	int error = trace_writer_open(path, &options, &description.writer), closed;

	if (error)
		return error;
	while (!error && fgets(line, sizeof(line), file) && strncmp(line, "---", 3) != 0)
		error = description_line(&description, line);
	closed = trace_writer_close(description.writer, 1);
	return error ? error : closed;
}
