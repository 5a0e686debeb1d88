/* SPDX-License-Identifier: MIT
 *
 * cli/info_object.h - a code object as 'duet info' shows it, whoever's GPU it is for
 */
#ifndef CLI_INFO_OBJECT_H
#define CLI_INFO_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct isa;

enum { INFO_FACTS_MOST = 5 };

/* What is known of a kernel beside its code. */
struct info_fact {
	const char *key, *text; /* in JSON; in text */
	uint32_t value;         /* 0: not said */
};

/* A kernel, or a function that kernels call. */
struct info_kernel {
	const char *name;
	bool is_called;
	uint64_t offset;     /* of its code in the object's code */
	const uint8_t *code; /* borrowed */
	uint64_t code_bytes; /* what is executed */
	uint64_t size_bytes; /* with what fills it up */
	struct info_fact facts[INFO_FACTS_MOST];
};

struct info_object {
	const char *path;
	size_t size_bytes;
	const char *vendor, *gpu; /* "Intel", "an Intel GPU" */
	const char *generation;   /* NULL: not known */
	const char *ip_version;   /* NULL: not known */
	struct isa *isa;          /* borrowed */
	const struct info_kernel *kernels;
	size_t kernel_count;
	/* Says the line of the code at `offset`, `*ret_file` NULL where it is not known. Errors: -errno. */
	int (*find_line)(void *context, uint64_t offset, const char **ret_file, uint32_t *ret_line);
	void *context; /* of find_line */
};

/* Prints it: text, or JSON "duet.info/1" with the key code_object. Errors: -errno with the error chain. */
int info_object_print(const struct info_object *object, bool is_json);

#endif
