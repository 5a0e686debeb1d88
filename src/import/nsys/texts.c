/* SPDX-License-Identifier: MIT
 *
 * import/nsys/texts.c - texts of StringIds by their id
 *
 * Runs in:  our own process
 * Gets:     ids
 * Gives:    texts, strings of the trace, functions
 * Owns:     a cursor on StringIds, strings that were looked up
 * Fails:    -ENOMEM; -EBADMSG of SQLite
 * Why a cache: a lookup by SQLite takes about 1 us, and a table of a million calls has ten
 *           different names
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/string.h"
#include "event/event.h"
#include "import/common/commands.h"
#include "import/nsys/import.h"
#include "import/target.h"

int nsys_texts_open(struct nsys *nsys)
{
	static const char *const columns[] = {"value", "id"};

	return sqlite_texts_open(&nsys->texts.cursor, &nsys->file, "StringIds", columns);
}

void nsys_texts_close(struct nsys *nsys)
{
	sqlite_cursor_close(&nsys->texts.cursor);
	free(nsys->texts.strings);
	free(nsys->texts.functions);
}

int nsys_texts_get(struct nsys *nsys, int64_t id, const char **ret_text)
{
	return sqlite_texts_read(&nsys->texts.cursor, id, ret_text);
}

static int look_up(struct nsys *nsys, int64_t id, uint32_t *ret_string)
{
	const char *text;
	int error = nsys_texts_get(nsys, id, &text);

	return error ? error : import_target_text(nsys->target, text, ret_string);
}

int nsys_texts_string(struct nsys *nsys, int64_t id, uint32_t *ret_string)
{
	struct nsys_texts *texts = &nsys->texts;
	uint32_t string;
	int error;

	if (id < 0 || id >= NSYS_CACHED_MAX)
		return look_up(nsys, id, ret_string);
	if (array_grow(texts->strings, texts->strings_capacity, (size_t)id + 1))
		return -ENOMEM;
	if (!texts->strings[id]) {
		error = look_up(nsys, id, &string);
		if (error)
			return error;
		texts->strings[id] = string + 1;
	}
	*ret_string = texts->strings[id] - 1;
	return 0;
}

/* ---- functions ---- */

/* Length without "_v7000" and "_ptsz". */
static size_t bare_length(const char *name)
{
	size_t length = strlen(name), digits = length;

	while (digits && isdigit((unsigned char)name[digits - 1]))
		digits--;
	if (digits < length && digits > 2 && memcmp(name + digits - 2, "_v", 2) == 0)
		length = digits - 2;
	if (length > 5 && (memcmp(name + length - 5, "_ptsz", 5) == 0 ||
			   memcmp(name + length - 5, "_ptds", 5) == 0))
		length -= 5;
	return length;
}

static uint16_t classify(const char *name)
{
	static const struct {
		const char *part;
		unsigned int flags;
	} parts[] = {
		{"Synchronize", NSYS_WAITS},
		{"StreamSynchronize", NSYS_WAITS_STREAM},
		{"Query", NSYS_NEVER_WAITS},
		{"WaitEvent", NSYS_NEVER_WAITS},
		{"Launch", NSYS_LAUNCHES},
		{"Memcpy", NSYS_LAUNCHES},
		{"Memset", NSYS_LAUNCHES},
		{"StreamBeginCapture", NSYS_BEGINS_CAPTURE},
		{"StreamEndCapture", NSYS_ENDS_CAPTURE},
	};
	static const char *const launch_nothing[] = {"HostFunc", "Graph", "Node"};
	unsigned int flags = 0;

	for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
		if (strstr(name, parts[i].part))
			flags |= parts[i].flags;
	if (flags & NSYS_LAUNCHES && import_call_waits(name))
		flags |= NSYS_BLOCKS;
	for (size_t i = 0; i < ARRAY_COUNT(launch_nothing); i++)
		if (strstr(name, launch_nothing[i]) && !strstr(name, "GraphLaunch"))
			flags &= ~(unsigned int)(NSYS_LAUNCHES | NSYS_BLOCKS);
	return (uint16_t)flags;
}

static int make_function(struct nsys *nsys, int64_t id, struct nsys_function *ret_function)
{
	struct string_builder name = {0};
	const char *text;
	int error = nsys_texts_get(nsys, id, &text);

	if (error)
		return error;
	string_builder_append_bytes(&name, text, bare_length(text));
	error = name.error;
	if (!error)
		error = import_target_text(nsys->target, string_builder_text(&name),
					   &ret_function->string);
	ret_function->flags = classify(string_builder_text(&name));
	ret_function->command = (uint16_t)import_command_of_call(string_builder_text(&name));
	string_builder_fini(&name);
	return error;
}

int nsys_texts_function(struct nsys *nsys, int64_t id, struct nsys_function *ret_function)
{
	struct nsys_texts *texts = &nsys->texts;
	int error = 0;

	if (id < 0 || id >= NSYS_CACHED_MAX)
		return make_function(nsys, id, ret_function);
	if (array_grow(texts->functions, texts->functions_capacity, (size_t)id + 1))
		return -ENOMEM;
	if (!texts->functions[id].string)
		error = make_function(nsys, id, &texts->functions[id]);
	*ret_function = texts->functions[id];
	return error;
}
