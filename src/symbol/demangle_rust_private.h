/* SPDX-License-Identifier: MIT
 *
 * symbol/demangle_rust_private.h - the decoder that demangle_rust.c and demangle_rust_decoder.c
 * share
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

#define RUST_DEPTH_LIMIT 128 /* nested constructs, and lifetimes of one binder */

struct rust_decoder {
	const char *text; /* the name after its prefix "_R" or "_ZN" */
	size_t length, at;
	struct string_builder out;
	unsigned int depth, steps, silent; /* silent: parse without printing */
	uint64_t lifetimes;                /* bound by the enclosing binders */
	bool is_wrong;
};

struct rust_identifier {
	const char *text;
	size_t length;
	bool is_punycode;
	uint64_t disambiguator;
};

bool rust_is_digit(char character);
/* Whether a number is a printable Unicode character. */
bool rust_is_character(uint64_t number);

/* Append to the output; without effect if the decoder is silent or wrong. */
void rust_print_bytes(struct rust_decoder *decoder, const char *bytes, size_t size);
void rust_print(struct rust_decoder *decoder, const char *text);
void rust_print_number(struct rust_decoder *decoder, uint64_t number);
void rust_print_character(struct rust_decoder *decoder, uint32_t character);
void rust_print_identifier(struct rust_decoder *decoder, const struct rust_identifier *identifier);

/* The next character without reading it; NUL at the end. */
char rust_peek(const struct rust_decoder *decoder);
/* Reads the character if it is next. */
bool rust_accept(struct rust_decoder *decoder, char character);
/* Reads a character; sets is_wrong at the end. */
char rust_next(struct rust_decoder *decoder);
/* Counts one step into a construct that may nest; false: too many. The caller decrements depth. */
bool rust_enter(struct rust_decoder *decoder);

/* "_" is 0, "0_" 1, … */
uint64_t rust_read_base62(struct rust_decoder *decoder);
/* TAG base-62; 0 without the tag. */
uint64_t rust_read_optional(struct rust_decoder *decoder, char tag);
/* LENGTH BYTES; has_separator: '_' may separate them. */
struct rust_identifier rust_read_counted(struct rust_decoder *decoder, bool has_separator);
struct rust_identifier rust_read_plain_identifier(struct rust_decoder *decoder);
struct rust_identifier rust_read_identifier(struct rust_decoder *decoder);
