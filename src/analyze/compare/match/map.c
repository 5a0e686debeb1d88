/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/match/map.c - matches that the user writes down in a file
 *
 * Runs in:  our own process, in duet diff
 * Gets:     a file of lines "OLD => NEW"
 * Gives:    its lines, taken apart
 * Owns:     the text of the file and the lines
 * Fails:    -errno of the file; -EINVAL with file, line and remedy
 * Why no regular expressions: names of C++ kernels are full of their special characters. "*" is the
 *           only one here that names have as well, and quotes take its meaning away.
 */
#include "analyze/compare/match/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"

enum { MAX_BYTES = 16 << 20 };

struct match_map {
	char *text; /* content of the file, with a NUL after each name */
	struct map_line *lines;
	size_t count, capacity;
};

struct map_place {
	const char *path;
	size_t line;
};

static int refuse(const struct map_place *place, const char *problem)
{
	return error_set(-EINVAL, "%s: line %zu: %s", place->path, place->line, problem);
}

static char *skip_blanks(char *at)
{
	return at + strspn(at, " \t");
}

/* Ends the text before the place, without its blanks. */
static void end_text(char *begin, char *end)
{
	while (end > begin && strchr(" \t\r", end[-1]))
		end--;
	*end = '\0';
}

/* The first separator outside of quotes; NULL: there is none. */
static char *find_separator(char *at, const char *separator)
{
	const size_t size = strlen(separator);
	bool is_quoted = false;

	for (; *at; at++) {
		is_quoted ^= *at == '"';
		if (!is_quoted && strncmp(at, separator, size) == 0)
			return at;
	}
	return NULL;
}

static int parse_name(char *text, const struct map_place *place, struct map_name *ret_name)
{
	const size_t length = strlen(text);

	if (!length)
		return refuse(place, "a name is missing; write OLD => NEW, and - for no partner");
	if (text[0] != '"') {
		*ret_name = (struct map_name){text, false};
		return 0;
	}
	if (length < 3 || strchr(text + 1, '"') != text + length - 1)
		return refuse(place, "a quote is not closed; write \"NAME\" => NEW");
	text[length - 1] = '\0';
	*ret_name = (struct map_name){text + 1, true};
	return 0;
}

static int parse_side(char *text, const struct map_place *place, struct map_line *line, int side)
{
	char *next;
	int error;

	for (char *at = text; at; at = next ? next + 3 : NULL) {
		char *name;

		next = find_separator(at, " + ");
		if (line->counts[side] == MAP_NAMES)
			return refuse(place, "a side has more than 16 names; use * or two lines");
		end_text(at, next ? next : at + strlen(at));
		name = skip_blanks(at);
		if (!next && !line->counts[side] && strcmp(name, "-") == 0)
			return 0;
		error = parse_name(name, place, &line->names[side][line->counts[side]]);
		if (error)
			return error;
		line->counts[side]++;
	}
	return 0;
}

static int parse_line(char *text, const struct map_place *place, struct map_line *ret_line)
{
	struct map_line line = {0};
	char *arrow = find_separator(text, " => ");
	int error;

	if (!arrow)
		return refuse(place, "no => between two names; write OLD => NEW");
	if (find_separator(arrow + 4, " => "))
		return refuse(place, "more than one =>; write one match per line, and quote names "
				     "that contain =>");
	*arrow = '\0';
	error = parse_side(text, place, &line, 0);
	if (!error)
		error = parse_side(arrow + 4, place, &line, 1);
	if (!error && !line.counts[0] && !line.counts[1])
		error = refuse(place, "both sides are -; write a name on one side");
	if (!error)
		*ret_line = line;
	return error;
}

/* The text up to the line's end, which becomes NUL; NULL after the last. */
static char *next_line(char **inout_rest)
{
	char *line = *inout_rest, *end;

	if (!line)
		return NULL;
	end = strchr(line, '\n');
	*inout_rest = end ? end + 1 : NULL;
	end_text(line, end ? end : line + strlen(line));
	return skip_blanks(line);
}

static int parse_lines(struct match_map *map, const char *path)
{
	struct map_place place = {.path = path};
	char *rest = map->text;
	int error = 0;

	for (char *text; (text = next_line(&rest)) && !error;) {
		struct map_line line;

		place.line++;
		if (!*text || *text == '#')
			continue;
		error = parse_line(text, &place, &line);
		if (!error && array_append(map->lines, map->capacity, map->count, line))
			error = error_no_memory();
	}
	return error;
}

int match_map_read(const char *path, struct match_map **ret_map)
{
	struct match_map *map = calloc(1, sizeof(*map));
	size_t size = 0;
	int error = map ? read_file(path, MAX_BYTES, &map->text, &size) : error_no_memory();

	if (!error && memchr(map->text, '\0', size))
		error = error_set(-EINVAL, "%s: not a text file; --map needs lines OLD => NEW",
				  path);
	if (!error)
		error = parse_lines(map, path);
	if (error) {
		match_map_free(map);
		return error;
	}
	*ret_map = map;
	return 0;
}

void match_map_free(struct match_map *map)
{
	if (!map)
		return;
	free(map->text);
	free(map->lines);
	free(map);
}

size_t match_map_lines(const struct match_map *map, const struct map_line **ret_lines)
{
	*ret_lines = map->lines;
	return map->count;
}
