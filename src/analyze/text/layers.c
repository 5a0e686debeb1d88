/* SPDX-License-Identifier: MIT
 *
 * analyze/text/layers.c - determines the software layer of a stack
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     stacks, the paths of their modules, the user's rules
 * Gives:    a layer for each stack; samples by layer
 * Owns:     the user's rules; the layer of each frame that was looked up
 * Fails:    -ENOMEM; errors in a rule file, with path and line in the error chain
 * Why the innermost frame that has a layer: the processor was executing that layer. A memcpy in
 *           libc that a library calls is time in the system libraries, not in the library; the
 *           flame graph shows the callers. A sample in kernel mode is in the layer "kernel",
 *           whatever its stack.
 */
#include "analyze/text/layers.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/number.h"

struct rule {
	const char *layer, *glob;
};

/* The first match decides. Vendor libraries precede the rules for Python packages, because they are
 * also installed as such packages. */
static const struct rule own_rules[] = {
	{"duet", "*/libduet-*.so*"},
	{"driver", "*/libcuda.so*"},
	{"driver", "*/libcupti.so*"},
	{"driver", "*/libnvidia-*"},
	{"driver", "*/libpocl*"},
	{"driver", "*/pocl/kcache/*"},
	{"driver", "*/libLLVM*"},
	{"driver", "*/libclang*"},
	{"driver", "*/libigd*"},
	{"driver", "*/libigc*"},
	{"driver", "*/libze_intel_*"},
	{"driver", "*/libamdocl*"},
	{"driver", "*/libhsa-runtime64*"},
	{"driver", "*/libhsakmt*"},
	{"driver", "*/libamd_comgr*"},
	{"driver", "*/libMesaOpenCL*"},
	{"driver", "*/libRusticlOpenCL*"},
	{"driver", "*/libintelocl*"},
	{"driver", "*/libdrm*"},
	{"runtime", "*/libOpenCL*"},
	{"runtime", "*/libcudart*"},
	{"runtime", "*/libamdhip64*"},
	{"runtime", "*/libhiprtc*"},
	{"runtime", "*/libnvrtc*"},
	{"runtime", "*/libze_loader*"},
	{"runtime", "*/libsycl*"},
	{"python", "*/libpython[23]*"},
	{"python", "*/bin/python*"},
	{"python", "*/lib-dynload/*"},
	{"python", "*/bin/pypy*"},
	{"python", "*/libpypy*"},
	{"framework", "*/site-packages/*"},
	{"framework", "*/dist-packages/*"},
	{"framework", "*/libtorch*"},
	{"framework", "*/libc10*"},
	{"framework", "*/libtensorflow*"},
	{"framework", "*/libonnxruntime*"},
	{"framework", "*/libopenblas*"},
	{"framework", "*/libblas*"},
	{"framework", "*/liblapack*"},
	{"framework", "*/libmkl_*"},
	{"framework", "*/libdnnl*"},
	{"framework", "*/libcublas*"},
	{"framework", "*/libcudnn*"},
	{"framework", "*/librocblas*"},
	{"framework", "*/libMIOpen*"},
};

/* Tried after the recorded executables: /usr/bin/app itself is own code, but its libraries in /usr
 * are not. */
static const struct rule system_rules[] = {
	{"system", "/usr/local/cuda*"}, {"own", "/usr/local/*"}, {"own", "/usr/src/*"},
	{"system", "/usr/*"},           {"system", "/lib*"},     {"system", "/bin/*"},
	{"system", "/sbin/*"},          {"system", "/nix/*"},    {"system", "/gnu/*"},
	{"system", "/snap/*"},          {"system", "[[]*"},      {"own", "?*"},
};

struct layers {
	const struct model *model; /* borrowed */
	struct rule *rules;        /* the user's */
	size_t rules_count, rules_capacity;
	struct arena texts;
	struct hash_map by_frame; /* frame id -> index + 1 of a name */
	struct hash_map programs; /* string ids of the paths of executables */
	const char **names;       /* names of layers; by_frame contains the index + 1, 0: none */
	size_t names_count, names_capacity;
};

int layers_new(const struct model *model, struct layers **ret_layers)
{
	struct layers *layers = calloc(1, sizeof(*layers));
	const struct event_process *processes;
	size_t count = model_entities(model, EVENT_PROCESS, &processes);

	if (!layers)
		return -ENOMEM;
	layers->model = model;
	for (size_t i = 0; i < count; i++) {
		if (!processes[i].exe_string ||
		    !hash_map_put(&layers->programs, processes[i].exe_string, 1))
			continue;
		layers_free(layers);
		return -ENOMEM;
	}
	*ret_layers = layers;
	return 0;
}

void layers_free(struct layers *layers)
{
	if (!layers)
		return;
	arena_fini(&layers->texts);
	hash_map_fini(&layers->by_frame);
	hash_map_fini(&layers->programs);
	free(layers->rules);
	free(layers->names);
	free(layers);
}

/* ---- the user's rules ------------------------------------------------------------------------ */

static const char *keep_text(struct layers *layers, const char *text)
{
	return arena_copy(&layers->texts, text, strlen(text));
}

static int add_rule(struct layers *layers, const char *layer, const char *glob)
{
	struct rule *rule;

	if (array_grow(layers->rules, layers->rules_capacity, layers->rules_count + 1))
		return -ENOMEM;
	rule = &layers->rules[layers->rules_count];
	rule->layer = keep_text(layers, layer);
	rule->glob = keep_text(layers, glob);
	if (!rule->layer || !rule->glob)
		return -ENOMEM;
	layers->rules_count++;
	return 0;
}

/* A path may contain blanks. Blanks at its end are removed. */
static int read_line(struct layers *layers, char *line)
{
	char *layer = line + strspn(line, " \t"), *glob;
	size_t length;

	line[strcspn(line, "\r\n")] = '\0';
	if (!*layer || *layer == '#')
		return 0;
	glob = layer + strcspn(layer, " \t");
	if (*glob)
		*glob++ = '\0';
	glob += strspn(glob, " \t");
	for (length = strlen(glob); length && strchr(" \t", glob[length - 1]); length--)
		glob[length - 1] = '\0';
	return *glob ? add_rule(layers, layer, glob) : -EINVAL;
}

int layers_read(struct layers *layers, const char *path)
{
	auto_fclose FILE *file = fopen(path, "re");
	auto_free char *line = NULL;
	size_t size = 0, number = 0;
	ssize_t length;
	int error = 0;

	if (!file)
		return error_set(-errno, "read layers from '%s': %s", path, strerror(errno));
	while (!error && (length = getline(&line, &size, file)) >= 0) {
		number++;
		error = strlen(line) == (size_t)length ? read_line(layers, line) : -EINVAL;
	}
	if (error == -EINVAL)
		return error_set(error, "'%s', line %zu: expected LAYER GLOB", path, number);
	if (!error && ferror(file))
		error = -EIO;
	return error ? error_set(error, "read layers from '%s': %s", path, strerror(-error)) : 0;
}

/* ---- frames and stacks ----------------------------------------------------------------------- */

static const char *find_rule(const struct rule *rules, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++)
		if (fnmatch(rules[i].glob, path, 0) == 0)
			return rules[i].layer;
	return NULL;
}

static const char *layer_of_module(const struct layers *layers, uint32_t module)
{
	const char *path = model_text(layers->model, module, "");
	const char *layer = find_rule(layers->rules, layers->rules_count, path);

	if (!layer)
		layer = find_rule(own_rules, ARRAY_COUNT(own_rules), path);
	if (!layer && hash_map_find(&layers->programs, module))
		layer = "own";
	return layer ? layer : find_rule(system_rules, ARRAY_COUNT(system_rules), path);
}

/* The layer of a frame; NULL: the caller's layer counts. */
static const char *layer_of_frame(const struct layers *layers, uint32_t id)
{
	const struct event_frame *frame = trace_reader_frame(layers->model->reader, id);
	const char *name = frame ? model_text(layers->model, frame->name_string, "") : "";

	if (!frame)
		return NULL;
	switch (frame->type) {
	case FRAME_NATIVE:
		return layer_of_module(layers, frame->module_string);
	case FRAME_PYTHON:
		return "python";
	case FRAME_KERNEL:
		return "kernel";
	case FRAME_JIT: /* the test for a trampoline in analyze/frames.c */
		return strncmp(name, "py::", 4) == 0 ? "python" : NULL;
	default:
		return NULL;
	}
}

static int find_name(struct layers *layers, const char *layer, uint64_t *ret_index)
{
	size_t i = 0;

	while (i < layers->names_count && strcmp(layers->names[i], layer) != 0)
		i++;
	if (i == layers->names_count) {
		if (array_grow(layers->names, layers->names_capacity, i + 1))
			return -ENOMEM;
		layers->names[layers->names_count++] = layer;
	}
	*ret_index = i + 1;
	return 0;
}

/* Looks up a frame's layer; *ret_layer is NULL if it has none. */
static int find_layer(struct layers *layers, uint32_t frame, const char **ret_layer)
{
	const uint64_t *known = hash_map_find(&layers->by_frame, frame);
	uint64_t index = 0;
	const char *layer;

	if (known) {
		*ret_layer = *known ? layers->names[*known - 1] : NULL;
		return 0;
	}
	layer = layer_of_frame(layers, frame);
	if ((layer && find_name(layers, layer, &index)) ||
	    hash_map_put(&layers->by_frame, frame, index))
		return -ENOMEM;
	*ret_layer = layer;
	return 0;
}

/* The layer of a stack; "unknown" if no frame has one; NULL: out of memory. */
static const char *layer_of_stack(struct layers *layers, uint32_t stack)
{
	const struct trace_reader *reader = layers->model->reader;
	const struct event_stack *node;
	const char *layer = NULL;

	for (; stack && (node = trace_reader_stack(reader, stack)); stack = node->caller) {
		if (find_layer(layers, node->frame, &layer))
			return NULL;
		if (layer)
			return layer;
	}
	return "unknown";
}

static bool is_runtime(const char *layer)
{
	return layer && (strcmp(layer, "runtime") == 0 || strcmp(layer, "driver") == 0 ||
			 strcmp(layer, "duet") == 0);
}

int layers_caller_of_runtime(struct layers *layers, uint32_t stack, uint32_t *ret_caller)
{
	const struct trace_reader *reader = layers->model->reader;
	const struct event_stack *node;
	uint32_t caller = 0;

	for (; stack && (node = trace_reader_stack(reader, stack)); stack = node->caller) {
		const char *layer;

		if (find_layer(layers, node->frame, &layer))
			return -ENOMEM;
		if (is_runtime(layer))
			caller = node->caller;
	}
	*ret_caller = caller;
	return 0;
}

const char *layers_text(const char *layer)
{
	static const struct {
		const char *layer, *text;
	} texts[] = {
		{"python", "Python"},
		{"own", "own code"},
		{"framework", "framework libraries"},
		{"runtime", "GPU runtime"},
		{"driver", "GPU driver"},
		{"duet", "duet itself"},
		{"system", "system libraries"},
		{"kernel", "kernel of the operating system"},
	};

	for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
		if (strcmp(texts[i].layer, layer) == 0)
			return texts[i].text;
	return layer;
}

/* ---- samples --------------------------------------------------------------------------------- */

static int compare_groups(const struct layers_row *a, const struct layers_row *b)
{
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->is_launching != b->is_launching)
		return a->is_launching ? -1 : 1;
	return strcmp(a->source, b->source);
}

static int compare_names(const void *left, const void *right)
{
	const struct layers_row *a = left, *b = right;
	int order = compare_groups(a, b);

	return order ? order : strcmp(a->layer, b->layer);
}

static int compare_weights(const void *left, const void *right)
{
	const struct layers_row *a = left, *b = right;
	int order = compare_groups(a, b);

	if (order)
		return order;
	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	return strcmp(a->layer, b->layer);
}

/* Merges equal rows. The rows are sorted by compare_names, so equal rows are neighbours. */
static size_t merge_rows(struct layers_row *rows, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (kept && compare_names(&rows[kept - 1], &rows[i]) == 0) {
			rows[kept - 1].samples += rows[i].samples;
			rows[kept - 1].weight =
				add_saturated(rows[kept - 1].weight, rows[i].weight);
		} else {
			rows[kept++] = rows[i];
		}
	}
	return kept;
}

static void sum_groups(struct layers_row *rows, size_t count)
{
	for (size_t first = 0, end; first < count; first = end) {
		uint64_t all = 0;

		for (end = first; end < count && !compare_groups(&rows[first], &rows[end]); end++)
			all = add_saturated(all, rows[end].weight);
		for (size_t i = first; i < end; i++)
			rows[i].all = all;
	}
}

int layers_divide(struct layers *layers, const struct analysis *analysis,
		  struct layers_row **ret_rows, size_t *ret_count)
{
	auto_free struct layers_row *rows = calloc(analysis->samples_count + 1, sizeof(*rows));
	size_t count = 0;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < analysis->samples_count; i++) {
		const struct analysis_sample *sample = &analysis->samples[i];
		struct layers_row row = {.process = sample->process,
					 .is_launching = sample->is_launching,
					 .source = sample->source,
					 .samples = sample->count,
					 .weight = sample->weight};

		if (!sample->is_time)
			continue;
		/* The mode counts, because without privileges a stack contains no kernel frames. */
		row.layer = sample->mode == MODE_KERNEL ? "kernel"
							: layer_of_stack(layers, sample->stack);
		if (!row.layer)
			return -ENOMEM;
		rows[count++] = row;
	}
	qsort(rows, count, sizeof(*rows), compare_names);
	count = merge_rows(rows, count);
	sum_groups(rows, count);
	qsort(rows, count, sizeof(*rows), compare_weights);
	*ret_rows = take_ptr(rows);
	*ret_count = count;
	return 0;
}
