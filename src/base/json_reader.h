/* SPDX-License-Identifier: MIT
 *
 * base/json_reader.h - read JSON token by token, from a file of any size
 *
 *	struct json_reader *reader;
 *	json_reader_new(read_more, file, &reader);
 *	while ((status = json_reader_next(reader)) > JSON_END)
 *		...
 *
 * Memory holds one token and the brackets that are open, never a document.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define JSON_READER_DEPTH  256
#define JSON_READER_STRING ((size_t)16 << 20)

enum json_token {
	JSON_END, /* end of the document; only white space may follow */
	JSON_OBJECT_BEGIN,
	JSON_OBJECT_END,
	JSON_ARRAY_BEGIN,
	JSON_ARRAY_END,
	JSON_KEY,    /* its value follows */
	JSON_STRING, /* unescaped */
	JSON_NUMBER, /* as written in the file */
	JSON_TRUE,
	JSON_FALSE,
	JSON_NULL
};

struct json_reader;

/* Fills the buffer. Returns 0 at the end, -errno with a message. */
typedef ssize_t json_reader_more(void *context, void *buffer, size_t size);

/* -ENOMEM. */
int json_reader_new(json_reader_more *more, void *context, struct json_reader **ret_reader);
void json_reader_free(struct json_reader *reader); /* NULL-safe */

/* The next enum json_token, or -EBADMSG with "line 3, byte 47: expected ',' or '}', found 'x'",
 * -ENOMEM, or the error of the read callback. After an error every call returns that error. */
int json_reader_next(struct json_reader *reader);

/* Reads a token, which must be this one: 0, or -EBADMSG with a message. */
int json_reader_expect(struct json_reader *reader, enum json_token token);

/* Returns -EBADMSG with the message "line 3, byte 47: expected EXPECTED, found FOUND", at the
 * token. */
int json_reader_fail(const struct json_reader *reader, const char *expected, const char *found);

/* Whether reading failed because the file ends between two items of an array that is the document.
 */
bool json_reader_is_cut(const struct json_reader *reader);

/* The text of a key, a string or a number: NUL-terminated, may contain NULs; valid until the next
 * token. */
const char *json_reader_text(const struct json_reader *reader, size_t *ret_length);

/* Skips the value after a key, or the next value of an array. `first` is its first token. */
int json_reader_skip(struct json_reader *reader, int first);

/* Position of the token, for messages. */
uint64_t json_reader_line(const struct json_reader *reader);
uint64_t json_reader_byte(const struct json_reader *reader);

/* "an object", "a text", … */
const char *json_token_name(int token);

/* A number times 1000: us as ns. Exact if it has at most three decimals, otherwise rounded.
 * -EINVAL: not a number; -ERANGE: the result does not fit. */
int json_parse_thousandths(const char *text, int64_t *ret_value);
