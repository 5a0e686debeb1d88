/* SPDX-License-Identifier: MIT
 *
 * tests/e2e/make_flame.c - lines of frames from stdin, a flame graph to stdout
 *
 *	make_flame [--icicle] [--folded] [--unit U] [--title T] [--subtitle T] [--warning T]
 *		   [--width PX] [--min-width PX] [--note NAME=TEXT] [--base FILE] [--width-of-base]
 *
 * Runs in:  a process of the tests
 * Gets:     lines of frames, root first, each "C:NAME" with C one of hkjipGgwsdt and a tab behind
 *           it, then the value; \xNN in a name is a byte. --base: such lines of a recording to
 *           compare with
 * Gives:    SVG, or folded text
 * Owns:     the flame
 * Fails:    status 1 with the reason on stderr
 * Why:      the browser's tests and pictures need graphs with any bytes in names
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "flame/diff/diff.h"
#include "flame/flame.h"

#define FRAMES_MAX 4096

static const char letters[] = "hkjipGgwsdt";

static void unescape(char *name)
{
	char *to = name;
	unsigned byte;

	for (const char *from = name; *from;) {
		if (from[0] == '\\' && from[1] == 'x' && sscanf(from + 2, "%2x", &byte) == 1) {
			*to++ = (char)byte;
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

static int add_line(struct flame *flame, char *line)
{
	static uint32_t frames[FRAMES_MAX];
	size_t count = 0;

	line[strcspn(line, "\n")] = '\0';
	for (char *tab = strchr(line, '\t'); tab && count < FRAMES_MAX; tab = strchr(line, '\t')) {
		const char *letter = strchr(letters, *line);

		*tab = '\0';
		unescape(line + 2);
		frames[count++] =
			flame_frame(flame, line + 2, (enum flame_class)(letter - letters));
		line = tab + 1;
	}
	return flame_add(flame, frames, count, strtoull(line, NULL, 10));
}

static int read_lines(struct flame *flame, FILE *file)
{
	char *line = NULL;
	size_t size = 0;
	int error = 0;

	while (!error && getline(&line, &size, file) > 0)
		error = *line == '\n' ? 0 : add_line(flame, line);
	free(line);
	return error;
}

/* What a reason of a stall means: "NAME=TEXT". */
static void add_note(struct flame *flame, char *note)
{
	char *text = strchr(note, '=');

	*text++ = '\0';
	flame_note(flame, flame_frame(flame, note, FLAME_STALL), text);
}

struct made {
	struct flame *flame, *base;
	struct flame_options options;
	struct flame_diff diff;
	bool is_folded, has_width_of_base;
};

static void read_base(struct made *made, const char *path)
{
	FILE *file = fopen(path, "r");

	made->base = flame_new();
	if (!file || read_lines(made->base, file))
		exit(1);
	fclose(file);
}

static void parse(int argc, char **argv, struct made *made)
{
	static const struct option table[] = {
		{"icicle", 0, NULL, 'i'},        {"folded", 0, NULL, 'f'},
		{"unit", 1, NULL, 'u'},          {"title", 1, NULL, 't'},
		{"subtitle", 1, NULL, 's'},      {"warning", 1, NULL, 'w'},
		{"width", 1, NULL, 'W'},         {"min-width", 1, NULL, 'm'},
		{"note", 1, NULL, 'n'},          {"base", 1, NULL, 'b'},
		{"width-of-base", 0, NULL, 'B'}, {NULL, 0, NULL, 0},
	};
	struct flame_options *options = &made->options;
	int letter;

	while ((letter = getopt_long(argc, argv, "", table, NULL)) != -1) {
		made->is_folded |= letter == 'f';
		made->has_width_of_base |= letter == 'B';
		if (letter == 'b')
			read_base(made, optarg);
		options->is_icicle |= letter == 'i';
		if (letter == 'n')
			add_note(made->flame, optarg);
		if (letter == 'u')
			options->unit = optarg;
		if (letter == 't')
			options->title = optarg;
		if (letter == 's')
			options->subtitle = optarg;
		if (letter == 'w')
			options->warning = optarg;
		if (letter == 'W')
			options->width_px = (uint32_t)atoi(optarg);
		if (letter == 'm')
			options->min_width_px = atof(optarg);
	}
}

static int compare(struct made *made)
{
	int error = made->base ? flame_diff_init(&made->diff, made->flame) : 0;

	if (!made->base || error)
		return error;
	error = flame_diff_add(&made->diff, made->base, NULL);
	if (made->has_width_of_base)
		flame_diff_swap(&made->diff);
	made->options.diff = &made->diff;
	return error;
}

int main(int argc, char **argv)
{
	struct made made = {.flame = flame_new()};
	int error;

	parse(argc, argv, &made);
	error = read_lines(made.flame, stdin);
	if (!error)
		error = compare(&made);
	if (!error)
		error = made.is_folded ? flame_write_folded(made.flame, stdout)
				       : flame_write_svg(made.flame, &made.options, stdout);
	if (error)
		fprintf(stderr, "make_flame: %s\n", error_text());
	flame_diff_fini(&made.diff);
	flame_free(made.flame);
	flame_free(made.base);
	return error ? 1 : 0;
}
