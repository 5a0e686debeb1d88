/* SPDX-License-Identifier: MIT
 *
 * symbol/demangle_rust.c - Rust's two manglings
 *
 * Runs in:  the readers
 * Gets:     a mangled name, which may be hostile; gives the path as Rust writes it, without hashes
 * Owns:     the text while it grows
 * Fails:    with NULL
 * Why a count of steps: a back reference may stand for text that holds back references, so that a
 *           short name takes exponential time without printing anything. Real names take below
 *           2,000 steps. The grammar is that of Rust's RFC 2603.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "symbol/demangle.h"

#define DEPTH_LIMIT    128
#define STEPS_LIMIT    50000
#define PUNYCODE_LIMIT 256 /* characters */

struct decoder {
	const char *text; /* behind "_R" */
	size_t length, at;
	struct string_builder out;
	unsigned int depth, steps, silent; /* silent: what is read is not printed */
	uint64_t lifetimes;                /* bound by the binders around */
	bool is_wrong;
};

struct identifier {
	const char *text;
	size_t length;
	bool is_punycode;
	uint64_t disambiguator;
};

static bool is_digit(char character)
{
	return character >= '0' && character <= '9';
}

/* ---- output ---- */

static void print_bytes(struct decoder *decoder, const char *bytes, size_t size)
{
	if (decoder->silent || decoder->is_wrong)
		return;
	if (size > DEMANGLE_OUTPUT_LIMIT - decoder->out.length) {
		decoder->is_wrong = true;
		return;
	}
	string_builder_append_bytes(&decoder->out, bytes, size);
}

static void print(struct decoder *decoder, const char *text)
{
	print_bytes(decoder, text, strlen(text));
}

static void print_number(struct decoder *decoder, uint64_t number)
{
	char digits[24], *at = digits + sizeof(digits) - 1;

	*at = '\0';
	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	print(decoder, at);
}

static void print_character(struct decoder *decoder, uint32_t character)
{
	char utf8[4];
	size_t size = 0;

	if (character < 0x80) {
		utf8[size++] = (char)character;
	} else if (character < 0x800) {
		utf8[size++] = (char)(0xc0 | character >> 6);
		utf8[size++] = (char)(0x80 | (character & 63));
	} else if (character < 0x10000) {
		utf8[size++] = (char)(0xe0 | character >> 12);
		utf8[size++] = (char)(0x80 | (character >> 6 & 63));
		utf8[size++] = (char)(0x80 | (character & 63));
	} else {
		utf8[size++] = (char)(0xf0 | character >> 18);
		utf8[size++] = (char)(0x80 | (character >> 12 & 63));
		utf8[size++] = (char)(0x80 | (character >> 6 & 63));
		utf8[size++] = (char)(0x80 | (character & 63));
	}
	print_bytes(decoder, utf8, size);
}

static bool is_character(uint64_t number)
{
	return number >= 0x20 && number <= 0x10ffff && number != 0x7f &&
	       (number < 0xd800 || number > 0xdfff);
}

/* ---- input ---- */

static char peek(const struct decoder *decoder)
{
	return decoder->at < decoder->length ? decoder->text[decoder->at] : '\0';
}

static bool accept(struct decoder *decoder, char character)
{
	if (decoder->is_wrong || peek(decoder) != character || !character)
		return false;
	decoder->at++;
	return true;
}

static char next(struct decoder *decoder)
{
	char character = peek(decoder);

	if (!character)
		decoder->is_wrong = true;
	else
		decoder->at++;
	return character;
}

/* One step into something that may hold others; false: too many. */
static bool enter(struct decoder *decoder)
{
	if (decoder->depth >= DEPTH_LIMIT || ++decoder->steps > STEPS_LIMIT)
		decoder->is_wrong = true;
	if (decoder->is_wrong)
		return false;
	decoder->depth++;
	return true;
}

/* "_" is 0, "0_" 1, … */
static uint64_t read_base62(struct decoder *decoder)
{
	uint64_t number = 0;

	if (accept(decoder, '_'))
		return 0;
	while (!decoder->is_wrong && !accept(decoder, '_')) {
		char character = next(decoder);
		uint64_t digit = is_digit(character)                    ? character - '0'
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

/* TAG base-62, 0 where the tag is not there. */
static uint64_t read_optional(struct decoder *decoder, char tag)
{
	uint64_t number;

	if (!accept(decoder, tag))
		return 0;
	number = read_base62(decoder);
	if (number == UINT64_MAX)
		decoder->is_wrong = true;
	return number + 1;
}

/* LENGTH BYTES; has_separator: '_' may stand between them. */
static struct identifier read_counted(struct decoder *decoder, bool has_separator)
{
	struct identifier identifier = {0};
	size_t length = 0;

	if (!is_digit(peek(decoder)))
		decoder->is_wrong = true;
	if (!accept(decoder, '0')) {
		while (is_digit(peek(decoder)) && length <= decoder->length)
			length = length * 10 + (size_t)(next(decoder) - '0');
	}
	if (has_separator)
		accept(decoder, '_');
	if (length > decoder->length - decoder->at)
		decoder->is_wrong = true;
	if (decoder->is_wrong)
		return identifier;
	identifier.text = decoder->text + decoder->at;
	identifier.length = length;
	decoder->at += length;
	return identifier;
}

static struct identifier read_plain_identifier(struct decoder *decoder)
{
	bool is_punycode = accept(decoder, 'u');
	struct identifier identifier = read_counted(decoder, true);

	identifier.is_punycode = is_punycode;
	return identifier;
}

static struct identifier read_identifier(struct decoder *decoder)
{
	uint64_t disambiguator = read_optional(decoder, 's');
	struct identifier identifier = read_plain_identifier(decoder);

	identifier.disambiguator = disambiguator;
	return identifier;
}

/* ---- identifiers ---- */

struct punycode {
	uint32_t characters[PUNYCODE_LIMIT];
	size_t count;
};

/* RFC 3492's adaptation of the bias. */
static uint32_t adapt(uint32_t delta, uint32_t count, bool is_first)
{
	uint32_t steps = 0;

	delta = is_first ? delta / 700 : delta / 2;
	delta += delta / count;
	for (; delta > 455; steps += 36)
		delta /= 35;
	return steps + 36 * delta / (delta + 38);
}

/* One delta; -1 at something wrong. */
static int64_t read_delta(const char **at, const char *end, uint32_t bias)
{
	uint64_t delta = 0, weight = 1;

	for (uint32_t k = 36;; k += 36) {
		uint32_t least = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias, digit;

		if (*at == end)
			return -1;
		if (**at >= 'a' && **at <= 'z')
			digit = (uint32_t)(**at - 'a');
		else if (is_digit(**at))
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

static bool decode_punycode(const struct identifier *identifier, struct punycode *ret)
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
		bias = adapt((uint32_t)delta, count, position == 0 && character == 128);
		position += (uint64_t)delta;
		character += position / count;
		position %= count;
		if (!is_character(character))
			return false;
		memmove(&ret->characters[position + 1], &ret->characters[position],
			(ret->count - position) * sizeof(ret->characters[0]));
		ret->characters[position++] = (uint32_t)character;
		ret->count++;
	}
	return true;
}

static void print_identifier(struct decoder *decoder, const struct identifier *identifier)
{
	struct punycode punycode;

	if (decoder->is_wrong)
		return;
	if (!identifier->is_punycode) {
		print_bytes(decoder, identifier->text, identifier->length);
	} else if (decode_punycode(identifier, &punycode)) {
		for (size_t i = 0; i < punycode.count; i++)
			print_character(decoder, punycode.characters[i]);
	} else {
		print(decoder, "punycode{");
		print_bytes(decoder, identifier->text, identifier->length);
		print(decoder, "}");
	}
}

/* ---- the grammar ---- */

static void read_path(struct decoder *decoder, bool is_value);
static void read_type(struct decoder *decoder);
static void read_const(struct decoder *decoder);

/* Reads with `read` what a back reference, whose 'B' was just accepted, stands for. */
static void follow(struct decoder *decoder, void (*read)(struct decoder *))
{
	size_t own = decoder->at - 1, back;
	uint64_t target = read_base62(decoder);

	if (target >= own)
		decoder->is_wrong = true;
	if (decoder->is_wrong)
		return;
	back = decoder->at;
	decoder->at = (size_t)target;
	read(decoder);
	decoder->at = back;
}

static void read_value_path(struct decoder *decoder)
{
	read_path(decoder, true);
}

static void read_type_path(struct decoder *decoder)
{
	read_path(decoder, false);
}

static void print_lifetime(struct decoder *decoder, uint64_t index)
{
	uint64_t number;

	print(decoder, "'");
	if (!index) {
		print(decoder, "_");
		return;
	}
	if (index > decoder->lifetimes) {
		decoder->is_wrong = true;
		return;
	}
	number = decoder->lifetimes - index;
	if (number < 26) {
		char letter = (char)('a' + number);

		print_bytes(decoder, &letter, 1);
	} else {
		print(decoder, "_");
		print_number(decoder, number);
	}
}

/* for<'a, 'b>; returns how many it binds. */
static uint64_t read_binder(struct decoder *decoder)
{
	uint64_t count = read_optional(decoder, 'G');

	if (count > DEPTH_LIMIT)
		decoder->is_wrong = true;
	if (!count || decoder->is_wrong)
		return 0;
	print(decoder, "for<");
	for (uint64_t i = 0; i < count; i++) {
		decoder->lifetimes++;
		if (i)
			print(decoder, ", ");
		print_lifetime(decoder, 1);
	}
	print(decoder, "> ");
	return count;
}

static void read_argument(struct decoder *decoder)
{
	if (accept(decoder, 'L'))
		print_lifetime(decoder, read_base62(decoder));
	else if (accept(decoder, 'K'))
		read_const(decoder);
	else
		read_type(decoder);
}

/* Items up to 'E', with commas between them; returns how many. */
static size_t read_list(struct decoder *decoder, void (*read)(struct decoder *))
{
	size_t count = 0;

	while (!decoder->is_wrong && !accept(decoder, 'E')) {
		if (count++)
			print(decoder, ", ");
		read(decoder);
	}
	return count;
}

static void read_nested(struct decoder *decoder, bool is_value)
{
	char space = next(decoder);
	struct identifier identifier;

	if (space < 'A' || (space > 'Z' && space < 'a') || space > 'z')
		decoder->is_wrong = true;
	read_path(decoder, is_value);
	identifier = read_identifier(decoder);
	if (space >= 'a') {
		if (identifier.length)
			print(decoder, "::");
		print_identifier(decoder, &identifier);
		return;
	}
	print(decoder, "::{");
	if (space == 'C')
		print(decoder, "closure");
	else if (space == 'S')
		print(decoder, "shim");
	else
		print_bytes(decoder, &space, 1);
	if (identifier.length) {
		print(decoder, ":");
		print_identifier(decoder, &identifier);
	}
	print(decoder, "#");
	print_number(decoder, identifier.disambiguator);
	print(decoder, "}");
}

/* <T>, <T as Trait>; where it is implemented is read over. */
static void read_implementation(struct decoder *decoder, char kind)
{
	if (kind != 'Y') {
		read_optional(decoder, 's');
		decoder->silent++;
		read_path(decoder, false);
		decoder->silent--;
	}
	print(decoder, "<");
	read_type(decoder);
	if (kind != 'M') {
		print(decoder, " as ");
		read_path(decoder, false);
	}
	print(decoder, ">");
}

static void read_path(struct decoder *decoder, bool is_value)
{
	struct identifier identifier;
	char kind;

	if (!enter(decoder))
		return;
	kind = next(decoder);
	switch (kind) {
	case 'C':
		identifier = read_identifier(decoder);
		print_identifier(decoder, &identifier);
		break;
	case 'N':
		read_nested(decoder, is_value);
		break;
	case 'M':
	case 'X':
	case 'Y':
		read_implementation(decoder, kind);
		break;
	case 'I':
		read_path(decoder, is_value);
		print(decoder, is_value ? "::<" : "<");
		read_list(decoder, read_argument);
		print(decoder, ">");
		break;
	case 'B':
		follow(decoder, is_value ? read_value_path : read_type_path);
		break;
	default:
		decoder->is_wrong = true;
	}
	decoder->depth--;
}

static const char *basic_type(char tag)
{
	static const char *const names[26] = {
		"i8",    "bool", "char", "f64", "str",  "f32",  NULL,  "u8", "isize",
		"usize", NULL,   "i32",  "u32", "i128", "u128", "_",   NULL, NULL,
		"i16",   "u16",  "()",   "...", NULL,   "i64",  "u64", "!",
	};

	return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

static void read_function(struct decoder *decoder)
{
	uint64_t bound = read_binder(decoder);

	if (accept(decoder, 'U'))
		print(decoder, "unsafe ");
	if (accept(decoder, 'K')) {
		print(decoder, "extern \"");
		if (accept(decoder, 'C')) {
			print(decoder, "C");
		} else {
			struct identifier abi = read_plain_identifier(decoder);

			for (size_t i = 0; i < abi.length && !decoder->is_wrong; i++)
				print_bytes(decoder, abi.text[i] == '_' ? "-" : &abi.text[i], 1);
		}
		print(decoder, "\" ");
	}
	print(decoder, "fn(");
	read_list(decoder, read_type);
	print(decoder, ")");
	if (!accept(decoder, 'u')) {
		print(decoder, " -> ");
		read_type(decoder);
	}
	decoder->lifetimes -= bound;
}

/* A path whose generic arguments stay open for what is bound in them; returns whether they are. */
static bool read_open_path(struct decoder *decoder)
{
	bool is_open = false;
	size_t own = decoder->at;

	if (!enter(decoder))
		return false;
	if (accept(decoder, 'B')) {
		uint64_t target = read_base62(decoder);
		size_t back = decoder->at;

		if (target >= own)
			decoder->is_wrong = true;
		if (!decoder->is_wrong) {
			decoder->at = (size_t)target;
			is_open = read_open_path(decoder);
			decoder->at = back;
		}
	} else if (accept(decoder, 'I')) {
		read_path(decoder, false);
		print(decoder, "<");
		read_list(decoder, read_argument);
		is_open = true;
	} else {
		read_path(decoder, false);
	}
	decoder->depth--;
	return is_open;
}

static void read_trait(struct decoder *decoder)
{
	bool is_open = read_open_path(decoder);

	while (accept(decoder, 'p')) {
		struct identifier name = read_plain_identifier(decoder);

		print(decoder, is_open ? ", " : "<");
		is_open = true;
		print_identifier(decoder, &name);
		print(decoder, " = ");
		read_type(decoder);
	}
	if (is_open)
		print(decoder, ">");
}

static void read_dyn(struct decoder *decoder)
{
	uint64_t bound, lifetime;
	size_t count = 0;

	print(decoder, "dyn ");
	bound = read_binder(decoder);
	while (!decoder->is_wrong && !accept(decoder, 'E')) {
		if (count++)
			print(decoder, " + ");
		read_trait(decoder);
	}
	decoder->lifetimes -= bound;
	if (!accept(decoder, 'L'))
		decoder->is_wrong = true;
	lifetime = read_base62(decoder);
	if (lifetime) {
		print(decoder, " + ");
		print_lifetime(decoder, lifetime);
	}
}

static void read_reference(struct decoder *decoder, const char *mutability)
{
	print(decoder, "&");
	if (accept(decoder, 'L')) {
		uint64_t lifetime = read_base62(decoder);

		if (lifetime) {
			print_lifetime(decoder, lifetime);
			print(decoder, " ");
		}
	}
	print(decoder, mutability);
	read_type(decoder);
}

static void read_array(struct decoder *decoder, char kind)
{
	print(decoder, "[");
	read_type(decoder);
	if (kind == 'A') {
		print(decoder, "; ");
		read_const(decoder);
	}
	print(decoder, "]");
}

static void read_type(struct decoder *decoder)
{
	const char *basic = basic_type(peek(decoder));
	size_t count;

	if (!enter(decoder))
		return;
	switch (basic ? '\0' : peek(decoder)) {
	case '\0':
		next(decoder);
		print(decoder, basic ? basic : "");
		break;
	case 'A':
	case 'S':
		read_array(decoder, next(decoder));
		break;
	case 'T':
		next(decoder);
		print(decoder, "(");
		count = read_list(decoder, read_type);
		print(decoder, count == 1 ? ",)" : ")");
		break;
	case 'R':
	case 'Q':
		read_reference(decoder, next(decoder) == 'Q' ? "mut " : "");
		break;
	case 'P':
	case 'O':
		print(decoder, next(decoder) == 'O' ? "*mut " : "*const ");
		read_type(decoder);
		break;
	case 'F':
		next(decoder);
		read_function(decoder);
		break;
	case 'D':
		next(decoder);
		read_dyn(decoder);
		break;
	case 'B':
		next(decoder);
		follow(decoder, read_type);
		break;
	default:
		read_path(decoder, false);
	}
	decoder->depth--;
}

/* Hexadecimal digits up to '_'. */
static void read_hex(struct decoder *decoder, const char **ret_digits, size_t *ret_length,
		     uint64_t *ret_number)
{
	*ret_digits = decoder->text + decoder->at;
	*ret_length = 0;
	*ret_number = 0;
	while (!decoder->is_wrong && !accept(decoder, '_')) {
		char character = next(decoder);

		if (is_digit(character))
			*ret_number = *ret_number << 4 | (uint64_t)(character - '0');
		else if (character >= 'a' && character <= 'f')
			*ret_number = *ret_number << 4 | (uint64_t)(character - 'a' + 10);
		else
			decoder->is_wrong = true;
		++*ret_length;
	}
}

static void print_const_character(struct decoder *decoder, uint64_t number)
{
	print(decoder, "'");
	if (number == '\'' || number == '\\')
		print(decoder, "\\");
	if (is_character(number))
		print_character(decoder, (uint32_t)number);
	else if (number == '\n' || number == '\t' || number == '\r')
		print(decoder, number == '\n' ? "\\n" : number == '\t' ? "\\t" : "\\r");
	else
		decoder->is_wrong = true;
	print(decoder, "'");
}

static void read_const(struct decoder *decoder)
{
	const char *digits;
	size_t length;
	uint64_t number;
	char type;

	if (!enter(decoder))
		return;
	type = next(decoder);
	if (type == 'B') {
		follow(decoder, read_const);
	} else if (type == 'p') {
		print(decoder, "_");
	} else if (type && strchr("hijlmnostxyabc", type)) {
		bool is_signed = strchr("ailnsx", type) != NULL;

		if (is_signed && accept(decoder, 'n'))
			print(decoder, "-");
		read_hex(decoder, &digits, &length, &number);
		if (type == 'b') {
			print(decoder, number ? "true" : "false");
		} else if (type == 'c') {
			print_const_character(decoder, number);
		} else if (length > 16) {
			print(decoder, "0x");
			print_bytes(decoder, digits, decoder->is_wrong ? 0 : length);
		} else {
			print_number(decoder, number);
		}
	} else {
		decoder->is_wrong = true;
	}
	decoder->depth--;
}

/* ---- both manglings ---- */

static char *finish(struct decoder *decoder)
{
	char *text = decoder->is_wrong || !decoder->out.length ? NULL
							       : string_builder_take(&decoder->out);

	string_builder_fini(&decoder->out);
	return text;
}

static char *demangle_new(const char *name)
{
	struct decoder decoder = {.text = name + 2, .length = strcspn(name + 2, ".$")};

	string_builder_init(&decoder.out);
	/* a version that follows is not ours to read */
	if (is_digit(peek(&decoder)))
		return NULL;
	read_path(&decoder, true);
	if (!decoder.is_wrong && peek(&decoder) >= 'A' && peek(&decoder) <= 'Z') {
		decoder.silent++;
		read_path(&decoder, false);
		decoder.silent--;
	}
	if (decoder.at != decoder.length)
		decoder.is_wrong = true;
	return finish(&decoder);
}

static bool is_hash(const char *text, size_t length)
{
	return length == 17 && text[0] == 'h' && strspn(text + 1, "0123456789abcdef") >= 16;
}

/* "$LT$" and the like; the length that was read, 0: none. */
static size_t print_escape(struct decoder *decoder, const char *text, size_t length)
{
	static const char *const escapes[][2] = {
		{"$SP$", "@"}, {"$BP$", "*"}, {"$RF$", "&"}, {"$LT$", "<"},
		{"$GT$", ">"}, {"$LP$", "("}, {"$RP$", ")"}, {"$C$", ","},
	};
	uint32_t character = 0;
	size_t i;

	for (i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
		size_t size = strlen(escapes[i][0]);

		if (size <= length && memcmp(text, escapes[i][0], size) == 0) {
			print(decoder, escapes[i][1]);
			return size;
		}
	}
	if (length < 4 || text[1] != 'u')
		return 0;
	for (i = 2; i < length && i < 8 && text[i] != '$'; i++) {
		if (!is_digit(text[i]) && (text[i] < 'a' || text[i] > 'f'))
			return 0;
		character = character << 4 |
			    (uint32_t)(is_digit(text[i]) ? text[i] - '0' : text[i] - 'a' + 10);
	}
	if (i == length || text[i] != '$' || !is_character(character))
		return 0;
	print_character(decoder, character);
	return i + 1;
}

static void print_legacy(struct decoder *decoder, const char *text, size_t length)
{
	size_t i = length >= 2 && text[0] == '_' && text[1] == '$' ? 1 : 0;

	while (i < length && !decoder->is_wrong) {
		size_t size = text[i] == '$' ? print_escape(decoder, text + i, length - i) : 0;

		if (!size && i + 1 < length && text[i] == '.' && text[i + 1] == '.') {
			print(decoder, "::");
			size = 2;
		}
		if (!size) {
			print_bytes(decoder, text + i, 1);
			size = 1;
		}
		i += size;
	}
}

/* _ZN 3foo 3bar 17h0123456789abcdef E: the hash tells it from C++. */
static char *demangle_legacy(const char *name)
{
	struct decoder decoder = {.text = name + 3, .length = strlen(name + 3)};
	bool has_hash = false;

	string_builder_init(&decoder.out);
	while (!decoder.is_wrong && !accept(&decoder, 'E')) {
		struct identifier part;

		if (has_hash || !is_digit(peek(&decoder)))
			decoder.is_wrong = true;
		part = read_counted(&decoder, false);
		if (decoder.is_wrong)
			break;
		has_hash = is_hash(part.text, part.length) && peek(&decoder) == 'E';
		if (has_hash)
			continue;
		if (decoder.out.length)
			print(&decoder, "::");
		print_legacy(&decoder, part.text, part.length);
	}
	if (!has_hash || (peek(&decoder) && peek(&decoder) != '.'))
		decoder.is_wrong = true;
	return finish(&decoder);
}

char *demangle_rust(const char *name)
{
	if (strnlen(name, DEMANGLE_INPUT_LIMIT + 1) > DEMANGLE_INPUT_LIMIT)
		return NULL;
	if (strncmp(name, "_R", 2) == 0)
		return demangle_new(name);
	if (strncmp(name, "_ZN", 3) == 0)
		return demangle_legacy(name);
	return NULL;
}
