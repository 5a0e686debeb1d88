/* SPDX-License-Identifier: MIT
 *
 * analyze/text/short_names.c - the part of a C++ name that distinguishes it from the others
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     demangled names, all that a trace has
 * Gives:    a short name for each
 * Owns:     the short names
 * Fails:    -ENOMEM
 * Why all names at once: kernels of PyTorch are instances of a few templates. Such names share
 *           their first 80 characters and differ in one argument. Only a comparison shows which
 *           argument a reader needs.
 *
 * A name gets longer step by step, until it differs from all others:
 *
 *	1  the function, without return type, namespaces, template arguments and parameters
 *	2  and those types among its template arguments that differ, each as in step 1
 *	3  and the template arguments of these types
 *	4  and those numbers among its template arguments that differ
 *	5  and a number of ours
 *
 * This is for kernels, which are launched by name. A function of the host keeps its namespaces and
 * its class: without them "clblast::Program::_M_dispose" says nothing.
 *
 * A long name of words between underscores, as generators of matrix kernels make them, keeps its
 * first words and those that differ.
 */
#include "analyze/text/short_names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/string.h"

enum {
	MAX_ARGUMENTS = 96, /* template arguments, or words; further ones are not compared */
	MAX_DEPTH = 16,     /* templates and brackets inside of each other */
	FLAT_LENGTH = 48,   /* bytes; a longer name without any template is split into words */
	FLAT_START = 24     /* bytes of it that are kept in any case, up to the end of a word */
};

struct span {
	const char *text;
	size_t size;
};

/* A function or type, taken apart. */
struct parts {
	struct span word; /* its own name */
	struct span arguments[MAX_ARGUMENTS];
	size_t arguments_count;
	struct span
		lambda; /* parameters of the innermost lambda that is defined in it, or nothing */
	bool is_flat;   /* the arguments are the words of a name without a template */
};

enum detail { DETAIL_NONE, DETAIL_WORD, DETAIL_WHOLE }; /* the shown part of a template argument */

struct row {
	struct parts parts;
	const char *full;
	size_t index; /* in the caller's order */
	uint32_t key; /* equal for rows whose shown parts are equal */
	uint8_t details[MAX_ARGUMENTS];
};

struct short_names {
	const char **texts;        /* in the caller's order */
	struct string_table table; /* the texts, and keys of a comparison */
	struct string_table fulls; /* the full names */
	const char **by_full;      /* by id of the full name - 1 */
};

struct maker {
	struct row *rows;
	struct string_table *texts;
	struct string_builder builder;
	uint32_t *keys; /* one per row, for a trial */
};

/* ---- taking a name apart --------------------------------------------------------------------- */

static bool starts_with(struct span span, const char *word)
{
	const size_t length = strlen(word);

	return span.size >= length && memcmp(span.text, word, length) == 0;
}

static struct span after(struct span span, size_t size)
{
	return size ? (struct span){span.text + size, span.size - size} : span;
}

static struct span trim(struct span span)
{
	while (span.size && span.text[0] == ' ')
		span = after(span, 1);
	while (span.size && span.text[span.size - 1] == ' ')
		span.size--;
	return span;
}

static char closing_of(char bracket)
{
	const char *pair = strchr("<>(){}[]", bracket);

	return bracket && pair && strchr("<({[", bracket) ? pair[1] : 0;
}

/* Size of "operator" with its symbol, such as "operator<<" and "operator()"; 0: it does not begin
 * the text. */
static size_t operator_size(struct span span)
{
	size_t size = strlen("operator");

	if (!starts_with(span, "operator"))
		return 0;
	if (starts_with(after(span, size), "()") || starts_with(after(span, size), "[]"))
		return size + 2;
	while (size < span.size && strchr("<>=!+-*/%^&|~,", span.text[size]))
		size++;
	return size;
}

/* Size of the first piece of a text: a bracket with its contents, an operator, or one character,
 * which may be a bracket without its end. */
static size_t piece_size(struct span span)
{
	char ends[MAX_DEPTH];
	size_t depth = 0, size = 0;

	while (size < span.size) {
		const struct span rest = after(span, size);
		const size_t operator= operator_size(rest);

		if (!operator&& closing_of(*rest.text)) {
			if (depth == MAX_DEPTH)
				return 1;
			ends[depth++] = closing_of(*rest.text);
		} else if (!operator&& depth && * rest.text == ends[depth - 1]) {
			depth--;
		}
		size += operator? operator: 1;
		if (!depth)
			return size;
	}
	return 1;
}

/* Finds a text outside of brackets; the span's size: it is not there. */
static size_t find_outside(struct span span, const char *wanted)
{
	size_t at = 0;

	while (at < span.size && !starts_with(after(span, at), wanted))
		at += piece_size(after(span, at));
	return at < span.size ? at : span.size;
}

/* Returns the first item of a list and removes it with its separator. */
static struct span split(struct span *inout_list, const char *separator)
{
	const size_t at = find_outside(*inout_list, separator);
	const struct span first = {inout_list->text, at};

	*inout_list = at == inout_list->size ? after(*inout_list, at)
					     : after(*inout_list, at + strlen(separator));
	return trim(first);
}

/* Drops a return type: everything up to the last space before the parameters that is outside of
 * brackets. "operator bool" has no return type, and "const" behind parameters is none. */
static struct span without_return_type(struct span name)
{
	struct span rest = name;

	for (size_t at = 0; at < name.size && name.text[at] != '(';
	     at += piece_size(after(name, at)))
		if (name.text[at] == ' ' &&
		    !(at >= 8 && starts_with(after(name, at - 8), "operator")))
			rest = after(name, at + 1);
	return rest;
}

/* Splits "word<argument, argument>(parameters) const". */
static void split_component(struct parts *parts, struct span component)
{
	struct span list;
	size_t at = 0;

	while (at < component.size && component.text[at] != '<' && component.text[at] != '(')
		at += piece_size(after(component, at));
	parts->word = (struct span){component.text, at};
	list = after(component, at);
	if (!starts_with(list, "<") || piece_size(list) < 2)
		return;
	list = (struct span){list.text + 1, piece_size(list) - 2};
	while (list.size && parts->arguments_count < MAX_ARGUMENTS)
		parts->arguments[parts->arguments_count++] = split(&list, ", ");
}

/* Components of a name that say nothing without the component before them. */
static bool is_lambda(struct span component)
{
	return starts_with(component, "{lambda") || starts_with(component, "{unnamed") ||
	       starts_with(component, "operator()");
}

static struct span parameters_of_lambda(struct span component)
{
	struct span rest = component;

	if (!starts_with(component, "{lambda("))
		return (struct span){NULL, 0};
	rest = after(rest, strlen("{lambda"));
	rest.size = piece_size(rest);
	return rest;
}

/* The last component of "a::b::c", lambdas left out, gives the word. */
static struct parts take_apart(struct span name)
{
	struct parts parts = {0};
	struct span rest = name, chosen = {NULL, 0};

	while (rest.size) {
		const struct span component = split(&rest, "::");
		const struct span lambda = parameters_of_lambda(component);

		if (lambda.size)
			parts.lambda = lambda;
		if (is_lambda(component) || starts_with(component, "(anonymous namespace)"))
			continue;
		chosen = component;
		parts.lambda = (struct span){NULL, 0};
	}
	split_component(&parts, chosen);
	return parts.word.size ? parts : (struct parts){.word = name};
}

static struct parts take_words_apart(struct span name)
{
	const char *start = memchr(name.text + FLAT_START, '_', name.size - FLAT_START);
	struct parts parts = {.word = name, .is_flat = true};
	struct span rest;

	if (!start)
		return parts;
	parts.word.size = (size_t)(start - name.text);
	rest = after(name, parts.word.size + 1);
	while (rest.size && parts.arguments_count < MAX_ARGUMENTS)
		parts.arguments[parts.arguments_count++] = split(&rest, "_");
	return parts;
}

static struct parts take_function_apart(const char *full)
{
	struct span name = {full, strlen(full)};

	if (name.size > FLAT_LENGTH && !strpbrk(full, "<( "))
		return take_words_apart(name);
	name.size = find_outside(name, " [clone");
	return take_apart(without_return_type(name));
}

/* ---- writing it shorter ---------------------------------------------------------------------- */

static void append(struct string_builder *builder, struct span span)
{
	string_builder_append_bytes(builder, span.text, span.size);
}

/* Appends a template argument. A value such as "(Type)1" stays as it is. */
static void append_argument(struct string_builder *builder, struct span argument,
			    enum detail detail, int depth)
{
	const struct parts parts = take_apart(argument);

	if (starts_with(argument, "(") || depth == MAX_DEPTH) {
		append(builder, argument);
		return;
	}
	append(builder, parts.word);
	if (detail != DETAIL_WHOLE)
		return;
	for (size_t i = 0; i < parts.arguments_count; i++) {
		string_builder_append(builder, i ? ", " : "<");
		append_argument(builder, parts.arguments[i], detail, depth + 1);
	}
	if (parts.arguments_count)
		string_builder_append_char(builder, '>');
	if (parts.lambda.size > strlen("()"))
		append(builder, parts.lambda);
}

/* Words that are left out are an ellipsis. */
static void append_words(struct string_builder *builder, const struct row *row)
{
	bool is_gap = false;

	append(builder, row->parts.word);
	for (size_t i = 0; i < row->parts.arguments_count; i++) {
		if (row->details[i] == DETAIL_NONE) {
			if (!is_gap)
				string_builder_append(builder, "\u2026");
			is_gap = true;
			continue;
		}
		if (!is_gap)
			string_builder_append_char(builder, '_');
		append(builder, row->parts.arguments[i]);
		is_gap = false;
	}
}

static void append_row(struct string_builder *builder, const struct row *row)
{
	bool has_any = false;

	if (row->parts.is_flat) {
		append_words(builder, row);
		return;
	}
	append(builder, row->parts.word);
	for (size_t i = 0; i < row->parts.arguments_count; i++) {
		if (row->details[i] == DETAIL_NONE)
			continue;
		string_builder_append(builder, has_any ? ", " : "<");
		append_argument(builder, row->parts.arguments[i], row->details[i], 0);
		has_any = true;
	}
	if (has_any)
		string_builder_append_char(builder, '>');
}

/* The id of the builder's text, which is cleared. Errors: -ENOMEM. */
static int take_text(struct maker *maker, uint32_t *ret_id)
{
	const size_t length = maker->builder.length;

	*ret_id = string_table_add(maker->texts, string_builder_text(&maker->builder), length);
	string_builder_clear(&maker->builder);
	return maker->builder.error || (length && !*ret_id) ? -ENOMEM : 0;
}

/* ---- comparing names ------------------------------------------------------------------------- */

static int compare_full(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	return a->key != b->key ? (a->key > b->key) - (a->key < b->key) : strcmp(a->full, b->full);
}

static int compare_keys(const void *left, const void *right)
{
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

static size_t count_different(uint32_t *keys, size_t count)
{
	size_t different = 0;

	qsort(keys, count, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < count; i++)
		different += i == 0 || keys[i] != keys[i - 1];
	return different;
}

/* The key of a row that also shows argument `at`. 0: no memory. */
static uint32_t key_with(struct maker *maker, const struct row *row, size_t at, enum detail detail)
{
	uint32_t pair[2] = {row->key, 0};

	if (at < row->parts.arguments_count) {
		append_argument(&maker->builder, row->parts.arguments[at], detail, 0);
		if (take_text(maker, &pair[1]))
			return 0;
	}
	return string_table_add(maker->texts, pair, sizeof(pair));
}

/* Shows argument `at` in all rows of a group if that distinguishes more of them. */
static int try_argument(struct maker *maker, struct row *rows, size_t count, size_t at,
			enum detail detail)
{
	size_t before;

	for (size_t i = 0; i < count; i++)
		maker->keys[i] = rows[i].key;
	before = count_different(maker->keys, count);
	for (size_t i = 0; i < count; i++) {
		maker->keys[i] = key_with(maker, &rows[i], at, detail);
		if (!maker->keys[i])
			return -ENOMEM;
	}
	if (count_different(maker->keys, count) == before)
		return 0;
	for (size_t i = 0; i < count; i++) {
		rows[i].key = key_with(maker, &rows[i], at, detail);
		rows[i].details[at] = (uint8_t)detail;
	}
	return 0;
}

static bool is_type(const struct row *row, size_t at)
{
	const struct span argument =
		at < row->parts.arguments_count ? row->parts.arguments[at] : (struct span){"", 0};

	return row->parts.is_flat ||
	       (argument.size && !strchr("-0123456789(", argument.text[0]) &&
		!starts_with(argument, "true") && !starts_with(argument, "false"));
}

/* Distinguishes the rows of a group by their arguments: only types, or all. */
static int tell_apart(struct maker *maker, struct row *rows, size_t count, enum detail detail,
		      bool only_types)
{
	int error = 0;

	for (size_t at = 0; at < MAX_ARGUMENTS && !error; at++)
		if (!only_types || is_type(&rows[0], at))
			error = try_argument(maker, rows, count, at, detail);
	return error;
}

/* Sorts the rows by key, and distinguishes the rows of each key. */
static int tell_groups_apart(struct maker *maker, size_t count, enum detail detail, bool only_types)
{
	size_t end;
	int error = 0;

	qsort(maker->rows, count, sizeof(*maker->rows), compare_full);
	for (size_t i = 0; i < count && !error; i = end) {
		for (end = i + 1; end < count && maker->rows[end].key == maker->rows[i].key; end++)
			;
		if (strcmp(maker->rows[i].full, maker->rows[end - 1].full) != 0)
			error = tell_apart(maker, maker->rows + i, end - i, detail, only_types);
	}
	return error;
}

/* ---- making the names ------------------------------------------------------------------------ */

static int fill_rows(struct maker *maker, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct row *row = &maker->rows[i];

		*row = (struct row){
			.full = names[i], .index = i, .parts = take_function_apart(names[i])};
		append(&maker->builder, row->parts.word);
		if (take_text(maker, &row->key))
			return -ENOMEM;
	}
	return 0;
}

/* Writes the texts. Rows of one key that have different full names get numbers. */
static int write_texts(struct maker *maker, struct short_names *names, size_t count)
{
	unsigned int number = 1;

	qsort(maker->rows, count, sizeof(*maker->rows), compare_full);
	for (size_t i = 0; i < count; i++) {
		const struct row *row = &maker->rows[i], *former = i ? row - 1 : NULL;
		uint32_t id;

		if (!former || former->key != row->key)
			number = 1;
		else if (strcmp(former->full, row->full) != 0)
			number++;
		append_row(&maker->builder, row);
		if (number > 1)
			string_builder_appendf(&maker->builder, " #%u", number);
		if (take_text(maker, &id))
			return -ENOMEM;
		names->texts[row->index] = string_table_text(maker->texts, id, NULL);
	}
	return 0;
}

static int make_kernels(struct short_names *names, const char *const *full, size_t count)
{
	struct maker maker = {.rows = calloc(count + 1, sizeof(*maker.rows)),
			      .keys = calloc(count + 1, sizeof(*maker.keys)),
			      .texts = &names->table};
	int error = maker.rows && maker.keys ? 0 : -ENOMEM;

	if (!error)
		error = fill_rows(&maker, full, count);
	if (!error)
		error = tell_groups_apart(&maker, count, DETAIL_WORD, true);
	if (!error)
		error = tell_groups_apart(&maker, count, DETAIL_WHOLE, true);
	if (!error)
		error = tell_groups_apart(&maker, count, DETAIL_WHOLE, false);
	if (!error)
		error = write_texts(&maker, names, count);
	string_builder_fini(&maker.builder);
	free(maker.rows);
	free(maker.keys);
	return error;
}

/* ---- functions ------------------------------------------------------------------------------- */

struct function {
	const char *full;
	size_t index; /* in the caller's order */
	uint32_t key; /* id of its short text */
};

static bool is_name_end(char byte)
{
	return byte == '_' || byte == '>' || (byte >= '0' && byte <= '9') ||
	       (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
}

/* Appends a function without its return type, template arguments and parameters. In C++ such a
 * bracket follows a name. Others stay: Go writes "main.(*T).Method", Rust "<T as Trait>::method",
 * Python "<listcomp>". */
static void append_function(struct string_builder *builder, struct span name)
{
	static const char hidden[] = "(anonymous namespace)::";
	bool is_after_name = false;

	for (size_t at = 0, size; at < name.size; at += size) {
		const struct span rest = after(name, at);

		size = piece_size(rest);
		if (starts_with(rest, hidden)) {
			size = strlen(hidden);
			continue;
		}
		if (is_after_name && size > 1 && (*rest.text == '<' || *rest.text == '('))
			continue;
		if (*rest.text == ' ' && at && name.text[at - 1] == ')')
			return; /* "const" behind parameters */
		is_after_name = operator_size(rest) || is_name_end(*rest.text);
		append(builder, (struct span){rest.text, size});
	}
}

/* The text of a name without brackets is the name. */
static int fill_function(struct maker *maker, struct function *function)
{
	struct span name = {function->full, strlen(function->full)};

	if (strpbrk(function->full, "<("))
		name = without_return_type(name);
	append_function(&maker->builder, name);
	return take_text(maker, &function->key);
}

static int compare_functions(const void *left, const void *right)
{
	const struct function *a = left, *b = right;

	return a->key != b->key ? (a->key > b->key) - (a->key < b->key) : strcmp(a->full, b->full);
}

/* Functions that would share a short name keep their full names. */
static void name_functions(struct short_names *names, const struct function *list, size_t count)
{
	size_t end;

	for (size_t i = 0; i < count; i = end) {
		for (end = i + 1; end < count && list[end].key == list[i].key; end++)
			;
		for (size_t j = i; j < end; j++)
			names->texts[list[j].index] =
				list[i].key && strcmp(list[i].full, list[end - 1].full) == 0
					? string_table_text(&names->table, list[i].key, NULL)
					: list[j].full;
	}
}

static int make_functions(struct short_names *names, const char *const *full, size_t count)
{
	struct function *list = calloc(count + 1, sizeof(*list));
	struct maker maker = {.texts = &names->table};
	int error = list ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !error; i++) {
		list[i] = (struct function){.full = full[i], .index = i};
		error = fill_function(&maker, &list[i]);
	}
	if (!error) {
		qsort(list, count, sizeof(*list), compare_functions);
		name_functions(names, list, count);
	}
	string_builder_fini(&maker.builder);
	free(list);
	return error;
}

/* ---- all names ------------------------------------------------------------------------------- */

static int index_fulls(struct short_names *names, const char *const *full, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const uint32_t id = string_table_add(&names->fulls, full[i], strlen(full[i]));

		if (!id && *full[i])
			return -ENOMEM;
		if (id)
			names->by_full[id - 1] = names->texts[i];
	}
	return 0;
}

static int new_names(const char *const *names, size_t count,
		     int (*make)(struct short_names *names, const char *const *full, size_t count),
		     struct short_names **ret_short)
{
	struct short_names *made = calloc(1, sizeof(*made));
	int error = -ENOMEM;

	if (!made)
		return -ENOMEM;
	made->texts = calloc(count + 1, sizeof(*made->texts));
	made->by_full = calloc(count + 1, sizeof(*made->by_full));
	if (made->texts && made->by_full)
		error = make(made, names, count);
	if (!error)
		error = index_fulls(made, names, count);
	if (error) {
		short_names_free(made);
		return error;
	}
	*ret_short = made;
	return 0;
}

int short_names_new(const char *const *names, size_t count, struct short_names **ret_short)
{
	return new_names(names, count, make_kernels, ret_short);
}

int short_functions_new(const char *const *names, size_t count, struct short_names **ret_short)
{
	return new_names(names, count, make_functions, ret_short);
}

void short_names_free(struct short_names *names)
{
	if (!names)
		return;
	free(names->texts);
	free(names->by_full);
	string_table_fini(&names->table);
	string_table_fini(&names->fulls);
	free(names);
}

const char *short_names_at(const struct short_names *names, size_t index)
{
	return names->texts[index];
}

const char *short_names_find(const struct short_names *names, const char *full)
{
	const uint32_t id = names ? string_table_find(&names->fulls, full, strlen(full)) : 0;

	return id ? names->by_full[id - 1] : full;
}
