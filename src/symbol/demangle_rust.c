/* SPDX-License-Identifier: MIT
 *
 * symbol/demangle_rust.c - decode Rust's two mangling schemes
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     a mangled name, which may be hostile
 * Gives:    the path as Rust writes it, without hashes
 * Owns:     the text while it grows
 * Fails:    with NULL
 * Why a step count: a back reference may stand for text that contains back references, so that a
 *           short name takes exponential time without printing anything. Real names take fewer than
 *           2,000 steps. The grammar is that of Rust's RFC 2603.
 * Why our own: libiberty (version of 2023) counts the lifetimes of a binder one by one, so the
 *           name "_RNvC1r4mainIC1aFGzzzzzzzzz_EuE" takes it 10^16 steps. LLVM decodes only the
 *           newer scheme.
 */
#include <stdint.h>
#include <string.h>

#include "base/string.h"
#include "symbol/demangle.h"
#include "symbol/demangle_rust_private.h"

/* ---- the grammar ---- */

static void read_path(struct rust_decoder *decoder, bool is_value);
static void read_type(struct rust_decoder *decoder);
static void read_const(struct rust_decoder *decoder);

/* Calls `read` on the target of a back reference, whose 'B' was just accepted. */
static void follow_reference(struct rust_decoder *decoder, void (*read)(struct rust_decoder *))
{
	size_t own = decoder->at - 1, back;
	uint64_t target = rust_read_base62(decoder);

	if (target >= own)
		decoder->is_wrong = true;
	if (decoder->is_wrong)
		return;
	back = decoder->at;
	decoder->at = (size_t)target;
	read(decoder);
	decoder->at = back;
}

static void read_value_path(struct rust_decoder *decoder)
{
	read_path(decoder, true);
}

static void read_type_path(struct rust_decoder *decoder)
{
	read_path(decoder, false);
}

static void print_lifetime(struct rust_decoder *decoder, uint64_t index)
{
	uint64_t number;

	rust_print(decoder, "'");
	if (!index) {
		rust_print(decoder, "_");
		return;
	}
	if (index > decoder->lifetimes) {
		decoder->is_wrong = true;
		return;
	}
	number = decoder->lifetimes - index;
	if (number < 26) {
		char letter = (char)('a' + number);

		rust_print_bytes(decoder, &letter, 1);
	} else {
		rust_print(decoder, "_");
		rust_print_number(decoder, number);
	}
}

/* for<'a, 'b>; returns the number of lifetimes it binds. */
static uint64_t read_binder(struct rust_decoder *decoder)
{
	uint64_t count = rust_read_optional(decoder, 'G');

	if (count > RUST_DEPTH_LIMIT)
		decoder->is_wrong = true;
	if (!count || decoder->is_wrong)
		return 0;
	rust_print(decoder, "for<");
	for (uint64_t i = 0; i < count; i++) {
		decoder->lifetimes++;
		if (i)
			rust_print(decoder, ", ");
		print_lifetime(decoder, 1);
	}
	rust_print(decoder, "> ");
	return count;
}

static void read_argument(struct rust_decoder *decoder)
{
	if (rust_accept(decoder, 'L'))
		print_lifetime(decoder, rust_read_base62(decoder));
	else if (rust_accept(decoder, 'K'))
		read_const(decoder);
	else
		read_type(decoder);
}

/* Items up to 'E', with commas between them; returns their number. */
static size_t read_list(struct rust_decoder *decoder, void (*read)(struct rust_decoder *))
{
	size_t count = 0;

	while (!decoder->is_wrong && !rust_accept(decoder, 'E')) {
		if (count++)
			rust_print(decoder, ", ");
		read(decoder);
	}
	return count;
}

static void read_nested(struct rust_decoder *decoder, bool is_value)
{
	char space = rust_next(decoder);
	struct rust_identifier identifier;

	if (space < 'A' || (space > 'Z' && space < 'a') || space > 'z')
		decoder->is_wrong = true;
	read_path(decoder, is_value);
	identifier = rust_read_identifier(decoder);
	if (space >= 'a') {
		if (identifier.length)
			rust_print(decoder, "::");
		rust_print_identifier(decoder, &identifier);
		return;
	}
	rust_print(decoder, "::{");
	if (space == 'C')
		rust_print(decoder, "closure");
	else if (space == 'S')
		rust_print(decoder, "shim");
	else
		rust_print_bytes(decoder, &space, 1);
	if (identifier.length) {
		rust_print(decoder, ":");
		rust_print_identifier(decoder, &identifier);
	}
	rust_print(decoder, "#");
	rust_print_number(decoder, identifier.disambiguator);
	rust_print(decoder, "}");
}

/* <T>, <T as Trait>; skips the path of the implementation. */
static void read_implementation(struct rust_decoder *decoder, char kind)
{
	if (kind != 'Y') {
		rust_read_optional(decoder, 's');
		decoder->silent++;
		read_path(decoder, false);
		decoder->silent--;
	}
	rust_print(decoder, "<");
	read_type(decoder);
	if (kind != 'M') {
		rust_print(decoder, " as ");
		read_path(decoder, false);
	}
	rust_print(decoder, ">");
}

static void read_path(struct rust_decoder *decoder, bool is_value)
{
	struct rust_identifier identifier;
	char kind;

	if (!rust_enter(decoder))
		return;
	kind = rust_next(decoder);
	switch (kind) {
	case 'C':
		identifier = rust_read_identifier(decoder);
		rust_print_identifier(decoder, &identifier);
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
		rust_print(decoder, is_value ? "::<" : "<");
		read_list(decoder, read_argument);
		rust_print(decoder, ">");
		break;
	case 'B':
		follow_reference(decoder, is_value ? read_value_path : read_type_path);
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

static void read_function(struct rust_decoder *decoder)
{
	uint64_t bound = read_binder(decoder);

	if (rust_accept(decoder, 'U'))
		rust_print(decoder, "unsafe ");
	if (rust_accept(decoder, 'K')) {
		rust_print(decoder, "extern \"");
		if (rust_accept(decoder, 'C')) {
			rust_print(decoder, "C");
		} else {
			struct rust_identifier abi = rust_read_plain_identifier(decoder);

			for (size_t i = 0; i < abi.length && !decoder->is_wrong; i++)
				rust_print_bytes(decoder, abi.text[i] == '_' ? "-" : &abi.text[i],
						 1);
		}
		rust_print(decoder, "\" ");
	}
	rust_print(decoder, "fn(");
	read_list(decoder, read_type);
	rust_print(decoder, ")");
	if (!rust_accept(decoder, 'u')) {
		rust_print(decoder, " -> ");
		read_type(decoder);
	}
	decoder->lifetimes -= bound;
}

/* A path whose generic arguments stay open for associated bindings; returns whether they are open.
 */
static bool read_open_path(struct rust_decoder *decoder)
{
	bool is_open = false;
	size_t own = decoder->at;

	if (!rust_enter(decoder))
		return false;
	if (rust_accept(decoder, 'B')) {
		uint64_t target = rust_read_base62(decoder);
		size_t back = decoder->at;

		if (target >= own)
			decoder->is_wrong = true;
		if (!decoder->is_wrong) {
			decoder->at = (size_t)target;
			is_open = read_open_path(decoder);
			decoder->at = back;
		}
	} else if (rust_accept(decoder, 'I')) {
		read_path(decoder, false);
		rust_print(decoder, "<");
		read_list(decoder, read_argument);
		is_open = true;
	} else {
		read_path(decoder, false);
	}
	decoder->depth--;
	return is_open;
}

static void read_trait(struct rust_decoder *decoder)
{
	bool is_open = read_open_path(decoder);

	while (rust_accept(decoder, 'p')) {
		struct rust_identifier name = rust_read_plain_identifier(decoder);

		rust_print(decoder, is_open ? ", " : "<");
		is_open = true;
		rust_print_identifier(decoder, &name);
		rust_print(decoder, " = ");
		read_type(decoder);
	}
	if (is_open)
		rust_print(decoder, ">");
}

static void read_dyn(struct rust_decoder *decoder)
{
	uint64_t bound, lifetime;
	size_t count = 0;

	rust_print(decoder, "dyn ");
	bound = read_binder(decoder);
	while (!decoder->is_wrong && !rust_accept(decoder, 'E')) {
		if (count++)
			rust_print(decoder, " + ");
		read_trait(decoder);
	}
	decoder->lifetimes -= bound;
	if (!rust_accept(decoder, 'L'))
		decoder->is_wrong = true;
	lifetime = rust_read_base62(decoder);
	if (lifetime) {
		rust_print(decoder, " + ");
		print_lifetime(decoder, lifetime);
	}
}

static void read_reference(struct rust_decoder *decoder, const char *mutability)
{
	rust_print(decoder, "&");
	if (rust_accept(decoder, 'L')) {
		uint64_t lifetime = rust_read_base62(decoder);

		if (lifetime) {
			print_lifetime(decoder, lifetime);
			rust_print(decoder, " ");
		}
	}
	rust_print(decoder, mutability);
	read_type(decoder);
}

static void read_array(struct rust_decoder *decoder, char kind)
{
	rust_print(decoder, "[");
	read_type(decoder);
	if (kind == 'A') {
		rust_print(decoder, "; ");
		read_const(decoder);
	}
	rust_print(decoder, "]");
}

static void read_type(struct rust_decoder *decoder)
{
	const char *basic = basic_type(rust_peek(decoder));
	size_t count;

	if (!rust_enter(decoder))
		return;
	switch (basic ? '\0' : rust_peek(decoder)) {
	case '\0':
		rust_next(decoder);
		rust_print(decoder, basic ? basic : "");
		break;
	case 'A':
	case 'S':
		read_array(decoder, rust_next(decoder));
		break;
	case 'T':
		rust_next(decoder);
		rust_print(decoder, "(");
		count = read_list(decoder, read_type);
		rust_print(decoder, count == 1 ? ",)" : ")");
		break;
	case 'R':
	case 'Q':
		read_reference(decoder, rust_next(decoder) == 'Q' ? "mut " : "");
		break;
	case 'P':
	case 'O':
		rust_print(decoder, rust_next(decoder) == 'O' ? "*mut " : "*const ");
		read_type(decoder);
		break;
	case 'F':
		rust_next(decoder);
		read_function(decoder);
		break;
	case 'D':
		rust_next(decoder);
		read_dyn(decoder);
		break;
	case 'B':
		rust_next(decoder);
		follow_reference(decoder, read_type);
		break;
	default:
		read_path(decoder, false);
	}
	decoder->depth--;
}

/* Hexadecimal digits up to '_'. */
static void read_hex(struct rust_decoder *decoder, const char **ret_digits, size_t *ret_length,
		     uint64_t *ret_number)
{
	*ret_digits = decoder->text + decoder->at;
	*ret_length = 0;
	*ret_number = 0;
	while (!decoder->is_wrong && !rust_accept(decoder, '_')) {
		char character = rust_next(decoder);

		if (rust_is_digit(character))
			*ret_number = *ret_number << 4 | (uint64_t)(character - '0');
		else if (character >= 'a' && character <= 'f')
			*ret_number = *ret_number << 4 | (uint64_t)(character - 'a' + 10);
		else
			decoder->is_wrong = true;
		++*ret_length;
	}
}

static void print_const_character(struct rust_decoder *decoder, uint64_t number)
{
	rust_print(decoder, "'");
	if (number == '\'' || number == '\\')
		rust_print(decoder, "\\");
	if (rust_is_character(number))
		rust_print_character(decoder, (uint32_t)number);
	else if (number == '\n' || number == '\t' || number == '\r')
		rust_print(decoder, number == '\n' ? "\\n" : number == '\t' ? "\\t" : "\\r");
	else
		decoder->is_wrong = true;
	rust_print(decoder, "'");
}

static void read_const(struct rust_decoder *decoder)
{
	const char *digits;
	size_t length;
	uint64_t number;
	char type;

	if (!rust_enter(decoder))
		return;
	type = rust_next(decoder);
	if (type == 'B') {
		follow_reference(decoder, read_const);
	} else if (type == 'p') {
		rust_print(decoder, "_");
	} else if (type && strchr("hijlmnostxyabc", type)) {
		bool is_signed = strchr("ailnsx", type) != NULL;

		if (is_signed && rust_accept(decoder, 'n'))
			rust_print(decoder, "-");
		read_hex(decoder, &digits, &length, &number);
		if (type == 'b') {
			rust_print(decoder, number ? "true" : "false");
		} else if (type == 'c') {
			print_const_character(decoder, number);
		} else if (length > 16) {
			rust_print(decoder, "0x");
			rust_print_bytes(decoder, digits, decoder->is_wrong ? 0 : length);
		} else {
			rust_print_number(decoder, number);
		}
	} else {
		decoder->is_wrong = true;
	}
	decoder->depth--;
}

/* ---- both manglings ---- */

static char *finish(struct rust_decoder *decoder)
{
	char *text = decoder->is_wrong || !decoder->out.length ? NULL
							       : string_builder_take(&decoder->out);

	string_builder_fini(&decoder->out);
	return text;
}

static char *demangle_new(const char *name)
{
	struct rust_decoder decoder = {.text = name + 2, .length = strcspn(name + 2, ".$")};

	/* a version number follows: not supported */
	if (rust_is_digit(rust_peek(&decoder)))
		return NULL;
	read_path(&decoder, true);
	if (!decoder.is_wrong && rust_peek(&decoder) >= 'A' && rust_peek(&decoder) <= 'Z') {
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

/* "$LT$" and similar; returns the length read, 0: no escape. */
static size_t print_escape(struct rust_decoder *decoder, const char *text, size_t length)
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
			rust_print(decoder, escapes[i][1]);
			return size;
		}
	}
	if (length < 4 || text[1] != 'u')
		return 0;
	for (i = 2; i < length && i < 8 && text[i] != '$'; i++) {
		if (!rust_is_digit(text[i]) && (text[i] < 'a' || text[i] > 'f'))
			return 0;
		character = character << 4 |
			    (uint32_t)(rust_is_digit(text[i]) ? text[i] - '0' : text[i] - 'a' + 10);
	}
	if (i == length || text[i] != '$' || !rust_is_character(character))
		return 0;
	rust_print_character(decoder, character);
	return i + 1;
}

static void print_legacy(struct rust_decoder *decoder, const char *text, size_t length)
{
	size_t i = length >= 2 && text[0] == '_' && text[1] == '$' ? 1 : 0;

	while (i < length && !decoder->is_wrong) {
		size_t size = text[i] == '$' ? print_escape(decoder, text + i, length - i) : 0;

		if (!size && i + 1 < length && text[i] == '.' && text[i + 1] == '.') {
			rust_print(decoder, "::");
			size = 2;
		}
		if (!size) {
			rust_print_bytes(decoder, text + i, 1);
			size = 1;
		}
		i += size;
	}
}

/* _ZN 3foo 3bar 17h0123456789abcdef E: the hash distinguishes it from C++. */
static char *demangle_legacy(const char *name)
{
	struct rust_decoder decoder = {.text = name + 3, .length = strlen(name + 3)};
	bool has_hash = false;

	while (!decoder.is_wrong && !rust_accept(&decoder, 'E')) {
		struct rust_identifier part;

		if (has_hash || !rust_is_digit(rust_peek(&decoder)))
			decoder.is_wrong = true;
		part = rust_read_counted(&decoder, false);
		if (decoder.is_wrong)
			break;
		has_hash = is_hash(part.text, part.length) && rust_peek(&decoder) == 'E';
		if (has_hash)
			continue;
		if (decoder.out.length)
			rust_print(&decoder, "::");
		print_legacy(&decoder, part.text, part.length);
	}
	if (!has_hash || (rust_peek(&decoder) && rust_peek(&decoder) != '.'))
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
