/* SPDX-License-Identifier: MIT
 *
 * base/json.h - write JSON piece by piece
 *
 *	struct json_writer json;
 *	json_init_file(&json, stdout);
 *	json_object_begin(&json);
 *	json_key(&json, "name");
 *	json_string(&json, "saxpy");
 *	json_object_end(&json);
 *	if (json_error(&json))
 *		...
 *
 * Commas and quotes are the writer's work. The output is always valid UTF-8: bytes that are not
 * valid become U+FFFD, one for each maximal malformed sequence.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/string.h"

#define JSON_DEPTH 64

struct json_writer {
	FILE *file;                  /* one of these two */
	struct string_builder *text; /* … borrowed */
	unsigned int depth;
	bool has_items[JSON_DEPTH + 1]; /* by depth: a comma is due before the next item */
	bool after_key;
	bool newline; /* due before the next item or bracket */
	int error;
};

void json_init_file(struct json_writer *json, FILE *file);
void json_init_text(struct json_writer *json, struct string_builder *text);

void json_object_begin(struct json_writer *json);
void json_object_end(struct json_writer *json);
void json_array_begin(struct json_writer *json);
void json_array_end(struct json_writer *json);

void json_key(struct json_writer *json, const char *key);
void json_space(struct json_writer *json); /* after a key, for readers that search for one */
void json_string(struct json_writer *json, const char *text); /* NULL: null */
void json_bytes(struct json_writer *json, const void *bytes, size_t size);
void json_u64(struct json_writer *json, uint64_t value);
void json_i64(struct json_writer *json, int64_t value);
void json_double(struct json_writer *json, double value); /* not a number, infinite: null */
/* value / 1000 with its three decimals: ns as us, exactly. */
void json_thousandths(struct json_writer *json, int64_t value);
void json_bool(struct json_writer *json, bool value);
void json_null(struct json_writer *json);

/* A key and its value. */
void json_pair_text(struct json_writer *json, const char *key, const char *text); /* NULL: null */
void json_pair_u64(struct json_writer *json, const char *key, uint64_t value);
void json_pair_i64(struct json_writer *json, const char *key, int64_t value);
void json_pair_double(struct json_writer *json, const char *key, double value);
void json_pair_bool(struct json_writer *json, const char *key, bool value);
/* A key and the begin of its object or array. */
void json_pair_object(struct json_writer *json, const char *key);
void json_pair_array(struct json_writer *json, const char *key);

/* Puts a line break before the next item (after its comma) or closing bracket, so that a long array
 * has one item per line. */
void json_newline(struct json_writer *json);
/* Begins an object on a line of its own; the same for a key and its array. */
void json_line_begin(struct json_writer *json);
void json_line_array(struct json_writer *json, const char *key);

/* 0 or the first error: -ENOMEM, -EIO of the file, -E2BIG for nesting above JSON_DEPTH. */
int json_error(const struct json_writer *json);
