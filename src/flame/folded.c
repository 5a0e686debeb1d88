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
	const uint64_t *others; /* by node: a value before that of the flame; NULL: none */
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

static bool has_stack(const struct folded *folded, uint32_t node)
{
	return folded->flame->nodes[node].self || (folded->others && folded->others[node]);
}

/* Appends a node's frames to those of its parent, and writes the stack that ends with them. */
static int enter(struct folded *folded, uint32_t node, size_t depth)
{
	const struct flame_step *step = &folded->steps[node];
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
	if (has_stack(folded, node)) {
		flame_output_bytes(&folded->output, folded->line, end - 1);
		flame_output_bytes(&folded->output, " ", 1);
		if (folded->others) {
			flame_output_u64(&folded->output, folded->others[node]);
			flame_output_bytes(&folded->output, " ", 1);
		}
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
		if (enter(folded, node, depth))
			return -ENOMEM;
		node = flame_walk_next(folded->steps, node, &depth);
	}
	return flame_output_end(&folded->output);
}

/* Values of the merged stacks. */
struct merged {
	struct flame *flame;
	uint64_t *others;
	size_t others_capacity;
};

/* Adds the stack that ends at a node, with its frames replaced. */
static int add_again(const struct folded *folded, uint32_t node, const uint32_t *replacements,
		     struct flame_path *path, struct merged *merged)
{
	uint32_t place;
	int error = flame_path_to(folded->flame, node, path);

	for (size_t i = 0; i < path->count && !error; i++)
		path->frames[i] = replacements[path->frames[i]];
	if (!error)
		error = flame_insert(merged->flame, path->frames, path->count, &place);
	if (error)
		return error;
	merged->flame->nodes[place].self += folded->flame->nodes[node].self;
	if (!folded->others)
		return 0;
	if (array_grow(merged->others, merged->others_capacity, merged->flame->nodes_count))
		return -ENOMEM;
	merged->others[place] += folded->others[node];
	return 0;
}

static int add_all_again(const struct folded *folded, const uint32_t *replacements,
			 struct merged *merged)
{
	struct flame_path path = {0};
	int error = 0;

	for (uint32_t i = 1; i < folded->flame->nodes_count && !error; i++)
		if (has_stack(folded, i))
			error = add_again(folded, i, replacements, &path, merged);
	free(path.frames);
	return error;
}

/* Frames of several classes without a suffix may have the same text. Their stacks are merged to one
 * line. */
static int merge_equals(const struct folded *folded, const uint32_t *ranks, struct merged *merged)
{
	const struct flame *flame = folded->flame;
	size_t count = flame->frames_count;
	auto_free uint32_t *by_rank = malloc(count * sizeof(*by_rank));
	auto_free uint32_t *replacements = malloc(count * sizeof(*replacements));
	const struct flame_text *last = NULL;

	if (!by_rank || !replacements)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		by_rank[ranks[i]] = i;
	for (uint32_t i = 0; i < count; i++) {
		const struct flame_text *text = &folded->texts[by_rank[i]];
		bool is_equal = last && last->size == text->size &&
				memcmp(last->bytes, text->bytes, text->size) == 0;

		replacements[by_rank[i]] =
			is_equal ? replacements[by_rank[i - 1]]
				 : flame_frame(merged->flame,
					       flame_frame_name(flame, by_rank[i]).bytes,
					       flame->frames[by_rank[i]].frame_class);
		if (replacements[by_rank[i]] == FLAME_NONE)
			return -ENOMEM;
		last = text;
	}
	return add_all_again(folded, replacements, merged);
}

static int write_values(const struct flame *flame, const uint64_t *others, FILE *out);

static int write_merged(struct folded *folded, const uint32_t *ranks, FILE *out)
{
	struct merged merged = {.flame = flame_new()};
	int error = merged.flame ? merge_equals(folded, ranks, &merged) : -ENOMEM;

	if (!error)
		error = write_values(merged.flame, merged.others, out);
	flame_free(merged.flame);
	free(merged.others);
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

static int write_values(const struct flame *flame, const uint64_t *others, FILE *out)
{
	struct folded folded = {.flame = flame, .others = others};
	int error = write_folded(&folded, out);

	folded_fini(&folded);
	if (error == -ENOMEM)
		return error_set(error, "folded stacks: out of memory");
	return error;
}

int flame_write_folded(const struct flame *flame, FILE *out)
{
	return write_values(flame, NULL, out);
}

int flame_write_folded_pair(const struct flame *flame, const uint64_t *firsts, FILE *out)
{
	return write_values(flame, firsts, out);
}
