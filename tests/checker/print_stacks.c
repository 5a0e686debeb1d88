/* SPDX-License-Identifier: MIT
 *
 * tests/checker/print_stacks.c - the launches of a trace with their stacks, and the kernels, as
 * lines of text
 *
 * Usage: print_stacks TRACE. Fields are separated by tabs, texts have no tabs:
 *
 *	frame	ID	native	MODULE	OFFSET	RETURN        offset in the file, hexadecimal;
 *		RETURN 1: a return address
 *	frame	ID	python	NAME	FILE	LINE	FIRST
 *	frame	ID	jit	ADDRESS	NAME
 *	frame	ID	truncated	COUNT
 *	stack	ID	CALLER	FRAME
 *	kernel	ID	NAME	PARENT                         ids of code objects
 *	launch	TID	FUNCTION	RESULT	KERNEL	STACK	X	Y	Z   global sizes
 *	call	TID	FUNCTION	STACK                    of a call that launches nothing;
 *		only those with a stack
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "trace/reader.h"

static const char *text(struct trace_reader *reader, uint32_t id)
{
	return trace_reader_string(reader, id, NULL);
}

static void print_frame(struct trace_reader *reader, uint32_t id, const struct event_frame *frame)
{
	switch (frame->type) {
	case FRAME_NATIVE:
		printf("frame\t%u\tnative\t%s\t%" PRIx64 "\t%d\n", id,
		       text(reader, frame->module_string), frame->offset,
		       (frame->flags & FRAME_RETURN) != 0);
		break;
	case FRAME_PYTHON:
		printf("frame\t%u\tpython\t%s\t%s\t%u\t%u\n", id, text(reader, frame->name_string),
		       text(reader, frame->file_string), frame->line, frame->first_line);
		break;
	case FRAME_JIT:
		printf("frame\t%u\tjit\t%" PRIx64 "\t%s\n", id, frame->offset,
		       text(reader, frame->name_string));
		break;
	default:
		printf("frame\t%u\ttruncated\t%" PRIu64 "\n", id, frame->offset);
	}
}

/* Ids have gaps: what no row names is not in the file. */
static void print_frames(struct trace_reader *reader)
{
	size_t left = trace_reader_frame_count(reader);

	for (uint32_t id = 1; left > 0 && id; id++) {
		const struct event_frame *frame = trace_reader_frame(reader, id);

		if (!frame)
			continue;
		print_frame(reader, id, frame);
		left--;
	}
}

static void print_nodes(struct trace_reader *reader)
{
	size_t left = trace_reader_stack_count(reader);

	for (uint32_t id = 1; left > 0 && id; id++) {
		const struct event_stack *stack = trace_reader_stack(reader, id);

		if (!stack)
			continue;
		printf("stack\t%u\t%u\t%u\n", id, stack->caller, stack->frame);
		left--;
	}
}

static void print_kernels(struct trace_reader *reader)
{
	const struct event_code *codes;
	const void *rows;
	size_t count;

	count = trace_reader_entities(reader, EVENT_CODE, &rows);
	codes = rows;
	for (size_t i = 0; i < count; i++)
		if (codes[i].type == CODE_KERNEL)
			printf("kernel\t%u\t%s\t%u\n", codes[i].id,
			       text(reader, codes[i].name_string), codes[i].parent);
}

static uint32_t tid_of(struct trace_reader *reader, uint32_t id)
{
	const struct event_thread *thread = trace_reader_entity(reader, EVENT_THREAD, id);

	return thread ? thread->tid : 0;
}

static void print_launch(struct trace_reader *reader, const struct event_launch *row)
{
	printf("launch\t%u\t%s\t%d\t%u\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
	       tid_of(reader, row->thread), text(reader, row->function_string), row->result,
	       row->kernel, row->stack, row->global_size[0], row->global_size[1],
	       row->global_size[2]);
}

static void print_call(struct trace_reader *reader, const struct event_api *row)
{
	if (row->stack)
		printf("call\t%u\t%s\t%u\n", tid_of(reader, row->thread),
		       text(reader, row->function_string), row->stack);
}

static int print_rows(struct trace_reader *reader, size_t index)
{
	enum event_kind kind = trace_reader_chunk(reader, index)->kind;
	size_t count = 0;
	void *rows = NULL;
	int error;

	if (kind != EVENT_LAUNCH && kind != EVENT_API)
		return 0;
	error = trace_reader_rows(reader, index, &rows, &count);
	for (size_t i = 0; !error && i < count; i++) {
		if (kind == EVENT_LAUNCH)
			print_launch(reader, (const struct event_launch *)rows + i);
		else
			print_call(reader, (const struct event_api *)rows + i);
	}
	free(rows);
	return error;
}

int main(int argc, char **argv)
{
	struct trace_reader *reader = NULL;
	int error;

	if (argc != 2) {
		fprintf(stderr, "usage: print_stacks TRACE\n");
		return 2;
	}
	error = trace_reader_open(argv[1], &reader);
	if (!error) {
		print_frames(reader);
		print_nodes(reader);
		print_kernels(reader);
	}
	for (size_t i = 0; !error && i < trace_reader_chunk_count(reader); i++)
		error = print_rows(reader, i);
	if (error)
		fprintf(stderr, "print_stacks: %s\n", error_text());
	trace_reader_close(reader);
	return error ? 1 : 0;
}
