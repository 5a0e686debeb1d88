/* SPDX-License-Identifier: MIT
 *
 * analyze/frames.h - the names of a stack's frames
 */
#ifndef ANALYZE_FRAMES_H
#define ANALYZE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;
struct frames;

enum frame_class {
	FRAME_CLASS_HOST,
	FRAME_CLASS_PYTHON,
	FRAME_CLASS_JIT,
	FRAME_CLASS_INLINED,
	FRAME_CLASS_TRUNCATED,
	FRAME_CLASS_KERNEL
};

/* Texts live as long as the frames. */
struct frame_name {
	const char *function; /* never NULL; "[libfoo.so]+0x1234" where it is not known */
	const char *file;     /* NULL: not known */
	uint32_t line;        /* 0: not known */
	uint32_t first_line;  /* of a Python function; 0: not known */
	enum frame_class class;
	bool is_program;    /* code of an executable that was recorded, not of a library */
	bool is_trampoline; /* a Python function, told by code that its interpreter made for it */
	bool is_unnamed;    /* the function is only told by file and offset */
	uint32_t module_string; /* file of native code; 0: none */
	const char *
		kernel_module; /* "[xe]": of a function of the kernel; NULL: of none, or not known */
	uint32_t frame; /* of the trace: neighbours with the same one are one address, inlined */
};

struct frames_options {
	bool has_lines;      /* files, lines and inlined callers: reads debug information */
	bool is_short;       /* C++ names without parameters */
	bool may_download;   /* ask debuginfod, where DEBUGINFOD_URLS is set */
	const char *archive; /* folder of symbol files kept with the trace; NULL: none */
};

/* model must outlive it. Errors: -ENOMEM. */
int frames_new(const struct model *model, const struct frames_options *options,
	       struct frames **ret_frames);
void frames_free(struct frames *frames); /* NULL-safe */

/* The names of a stack, root first; valid until the next call. Errors: -ENOMEM. */
int frames_of_stack(struct frames *frames, uint32_t stack, const struct frame_name **ret_names,
		    size_t *ret_count);

/* The names of a stack with a function that was called from it, "": none; root first. What lies on it are frames of the kernel
 * alone, which the call led to. A driver's own function is one of them: where the innermost is that very function it is not said
 * twice. *ret_callers: how many stand before the function. Valid until the next call. Errors: -ENOMEM. */
int frames_of_call(struct frames *frames, uint32_t stack, const char *function,
		   const struct frame_name **ret_names, size_t *ret_count, size_t *ret_callers);

/* The names of one frame, outermost first; valid until the next call. Errors: -ENOMEM. */
int frames_of_frame(struct frames *frames, uint32_t frame, const struct frame_name **ret_names,
		    size_t *ret_count);

/* Whether it is a function of the program: of an executable that was recorded, or Python's. */
bool frames_is_own(const struct frame_name *name);

/* The innermost function of the program, else the innermost of all; NULL where there is none. */
const struct frame_name *frames_own(const struct frame_name *names, size_t count);

/* What stands for a stack without frames: "[unknown stack]", or "[stacks off]" where none was recorded. */
const char *frames_none(const struct frames *frames);

/* How many files have code in the stacks, and how many of them are missing or others now. */
struct frames_files {
	size_t all, missing;
	const char *example; /* one that is missing */
};
int frames_check(struct frames *frames, struct frames_files *ret_files); /* -ENOMEM */

/* What a user should know ("'/usr/bin/x' was replaced since the recording"). */
size_t frames_notes(struct frames *frames, const char *const **ret_notes);

#endif
