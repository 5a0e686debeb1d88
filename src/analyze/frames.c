/* SPDX-License-Identifier: MIT
 *
 * analyze/frames.c - function, file and line of each frame of a stack
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     stacks of a trace
 * Gives:    functions, files and lines, inlined callers included
 * Owns:     a symbolizer and its results, one per frame
 * Fails:    -ENOMEM; a frame without a name is shown as module and offset
 * Why when a report is made: symbolizing while the program runs would take processor time from it.
 * Why each frame once: a thousand stacks have a few hundred different frames.
 */
#include "analyze/frames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/string.h"
#include "symbol/symbolizer.h"
#include "trace/reader.h"

/* Names of one frame of the trace, outermost first: names[first …]. */
struct known_frame {
	uint32_t first, count;
};

struct frames {
	const struct model *model; /* borrowed */
	struct symbolizer *symbolizer;
	struct arena texts;
	/* frame id -> index + 1: in `index` if the id is at most index_count, otherwise in
	 * by_frame. Recorders count ids from 1. */
	uint32_t *index;
	size_t index_count;
	struct hash_map by_frame;
	bool has_trampolines;     /* a name is a trampoline */
	struct hash_map programs; /* string ids of the paths of executables */
	struct known_frame *known;
	size_t known_capacity, known_count;
	struct frame_name *names;
	size_t names_capacity, names_count;
	/* The stack of the last call of frames_of_stack: frame ids, their names by number, and the
	 * names. */
	uint32_t *chain, *numbers;
	size_t chain_capacity, numbers_capacity;
	struct frame_name *stack;
	size_t stack_capacity;
	char cut_note[128];
	const char **notes;
	size_t notes_capacity;
};

static int list_programs(struct frames *frames)
{
	const struct event_process *processes;
	size_t count = model_entities(frames->model, EVENT_PROCESS, &processes);

	for (size_t i = 0; i < count; i++)
		if (processes[i].exe_string &&
		    hash_map_put(&frames->programs, processes[i].exe_string, 1))
			return -ENOMEM;
	return 0;
}

int frames_new(const struct model *model, const struct frames_options *options,
	       struct frames **ret_frames)
{
	const struct symbolizer_options symbolizer = {
		.has_lines = options->has_lines,
		.has_inlines = options->has_lines,
		.is_short = options->is_short,
		.may_download = options->may_download,
		.archive = options->archive,
	};
	struct frames *frames = calloc(1, sizeof(*frames));

	if (!frames)
		return -ENOMEM;
	frames->model = model;
	frames->index_count = trace_reader_frame_count(model->reader);
	frames->index = calloc(frames->index_count + 1, sizeof(*frames->index));
	if (!frames->index || symbolizer_new(&symbolizer, &frames->symbolizer) ||
	    list_programs(frames)) {
		frames_free(frames);
		return -ENOMEM;
	}
	*ret_frames = frames;
	return 0;
}

void frames_free(struct frames *frames)
{
	if (!frames)
		return;
	symbolizer_free(frames->symbolizer);
	arena_fini(&frames->texts);
	free(frames->index);
	hash_map_fini(&frames->by_frame);
	hash_map_fini(&frames->programs);
	free(frames->known);
	free(frames->names);
	free(frames->chain);
	free(frames->numbers);
	free(frames->stack);
	free(frames->notes);
	free(frames);
}

static int add_name(struct frames *frames, const struct frame_name *name)
{
	struct frame_name added = *name;

	added.place = added.place ? added.place : added.function;
	added.number = (uint32_t)frames->names_count + 1;
	frames->has_trampolines |= added.is_trampoline;
	return array_append(frames->names, frames->names_capacity, frames->names_count, added);
}

static const char *keep_text(struct frames *frames, const char *text)
{
	const char *kept = arena_copy(&frames->texts, text, strlen(text));

	return kept ? kept : "[out of memory]";
}

/* "[libfoo.so]" of "[libfoo.so]+0x1234". */
static const char *file_place(struct frames *frames, char *text)
{
	char *end = strrchr(text, '+');

	if (end)
		*end = '\0';
	return keep_text(frames, text);
}

/* Adds one name per inlined function, outermost first. */
static int name_native(struct frames *frames, const struct event_frame *frame)
{
	const struct symbol_mapping mapping = {
		.path = model_text(frames->model, frame->module_string, ""),
		.build_id = model_text(frames->model, frame->build_id_string, ""),
		.file_size_bytes = frame->file_size_bytes,
		.file_modified_ns = frame->file_modified_ns,
	};
	bool is_program = hash_map_find(&frames->programs, frame->module_string) != NULL;
	struct symbol_module *module;
	struct symbol symbol;
	char text[4096];

	if (symbolizer_module(frames->symbolizer, &mapping, &module) ||
	    symbolizer_lookup(frames->symbolizer, module, frame->offset,
			      frame->flags & FRAME_RETURN, &symbol))
		return -ENOMEM;
	for (size_t i = symbol.frame_count; i-- > 0;) {
		const struct symbol_frame *one = &symbol.frames[i];
		struct frame_name name = {
			.function = one->function,
			.file = one->file,
			.line = one->line,
			.class = one->is_inlined ? FRAME_CLASS_INLINED : FRAME_CLASS_HOST,
			.is_program = is_program,
			.module_string = frame->module_string,
		};

		if (!name.function) {
			symbol_format(&symbol, i, text, sizeof(text));
			name.function = keep_text(frames, text);
			name.is_unnamed = true;
			name.place = one->has_offset ? NULL : file_place(frames, text);
		}
		if (add_name(frames, &name))
			return -ENOMEM;
	}
	return 0;
}

/* A frame of an imported trace has its name from the other program. Its offset is not used, because
 * the file is on another machine. */
static int name_imported(struct frames *frames, const struct event_frame *frame)
{
	const struct frame_name name = {
		.function = model_text(frames->model, frame->name_string, ""),
		.class = frame->flags & FRAME_INLINED ? FRAME_CLASS_INLINED : FRAME_CLASS_HOST,
		.module_string = frame->module_string,
	};

	return add_name(frames, &name);
}

/* With PYTHONPERFSUPPORT, Python 3.12 and later generate a trampoline for each function and name it
 * "py::FUNCTION:FILE". */
static bool name_trampoline(struct frames *frames, const char *text, struct frame_name *name)
{
	static const char prefix[] = "py::";
	const char *function = text + strlen(prefix), *file;
	char copy[1024];

	if (strncmp(text, prefix, strlen(prefix)) != 0)
		return false;
	file = strchr(function, ':');
	if (!file || file == function || (size_t)(file - function) >= sizeof(copy))
		return false;
	snprintf(copy, sizeof(copy), "%.*s", (int)(file - function), function);
	name->function = keep_text(frames, copy);
	name->file = file + 1;
	name->class = FRAME_CLASS_PYTHON;
	name->is_trampoline = true;
	return true;
}

/* Splits "xe_exec_ioctl [xe]" into function and module. */
static int name_kernel(struct frames *frames, const char *text)
{
	struct frame_name name = {.function = *text ? text : "[kernel]",
				  .class = FRAME_CLASS_KERNEL};
	const char *module = strstr(text, " [");
	char function[512];

	if (module && module > text && (size_t)(module - text) < sizeof(function)) {
		snprintf(function, sizeof(function), "%.*s", (int)(module - text), text);
		name.function = keep_text(frames, function);
		name.kernel_module = module + 1;
	}
	return add_name(frames, &name);
}

static int name_other(struct frames *frames, const struct event_frame *frame)
{
	const char *text = model_text(frames->model, frame->name_string, "");
	struct frame_name name = {.function = text, .class = FRAME_CLASS_PYTHON};
	char made[64];

	if (frame->type == FRAME_PYTHON) {
		name.file = model_text(frames->model, frame->file_string, NULL);
		name.line = frame->line ? frame->line : frame->first_line;
		name.first_line = frame->first_line;
		if (!text[0])
			name.function = "[unknown Python function]";
		return add_name(frames, &name);
	}
	if (frame->type == FRAME_TRUNCATED) {
		name.class = FRAME_CLASS_TRUNCATED;
		name.function = "[truncated]";
		if (frame->offset) {
			snprintf(made, sizeof(made), "[truncated: %llu %s]",
				 (unsigned long long)frame->offset,
				 frame->offset == 1 ? "frame" : "frames");
			name.function = keep_text(frames, made);
		}
		return add_name(frames, &name);
	}
	if (frame->type == FRAME_JIT && name_trampoline(frames, text, &name))
		return add_name(frames, &name);
	if (frame->type == FRAME_KERNEL)
		return name_kernel(frames, text);
	name.class = FRAME_CLASS_JIT;
	if (!text[0]) {
		snprintf(made, sizeof(made), "[code at 0x%llx]", (unsigned long long)frame->offset);
		name.function = keep_text(frames, made);
	}
	return add_name(frames, &name);
}

static int know_frame(struct frames *frames, uint32_t id, struct known_frame *ret_known)
{
	const struct event_frame *frame = trace_reader_frame(frames->model->reader, id);
	struct known_frame known = {.first = (uint32_t)frames->names_count};
	static const struct frame_name lost = {.function = "[lost frame]"};
	int error;

	if (!frame)
		error = add_name(frames, &lost);
	else if (frame->type == FRAME_NATIVE && frame->name_string)
		error = name_imported(frames, frame);
	else if (frame->type == FRAME_NATIVE)
		error = name_native(frames, frame);
	else
		error = name_other(frames, frame);
	known.count = (uint32_t)(frames->names_count - known.first);
	for (size_t i = known.first; i < frames->names_count; i++)
		frames->names[i].frame = id;
	if (error || array_grow(frames->known, frames->known_capacity, frames->known_count + 1))
		return -ENOMEM;
	if (id <= frames->index_count)
		frames->index[id] = (uint32_t)frames->known_count + 1;
	else if (hash_map_put(&frames->by_frame, id, frames->known_count + 1))
		return -ENOMEM;
	frames->known[frames->known_count++] = known;
	*ret_known = known;
	return 0;
}

static int find_frame(struct frames *frames, uint32_t id, struct known_frame *ret_known)
{
	uint64_t index = id <= frames->index_count ? frames->index[id]
						   : hash_map_get(&frames->by_frame, id, 0);

	if (!index)
		return know_frame(frames, id, ret_known);
	*ret_known = frames->known[index - 1];
	return 0;
}

/* Removes the interpreter's own frames if Python functions are known from trampolines. It removes
 * all that are outside the innermost Python function, and that function's _PyEval_EvalFrame. The
 * file that calls a trampoline is the interpreter. */
static size_t hide_interpreter(const struct frames *frames, uint32_t *numbers, size_t count)
{
	uint32_t interpreter = 0;
	size_t last = count, kept = 0;

	for (size_t i = 1; i < count; i++) {
		const struct frame_name *caller = frames_name(frames, numbers[i - 1]);

		if (!frames_name(frames, numbers[i])->is_trampoline)
			continue;
		last = i;
		if (caller->module_string)
			interpreter = caller->module_string;
	}
	if (last == count || !interpreter)
		return count;
	for (size_t i = 0; i < count; i++) {
		const struct frame_name *name = frames_name(frames, numbers[i]);
		bool is_its = name->module_string == interpreter;
		bool is_evaluation =
			i == last + 1 && strstr(name->function, "_PyEval_EvalFrame") != NULL;

		if (!is_its || (i > last && !is_evaluation))
			numbers[kept++] = numbers[i];
	}
	return kept;
}

int frames_numbers_of_stack(struct frames *frames, uint32_t stack, const uint32_t **ret_numbers,
			    size_t *ret_count)
{
	const struct trace_reader *reader = frames->model->reader;
	const struct event_stack *node;
	size_t depth = 0, count = 0;

	for (; (node = trace_reader_stack(reader, stack)); stack = node->caller) {
		if (array_append(frames->chain, frames->chain_capacity, depth, node->frame))
			return -ENOMEM;
	}
	while (depth-- > 0) {
		struct known_frame known;

		if (find_frame(frames, frames->chain[depth], &known) ||
		    array_grow(frames->numbers, frames->numbers_capacity, count + known.count))
			return -ENOMEM;
		for (uint32_t i = 1; i <= known.count; i++)
			frames->numbers[count++] = known.first + i;
	}
	*ret_numbers = frames->numbers;
	*ret_count =
		frames->has_trampolines ? hide_interpreter(frames, frames->numbers, count) : count;
	return 0;
}

const struct frame_name *frames_name(const struct frames *frames, uint32_t number)
{
	return &frames->names[number - 1];
}

int frames_of_stack(struct frames *frames, uint32_t stack, const struct frame_name **ret_names,
		    size_t *ret_count)
{
	const uint32_t *numbers;
	size_t count;

	if (frames_numbers_of_stack(frames, stack, &numbers, &count) ||
	    array_grow(frames->stack, frames->stack_capacity, count))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		frames->stack[i] = *frames_name(frames, numbers[i]);
	*ret_names = frames->stack;
	*ret_count = count;
	return 0;
}

static bool is_same_function(const char *name, const char *function)
{
	const size_t length = strlen(function);

	/* a compiler names a part or a copy of a function "function.cold", "function.isra.0", … */
	return strncmp(name, function, length) == 0 && (!name[length] || name[length] == '.');
}

/* Whether this is a function of an OS kernel driver. Programs enter drivers only through ioctl
 * functions, and runtimes have no functions with this ending. */
static bool is_drivers(const char *function)
{
	static const char ending[] = "_ioctl";
	const size_t length = strlen(function);

	return length >= strlen(ending) && strcmp(function + length - strlen(ending), ending) == 0;
}

int frames_of_call(struct frames *frames, uint32_t stack, const char *function,
		   const struct frame_name **ret_names, size_t *ret_count, size_t *ret_callers)
{
	struct frame_name call = {
		.function = function, .place = function, .class = FRAME_CLASS_HOST};
	size_t count, user, place;

	if (frames_of_stack(frames, stack, ret_names, &count))
		return -ENOMEM;
	for (user = count; user && frames->stack[user - 1].class == FRAME_CLASS_KERNEL; user--)
		;
	*ret_callers = user;
	*ret_count = count;
	if (!*function ||
	    (user < count && is_same_function(frames->stack[count - 1].function, function)))
		return 0;
	if (is_drivers(function))
		call.class = FRAME_CLASS_KERNEL;
	place = is_drivers(function) ? count : user;
	if (array_grow(frames->stack, frames->stack_capacity, count + 1))
		return -ENOMEM;
	memmove(frames->stack + place + 1, frames->stack + place,
		(count - place) * sizeof(*frames->stack));
	frames->stack[place] = call;
	*ret_names = frames->stack;
	*ret_count = count + 1;
	return 0;
}

int frames_of_frame(struct frames *frames, uint32_t frame, const struct frame_name **ret_names,
		    size_t *ret_count)
{
	struct known_frame known;
	int error = find_frame(frames, frame, &known);

	if (error)
		return error;
	*ret_names = frames->names + known.first;
	*ret_count = known.count;
	return 0;
}

static int check_file(struct frames *frames, const struct event_frame *frame,
		      struct frames_files *files)
{
	const struct symbol_mapping mapping = {
		.path = model_text(frames->model, frame->module_string, ""),
		.build_id = model_text(frames->model, frame->build_id_string, ""),
	};
	struct symbol_module *module;
	struct symbol_source source;

	if (mapping.path[0] == '[')
		return 0; /* mapped by the OS kernel without a file, such as [vdso] */
	if (symbolizer_module(frames->symbolizer, &mapping, &module))
		return -ENOMEM;
	symbolizer_source(frames->symbolizer, module, &source);
	files->all++;
	if (!source.path) {
		files->missing++;
		files->example = files->example ? files->example : mapping.path;
	}
	return 0;
}

int frames_check(struct frames *frames, struct frames_files *ret_files)
{
	const struct trace_reader *reader = frames->model->reader;
	struct frames_files files = {0};
	struct hash_map seen = {0}; /* path string << 32 | build id string */
	int error = 0;

	for (size_t i = 0; !error && i < trace_reader_frame_count(reader); i++) {
		const struct event_frame *frame = trace_reader_frame_at(reader, i);
		uint64_t key = (uint64_t)frame->module_string << 32 | frame->build_id_string;

		if (frame->type != FRAME_NATIVE || frame->name_string || hash_map_find(&seen, key))
			continue;
		error = hash_map_put(&seen, key, 1);
		if (!error)
			error = check_file(frames, frame, &files);
	}
	hash_map_fini(&seen);
	if (!error)
		*ret_files = files;
	return error;
}

static bool is_in_python(const char *path)
{
	static const char *const parts[] = {"/site-packages/", "/dist-packages/", "/lib/python3.",
					    "/lib64/python3."};

	for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
		if (strstr(path, parts[i]))
			return true;
	return false;
}

static bool begins_with_any(const char *path, const char *const *begins, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strncmp(path, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/* Whether a library or a source file of one was installed, and is not the user's. */
static bool is_installed(const char *path)
{
	static const char *const folders[] = {"/usr/lib/",     "/usr/lib32/", "/usr/lib64/",
					      "/usr/include/", "/lib/",       "/lib32/",
					      "/lib64/",       "/opt/"};

	return is_in_python(path) || begins_with_any(path, folders, ARRAY_COUNT(folders));
}

/* The same for a Python file. Containers have the user's programs in /opt. */
static bool is_installed_python(const char *path)
{
	return is_in_python(path) || (strncmp(path, "/opt/", 5) != 0 && is_installed(path));
}

/* PyTorch's timelines name a file below any folder of sys.path without that folder, the user's own
 * ones too: "torch/nn/functional.py", "threading.py", "train.py". So only these count as installed:
 * libraries whose name a folder of the user would hide from his program, and modules of Python
 * without which PyTorch does not start, so that no file of the user can be imported in their place.
 * A name that users choose ("datasets", "random.py") is taken for the user's. */
static bool is_installed_relative(const char *path)
{
	static const char *const packages[] = {"torch/",
					       "torchvision/",
					       "torchaudio/",
					       "transformers/",
					       "accelerate/",
					       "numpy/",
					       "PIL/",
					       "tqdm/",
					       "triton/",
					       "pytorch_lightning/",
					       "deepspeed/",
					       "pandas/",
					       "scipy/",
					       "sklearn/",
					       "timm/",
					       "einops/",
					       "xformers/",
					       "flash_attn/",
					       "diffusers/",
					       "fsspec/",
					       "concurrent/futures/",
					       "multiprocessing/",
					       "importlib/",
					       "asyncio/",
					       "ctypes/",
					       "collections/__init__.py",
					       "logging/__init__.py",
					       "json/decoder.py",
					       "json/encoder.py",
					       "unittest/mock.py",
					       "urllib/request.py"};
	static const char *const modules[] = {
		"_collections_abc.py",  "abc.py",         "codecs.py",     "contextlib.py",
		"copyreg.py",           "dataclasses.py", "enum.py",       "functools.py",
		"genericpath.py",       "inspect.py",     "linecache.py",  "os.py",
		"pathlib.py",           "posixpath.py",   "re.py",         "runpy.py",
		"selectors.py",         "shutil.py",      "subprocess.py", "tempfile.py",
		"threading.py",         "traceback.py",   "types.py",      "typing.py",
		"typing_extensions.py", "weakref.py"};

	for (size_t i = 0; i < ARRAY_COUNT(modules); i++)
		if (strcmp(path, modules[i]) == 0)
			return true;
	return begins_with_any(path, packages, ARRAY_COUNT(packages));
}

/* "<frozen importlib._bootstrap>" and the like belong to Python; "<string>" and "<stdin>" do not.
 * Neither do functions that a tracer names without a file. */
static bool is_own_python(const struct frame_name *name)
{
	const char *file = name->file;

	if (!file)
		return strncmp(name->function, "<built-in ", 10) != 0 &&
		       strncmp(name->function, "nn.Module: ", 11) != 0;
	return !is_installed_python(file) && !is_installed_relative(file) &&
	       strncmp(file, "<frozen", 7) != 0 && strncmp(file, "<pyopencl", 9) != 0 &&
	       strncmp(file, "<__array_", 9) != 0;
}

const char *frames_module(const struct frames *frames, const struct frame_name *name)
{
	return model_text(frames->model, name->module_string, "");
}

bool frames_is_interpreter(const struct frames *frames, const struct frame_name *name)
{
	const char *file = path_base(frames_module(frames, name));

	return strncmp(file, "python", 6) == 0 || strncmp(file, "libpython", 9) == 0;
}

static bool is_own_native(const struct frames *frames, const struct frame_name *name)
{
	const char *module = frames_module(frames, name);

	if ((name->file && is_installed(name->file)) || frames_is_interpreter(frames, name) ||
	    strncmp(path_base(module), "libduet", 7) == 0)
		return false;
	return name->is_program || (*module == '/' && !name->is_unnamed && !is_installed(module));
}

bool frames_is_own(const struct frames *frames, const struct frame_name *name)
{
	switch (name->class) {
	case FRAME_CLASS_PYTHON:
		return is_own_python(name);
	case FRAME_CLASS_JIT:
		return true;
	case FRAME_CLASS_HOST:
	case FRAME_CLASS_INLINED:
		return is_own_native(frames, name);
	default:
		return false;
	}
}

const struct frame_name *frames_own(const struct frames *frames, const struct frame_name *names,
				    size_t count)
{
	for (size_t i = count; i-- > 0;)
		if (frames_is_own(frames, &names[i]))
			return &names[i];
	for (size_t i = count; i-- > 0;)
		if (names[i].class == FRAME_CLASS_PYTHON)
			return &names[i];
	return count ? &names[count - 1] : NULL;
}

const char *frames_none(const struct frames *frames)
{
	return trace_reader_stack_count(frames->model->reader) ? "[unknown stack]" : "[stacks off]";
}

size_t frames_notes(struct frames *frames, const char *const **ret_notes)
{
	const char *const *notes;
	size_t count = symbolizer_notes(frames->symbolizer, &notes);
	size_t cut = trace_reader_stacks_cut(frames->model->reader);

	*ret_notes = notes;
	if (!cut || array_grow(frames->notes, frames->notes_capacity, count + 1))
		return count;
	snprintf(frames->cut_note, sizeof(frames->cut_note),
		 "stacks of more than 4096 frames lack their outer frames ([truncated], %zu times)",
		 cut);
	for (size_t i = 0; i < count; i++)
		frames->notes[i] = notes[i];
	frames->notes[count] = frames->cut_note;
	*ret_notes = frames->notes;
	return count + 1;
}
