/* SPDX-License-Identifier: MIT
 *
 * cli/info/info.h - `duet info` for files that are not traces: code objects, batch buffers
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli_command;
struct isa;

/* ---- cli/info/object.c: a code object of any vendor ---- */

enum { MAX_INFO_FACTS = 5 };

/* A property of a kernel, such as its register count. */
struct info_fact {
	const char *key, *text; /* its name in JSON; its name in text */
	uint32_t value;         /* 0: unknown, not printed */
};

/* A kernel, or a function that kernels call. */
struct info_kernel {
	const char *name;
	bool is_called;
	uint64_t offset;     /* where the kernel's code starts in the object's code */
	const uint8_t *code; /* borrowed */
	uint64_t code_bytes; /* without padding */
	uint64_t size_bytes; /* with padding */
	struct info_fact facts[MAX_INFO_FACTS];
};

struct info_object {
	const char *path;
	size_t size_bytes;
	const char *vendor, *gpu; /* "Intel", "an Intel GPU" */
	const char *generation;   /* NULL: unknown */
	const char *ip_version;   /* NULL: unknown */
	struct isa *isa;          /* borrowed */
	const struct info_kernel *kernels;
	size_t kernel_count;
	/* Finds the source line of the code at `offset`; *ret_file NULL: unknown. Errors: -errno.
	 * */
	int (*find_line)(void *context, uint64_t offset, const char **ret_file, uint32_t *ret_line);
	void *context; /* passed to find_line */
};

/* Prints the object as text, or as JSON "duet.info/1" with the key code_object. Errors: -errno with
 * the error chain. */
int info_object_print(const struct info_object *object, bool is_json);

/* ---- cli/info/code.c, cli/info/cubin.c: one vendor's ---- */

/* Whether the file is an ELF file, and therefore not a trace. */
bool info_is_code(const char *path);

/* Prints the code object; returns the command's status. */
int info_code(const struct cli_command *command, const char *path, bool is_json);

/* Prints a cubin (NVIDIA). Errors: -errno with the error chain. */
int info_cubin(const char *path, const void *bytes, size_t size, bool is_json);

/* ---- cli/info/batch.c ---- */

/* Values of the command's options; NULL: not set. */
struct info_values {
	bool json, batch;
	const char *generation, *address, *start; /* for --batch */
};

/* Describes the batch buffer in a file, and returns the exit status. */
int info_batch(const struct cli_command *command, const struct info_values *values,
	       const char *path);
