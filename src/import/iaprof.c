/* SPDX-License-Identifier: MIT
 *
 * import/iaprof.c - profiles of Intel's iaprof: samples of device instructions, by what they waited for, with the stacks
 * that launched them
 *
 * Runs in:  our own process
 * Gets:     lines, in any of the four forms that the program and its description have had (docs/design/iaprof.md)
 * Gives:    a row of an instruction sample for each line, or for each of its counts; counters of metrics
 * Owns:     the texts that lines define, and which number means which
 * Fails:    where no line at all is one of these, or no sample among bad lines; a single bad line is told with its number
 *           and left out
 * Why each line says by itself of which form it is: the forms share no sample, so that a file needs no header, which none
 *           of them has, and two recordings in one file are two recordings
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/format.h"
#include "base/hash.h"
#include "import/faults.h"
#include "import/formats.h"
#include "import/frame.h"
#include "import/iaprof_line.h"
#include "import/source.h"
#include "import/target.h"

enum {
	FRAMES_MOST = 512,  /* of a stack */
	FRAMES_OUTER = 255, /* of a deeper one that stay: these, and the innermost 256 */
	NAME_BYTES_MOST = 65536,
	INTERVAL_NS = 10000000 /* as the program is started by default */
};
#define COUNT_MOST ((uint64_t)INT64_MAX) /* also of all together, so that no sum overflows */

/* Who may define a number: in the form with ';' each kind of thing has numbers of its own. */
enum names {
	NAMES_STRING,
	NAMES_USTACK,
	NAMES_KSTACK,
	NAMES_FILE,
	NAMES_SYMBOL,
	NAMES_TEXT,
	NAMES_COUNT
};

static const char *const names_text[NAMES_COUNT] = {"string",   "USTACK",     "KSTACK",
						    "GPU_FILE", "GPU_SYMBOL", "INSN_TEXT"};

/* Where a sample is; texts by their ids in `texts`, 0: not known. */
struct place {
	uint32_t comm, pid, ustack, kstack, file, symbol, text;
};

/* Of the forms in which a line holds until the next of its kind. */
enum state {
	STATE_COMM = 1,
	STATE_PID = 2,
	STATE_USTACK = 4,
	STATE_KSTACK = 8,
	STATE_SHADER = 16,
	STATE_FILE = 32,
	STATE_SYMBOL = 64,
	STATE_TEXT = 128,
	STATE_KERNEL = 256
};

struct iaprof {
	struct import_source *source;
	struct import_target *target;
	struct string_table texts;
	struct hash_map ids[NAMES_COUNT]; /* number -> id in texts */
	struct hash_map stacks;           /* ustack << 32 | kstack -> stack of the trace */
	struct place now;
	bool has_kernel;      /* a line 'kernel' came */
	unsigned int unknown; /* of enum state: the line that said it was bad */
	/* The same as in the sample before, mostly. */
	struct place last;
	bool has_last;
	uint32_t process, code, stack, text_string;
	uint32_t unit_string, device, clock_series, busy_series;
	uint64_t begin_ns, end_ns; /* of the interval */
	bool has_times;
	struct import_faults faults;
	uint64_t samples, lines, frames, routines, cut_stacks, again, anew;
	uint64_t told; /* counts of samples and values of metrics that were read, also 0 */
};

/* ---- texts ------------------------------------------------------------------------------------- */

static const char *text_of(const struct iaprof *iaprof, uint32_t id)
{
	return string_table_text(&iaprof->texts, id, NULL);
}

/* What the program says of what it does not know. */
#define NO_FILE   "[unknown file]"
#define NO_SYMBOL "[unknown code]" /* … and what duet writes then */
#define NO_TEXT   "[failed decode]"
#define NO_REASON "unknown"

/* A name as the trace has it; "" for the one that means that there is none. */
static char *known_name(const struct iaprof *iaprof, uint32_t id, const char *not_known)
{
	char *name = strdup(text_of(iaprof, id));

	if (name && strcmp(name, not_known) == 0)
		*name = 0;
	if (name)
		import_frame_unescape(name);
	return name;
}

static int intern_name(struct iaprof *iaprof, uint32_t id, const char *not_known,
		       uint32_t *ret_string)
{
	auto_free char *name = known_name(iaprof, id, not_known);

	return name ? import_target_text(iaprof->target, name, ret_string) : -ENOMEM;
}

static int define(struct iaprof *iaprof, enum names names, const char *number, const char *text)
{
	uint64_t id, *known;
	uint32_t string;
	int error =
		iaprof_line_number(iaprof->source, "the number of a text", number, UINT64_MAX, &id);

	if (error)
		return error;
	if (!id)
		return import_source_fail(iaprof->source, "a number from 1 on: 0 is no text", "0");
	string = string_table_add(&iaprof->texts, text, strlen(text));
	if (!string && *text)
		return -ENOMEM;
	known = hash_map_find(&iaprof->ids[names], id);
	iaprof->again += known && *known != string;
	return hash_map_put(&iaprof->ids[names], id, string);
}

/* The text that a number means; 0 means none. */
static int find_text(struct iaprof *iaprof, enum names names, const char *field, uint32_t *ret_text)
{
	char expected[96];
	uint64_t id, *known;
	int error =
		iaprof_line_number(iaprof->source, "the number of a text", field, UINT64_MAX, &id);

	if (error)
		return error;
	known = id ? hash_map_find(&iaprof->ids[names], id) : NULL;
	if (id && !known) {
		snprintf(expected, sizeof(expected),
			 "a line '%s' of that number before it (is the file's begin missing?)",
			 names_text[names]);
		return import_source_fail(iaprof->source, expected, field);
	}
	*ret_text = known ? (uint32_t)*known : 0;
	return 0;
}

/* A name, which is not as long as a stack may be. */
static int find_name(struct iaprof *iaprof, enum names names, const char *field, uint32_t *ret_text)
{
	int error = find_text(iaprof, names, field, ret_text);

	if (!error && strlen(text_of(iaprof, *ret_text)) > NAME_BYTES_MOST)
		return import_source_fail(iaprof->source, "the number of a name of at most 64 KiB",
					  field);
	return error;
}

static int parse_pid(struct iaprof *iaprof, const char *field, uint32_t *ret_pid)
{
	uint64_t pid;
	int error = iaprof_line_number(iaprof->source, "a pid", field, UINT32_MAX, &pid);

	if (!error)
		*ret_pid = (uint32_t)pid;
	return error;
}

/* ---- stacks ------------------------------------------------------------------------------------ */

static size_t count_frames(const char *text)
{
	size_t count = 0;

	for (size_t length; *text; text += length + (text[length] != 0)) {
		length = strcspn(text, ";");
		count += length > 0;
	}
	return count;
}

/* A name that no trace takes is cut. */
static int push_frame(struct iaprof *iaprof, char *frame, enum event_frame_type type,
		      uint32_t *stack)
{
	if (strlen(frame) > NAME_BYTES_MOST)
		frame[NAME_BYTES_MOST] = 0;
	return import_frame_push(iaprof->target, frame, type, stack);
}

/* Root first, ';' between frames and maybe behind the last. A very deep one keeps both ends. */
static int push_frames(struct iaprof *iaprof, uint32_t id, enum event_frame_type type,
		       uint32_t *stack)
{
	auto_free char *text = strdup(text_of(iaprof, id));
	size_t count = text ? count_frames(text) : 0, at = 0;
	bool is_cut = count > FRAMES_MOST;
	char *rest = text, *frame;
	int error = text ? 0 : -ENOMEM;

	iaprof->cut_stacks += is_cut;
	while (!error && (frame = strsep(&rest, ";"))) {
		char gap[] = "[truncated]";

		if (!*frame)
			continue;
		if (!is_cut || at < FRAMES_OUTER || at + FRAMES_MOST / 2 >= count)
			error = push_frame(iaprof, frame, type, stack);
		else if (at == FRAMES_OUTER)
			error = import_frame_push(iaprof->target, gap, type, stack);
		at++;
	}
	return error;
}

static int find_stack(struct iaprof *iaprof, const struct place *place, uint32_t *ret_stack)
{
	uint64_t key = (uint64_t)place->ustack << 32 | place->kstack;
	uint64_t *known = hash_map_find(&iaprof->stacks, key);
	int error;

	*ret_stack = known ? (uint32_t)*known : 0;
	if (known)
		return 0;
	error = push_frames(iaprof, place->ustack, FRAME_NATIVE, ret_stack);
	if (!error)
		error = push_frames(iaprof, place->kstack, FRAME_KERNEL, ret_stack);
	return error ? error : hash_map_put(&iaprof->stacks, key, *ret_stack);
}

/* ---- samples ----------------------------------------------------------------------------------- */

/* Nobody's, where neither name nor number of the process is known. */
static int find_process(struct iaprof *iaprof, const struct place *place, uint32_t *ret_process)
{
	auto_free char *comm = known_name(iaprof, place->comm, "");
	auto_free char *key = NULL;

	*ret_process = 0;
	if (!comm)
		return -ENOMEM;
	if (!*comm && !place->pid)
		return 0;
	if (asprintf(&key, "%u/%s", place->pid, comm) < 0)
		return -ENOMEM;
	return import_target_process(iaprof->target, key, place->pid, comm, ret_process);
}

static int find_code(struct iaprof *iaprof, const struct place *place, uint32_t *ret_code)
{
	auto_free char *file = known_name(iaprof, place->file, NO_FILE);
	auto_free char *symbol = known_name(iaprof, place->symbol, NO_SYMBOL);

	if (!file || !symbol)
		return -ENOMEM;
	iaprof->code = 0;
	return import_target_code(iaprof->target, iaprof->process, file, symbol, ret_code);
}

static int find_device(struct iaprof *iaprof)
{
	int error = 0;

	if (!iaprof->device)
		error = import_target_device(iaprof->target, "iaprof", "Intel GPU", DEVICE_GPU,
					     &iaprof->device);
	if (!error && !iaprof->unit_string)
		error = import_target_text(iaprof->target, "samples", &iaprof->unit_string);
	return error;
}

static int resolve(struct iaprof *iaprof, const struct place *place)
{
	int error;

	if (iaprof->has_last && memcmp(&iaprof->last, place, sizeof(*place)) == 0)
		return 0;
	iaprof->has_last = false;
	error = find_device(iaprof);
	if (!error)
		error = find_process(iaprof, place, &iaprof->process);
	if (!error)
		error = find_code(iaprof, place, &iaprof->code);
	if (!error)
		error = find_stack(iaprof, place, &iaprof->stack);
	if (!error)
		error = intern_name(iaprof, place->text, NO_TEXT, &iaprof->text_string);
	iaprof->last = *place;
	iaprof->has_last = !error;
	return error;
}

static int add_row(struct iaprof *iaprof, const struct place *place, uint32_t stall,
		   uint64_t offset, uint64_t count)
{
	struct event_instruction_sample row = {.begin = iaprof->begin_ns,
					       .end = iaprof->end_ns,
					       .offset = offset,
					       .count = count,
					       .period = 1,
					       .stall_string = stall};
	int error;

	iaprof->told++;
	if (!count)
		return 0;
	if (count > COUNT_MOST - iaprof->samples)
		return import_source_fail(iaprof->source,
					  "no more than 2^63 - 1 samples in all, with this count",
					  NULL);
	error = resolve(iaprof, place);
	if (error)
		return error;
	row.process = iaprof->process;
	row.device = iaprof->device;
	row.code = iaprof->code;
	row.stack = iaprof->stack;
	row.text_string = iaprof->text_string;
	row.period_unit_string = iaprof->unit_string;
	iaprof->samples += count;
	return import_target_instruction(iaprof->target, &row);
}

static int parse_count(struct iaprof *iaprof, const char *field, uint64_t *ret_count)
{
	return iaprof_line_number(iaprof->source, "a count", field, COUNT_MOST, ret_count);
}

/* ---- the form of the description: KEY;… -------------------------------------------------------- */

/* The reasons have numbers of their own there; 0 is none of them. */
static const char *const reasons[] = {"",         "active", "control", "pipestall",  "send",
				      "dist_acc", "sbid",   "sync",    "inst_fetch", "tdr"};

static int take_string(struct iaprof *iaprof, char **fields)
{
	static const char end[] = "_[g]";
	size_t length = strlen(fields[2]);

	/* The whole of a sample's stack, once more: nobody needs it, and there is one for each instruction. */
	if (length > strlen(end) && strcmp(fields[2] + length - strlen(end), end) == 0 &&
	    strstr(fields[2], ";-;") && strstr(fields[2], "_[G];"))
		return 0;
	return define(iaprof, NAMES_STRING, fields[1], fields[2]);
}

static int take_ustack(struct iaprof *iaprof, char **fields)
{
	return define(iaprof, NAMES_USTACK, fields[1], fields[2]);
}

static int take_kstack(struct iaprof *iaprof, char **fields)
{
	return define(iaprof, NAMES_KSTACK, fields[1], fields[2]);
}

static int take_file(struct iaprof *iaprof, char **fields)
{
	return define(iaprof, NAMES_FILE, fields[1], fields[2]);
}

static int take_symbol(struct iaprof *iaprof, char **fields)
{
	return define(iaprof, NAMES_SYMBOL, fields[1], fields[2]);
}

static int take_text(struct iaprof *iaprof, char **fields)
{
	return define(iaprof, NAMES_TEXT, fields[1], fields[2]);
}

/* Says nothing that the samples do not say again. */
static int take_process(struct iaprof *iaprof, char **fields)
{
	uint32_t comm, pid;
	int error = find_name(iaprof, NAMES_STRING, fields[1], &comm);

	return error ? error : parse_pid(iaprof, fields[2], &pid);
}

static int take_described(struct iaprof *iaprof, char **fields)
{
	struct place place = {0};
	uint64_t reason = 0, offset, count;
	uint32_t stall;
	int error = find_name(iaprof, NAMES_STRING, fields[1], &place.comm);

	if (!error)
		error = parse_pid(iaprof, fields[2], &place.pid);
	if (!error)
		error = find_text(iaprof, NAMES_USTACK, fields[3], &place.ustack);
	if (!error)
		error = find_text(iaprof, NAMES_KSTACK, fields[4], &place.kstack);
	if (!error)
		error = find_name(iaprof, NAMES_FILE, fields[5], &place.file);
	if (!error)
		error = find_name(iaprof, NAMES_SYMBOL, fields[6], &place.symbol);
	if (!error)
		error = find_name(iaprof, NAMES_TEXT, fields[7], &place.text);
	if (!error)
		error = iaprof_line_number(iaprof->source, "a stall type", fields[8],
					   ARRAY_COUNT(reasons) - 1, &reason);
	if (!error)
		error = iaprof_line_offset(iaprof->source, fields[9], &offset);
	if (!error)
		error = parse_count(iaprof, fields[10], &count);
	if (!error)
		error = import_target_text(iaprof->target, reasons[reason], &stall);
	return error ? error : add_row(iaprof, &place, stall, offset, count);
}

/* ---- the form of v0.5.0: a sample a line, with all its fields ---------------------------------- */

static int take_whole(struct iaprof *iaprof, char **fields)
{
	struct place place = {0};
	uint64_t is_debug = 0, is_system = 0, offset, count;
	uint32_t reason = 0, stall;
	int error = find_name(iaprof, NAMES_STRING, fields[1], &place.comm);

	if (!error)
		error = parse_pid(iaprof, fields[2], &place.pid);
	if (!error)
		error = find_text(iaprof, NAMES_STRING, fields[3], &place.ustack);
	if (!error)
		error = find_text(iaprof, NAMES_STRING, fields[4], &place.kstack);
	if (!error)
		error = iaprof_line_number(iaprof->source, "is_debug", fields[5], 1, &is_debug);
	if (!error)
		error = iaprof_line_number(iaprof->source, "is_sys", fields[6], 1, &is_system);
	if (!error)
		error = find_name(iaprof, NAMES_STRING, fields[7], &place.file);
	if (!error)
		error = find_name(iaprof, NAMES_STRING, fields[8], &place.symbol);
	if (!error)
		error = find_name(iaprof, NAMES_STRING, fields[9], &place.text);
	if (!error)
		error = find_name(iaprof, NAMES_STRING, fields[10], &reason);
	if (!error)
		error = iaprof_line_offset(iaprof->source, fields[11], &offset);
	if (!error)
		error = parse_count(iaprof, fields[12], &count);
	if (!error)
		error = intern_name(iaprof, reason, NO_REASON, &stall);
	if (!error)
		error = add_row(iaprof, &place, stall, offset, count);
	iaprof->routines += !error && (is_debug || is_system);
	return error;
}

/* ---- the form of today: a kernel, then its instructions with a count for each reason ----------- */

static int take_counts(struct iaprof *iaprof, char **fields)
{
	static const char *const columns[] = {"active",   "control", "pipestall", "send",
					      "dist_acc", "sbid",    "sync",      "inst_fetch",
					      "other",    "tdr"};
	struct place place = iaprof->now;
	uint64_t offset, counts[ARRAY_COUNT(columns)], sum = 0;
	uint32_t stall;
	int error = iaprof_line_offset(iaprof->source, fields[1], &offset);

	if (!iaprof->has_kernel || (iaprof->unknown & STATE_KERNEL))
		return import_source_fail(iaprof->source, "a good line 'kernel' before it", NULL);
	if (!error)
		error = find_name(iaprof, NAMES_STRING, fields[2], &place.text);
	for (size_t i = 0; i < ARRAY_COUNT(columns) && !error; i++) {
		error = parse_count(iaprof, fields[3 + i], &counts[i]);
		if (!error && counts[i] > COUNT_MOST - sum)
			error = parse_count(iaprof, "the sum of the counts", &counts[i]);
		sum += error ? 0 : counts[i];
	}
	if (!error && sum > COUNT_MOST - iaprof->samples)
		return add_row(iaprof, &place, 0, offset, sum); /* which says why */
	for (size_t i = 0; i < ARRAY_COUNT(columns) && !error; i++) {
		error = import_target_text(iaprof->target, columns[i], &stall);
		if (!error)
			error = add_row(iaprof, &place, stall, offset, counts[i]);
	}
	return error;
}

static int take_eustall(struct iaprof *iaprof, char **fields)
{
	bool is_offset = strncmp(fields[1], "0x", 2) == 0;

	return is_offset ? take_counts(iaprof, fields) : take_whole(iaprof, fields);
}

/* A kernel of which no name is known is called by its address, as the program itself did before. */
static int name_kernel(struct iaprof *iaprof, uint64_t address, struct place *place)
{
	char name[24];

	if (*text_of(iaprof, place->symbol))
		return 0;
	snprintf(name, sizeof(name), "0x%" PRIx64, address);
	place->symbol = address ? string_table_add(&iaprof->texts, name, strlen(name)) : 0;
	return place->symbol || !address ? 0 : -ENOMEM;
}

static int take_kernel(struct iaprof *iaprof, char **fields)
{
	struct place place = {0};
	uint64_t address;
	int error = iaprof_line_offset(iaprof->source, fields[1], &address);

	if (!error)
		error = find_name(iaprof, NAMES_STRING, fields[2], &place.comm);
	if (!error)
		error = parse_pid(iaprof, fields[3], &place.pid);
	if (!error)
		error = find_text(iaprof, NAMES_STRING, fields[4], &place.ustack);
	if (!error)
		error = find_name(iaprof, NAMES_STRING, fields[5], &place.file);
	if (!error)
		error = find_name(iaprof, NAMES_STRING, fields[6], &place.symbol);
	if (!error)
		error = name_kernel(iaprof, address, &place);
	if (error)
		return error;
	iaprof->now = place;
	iaprof->has_kernel = true;
	return 0;
}

/* ---- the form between: a line holds until the next of its kind --------------------------------- */

static int take_state(struct iaprof *iaprof, char **fields)
{
	struct place *now = &iaprof->now;
	const char *word = fields[0];
	uint64_t type;

	if (strcmp(word, "proc_name") == 0)
		return find_name(iaprof, NAMES_STRING, fields[1], &now->comm);
	if (strcmp(word, "pid") == 0)
		return parse_pid(iaprof, fields[1], &now->pid);
	if (strcmp(word, "ustack") == 0)
		return find_text(iaprof, NAMES_STRING, fields[1], &now->ustack);
	if (strcmp(word, "kstack") == 0)
		return find_text(iaprof, NAMES_STRING, fields[1], &now->kstack);
	if (strcmp(word, "gpu_file") == 0)
		return find_name(iaprof, NAMES_STRING, fields[1], &now->file);
	if (strcmp(word, "gpu_symbol") == 0)
		return find_name(iaprof, NAMES_STRING, fields[1], &now->symbol);
	if (strcmp(word, "insn_text") == 0)
		return find_name(iaprof, NAMES_STRING, fields[1], &now->text);
	if (iaprof_line_number(iaprof->source, "a shader type", fields[1], 3, &type))
		return -EBADMSG;
	iaprof->routines += type > 1;
	return 0;
}

static int take_sample(struct iaprof *iaprof, char **fields)
{
	uint64_t whole, offset, count;
	uint32_t reason = 0, stall;
	int error = iaprof_line_number(iaprof->source, "the number of a stack", fields[1],
				       UINT64_MAX, &whole);

	if (iaprof->unknown & ~(unsigned int)STATE_KERNEL)
		return import_source_fail(
			iaprof->source,
			"good lines before it that say whose it is (one was left out)", NULL);
	if (!error)
		error = find_name(iaprof, NAMES_STRING, fields[2], &reason);
	if (!error)
		error = iaprof_line_offset(iaprof->source, fields[3], &offset);
	if (!error)
		error = parse_count(iaprof, fields[4], &count);
	if (!error)
		error = intern_name(iaprof, reason, NO_REASON, &stall);
	return error ? error : add_row(iaprof, &iaprof->now, stall, offset, count);
}

/* ---- intervals and metrics --------------------------------------------------------------------- */

/* The stamp is when the samples were written: they are from the interval before it. */
static int take_interval(struct iaprof *iaprof, char **fields)
{
	uint64_t number, time_ns;
	int error = iaprof_line_number(iaprof->source, "the number of an interval", fields[1],
				       UINT64_MAX, &number);

	if (!error)
		error = iaprof_line_time(iaprof->source, fields[2], &time_ns);
	if (error)
		return error;
	/* another recording, of before: its first interval, too, is as long as usual */
	if (iaprof->has_times && time_ns < iaprof->end_ns) {
		iaprof->has_times = false;
		iaprof->anew++;
	}
	iaprof->begin_ns = iaprof->has_times       ? iaprof->end_ns
			   : time_ns > INTERVAL_NS ? time_ns - INTERVAL_NS
						   : 0;
	iaprof->end_ns = time_ns;
	iaprof->has_times = true;
	return 0;
}

static int take_interval_end(struct iaprof *iaprof, char **fields)
{
	uint64_t number;

	return iaprof_line_number(iaprof->source, "the number of an interval", fields[1],
				  UINT64_MAX, &number);
}

static int add_clock(struct iaprof *iaprof, uint64_t mhz)
{
	struct event_counter row = {
		.begin = iaprof->begin_ns, .end = iaprof->end_ns, .value = (int64_t)mhz * 1000000};
	int error = import_target_series(iaprof->target, "gpu.clock", "Hz", SERIES_LEVEL,
					 iaprof->device, &row.series);

	return error ? error : import_target_counter(iaprof->target, &row);
}

/* Time of time, as far as there are times. */
static int add_busy(struct iaprof *iaprof, uint64_t percent)
{
	uint64_t all = iaprof->end_ns - iaprof->begin_ns;
	struct event_counter row = {
		.begin = iaprof->begin_ns, .end = iaprof->end_ns, .of = all ? all : 100};
	int error = import_target_series(iaprof->target, "gpu.busy", "ns", SERIES_RATIO,
					 iaprof->device, &row.series);

	row.value = (int64_t)((unsigned __int128)row.of * percent / 100);
	return error ? error : import_target_counter(iaprof->target, &row);
}

static int take_metric(struct iaprof *iaprof, char **fields)
{
	bool is_clock = strcmp(fields[1], "frequency-MHz") == 0;
	uint64_t value;
	int error = iaprof_line_number(iaprof->source, "the value of a metric", fields[2], 1000000,
				       &value);

	if (error)
		return error;
	if (!is_clock && strcmp(fields[1], "busy-percent") != 0)
		return import_source_fail(iaprof->source, "frequency-MHz or busy-percent",
					  fields[1]);
	error = find_device(iaprof);
	if (error)
		return error;
	iaprof->told++;
	return is_clock ? add_clock(iaprof, value) : add_busy(iaprof, value);
}

static int take_frame(struct iaprof *iaprof, char **fields)
{
	(void)fields;
	iaprof->frames++;
	return 0;
}

/* ---- lines ------------------------------------------------------------------------------------- */

static const struct form {
	const char *word;
	char separator;
	size_t fields;     /* the word is one */
	bool has_text;     /* the last field is all that is left of the line */
	unsigned int says; /* of enum state */
	int (*take)(struct iaprof *iaprof, char **fields);
} forms[] = {
	{"STRING", ';', 3, true, 0, take_string},
	{"PROC_NAME", ';', 3, false, 0, take_process},
	{"USTACK", ';', 3, true, 0, take_ustack},
	{"KSTACK", ';', 3, true, 0, take_kstack},
	{"GPU_FILE", ';', 3, true, 0, take_file},
	{"GPU_SYMBOL", ';', 3, true, 0, take_symbol},
	{"INSN_TEXT", ';', 3, true, 0, take_text},
	{"EUSTALL", ';', 11, false, 0, take_described},
	{"string", '\t', 3, true, 0, take_string},
	{"e", '\t', 5, false, 0, take_sample},
	{"eustall", '\t', 13, false, 0, take_eustall},
	{"kernel", '\t', 7, false, STATE_KERNEL, take_kernel},
	{"proc_name", '\t', 2, false, STATE_COMM, take_state},
	{"pid", '\t', 2, false, STATE_PID, take_state},
	{"ustack", '\t', 2, false, STATE_USTACK, take_state},
	{"kstack", '\t', 2, false, STATE_KSTACK, take_state},
	{"shader_type", '\t', 2, false, STATE_SHADER, take_state},
	{"gpu_file", '\t', 2, false, STATE_FILE, take_state},
	{"gpu_symbol", '\t', 2, false, STATE_SYMBOL, take_state},
	{"insn_text", '\t', 2, false, STATE_TEXT, take_state},
	{"interval_start", '\t', 3, false, 0, take_interval},
	{"interval_end", '\t', 2, false, 0, take_interval_end},
	{"interval", '\t', 3, false, 0, take_interval},
	{"metric", '\t', 3, false, 0, take_metric},
	{"frame", '\t', 1, false, 0, take_frame},
};

static const struct form *find_form(const char *line)
{
	for (size_t i = 0; i < ARRAY_COUNT(forms); i++) {
		size_t length = strlen(forms[i].word);

		if (strncmp(line, forms[i].word, length) == 0 &&
		    (line[length] == forms[i].separator || !line[length]))
			return &forms[i];
	}
	return NULL;
}

/* Of a line that is none: whether an editor or a terminal has made blanks of its tabs. */
static bool has_blanks(const char *line)
{
	for (size_t i = 0; i < ARRAY_COUNT(forms); i++) {
		size_t length = strlen(forms[i].word);

		if (forms[i].separator == '\t' && strncmp(line, forms[i].word, length) == 0 &&
		    line[length] == ' ')
			return true;
	}
	return false;
}

static int take_line(struct iaprof *iaprof, char *line, size_t length)
{
	const struct form *form = find_form(line);
	char *fields[IAPROF_FIELDS_MOST], expected[64];
	size_t count;
	int error;

	if (form) /* until it is taken */
		iaprof->unknown |= form->says;
	if (strlen(line) != length)
		return import_source_fail(iaprof->source, "text", "a byte of 0");
	if (!form && has_blanks(line))
		return import_source_fail(
			iaprof->source, "a tab between fields (were the file's tabs made blanks?)",
			line);
	if (!form)
		return import_source_fail(iaprof->source,
					  "a line of iaprof, such as 'string' or 'eustall'", line);
	count = iaprof_line_cut(line, form->separator, form->fields + !form->has_text, fields);
	if (count != form->fields) {
		snprintf(expected, sizeof(expected), "%zu fields in a line '%s'", form->fields,
			 form->word);
		return import_source_fail(iaprof->source, expected,
					  count < form->fields ? "fewer" : "more");
	}
	error = form->take(iaprof, fields);
	if (!error)
		iaprof->unknown &= ~form->says;
	iaprof->lines += !error;
	return error;
}

/* A file of another kind is no profile, nor is one of whose samples none can be read. */
static int check_lines(struct iaprof *iaprof)
{
	if (iaprof->lines)
		return import_faults_end(&iaprof->faults, iaprof->told, "sample");
	return error_set(-EBADMSG, "no line of it is one of iaprof's%s%s",
			 *iaprof->faults.first ? ": " : " (it is empty)", iaprof->faults.first);
}

static int read_lines(struct iaprof *iaprof)
{
	size_t length;
	char *line;
	int status, error = 0;

	while (!error && (status = import_source_line(iaprof->source, &line, &length)) != 0) {
		if (status < 0) {
			error = import_faults_add_unread(&iaprof->faults, iaprof->source, status);
			continue;
		}
		error = length ? take_line(iaprof, line, length) : 0;
		if (error)
			error = import_faults_add(&iaprof->faults, error);
	}
	return error ? error : check_lines(iaprof);
}

static void note(struct iaprof *iaprof, uint64_t count, const char *one, const char *many,
		 const char *what)
{
	if (count)
		import_target_note(iaprof->target, "%" PRIu64 " %s%s", count,
				   format_noun(count, one, many), what);
}

static void note_all(struct iaprof *iaprof)
{
	note(iaprof, iaprof->again, "number", "numbers",
	     " given to another text later, which holds from there on");
	note(iaprof, iaprof->cut_stacks, "stack", "stacks",
	     " of more than 512 frames, of which the middle is left out");
	note(iaprof, iaprof->routines, "line", "lines",
	     " of system routines or debug areas, which only their names tell");
	note(iaprof, iaprof->anew, "time", "times",
	     " before that of the interval in front: another recording begins there");
	note(iaprof, iaprof->frames, "mark", "marks", " of a picture's end left out");
	import_target_note(iaprof->target,
			   "no commands of the device and no times of them, no threads; how many "
			   "cycles a sample stands for is not known%s",
			   iaprof->has_times
				   ? "; a sample is of the interval before its stamp, the "
				     "first of which is taken for 10 ms"
				   : "; no times");
}

static int read_iaprof(struct import_source *source, struct import_target *target)
{
	struct iaprof iaprof = {
		.source = source, .target = target, .faults = {target, "line", "lines"}};
	int error;

	string_table_init(&iaprof.texts);
	hash_map_init(&iaprof.stacks);
	for (size_t i = 0; i < NAMES_COUNT; i++)
		hash_map_init(&iaprof.ids[i]);
	error = read_lines(&iaprof);
	if (!error)
		note_all(&iaprof);
	for (size_t i = 0; i < NAMES_COUNT; i++)
		hash_map_fini(&iaprof.ids[i]);
	hash_map_fini(&iaprof.stacks);
	string_table_fini(&iaprof.texts);
	return error;
}

const struct importer import_iaprof = {
	.name = "iaprof",
	.help = "profiles of Intel's iaprof, of any of its versions: samples of GPU instructions "
		"with stacks",
	.read = read_iaprof,
};
