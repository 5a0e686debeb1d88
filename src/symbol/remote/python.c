/* SPDX-License-Identifier: MIT
 *
 * symbol/remote/python.c - the Python functions that a thread of another process is executing
 *
 * Runs in:  the recorder
 * Gets:     a process's id, the file with its interpreter, thread ids
 * Gives:    functions, files, lines
 * Owns:     cached threads and code objects
 * Fails:    -EAGAIN if the thread changed its stack during every read; python_remote_new sets the
 *           cause
 * Why:      the recorder reads the memory of a running process, so neither the interpreter nor the
 *           user has to prepare anything. Offsets of CPython's structures come from a table per
 *           version (abi/python_offsets.h) or, from 3.13 on, from the interpreter's file
 */
#include "symbol/remote/python.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "symbol/elf/names.h"
#include "symbol/remote/python_private.h"

enum {
	MAX_ROUNDS = 3,       /* reads until no code object is new */
	PAUSE = 64,           /* calls during which a stack that is too deep is skipped */
	CODE_UNIT = 2,        /* bytes of an instruction */
	CODE_BYTES = 1 << 26, /* max bytes of a code object's instructions */
	FINAL = 0xf0,         /* release level in a version number */
	CANDIDATE = 0xc0      /* layouts no longer change from this release level on */
};

static size_t largest(const uint16_t *values, size_t count)
{
	size_t most = 0;

	for (size_t i = 0; i < count; i++)
		most = values[i] > most ? values[i] : most;
	return most;
}

/* ---- the frames that are returned ------------------------------------------------------------ */

int python_frames_ask_codes(struct python_remote *remote)
{
	struct python_raw_frames *raw = &remote->raw[0];

	python_codes_begin(remote->codes);
	for (size_t i = 0; i < raw->count; i++) {
		struct python_raw_frame *frame = &raw->frames[i];

		frame->known = NULL;
		if (remote->at.layout == PYTHON_LAYOUT_SHIM && frame->owner >= remote->at.shim)
			continue;
		frame->known = python_codes_ask(remote->codes, frame->code);
		if (!frame->known)
			return -ENOMEM;
	}
	return python_codes_read(remote->codes);
}

static void append_frame(struct python_remote *remote, struct python_built_frame frame)
{
	remote->built[remote->built_count++] = frame;
}

/* As the guest does: each C evaluation frame ends with one entry mark, so that native and Python
 * frames match one by one, whether its only frame has not started yet or has already ended. */
static void end_evaluation(struct python_remote *remote, uint64_t c_address)
{
	if (!remote->is_inside)
		append_frame(remote, remote->left);
	remote->built[remote->built_count - 1].is_entry = true;
	remote->built[remote->built_count - 1].c_address = c_address;
	remote->is_inside = false;
	remote->left = (struct python_built_frame){0};
}

/* Converts a frame object (before 3.11). False: the instruction is outside of the code. */
static bool build_object(struct python_remote *remote, const struct python_raw_frame *frame)
{
	int32_t last = (int32_t)frame->instruction;

	append_frame(remote, (struct python_built_frame){
				     .code = frame->known,
				     .address = frame->address,
				     .instruction = last < 0 ? 0 : (uint32_t)last * remote->at.unit,
				     .is_entry = true,
			     });
	return last < CODE_BYTES;
}

static bool build_frame(struct python_remote *remote, const struct python_raw_frame *frame)
{
	const struct python_offsets *at = &remote->at;
	const int64_t instruction =
		(int64_t)(frame->instruction - frame->code - at->code_instructions);
	const struct python_built_frame built = {
		.code = frame->known,
		.address = frame->address,
		.instruction = instruction < 0 ? 0 : (uint32_t)instruction};

	if (instruction < -CODE_UNIT || instruction >= CODE_BYTES)
		return false;
	if (frame->owner != PYTHON_OWNED_BY_GENERATOR &&
	    instruction < (int64_t)(int32_t)frame->known->facts.first_traceable * CODE_UNIT) {
		remote->left = built;
		return true;
	}
	append_frame(remote, built);
	remote->is_inside = true;
	return true;
}

static int build_frames(struct python_remote *remote)
{
	const struct python_raw_frames *raw = &remote->raw[0];
	bool is_good = true;

	if (array_grow(remote->built, remote->built_capacity, raw->count + 1))
		return -ENOMEM;
	remote->built_count = 0;
	remote->is_inside = false;
	remote->left = (struct python_built_frame){0};
	for (size_t i = 0; is_good && i < raw->count; i++) {
		const struct python_raw_frame *frame = &raw->frames[i];

		if (remote->at.layout == PYTHON_LAYOUT_OBJECTS) {
			is_good = build_object(remote, frame);
		} else if (!frame->known) {
			if (frame->owner == remote->at.shim)
				end_evaluation(remote, frame->address);
		} else {
			is_good = build_frame(remote, frame);
			if (is_good && frame->entry)
				end_evaluation(remote, 0);
		}
	}
	if (remote->is_inside || remote->left.code)
		end_evaluation(remote, 0);
	return is_good ? 0 : -EAGAIN;
}

static struct python_remote_frame describe_frame(const struct python_remote *remote,
						 const struct python_built_frame *built)
{
	struct python_remote_frame frame = {.is_entry = built->is_entry,
					    .address = built->address,
					    .c_address = built->c_address};

	if (built->code) {
		frame.function = built->code->function;
		frame.file = built->code->file;
		frame.first_line = built->code->facts.first_line;
		frame.line = python_codes_line(remote->codes, built->code, built->instruction);
	}
	return frame;
}

static size_t write_frames(const struct python_remote *remote, struct python_remote_frame *frames,
			   size_t most, struct python_remote_gap *gap)
{
	const size_t count = remote->built_count, written = count < most ? count : most;
	const size_t inner = count > most ? (most + 1) / 2 : count;

	for (size_t i = 0; i < written; i++)
		frames[i] =
			describe_frame(remote, &remote->built[i < inner ? i : count - written + i]);
	if (count == written)
		return written;
	gap->at = (uint32_t)inner;
	gap->frames = (uint32_t)(count - written);
	for (size_t i = inner; i < inner + gap->frames; i++)
		gap->entries += remote->built[i].is_entry;
	return written;
}

int python_frames_return(struct python_remote *remote, struct python_remote_frame *frames,
			 size_t most, struct python_remote_gap *gap)
{
	int r = build_frames(remote);

	return r ? r : (int)write_frames(remote, frames, most, gap);
}

/* Skips a stack that is too deep for a while: reading it again would fail again. */
static void pause_reads(struct python_thread *thread)
{
	thread->pause = PAUSE;
	remote_windows_fini(&thread->windows);
}

/* A code object may be freed and its memory reused before it is read. So if one is new, the stack
 * is read again after the object is cached. 1: done. */
static int read_known_stack(struct python_remote *remote, bool *ret_is_moving)
{
	for (uint32_t i = 0; i < MAX_ROUNDS; i++) {
		int r = python_stack_read(remote, ret_is_moving);

		remote_windows_age(&remote->thread->windows);
		if (r == -E2BIG && remote->fetches < PYTHON_MAX_FETCHES)
			pause_reads(remote->thread);
		if (r <= 0)
			return r;
		r = python_frames_ask_codes(remote);
		if (r <= 0)
			return r ? r : 1;
	}
	return -EAGAIN;
}

int python_remote_frames(struct python_remote *remote, uint32_t tid, bool is_glance,
			 struct python_remote_frame *frames, size_t most,
			 struct python_remote_gap *ret_gap)
{
	struct python_remote_gap gap = {0};
	int r;

	remote->thread = python_threads_get(&remote->threads, tid);
	if (!remote->thread)
		return -ENOMEM;
	if (remote->thread->pause) {
		remote->thread->pause--;
		return -E2BIG;
	}
	remote->is_glance = is_glance;
	remote->fetches = 0;
	remote->fetched_bytes = 0;
	r = read_known_stack(remote, &gap.is_moving);
	if (r <= 0)
		return r;
	gap.is_collecting =
		remote->is_collecting && python_holds_lock(remote, remote->thread->state);
	r = python_frames_return(remote, frames, most, &gap);
	if (r > 0)
		*ret_gap = gap;
	return r;
}

/* A freed object still contains its code. */
int python_remote_object(struct python_remote *remote, uint64_t address,
			 struct python_remote_frame *ret_frame)
{
	const struct python_offsets *at = &remote->at;
	const struct remote_piece pieces[] = {{address + at->object_type, sizeof(uint64_t)},
					      {address + at->frame_code, sizeof(uint64_t)}};
	struct remote_python_code *code;
	uint64_t words[2];
	int64_t got;
	int r;

	if (at->layout != PYTHON_LAYOUT_OBJECTS)
		return -ENOTSUP;
	got = remote_memory_gather(&remote->memory, pieces, 2, words);
	if (got < 0)
		return (int)got;
	if (got != sizeof(words) || words[0] != remote->frame_type)
		return -EAGAIN;
	python_codes_begin(remote->codes);
	code = python_codes_ask(remote->codes, words[1]);
	if (!code)
		return -ENOMEM;
	r = python_codes_read(remote->codes);
	if (r)
		return r < 0 ? r : -EAGAIN;
	*ret_frame = (struct python_remote_frame){.function = code->function,
						  .file = code->file,
						  .first_line = code->facts.first_line,
						  .is_entry = true,
						  .address = address};
	return 0;
}

/* ---- an interpreter -------------------------------------------------------------------------- */

enum symbol {
	RUNTIME,
	VERSION,
	CODE_TYPE,
	TEXT_TYPE,
	BYTES_TYPE,
	FRAME_TYPE,
	EVALUATION,
	SINCE_3_10,
	SINCE_3_9,
	SINCE_3_8,
	TRACE_REFS,
	SYMBOLS
};

static const char *const symbol_names[SYMBOLS] = {
	[RUNTIME] = "_PyRuntime",
	[VERSION] = "Py_Version",
	[CODE_TYPE] = "PyCode_Type",
	[TEXT_TYPE] = "PyUnicode_Type",
	[BYTES_TYPE] = "PyBytes_Type",
	[FRAME_TYPE] = "PyFrame_Type",
	[EVALUATION] = "_PyEval_EvalFrameDefault",
	[SINCE_3_10] = "Py_NewRef",
	[SINCE_3_9] = "PyFrame_GetCode",
	[SINCE_3_8] = "PyCode_NewWithPosOnlyArgs",
	[TRACE_REFS] = "_Py_AddToAllObjects",
};

struct symbols {
	struct elf_symbol at[SYMBOLS];
	uint64_t addresses[SYMBOLS]; /* in the process; 0: missing */
};

/* An executable linked to a libpython may have copies (COPY relocations) of the library's data;
 * both then use the copies. */
static int find_symbols(const struct python_remote_file *file,
			const struct python_remote_file *program, struct symbols *ret_symbols)
{
	struct elf_symbol copies[SYMBOLS] = {{0}};

	if (!(elf_names_find_symbols(file->fd, symbol_names, SYMBOLS, ret_symbols->at) &
	      UINT32_C(1) << RUNTIME))
		return -ENOENT;
	if (program)
		elf_names_find_symbols(program->fd, symbol_names, SYMBOLS, copies);
	for (size_t i = 0; i < SYMBOLS; i++) {
		const bool is_copy = i <= FRAME_TYPE && copies[i].value;

		ret_symbols->addresses[i] = is_copy ? program->load_address + copies[i].value
					    : ret_symbols->at[i].value
						    ? file->load_address + ret_symbols->at[i].value
						    : 0;
	}
	return 0;
}

static int set_read_error(int r, uint32_t pid)
{
	if (r == -EFAULT)
		return error_set(-EAGAIN,
				 "the Python of process %u has not started yet, or has ended", pid);
	return error_set(r, "read memory of process %u: %s", pid, strerror(-r));
}

/* The version in the format of PY_VERSION_HEX, from a constant in the file: its page may not be in
 * the process's memory. Before 3.11 there is no such constant, so the version follows from the
 * functions that each version added. */
static uint32_t read_version(int fd, const struct symbols *symbols)
{
	uint32_t version = 0;

	if (symbols->at[VERSION].value)
		return elf_names_read(fd, symbols->at[VERSION].value, &version, sizeof(version))
			       ? version
			       : 0;
	return symbols->addresses[SINCE_3_10]  ? 0x030a0000 | FINAL
	       : symbols->addresses[SINCE_3_9] ? 0x03090000 | FINAL
	       : symbols->addresses[SINCE_3_8] ? 0x03080000 | FINAL
					       : 0;
}

static int set_unsupported(uint32_t version, const char *why)
{
	if (!version)
		return error_set(-ENOTSUP,
				 "the version of Python is not known, or is 3.7 or older: not "
				 "supported");
	return error_set(-ENOTSUP, "Python %u.%u.%u%s is not supported", version >> 24,
			 version >> 16 & 0xff, version >> 8 & 0xff, why);
}

/* Builds with Py_TRACE_REFS have two more words at the start of each object. From 3.13 on the
 * offsets are a table in the interpreter's file. */
static int read_offsets(struct python_remote *remote, int fd, const struct symbols *symbols)
{
	const uint32_t version = read_version(fd, symbols);
	const struct python_offsets *row = python_offsets_find((uint16_t)(version >> 16));
	uint64_t words[PYTHON_DEBUG_WORDS];

	if (!row || (version & 0xff) < CANDIDATE)
		return set_unsupported(version, "");
	remote->at = *row;
	if (!python_offsets_speak(row->version))
		return symbols->addresses[TRACE_REFS]
			       ? set_unsupported(version, " with Py_TRACE_REFS")
			       : 0;
	if (!elf_names_read(fd, symbols->at[RUNTIME].value, words, sizeof(words)))
		return set_unsupported(version, " with unknown layout");
	if (!python_offsets_read(words, &remote->at))
		return set_unsupported(version, words[PYTHON_DEBUG_FREE_WORD]
							? " (free-threaded)"
							: " with unknown layout");
	return 0;
}

static void compute_sizes(struct python_remote *remote)
{
	const struct python_offsets *at = &remote->at;
	const uint16_t state[] = {at->thread_frame, at->thread_id, at->thread_native_id,
				  at->thread_chunk ? at->thread_chunk + PYTHON_STACK_TOP : 0};
	const uint16_t frame[] = {at->frame_previous, at->frame_code, at->frame_instruction,
				  at->frame_owner, at->frame_entry};

	remote->state_bytes = largest(state, ARRAY_COUNT(state)) + sizeof(uint64_t);
	remote->frame_bytes =
		(largest(frame, ARRAY_COUNT(frame)) / sizeof(uint64_t) + 1) * sizeof(uint64_t);
}

/* The read fails if the interpreter has not started: the page of its list is not in memory then. */
static int check_runtime(struct python_remote *remote, uint64_t runtime)
{
	uint64_t first;
	int r = remote_memory_read(&remote->memory, runtime + remote->at.runtime_interpreters,
				   &first, sizeof(first));

	return r ? set_read_error(r, remote->memory.pid) : 0;
}

static int init_remote(struct python_remote *remote, int fd, const struct symbols *symbols)
{
	const uint64_t *addresses = symbols->addresses;
	int r = read_offsets(remote, fd, symbols);

	if (!r)
		r = check_runtime(remote, addresses[RUNTIME]);
	if (r)
		return r;
	if (!addresses[CODE_TYPE] || !addresses[TEXT_TYPE] || !addresses[BYTES_TYPE] ||
	    !addresses[FRAME_TYPE])
		return set_unsupported((uint32_t)remote->at.version << 16,
				       " without exported types");
	remote->types = (struct python_types){addresses[CODE_TYPE], addresses[TEXT_TYPE],
					      addresses[BYTES_TYPE]};
	remote->frame_type = addresses[FRAME_TYPE];
	compute_sizes(remote);
	python_threads_init(&remote->threads, &remote->memory, &remote->at, addresses[RUNTIME]);
	remote->codes = python_codes_new(&remote->memory, &remote->at, &remote->types);
	return remote->codes ? 0 : error_set(-ENOMEM, "python: out of memory");
}

static void find_evaluation(struct python_remote *remote, const struct python_remote_file *file,
			    const struct symbols *symbols)
{
	remote->evaluation.hot_begin = symbols->addresses[EVALUATION];
	remote->evaluation.hot_end = symbols->addresses[EVALUATION] + symbols->at[EVALUATION].size;
	if (symbols->at[EVALUATION].size)
		python_evaluation_find_cold(&remote->evaluation, file->fd, file->load_address);
}

int python_remote_new(uint32_t pid, const struct python_remote_file *file,
		      const struct python_remote_file *program, struct python_remote **ret_remote)
{
	struct symbols symbols;
	struct python_remote *remote;
	int r = find_symbols(file, program, &symbols);

	if (r)
		return r;
	remote = calloc(1, sizeof(*remote));
	if (!remote)
		return error_set(-ENOMEM, "python: out of memory");
	remote_memory_init(&remote->memory, pid);
	r = init_remote(remote, file->fd, &symbols);
	if (!r)
		find_evaluation(remote, file, &symbols);
	if (r) {
		python_remote_free(remote);
		return r;
	}
	*ret_remote = remote;
	return 0;
}

void python_remote_free(struct python_remote *remote)
{
	if (!remote)
		return;
	remote_memory_fini(&remote->memory);
	python_threads_fini(&remote->threads);
	python_codes_free(remote->codes);
	free(remote->bytes);
	free(remote->pieces);
	free(remote->raw[0].frames);
	free(remote->raw[1].frames);
	free(remote->built);
	free(remote);
}

bool python_remote_is_evaluation(const struct python_remote *remote, uint64_t pc)
{
	const struct python_evaluation *at = &remote->evaluation;

	return pc - at->hot_begin < at->hot_end - at->hot_begin ||
	       pc - at->cold_begin < at->cold_end - at->cold_begin;
}

uint16_t python_remote_version(const struct python_remote *remote)
{
	return remote->at.version;
}

uint64_t python_remote_calls(const struct python_remote *remote)
{
	return remote->memory.calls;
}
