/* SPDX-License-Identifier: MIT
 *
 * symbol/demangle_rust_decoder.c - read the tokens of a mangled Rust name and print its parts
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     a mangled name, which may be hostile
 * Gives:    numbers and identifiers; text in the decoder's string builder
 * Owns:     nothing; the decoder is the caller's
 * Fails:    by setting is_wrong, after which nothing more is read or printed
 * Why:      the grammar (demangle_rust.c) then needs no checks of its own: this file has all limits
 *           on depth, steps and output. Identifiers with other letters than ASCII are in Punycode
 *           (RFC 3492)
 */
#include <string.h>

#include "base/number.h"
#include "shared/utf8.h"
#include "symbol/demangle.h"
#include "symbol/demangle_rust_private.h"

#define STEPS_LIMIT    50000
#define PUNYCODE_LIMIT 256 /* characters */

bool rust_is_digit(char character)
{
	return character >= '0' && character <= '9';
}

/* ---- output ---- */

void rust_print_bytes(struct rust_decoder *decoder, const char *bytes, size_t size)
{
	if (decoder->silent || decoder->is_wrong)
		return;
	if (size > DEMANGLE_OUTPUT_LIMIT - decoder->out.length) {
		decoder->is_wrong = true;
		return;
	}
	string_builder_append_bytes(&decoder->out, bytes, size);
}

void rust_print(struct rust_decoder *decoder, const char *text)
{
	rust_print_bytes(decoder, text, strlen(text));
}

void rust_print_number(struct rust_decoder *decoder, uint64_t number)
{
	char digits[20], *end = digits + sizeof(digits), *at = number_digits(end, number);

	rust_print_bytes(decoder, at, (size_t)(end - at));
}

void rust_print_character(struct rust_decoder *decoder, uint32_t character)
{
	char utf8[MAX_UTF8_BYTES];

	rust_print_bytes(decoder, utf8, utf8_encode(character, utf8));
}

bool rust_is_character(uint64_t number)
{
	return number >= 0x20 && number <= 0x10ffff && number != 0x7f &&
	       (number < 0xd800 || number > 0xdfff);
}

/* ---- input ---- */

char rust_peek(const struct rust_decoder *decoder)
{
	return decoder->at < decoder->length ? decoder->text[decoder->at] : '\0';
}

bool rust_accept(struct rust_decoder *decoder, char character)
{
	if (decoder->is_wrong || rust_peek(decoder) != character || !character)
		return false;
	decoder->at++;
	return true;
}

char rust_next(struct rust_decoder *decoder)
{
	char character = rust_peek(decoder);

	if (!character)
		decoder->is_wrong = true;
	else
		decoder->at++;
	return character;
}

/* Enters a construct that may nest. False if the depth, or the number of steps in all, is above its
 * limit. */
bool rust_enter(struct rust_decoder *decoder)
{
	if (decoder->depth >= RUST_DEPTH_LIMIT || ++decoder->steps > STEPS_LIMIT)
		decoder->is_wrong = true;
	if (decoder->is_wrong)
		return false;
	decoder->depth++;
	return true;
}

/* "_" is 0, "0_" 1, … */
uint64_t rust_read_base62(struct rust_decoder *decoder)
{
	uint64_t number = 0;

	if (rust_accept(decoder, '_'))
		return 0;
	while (!decoder->is_wrong && !rust_accept(decoder, '_')) {
		char character = rust_next(decoder);
		uint64_t digit = rust_is_digit(character)               ? character - '0'
				 : character >= 'a' && character <= 'z' ? character - 'a' + 10
				 : character >= 'A' && character <= 'Z' ? character - 'A' + 36
									: 62;

		if (digit == 62 || __builtin_mul_overflow(number, 62, &number) ||
		    __builtin_add_overflow(number, digit, &number))
			decoder->is_wrong = true;
	}
	if (number == UINT64_MAX)
		decoder->is_wrong = true;
	return number + 1;
}

/* TAG base-62; 0 without the tag. */
uint64_t rust_read_optional(struct rust_decoder *decoder, char tag)
{
	uint64_t number;

	if (!rust_accept(decoder, tag))
		return 0;
	number = rust_read_base62(decoder);
	if (number == UINT64_MAX)
		decoder->is_wrong = true;
	return number + 1;
}

/* LENGTH BYTES; has_separator: '_' may separate them. */
struct rust_identifier rust_read_counted(struct rust_decoder *decoder, bool has_separator)
{
	struct rust_identifier identifier = {0};
	size_t length = 0;

	if (!rust_is_digit(rust_peek(decoder)))
		decoder->is_wrong = true;
	if (!rust_accept(decoder, '0')) {
		while (rust_is_digit(rust_peek(decoder)) && length <= decoder->length)
			length = length * 10 + (size_t)(rust_next(decoder) - '0');
	}
	if (has_separator)
		rust_accept(decoder, '_');
	if (length > decoder->length - decoder->at)
		decoder->is_wrong = true;
	if (decoder->is_wrong)
		return identifier;
	identifier.text = decoder->text + decoder->at;
	identifier.length = length;
	decoder->at += length;
	return identifier;
}

struct rust_identifier rust_read_plain_identifier(struct rust_decoder *decoder)
{
	bool is_punycode = rust_accept(decoder, 'u');
	struct rust_identifier identifier = rust_read_counted(decoder, true);

	identifier.is_punycode = is_punycode;
	return identifier;
}

struct rust_identifier rust_read_identifier(struct rust_decoder *decoder)
{
	uint64_t disambiguator = rust_read_optional(decoder, 's');
	struct rust_identifier identifier = rust_read_plain_identifier(decoder);

	identifier.disambiguator = disambiguator;
	return identifier;
}

/* ---- identifiers ---- */

struct punycode {
	uint32_t characters[PUNYCODE_LIMIT];
	size_t count;
};

/* RFC 3492's adaptation of the bias. */
static uint32_t adapt_bias(uint32_t delta, uint32_t count, bool is_first)
{
	uint32_t steps = 0;

	delta = is_first ? delta / 700 : delta / 2;
	delta += delta / count;
	for (; delta > 455; steps += 36)
		delta /= 35;
	return steps + 36 * delta / (delta + 38);
}

/* One delta; -1 if it is invalid. */
static int64_t read_delta(const char **at, const char *end, uint32_t bias)
{
	uint64_t delta = 0, weight = 1;

	for (uint32_t k = 36;; k += 36) {
		uint32_t least = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias, digit;

		if (*at == end)
			return -1;
		if (**at >= 'a' && **at <= 'z')
			digit = (uint32_t)(**at - 'a');
		else if (rust_is_digit(**at))
			digit = (uint32_t)(**at - '0') + 26;
		else
			return -1;
		++*at;
		delta += digit * weight;
		if (delta > UINT32_MAX)
			return -1;
		if (digit < least)
			return (int64_t)delta;
		weight *= 36 - least;
		if (weight > UINT32_MAX)
			return -1;
	}
}

static bool decode_punycode(const struct rust_identifier *identifier, struct punycode *ret)
{
	const char *end = identifier->text + identifier->length;
	const char *split = memrchr(identifier->text, '_', identifier->length);
	const char *at = split ? split + 1 : identifier->text;
	uint64_t character = 128, position = 0;
	uint32_t bias = 72;

	ret->count = 0;
	for (const char *plain = identifier->text; split && plain < split; plain++) {
		if (ret->count == PUNYCODE_LIMIT)
			return false;
		ret->characters[ret->count++] = (unsigned char)*plain;
	}
	while (at < end) {
		int64_t delta = read_delta(&at, end, bias);
		uint32_t count = (uint32_t)ret->count + 1;

		if (delta < 0 || ret->count == PUNYCODE_LIMIT)
			return false;
		bias = adapt_bias((uint32_t)delta, count, position == 0 && character == 128);
		position += (uint64_t)delta;
		character += position / count;
		position %= count;
		if (!rust_is_character(character))
			return false;
		memmove(&ret->characters[position + 1], &ret->characters[position],
			(ret->count - position) * sizeof(ret->characters[0]));
		ret->characters[position++] = (uint32_t)character;
		ret->count++;
	}
	return true;
}

void rust_print_identifier(struct rust_decoder *decoder, const struct rust_identifier *identifier)
{
	struct punycode punycode;

	if (decoder->is_wrong)
		return;
	if (!identifier->is_punycode) {
		rust_print_bytes(decoder, identifier->text, identifier->length);
	} else if (decode_punycode(identifier, &punycode)) {
		for (size_t i = 0; i < punycode.count; i++)
			rust_print_character(decoder, punycode.characters[i]);
	} else {
		rust_print(decoder, "punycode{");
		rust_print_bytes(decoder, identifier->text, identifier->length);
		rust_print(decoder, "}");
	}
}
