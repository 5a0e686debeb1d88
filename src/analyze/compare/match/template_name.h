/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/match/template_name.h - read demangled C++ names
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEMPLATE_NAME_BYTES = 16384 }; /* the read part of a longer name */

struct template_name {
	const char *text;
	size_t size;
	size_t begin, end;                  /* the function, without return type and parameters */
	uint16_t ends[TEMPLATE_NAME_BYTES]; /* place after the closing bracket of each bracket; 0 */
};

/* A text that is built in a buffer of fixed size. A text that does not fit is cut, and a hash of
 * what does not fit takes its last characters. */
struct key_text {
	char *text;
	size_t size, length;
	uint64_t hash; /* the characters that did not fit, hashed; 0: none */
};

void key_text_append(struct key_text *key, const char *text, size_t length);
void key_text_finish(struct key_text *key);

enum template_parts {
	TEMPLATE_NONE = 0,    /* no template arguments */
	TEMPLATE_TYPES = 1,   /* template arguments except numbers */
	TEMPLATE_SCALARS = 2, /* with TEMPLATE_TYPES: scalar types, too */
};

/* The text must outlive the result. */
void template_name_read(struct template_name *name, const char *text);

/* Appends the function with the parts of its template arguments. */
void template_name_append(const struct template_name *name, enum template_parts parts,
			  struct key_text *key);

/* Appends the template arguments of the function only, separated by ",". */
void template_name_append_arguments(const struct template_name *name, enum template_parts parts,
				    struct key_text *key);
