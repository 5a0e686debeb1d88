/* SPDX-License-Identifier: MIT
 *
 * export/flame_folded.c - stacks as folded text, one line each
 *
 * Runs in:  our own process
 * Gets:     a flame   Gives: sorted lines
 * Owns:     for the time of a call, 24 bytes a node for the walk and the text of each frame
 * Fails:    -ENOMEM, what the file fails with
 * Why no sort of lines: each child list is made in order by taking the nodes by the rank of their
 *           frame, last first, and putting each before its siblings. That is linear; sorting a million
 *           lines of a kilobyte is what the usual tools spend a quarter of their time with.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "export/flame_escape.h"
#include "export/flame_output.h"
#include "export/flame_tree.h"

/* A node for the walk; 0: there is none, as the root is nobody's child. */
struct step {
	uint64_t self;
	uint32_t frame, parent, first_child, next_sibling;
};

struct folded {
	const struct flame *flame;
	struct string_builder encoded;
	struct flame_text *texts; /* of each frame, in encoded */
	struct step *steps;
	char *line; /* the frames from the root to the node, with ';' behind each */
	size_t line_capacity;
	size_t *ends; /* of the line, by depth */
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

/* Nodes but the root in the order of their frames' ranks. */
static uint32_t *order_by_rank(const struct flame *flame, const uint32_t *ranks)
{
	auto_free uint32_t *starts = calloc(flame->frames_count + (size_t)2, sizeof(*starts));
	uint32_t *order = malloc(flame->nodes_count * sizeof(*order));

	if (!starts || !order) {
		free(order);
		return NULL;
	}
	for (uint32_t i = 1; i < flame->nodes_count; i++)
		starts[ranks[flame->nodes[i].frame] + 1]++;
	for (uint32_t i = 0; i < flame->frames_count; i++)
		starts[i + 1] += starts[i];
	for (uint32_t i = 1; i < flame->nodes_count; i++)
		order[starts[ranks[flame->nodes[i].frame]]++] = i;
	return order;
}

static int link_children(struct folded *folded, const uint32_t *ranks)
{
	const struct flame *flame = folded->flame;
	auto_free uint32_t *order = order_by_rank(flame, ranks);
	struct step *steps = malloc(flame->nodes_count * sizeof(*steps));

	folded->steps = steps;
	if (!order || !steps)
		return -ENOMEM;
	for (uint32_t i = 0; i < flame->nodes_count; i++)
		steps[i] = (struct step){flame->nodes[i].self, flame->nodes[i].frame,
					 flame->nodes[i].parent, 0, 0};
	for (uint32_t i = flame->nodes_count - 1; i > 0; i--) {
		struct step *step = &steps[order[i - 1]];

		step->next_sibling = steps[step->parent].first_child;
		steps[step->parent].first_child = order[i - 1];
	}
	return 0;
}

static int enter(struct folded *folded, const struct step *step, size_t depth)
{
	const struct flame_text *text = &folded->texts[step->frame];
	size_t start;

	if (array_grow(folded->ends, folded->ends_capacity, depth + 2))
		return -ENOMEM;
	start = folded->ends[depth];
	if (array_grow(folded->line, folded->line_capacity, start + text->size + 1))
		return -ENOMEM;
	memcpy(folded->line + start, text->bytes, text->size + 1);
	folded->ends[depth + 1] = start + text->size + 1;
	if (step->self) {
		flame_output_bytes(&folded->output, folded->line, start + text->size);
		flame_output_bytes(&folded->output, " ", 1);
		flame_output_u64(&folded->output, step->self);
		flame_output_bytes(&folded->output, "\n", 1);
	}
	return folded->output.error;
}

/* Each node before its children, without recursion: stacks are as deep as they are. */
static int write_lines(struct folded *folded)
{
	const struct step *steps = folded->steps;
	uint32_t node = steps[0].first_child;
	size_t depth = 0;

	while (node) {
		int error = enter(folded, &steps[node], depth);

		if (error && error != folded->output.error)
			return error;
		if (error)
			break;
		if (steps[node].first_child) {
			node = steps[node].first_child;
			depth++;
			continue;
		}
		while (node && !steps[node].next_sibling) {
			node = steps[node].parent;
			depth--;
		}
		node = node ? steps[node].next_sibling : 0;
	}
	return flame_output_end(&folded->output);
}

/* Adds the stack that ends at a node, its frames replaced. */
static int add_again(const struct flame *flame, uint32_t node, const uint32_t *replacements,
		     struct flame *ret_merged)
{
	auto_free uint32_t *frames = NULL;
	size_t depth = 0, place;

	for (uint32_t i = node; i; i = flame->nodes[i].parent)
		depth++;
	frames = malloc(depth * sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	place = depth;
	for (uint32_t i = node; i; i = flame->nodes[i].parent)
		frames[--place] = replacements[flame->nodes[i].frame];
	return flame_add(ret_merged, frames, depth, flame->nodes[node].self);
}

/* Frames of several classes without a suffix may have the same text; their stacks are one line. */
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
	if (!error)
		error = link_children(folded, ranks);
	if (!error && array_grow(folded->ends, folded->ends_capacity, 1))
		error = -ENOMEM;
	return error ? error : write_lines(folded);
}

int flame_write_folded(const struct flame *flame, FILE *out)
{
	struct folded folded = {.flame = flame};
	int error;

	string_builder_init(&folded.encoded);
	error = write_folded(&folded, out);
	folded_fini(&folded);
	if (error == -ENOMEM)
		return error_set(error, "folded stacks: out of memory");
	return error;
}
