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
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
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

static int make_function(struct nsys *nsys, int64_t id, struct import_cuda_function *ret_function)
{
	const char *text;
	int error = nsys_texts_get(nsys, id, &text);

	return error ? error : import_cuda_function(nsys->target, text, ret_function);
}

int nsys_texts_function(struct nsys *nsys, int64_t id, struct import_cuda_function *ret_function)
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
