/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/match/template_name.c - read demangled C++ names
 *
 * Runs in:  our own process, in duet diff
 * Gets:     a demangled name, or any text
 * Gives:    its function and template arguments, without what a compiler or a tuner chooses
 * Owns:     nothing
 * Fails:    never; a name in another language is its own function
 * Why brackets first: names come from other people's files. One pass finds the end of each bracket,
 *           so that 100 000 brackets cost the same as 100 000 letters.
 */
#include "analyze/compare/match/template_name.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"

enum { MAX_DEPTH = 48, HASH_LENGTH = 17 };

static const char hidden[] = "(anonymous namespace)::";

/* ---- keys ------------------------------------------------------------------------------------ */

static void hash_character(struct key_text *key, char character)
{
	key->hash = (key->hash ? key->hash : 0xcbf29ce484222325u) ^ (unsigned char)character;
	key->hash *= 0x100000001b3u;
	key->hash |= key->hash == 0; /* 0 means that everything fitted */
}

void key_text_append(struct key_text *key, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (key->length + HASH_LENGTH + 1 < key->size)
			key->text[key->length++] = text[i];
		else
			hash_character(key, text[i]);
}

void key_text_finish(struct key_text *key)
{
	if (key->hash)
		snprintf(key->text + key->length, key->size - key->length, "~%016" PRIx64,
			 key->hash);
	else
		key->text[key->length] = '\0';
}

/* ---- brackets -------------------------------------------------------------------------------- */

static bool starts_at(const struct template_name *name, size_t at, const char *word)
{
	size_t length;

	if (at >= name->size || name->text[at] != word[0]) /* nearly always */
		return false;
	length = strlen(word);
	return name->size - at >= length && memcmp(name->text + at, word, length) == 0;
}

/* Size of "operator" and its symbol at a place; 0: there is none. */
static size_t operator_size(const struct template_name *name, size_t at)
{
	size_t end = at + strlen("operator");

	if (!starts_at(name, at, "operator"))
		return 0;
	if (starts_at(name, end, "()") || starts_at(name, end, "[]"))
		return end + 2 - at;
	while (end < name->size && strchr("<>=!+-*/%^&|~,", name->text[end]))
		end++;
	return end - at;
}

struct open_brackets {
	size_t count;
	size_t by_kind[4];
	uint16_t places[TEMPLATE_NAME_BYTES];
};

static int kind_of(char bracket, const char *kinds)
{
	const char *found;

	if (!bracket || isalnum((unsigned char)bracket))
		return -1;
	found = strchr(kinds, bracket);
	return found ? (int)(found - kinds) : -1;
}

/* A ">" may be an arrow or a comparison: it closes nothing but a "<" that is innermost. Other ends
 * close what is left open inside. */
static void close_bracket(struct template_name *name, struct open_brackets *open, int kind,
			  size_t at)
{
	if (!open->by_kind[kind] || (kind == 0 && name->text[open->places[open->count - 1]] != '<'))
		return;
	while (open->count) {
		const size_t place = open->places[--open->count];
		const int closed = kind_of(name->text[place], "<({[");

		open->by_kind[closed]--;
		if (closed == kind) {
			name->ends[place] = (uint16_t)(at + 1);
			return;
		}
	}
}

static void find_ends(struct template_name *name)
{
	struct open_brackets open;
	size_t size;

	open.count = 0;
	memset(open.by_kind, 0, sizeof(open.by_kind));
	memset(name->ends, 0, name->size * sizeof(name->ends[0]));
	for (size_t at = 0; at < name->size; at += size) {
		const int opens = kind_of(name->text[at], "<({[");
		const int closes = kind_of(name->text[at], ">)}]");

		size = operator_size(name, at);
		if (size)
			continue;
		size = 1;
		if (opens >= 0) {
			open.places[open.count++] = (uint16_t)at;
			open.by_kind[opens]++;
		} else if (closes >= 0) {
			close_bracket(name, &open, closes, at);
		}
	}
}

/* Place after the bracket, operator or character at a place. */
static size_t next_place(const struct template_name *name, size_t at)
{
	const size_t size = operator_size(name, at);

	return size ? at + size : name->ends[at] ? name->ends[at] : at + 1;
}

/* ---- the function ---------------------------------------------------------------------------- */

/* "foo(int)::{lambda()#1}" continues after its parameters. */
static bool is_parameters(const struct template_name *name, size_t at)
{
	return name->text[at] == '(' && name->ends[at] && !starts_at(name, at, hidden) &&
	       !starts_at(name, name->ends[at], "::");
}

static void find_function(struct template_name *name)
{
	bool is_before_parameters = true;

	name->begin = 0;
	name->end = name->size;
	for (size_t at = 0; at < name->size; at = next_place(name, at)) {
		if (starts_at(name, at, " [clone") || (at && is_parameters(name, at))) {
			name->end = at;
			return;
		}
		if (name->text[at] == '(' && !starts_at(name, at, hidden))
			is_before_parameters = false;
		if (name->text[at] == ' ' && is_before_parameters && at + 1 < name->size)
			name->begin = at + 1;
	}
}

void template_name_read(struct template_name *name, const char *text)
{
	name->text = text;
	name->size = strnlen(text, TEMPLATE_NAME_BYTES - 1);
	find_ends(name);
	find_function(name);
}

/* ---- writing ------------------------------------------------------------------------- */

/* Templates that only pass a functor on: their arguments are written in their place. */
static const char *const wrappers[] = {
	"at::native::gpu_kernel_impl<",
	"at::native::gpu_kernel_impl_nocast<",
	"at::native::opmath_gpu_kernel_with_scalars<",
};

/* Arguments that say how a kernel reads and writes, not what it computes. */
static const char *const access_types[] = {
	"OffsetCalculator<",    "TrivialOffsetCalculator<", "at::detail::Array<",
	"at::native::memory::", "std::array<char*",
};

static const char *const scalars[] = {
	"(anonymous namespace)::OpaqueType",
	"BFloat16",
	"Half",
	"__half",
	"__hip_bfloat16",
	"__nv_bfloat16",
	"_Float16",
	"at::BFloat16",
	"at::Half",
	"bool",
	"c10::BFloat16",
	"c10::Float8_e4m3fn",
	"c10::Float8_e5m2",
	"c10::Half",
	"c10::complex<double>",
	"c10::complex<float>",
	"char",
	"cutlass::bfloat16_t",
	"cutlass::half_t",
	"double",
	"float",
	"half",
	"int",
	"long",
	"long long",
	"short",
	"signed char",
	"unsigned char",
	"unsigned int",
	"unsigned long",
	"unsigned long long",
	"unsigned short",
};

struct range {
	size_t begin, end;
};

static struct range trim(const struct template_name *name, struct range range)
{
	while (range.begin < range.end && name->text[range.begin] == ' ')
		range.begin++;
	while (range.begin < range.end && name->text[range.end - 1] == ' ')
		range.end--;
	return range;
}

/* "12", "-3", "64ul", "true", "(int)128"; but "(ggml_type)2" is an enumerator, which is a type of
 * data as a rule. */
static bool is_number(const struct template_name *name, struct range range)
{
	static const char *const casts[] = {"(bool)", "(int)", "(unsigned int)", "(long)",
					    "(unsigned long)"};
	size_t at = range.begin;

	for (size_t i = 0; i < ARRAY_COUNT(casts); i++)
		if (starts_at(name, at, casts[i]))
			at += strlen(casts[i]);
	if (at < range.end && name->text[at] == '-')
		at++;
	if (at < range.end && isdigit((unsigned char)name->text[at]))
		return true;
	return (range.end - at == 4 && starts_at(name, at, "true")) ||
	       (range.end - at == 5 && starts_at(name, at, "false"));
}

static bool is_scalar(const struct template_name *name, struct range range)
{
	for (size_t i = 0; i < ARRAY_COUNT(scalars); i++)
		if (range.end - range.begin == strlen(scalars[i]) &&
		    starts_at(name, range.begin, scalars[i]))
			return true;
	return false;
}

static bool starts_with_any(const struct template_name *name, size_t at, const char *const *words,
			    size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (starts_at(name, at, words[i]))
			return true;
	return false;
}

static void append_range(const struct template_name *name, struct range range,
			 enum template_parts parts, unsigned int depth, struct key_text *key);

static void append_argument(const struct template_name *name, struct range range,
			    enum template_parts parts, unsigned int depth, struct key_text *key)
{
	range = trim(name, range);
	if (range.begin == range.end || is_number(name, range) ||
	    (!(parts & TEMPLATE_SCALARS) && is_scalar(name, range)) ||
	    starts_with_any(name, range.begin, access_types, ARRAY_COUNT(access_types)))
		return;
	append_range(name, range, parts, depth, key);
	if (key->length && key->text[key->length - 1] != ',') /* that of a wrapper's argument */
		key_text_append(key, ",", 1);
}

/* The list between the brackets at a place. */
static void append_list(const struct template_name *name, size_t at, enum template_parts parts,
			unsigned int depth, struct key_text *key)
{
	const size_t end = name->ends[at] - 1u;
	size_t begin = at + 1;

	for (size_t i = begin; i < end; i = next_place(name, i))
		if (name->text[i] == ',') {
			append_argument(name, (struct range){begin, i}, parts, depth + 1, key);
			begin = i + 1;
		}
	append_argument(name, (struct range){begin, end}, parts, depth + 1, key);
}

/* Numbers of lambdas depend on the order in a source file. */
static size_t append_lambda(const struct template_name *name, size_t at, enum template_parts parts,
			    unsigned int depth, struct key_text *key)
{
	const size_t list = at + strlen("{lambda");

	key_text_append(key, "{lambda:", 8);
	if (list < name->size && name->text[list] == '(' && name->ends[list])
		append_list(name, list, parts, depth, key);
	key_text_append(key, "}", 1);
	return name->ends[at];
}

/* Versions in namespaces: CUB_200200_800_NS, THRUST_200200_NS, ROCPRIM_400200_NS. */
static size_t version_size(const struct template_name *name, size_t at)
{
	static const char *const words[] = {"CUB_", "HIPCUB_", "ROCPRIM_", "THRUST_"};
	size_t end = at;

	if (!starts_with_any(name, at, words, ARRAY_COUNT(words)))
		return 0;
	while (end < name->size &&
	       (isalnum((unsigned char)name->text[end]) || name->text[end] == '_'))
		end++;
	return starts_at(name, end, "::") ? end + 2 - at : 0;
}

/* Size of a text at a place that is never written; 0: there is none. */
static size_t skipped_size(const struct template_name *name, size_t at)
{
	static const char *const words[] = {hidden, "::operator()() const", "::operator()()",
					    " const"};
	const unsigned char first = (unsigned char)name->text[at];
	const size_t version = isupper(first) ? version_size(name, at) : 0;

	if (isalnum(first))
		return version;
	for (size_t i = 0; i < ARRAY_COUNT(words); i++)
		if (starts_at(name, at, words[i]))
			return strlen(words[i]);
	return 0;
}

static bool is_wrapper(const struct template_name *name, size_t at)
{
	return starts_with_any(name, at, wrappers, ARRAY_COUNT(wrappers));
}

static size_t append_place(const struct template_name *name, size_t at, enum template_parts parts,
			   unsigned int depth, struct key_text *key)
{
	const size_t skipped = skipped_size(name, at);

	if (skipped)
		return at + skipped;
	if (starts_at(name, at, "{lambda") && name->ends[at])
		return append_lambda(name, at, parts, depth, key);
	if (name->text[at] == '<' && name->ends[at]) {
		if (parts == TEMPLATE_NONE)
			return name->ends[at];
		key_text_append(key, "<", 1);
		append_list(name, at, parts, depth, key);
		key_text_append(key, ">", 1);
		return name->ends[at];
	}
	if (name->text[at] == '(' && name->ends[at] && at && !strchr(" ,<&", name->text[at - 1]))
		return name->ends[at]; /* parameters */
	if (name->text[at] != ' ' || (at && isalnum((unsigned char)name->text[at - 1])))
		key_text_append(key, name->text + at, 1);
	return at + 1;
}

static void append_range(const struct template_name *name, struct range range,
			 enum template_parts parts, unsigned int depth, struct key_text *key)
{
	size_t at = range.begin;

	if (depth > MAX_DEPTH) {
		key_text_append(key, name->text + range.begin, range.end - range.begin);
		return;
	}
	if (parts != TEMPLATE_NONE && is_wrapper(name, at)) {
		while (at < range.end && name->text[at] != '<')
			at++;
		if (name->ends[at]) {
			append_list(name, at, parts, depth, key);
			return;
		}
	}
	while (at < range.end)
		at = append_place(name, at, parts, depth, key);
}

void template_name_append(const struct template_name *name, enum template_parts parts,
			  struct key_text *key)
{
	append_range(name, (struct range){name->begin, name->end}, parts, 0, key);
	if (name->text[name->size]) /* the part that was not read */
		for (const char *rest = name->text + name->size; *rest; rest++)
			if (name->end == name->size)
				hash_character(key, *rest);
}

void template_name_append_arguments(const struct template_name *name, enum template_parts parts,
				    struct key_text *key)
{
	size_t last = name->end;

	for (size_t at = name->begin; at < name->end; at = next_place(name, at))
		if (name->text[at] == '<' && name->ends[at])
			last = at;
	if (last < name->end)
		append_list(name, last, parts, 0, key);
}
