/* SPDX-License-Identifier: MIT
 *
 * analyze/frames.h - function, file and line of each frame of a stack
 */
#pragma once

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
	const char *function; /* never NULL; "[libfoo.so]+0x1234" if the name is not known */
	/* the function, or its file "[libfoo.so]" if neither the name nor the start is known */
	const char *place;
	const char *file;    /* NULL: not known */
	uint32_t line;       /* 0: not known */
	uint32_t first_line; /* first line of a Python function; 0: not known */
	enum frame_class class;
	bool is_program;           /* code of a recorded process's executable, not of a library */
	bool is_trampoline;        /* a Python function, identified by its perf trampoline
				      (PYTHONPERFSUPPORT) */
	bool is_unnamed;           /* function is only "[module]+its start", or +the address */
	uint32_t module_string;    /* path of the file of native code; 0: none */
	const char *kernel_module; /* the module of an OS kernel function, such as "[xe]"; NULL: no
				      module, or not known */
	uint32_t frame;  /* frame id in the trace; neighbours with the same id are one address with
			    inlined functions */
	uint32_t number; /* counts the names of these frames from 1; 0: not one of them */
};

struct frames_options {
	bool has_lines;      /* adds files, lines and inlined callers; reads debug information */
	bool is_short;       /* shows C++ names without parameters */
	bool may_download;   /* may query the debuginfod servers in DEBUGINFOD_URLS */
	const char *archive; /* directory of symbol files kept with the trace; NULL: none */
};

/* model must outlive it. Errors: -ENOMEM. */
int frames_new(const struct model *model, const struct frames_options *options,
	       struct frames **ret_frames);
void frames_free(struct frames *frames); /* NULL-safe */

/* The names of a stack, root first; valid until the next call. Errors: -ENOMEM. */
int frames_of_stack(struct frames *frames, uint32_t stack, const struct frame_name **ret_names,
		    size_t *ret_count);

/* The numbers of these names; valid until the next call. Errors: -ENOMEM. */
int frames_numbers_of_stack(struct frames *frames, uint32_t stack, const uint32_t **ret_numbers,
			    size_t *ret_count);
/* The name of a number from 1; valid until the next call of a function that returns names. */
const struct frame_name *frames_name(const struct frames *frames, uint32_t number);

/* The names of a stack together with the function that the stack called ("": none), root first.
 * Frames of the OS kernel follow that function, because its call led to them. If the function is a
 * driver's (…_ioctl), it comes last; it is not added if it is already the innermost frame.
 * *ret_callers: number of frames before the function. Valid until the next call. Errors:
 * -ENOMEM. */
int frames_of_call(struct frames *frames, uint32_t stack, const char *function,
		   const struct frame_name **ret_names, size_t *ret_count, size_t *ret_callers);

/* The names of one frame, outermost first; valid until the next call. Errors: -ENOMEM. */
int frames_of_frame(struct frames *frames, uint32_t frame, const struct frame_name **ret_names,
		    size_t *ret_count);

/* Whether this is the user's own function: Python code that no package manager installed, or native
 * code of the program or of a library outside of the system's folders. The native code of a Python
 * interpreter and headers of the system do not count. */
bool frames_is_own(const struct frames *frames, const struct frame_name *name);

/* Path of the file of native code; "": none. */
const char *frames_module(const struct frames *frames, const struct frame_name *name);
/* Whether this is native code of a Python interpreter. */
bool frames_is_interpreter(const struct frames *frames, const struct frame_name *name);

/* The user's own innermost function; otherwise the innermost Python function, then the innermost
 * function of all. NULL if count is 0. */
const struct frame_name *frames_own(const struct frames *frames, const struct frame_name *names,
				    size_t count);

/* The text for an empty stack: "[unknown stack]", or "[stacks off]" if the trace has no stacks. */
const char *frames_none(const struct frames *frames);

/* Number of files with code in the stacks, and number of those that are missing or have changed. */
struct frames_files {
	size_t all, missing;
	const char *example; /* path of a missing file */
};
int frames_check(struct frames *frames, struct frames_files *ret_files); /* -ENOMEM */

/* Warnings for the user, such as "'/usr/bin/x' was replaced since the recording"; returns their
 * number. */
size_t frames_notes(struct frames *frames, const char *const **ret_notes);
