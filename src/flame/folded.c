/* SPDX-License-Identifier: MIT
 *
 * flame/folded.c - stacks as folded text, one line each
 *
 * Runs in:  our own process
 * Gets:     a flame
 * Gives:    sorted lines
 * Owns:     during a call, a walk over the nodes and the text of each frame
 * Fails:    -ENOMEM, errors of the file
 * Why one line buffer: consecutive stacks share most frames, and only the frames that differ are
 *           copied into the buffer: 0.4 GB for an output of 1.4 GB.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "flame/escape.h"
#include "flame/output.h"
#include "flame/tree.h"

struct folded {
	const struct flame *flame;
	struct string_builder encoded;
	struct flame_text *texts; /* by frame; points into encoded */
	struct flame_step *steps;
	char *line; /* the frames from the root to the node, each followed by ';' */
	size_t line_capacity;
	size_t *ends; /* by depth: end of a node's frames in line */
	size_t ends_capacity;
	struct flame_output output;
};

static void folded_fini(struct folded *folded)
{
	string_builder_fini(&folded->encoded);
	free(folded->texts);
	free(folded->steps);
	free(folded->line);
	free(folded->ends);
	flame_output_fini(&folded->output);
}

static int encode(struct folded *folded)
{
	const struct flame *flame = folded->flame;
	size_t start = 0;

	folded->texts = calloc(flame->frames_count + (size_t)1, sizeof(*folded->texts));
	if (!folded->texts)
		return -ENOMEM;
	for (uint32_t i = 0; i < flame->frames_count; i++) {
		flame_escape_folded(&folded->encoded, flame_frame_name(flame, i),
				    flame->frames[i].frame_class);
		string_builder_append_char(&folded->encoded, ';');
		folded->texts[i].size = folded->encoded.length - start - 1;
		start = folded->encoded.length;
	}
	if (folded->encoded.error)
		return folded->encoded.error;
	start = 0;
	for (uint32_t i = 0; i < flame->frames_count; i++) {
		folded->texts[i].bytes = folded->encoded.text + start;
		start += folded->texts[i].size + 1;
	}
	return 0;
}

/* Appends a node's frames to those of its parent, and writes the stack that ends with them. */
static int enter(struct folded *folded, const struct flame_step *step, size_t depth)
{
	const uint32_t *frames = folded->flame->pool + step->first;
	size_t end;

	if (array_grow(folded->ends, folded->ends_capacity, depth + 1))
		return -ENOMEM;
	end = folded->ends[depth - 1];
	for (uint32_t i = 0; i < step->length; i++) {
		const struct flame_text *text = &folded->texts[frames[i]];

		if (end + text->size + 1 > folded->line_capacity &&
		    array_grow(folded->line, folded->line_capacity, end + text->size + 1))
			return -ENOMEM;
		memcpy(folded->line + end, text->bytes, text->size + 1);
		end += text->size + 1;
	}
	folded->ends[depth] = end;
	if (step->self) {
		flame_output_bytes(&folded->output, folded->line, end - 1);
		flame_output_bytes(&folded->output, " ", 1);
		flame_output_u64(&folded->output, step->self);
		flame_output_bytes(&folded->output, "\n", 1);
	}
	return 0;
}

/* Visits each node before its children, without recursion, because the depth of stacks has no
 * limit. */
static int write_lines(struct folded *folded)
{
	size_t depth = 0;
	uint32_t node = flame_walk_next(folded->steps, 0, &depth);

	while (node && !folded->output.error) {
		if (enter(folded, &folded->steps[node], depth))
			return -ENOMEM;
		node = flame_walk_next(folded->steps, node, &depth);
	}
	return flame_output_end(&folded->output);
}

/* Adds the stack that ends at a node, with its frames replaced. */
static int add_again(const struct flame *flame, uint32_t node, const uint32_t *replacements,
		     struct flame *ret_merged)
{
	auto_free uint32_t *frames = NULL;
	size_t count = 0, place;

	for (uint32_t i = node; i; i = flame->nodes[i].parent)
		count += flame->nodes[i].length;
	frames = malloc(count * sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	place = count;
	for (uint32_t i = node; i; i = flame->nodes[i].parent) {
		const struct flame_node *piece = &flame->nodes[i];

		for (uint32_t j = piece->length; j > 0; j--)
			frames[--place] = replacements[flame->pool[piece->first + j - 1]];
	}
	return flame_add(ret_merged, frames, count, flame->nodes[node].self);
}

/* Frames of several classes without a suffix may have the same text. Their stacks are merged to one
 * line. */
static int merge_equals(const struct folded *folded, const uint32_t *ranks,
			struct flame *ret_merged)
{
	const struct flame *flame = folded->flame;
	size_t count = flame->frames_count;
	auto_free uint32_t *by_rank = malloc(count * sizeof(*by_rank));
	auto_free uint32_t *replacements = malloc(count * sizeof(*replacements));
	const struct flame_text *last = NULL;
	int error = 0;

	if (!by_rank || !replacements)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		by_rank[ranks[i]] = i;
	for (uint32_t i = 0; i < count; i++) {
		const struct flame_text *text = &folded->texts[by_rank[i]];
		bool is_equal = last && last->size == text->size &&
				memcmp(last->bytes, text->bytes, text->size) == 0;

		replacements[by_rank[i]] =
			is_equal
				? replacements[by_rank[i - 1]]
				: flame_frame(ret_merged, flame_frame_name(flame, by_rank[i]).bytes,
					      flame->frames[by_rank[i]].frame_class);
		if (replacements[by_rank[i]] == FLAME_NONE)
			return -ENOMEM;
		last = text;
	}
	for (uint32_t i = 1; i < flame->nodes_count && !error; i++)
		error = flame->nodes[i].self ? add_again(flame, i, replacements, ret_merged) : 0;
	return error;
}

static int write_merged(struct folded *folded, const uint32_t *ranks, FILE *out)
{
	struct flame *merged = flame_new();
	int error = merged ? merge_equals(folded, ranks, merged) : -ENOMEM;

	if (!error)
		error = flame_write_folded(merged, out);
	flame_free(merged);
	return error;
}

static int write_folded(struct folded *folded, FILE *out)
{
	auto_free uint32_t *ranks = NULL;
	bool has_equals = false;
	int error = encode(folded);

	if (!error)
		error = flame_rank(folded->flame, folded->texts, &ranks, &has_equals);
	if (!error && has_equals)
		return write_merged(folded, ranks, out);
	if (!error)
		error = flame_output_init(&folded->output, out);
	if (error)
		return error;
	folded->steps = flame_walk(folded->flame, ranks);
	if (!folded->steps || array_grow(folded->ends, folded->ends_capacity, 1))
		return -ENOMEM;
	return write_lines(folded);
}

int flame_write_folded(const struct flame *flame, FILE *out)
{
	struct folded folded = {.flame = flame};
	int error = write_folded(&folded, out);

	folded_fini(&folded);
	if (error == -ENOMEM)
		return error_set(error, "folded stacks: out of memory");
	return error;
}
