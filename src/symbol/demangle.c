/* SPDX-License-Identifier: MIT
 *
 * symbol/demangle.c - demangle C++ names with libstdc++, Rust names with our own decoder
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     a mangled name, which may be hostile
 * Gives:    text
 * Owns:     the handle of libstdc++
 * Fails:    with NULL; the name is then printed as it is
 * Why the length of the text is estimated first: a C++ name of 300 bytes can stand for gigabytes of
 *           text, because a part can be referred to more than once, and __cxa_demangle prints it
 *           all. Names with a too long text are refused: none of the 38,189 names in libLLVM-14 and
 *           four of the 30,704 in libclang-cpp.
 */
#include "symbol/demangle.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define EXPANSION_LIMIT UINT64_C(33554432) /* bytes that __cxa_demangle may print */
#define REFERENCES      1024 /* distinct ones per name; a name with more is not demangled */
#define PACKS_LIMIT     3    /* nested packs multiply: 300 arguments three times are 27,000,000 */

typedef char *cxa_demangle_function(const char *name, char *buffer, size_t *length, int *status);

struct demangler {
	struct demangle_options options;
	void *library;
	cxa_demangle_function *cxa_demangle; /* NULL: not there */
};

int demangler_new(const struct demangle_options *options, struct demangler **ret_demangler)
{
	struct demangler *demangler = calloc(1, sizeof(*demangler));

	if (!demangler)
		return -ENOMEM;
	demangler->options = *options;
	demangler->library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	if (!demangler->library && strstr(dlerror(), "emory"))
		error_no_memory();
	if (demangler->library)
		demangler->cxa_demangle =
			(cxa_demangle_function *)dlsym(demangler->library, "__cxa_demangle");
	*ret_demangler = demangler;
	return 0;
}

void demangler_free(struct demangler *demangler)
{
	if (!demangler)
		return;
	if (demangler->library)
		dlclose(demangler->library);
	free(demangler);
}

/* ---- how long a C++ name can become ---- */

/* The number of a reference "S_", "S0_", … or "T_", "T0_", …; -1: not a reference. */
static int read_reference(const char *text, size_t *ret_length)
{
	int number = -1;
	size_t i = 1;

	if (text[0] != 'S' && text[0] != 'T')
		return -1;
	for (; (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'A' && text[i] <= 'Z'); i++) {
		int digit = text[i] <= '9' ? text[i] - '0' : text[i] - 'A' + 10;

		number = (number < 0 ? 0 : number) * 36 + digit;
		if (number > REFERENCES - 2)
			number = REFERENCES - 2;
	}
	*ret_length = i + 1;
	return text[i] == '_' ? number + 1 : -1;
}

/* Length of the text at the first reference to each entity. */
struct references {
	uint64_t sizes[REFERENCES];
	int count;
};

/* The target of a reference is complete before the first reference to it or to a later entity. So
 * it is not longer than all text up to there. */
static uint64_t refer(struct references *references, int number, uint64_t size)
{
	uint64_t least = size;

	while (references->count <= number)
		references->sizes[references->count++] = 0;
	for (int i = number; i < references->count; i++) {
		if (references->sizes[i] && references->sizes[i] < least)
			least = references->sizes[i];
	}
	if (!references->sizes[number])
		references->sizes[number] = size;
	return least;
}

/* An upper bound of the demangled length. */
static uint64_t estimate(const char *name)
{
	struct references substitutions, arguments;
	uint64_t size = 8 * strlen(name);
	unsigned int packs = 0;

	substitutions.count = arguments.count = 0;
	for (const char *at = name; *at && size <= EXPANSION_LIMIT; at++) {
		size_t length;
		int number = read_reference(at, &length);

		packs += (at[0] == 'D' || at[0] == 's') && at[1] == 'p';
		if (packs > PACKS_LIMIT)
			return UINT64_MAX;
		if (number >= 0)
			size += refer(*at == 'S' ? &substitutions : &arguments, number, size);
	}
	return size;
}

static char *demangle_cxx(const struct demangler *demangler, const char *name)
{
	char *text;
	int status;

	if (!demangler->cxa_demangle || estimate(name) > EXPANSION_LIMIT)
		return NULL;
	text = demangler->cxa_demangle(name, NULL, NULL, &status);
	if (status == -1)
		error_no_memory();
	return text;
}

/* ---- shortening ---- */

static bool begins(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The length of "operator" and its sign, 0 for another word. */
static size_t measure_operator(const char *text, const char *begin)
{
	static const char *const signs[] = {
		"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "()", "[]", "<", ">"};
	size_t length = strlen("operator");

	if (!begins(text, "operator") || (text > begin && (text[-1] == '_' || text[-1] > '@')))
		return 0;
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		if (begins(text + length, signs[i]))
			return length + strlen(signs[i]);
	}
	return text[length] == ' ' ? length + 1 : 0;
}

/* The address after the bracket that closes the one at `text`. */
static const char *skip_brackets(const char *text)
{
	unsigned int depth = 0;

	for (; *text; text++) {
		if (begins(text, "->")) {
			text++;
			continue;
		}
		depth += *text == '(' || *text == '<';
		if ((*text == ')' || *text == '>') && --depth == 0)
			return text + 1;
	}
	return text;
}

static void shorten(char *name, bool keeps_templates, bool keeps_parameters)
{
	const char *from = name;
	char *to = name, *start = name;
	bool is_operator = false;

	while (*from) {
		size_t length = measure_operator(from, name);

		if (begins(from, "(anonymous namespace)"))
			length = strlen("(anonymous namespace)");
		else
			is_operator = is_operator || length;
		if (length) {
			memmove(to, from, length);
			to += length;
			from += length;
		} else if (*from == '(' || (*from == '<' && to > start)) {
			const char *next = skip_brackets(from);
			size_t span = (size_t)(next - from);
			/* Text after the parameters is not part of the name, unless this is an
			 * entity inside the function. */
			bool is_last =
				*from == '(' && !begins(next, "::") && *next != '#' && *next != '}';

			if (is_last ? keeps_parameters : *from == '<' && keeps_templates) {
				memmove(to, from, span);
				to += span;
			} else if (*from == '<' && to - start > 2 && to[-1] == ':') {
				to -= 2; /* Rust's "parse::<u8>" */
			}
			if (is_last)
				break;
			from = next;
		} else {
			/* Text before the last space is a type, except after "operator". */
			if (*from == ' ' && !is_operator && start[0] != '<' && start[0] != '{')
				to = start;
			else
				*to++ = *from;
			from++;
		}
	}
	/* "operator<< <int>" */
	if (to > start && to[-1] == ' ')
		to--;
	*to = '\0';
}

void demangle_shorten(char *name)
{
	shorten(name, false, false);
}

/* ---- both ---- */

char *demangler_find(struct demangler *demangler, const char *name)
{
	char *text;

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R') ||
	    strnlen(name, DEMANGLE_INPUT_LIMIT + 1) > DEMANGLE_INPUT_LIMIT)
		return NULL;
	text = demangle_rust(name);
	if (!text && name[1] == 'Z')
		text = demangle_cxx(demangler, name);
	if (text && strlen(text) > DEMANGLE_OUTPUT_LIMIT) {
		free(text);
		return NULL;
	}
	if (text && demangler->options.is_short)
		demangle_shorten(text);
	else if (text && demangler->options.is_kernel)
		shorten(text, true, demangler->options.has_parameters);
	return text;
}
