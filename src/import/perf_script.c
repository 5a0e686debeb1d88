/* SPDX-License-Identifier: MIT
 *
 * import/perf_script.c - import the output of `perf script`: samples with their stacks
 *
 * Runs in:  our own process
 * Gets:     lines. A sample has one line with thread, time and event, then one line for each frame,
 *           then an empty line
 * Gives:    CPU samples
 * Owns:     the frames of the current sample
 * Fails:    a file without a sample; a sample with a bad line is left out and reported
 * Why the first line is parsed starting at its time: a thread's name may contain blanks and digits,
 *           but not a number with a point that ends with a colon
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/string.h"
#include "import/faults.h"
#include "import/formats.h"
#include "import/common/probe.h"
#include "import/source.h"
#include "import/target.h"

/* A frame as in its line; texts are in the pool of struct script. */
struct frame {
	size_t function, module; /* offsets */
	enum event_frame_type type;
	uint32_t flags;
};

struct script {
	struct import_source *source;
	struct import_target *target;
	struct event_cpu_sample sample;
	bool has_sample;
	struct frame *frames; /* innermost first */
	size_t frames_count, frames_capacity;
	char *pool;
	size_t pool_count, pool_capacity;
	struct import_faults faults;
	bool is_skipping; /* the rest of a sample with a bad line */
	uint64_t samples, without_stack, without_period, without_time, last_ns;
};

/* ---- the first line of a sample ---- */

struct head {
	char *comm, *event, *rest; /* rest: the text after the event */
	uint32_t pid, tid, cpu;
	uint64_t time_ns, period;
	bool has_period, has_time;
};

/* Parses "1234.567890:" to ns; false for any other word. */
static bool parse_time(const char *word, size_t length, uint64_t *ret_ns)
{
	uint64_t seconds = 0, nanoseconds = 0;
	size_t i = 0, digits;

	for (; i < length && isdigit((unsigned char)word[i]) && i < 10; i++)
		seconds = seconds * 10 + (uint64_t)(word[i] - '0');
	if (!i || i == length || word[i] != '.')
		return false;
	for (digits = 0, i++; i < length && isdigit((unsigned char)word[i]); i++, digits++)
		if (digits < 9)
			nanoseconds = nanoseconds * 10 + (uint64_t)(word[i] - '0');
	if (!digits || i + 1 != length || word[i] != ':')
		return false;
	for (; digits < 9; digits++)
		nanoseconds *= 10;
	*ret_ns = seconds * 1000000000 + nanoseconds;
	return true;
}

/* Finds the word that is a time; NULL if there is none. */
static char *find_time(char *line, uint64_t *ret_ns, char **ret_behind)
{
	for (char *at = line; *at;) {
		size_t length;

		at += strspn(at, " \t");
		length = strcspn(at, " \t");
		if (length && parse_time(at, length, ret_ns)) {
			*ret_behind = at + length;
			return at;
		}
		at += length;
	}
	return NULL;
}

/* Cuts off and returns the last word. */
static char *take_last(char *text)
{
	size_t length = strlen(text);

	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = 0;
	while (length && !isspace((unsigned char)text[length - 1]))
		length--;
	return text + length;
}

static bool parse_number(const char *text, char end, const char **ret_behind, uint32_t *ret_value)
{
	char *behind;
	unsigned long long value;

	if (!isdigit((unsigned char)*text))
		return false;
	value = strtoull(text, &behind, 10);
	if (*behind != end || value > UINT32_MAX)
		return false;
	*ret_value = (uint32_t)value;
	*ret_behind = behind + (end != 0);
	return true;
}

/* Parses "COMM  PID/TID [CPU] "; perf's option -F may leave out parts. */
static bool parse_thread(char *text, struct head *head)
{
	char *word = take_last(text);
	const char *behind;

	if (*word == '[') {
		if (!parse_number(word + 1, ']', &behind, &head->cpu))
			return false;
		*word = 0;
		word = take_last(text);
	}
	if (parse_number(word, '/', &behind, &head->pid)) {
		if (!parse_number(behind, 0, &behind, &head->tid))
			return false;
	} else if (parse_number(word, 0, &behind, &head->tid)) {
		head->pid = head->tid;
	} else {
		return false;
	}
	*word = 0;
	take_last(text); /* trailing blanks */
	head->comm = text + strspn(text, " \t");
	return *head->comm;
}

/* Parses " 250000 cycles:u: ". The modifiers after the event's name are cut off: they give the
 * mode, not the event. */
static bool parse_event(char *text, struct head *head)
{
	char *end, *modifiers;

	text += strspn(text, " \t");
	errno = 0;
	head->period = strtoull(text, &end, 10);
	head->has_period = isdigit((unsigned char)*text) && isspace((unsigned char)*end) && !errno;
	if (head->has_period)
		text = end + strspn(end, " \t");
	else
		head->period = 1;
	head->event = text;
	text += strcspn(text, " \t");
	if (text == head->event || text[-1] != ':')
		return false;
	text[-1] = 0;
	head->rest = text;
	modifiers = strrchr(head->event, ':');
	if (modifiers && modifiers != head->event &&
	    strspn(modifiers + 1, "ukhHGpPSDeIW") == strlen(modifiers + 1))
		*modifiers = 0;
	return *head->event;
}

/* Finds the event of a line without a time, "COMM PID [CPU] [PERIOD] EVENT:": the first word that
 * ends with a colon. */
static char *find_event(char *line)
{
	for (char *at = line; *at;) {
		size_t length;

		at += strspn(at, " \t");
		length = strcspn(at, " \t");
		if (length > 1 && at[length - 1] == ':' && at != line)
			return at;
		at += length;
	}
	return NULL;
}

/* Returns the last word before `end`; `line` if there is none. */
static char *word_before(char *line, char *end)
{
	while (end > line && isspace((unsigned char)end[-1]))
		end--;
	while (end > line && !isspace((unsigned char)end[-1]))
		end--;
	return end;
}

/* Whether a word is a pid, a period or a [CPU], but not part of a program's name. */
static bool is_numeric(const char *word)
{
	word += *word == '[';
	return *word && strspn(word, "0123456789/]") == strcspn(word, " \t");
}

/* Parses a line without a time. A number before the event is the period only if a thread or
 * processor precedes it. */
static bool parse_untimed(char *line, struct head *head)
{
	char *event = find_event(line), *last, *second;

	if (!event)
		return false;
	last = word_before(line, event);
	second = word_before(line, last);
	if (last > line && second > line && is_numeric(last) && is_numeric(second))
		event = last;
	event[-1] = 0;
	return parse_event(event, head) && parse_thread(line, head);
}

static bool parse_line(char *line, struct head *head)
{
	char *behind, *time = find_time(line, &head->time_ns, &behind);

	head->has_time = time != NULL;
	if (!time)
		return parse_untimed(line, head);
	*time = 0;
	return parse_thread(line, head) && parse_event(behind, head);
}

static int parse_head(const struct script *script, char *line, struct head *ret_head)
{
	char begin[60];

	snprintf(begin, sizeof(begin), "%s", line); /* parsing cuts the line into pieces */
	*ret_head = (struct head){0};
	if (parse_line(line, ret_head))
		return 0;
	return import_source_fail(script->source,
				  "'COMM PID [CPU] SECONDS.FRACTION: [PERIOD] EVENT:'", begin);
}

/* ---- frames ---- */

static int keep_text(struct script *script, const char *text, size_t *ret_offset)
{
	size_t size = strlen(text) + 1;

	if (array_grow(script->pool, script->pool_capacity, script->pool_count + size))
		return -ENOMEM;
	memcpy(script->pool + script->pool_count, text, size);
	*ret_offset = script->pool_count;
	script->pool_count += size;
	return 0;
}

static bool begins_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Cuts off and returns the module, "(/usr/lib/libc.so.6)"; "" if there is none. */
static char *take_module(char *text)
{
	static char none[] = "";
	size_t length = strlen(text);
	char *open;

	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = 0;
	if (!length || text[length - 1] != ')')
		return none;
	for (open = text + length; open > text && !(open[0] == '(' && open[-1] == ' '); open--)
		;
	if (open == text)
		return none;
	text[length - 1] = 0;
	open[-1] = 0;
	return open + 1;
}

/* Cuts the offset off "do_work+0x1a". */
static void cut_offset(char *symbol)
{
	char *plus = strrchr(symbol, '+');

	if (plus && plus != symbol && begins_with(plus, "+0x") && plus[3] &&
	    strspn(plus + 3, "0123456789abcdef") == strlen(plus + 3))
		*plus = 0;
}

static void classify(struct frame *frame, const char *module)
{
	static const char *const mapped[] = {"[vdso]", "[vsyscall]", "[heap]", "[stack]",
					     "[unknown]"};

	frame->type = FRAME_NATIVE;
	if (strcmp(module, "inlined") == 0)
		frame->flags = FRAME_INLINED;
	if (begins_with(module, "/tmp/perf-") || strcmp(module, "//anon") == 0)
		frame->type = FRAME_JIT;
	if (*module != '[')
		return;
	for (size_t i = 0; i < ARRAY_COUNT(mapped); i++)
		if (strcmp(module, mapped[i]) == 0)
			return;
	frame->type = FRAME_KERNEL;
}

/* Parses "  ffffffff8104f45a native_write_msr+0xa ([kernel.kallsyms])". */
static int on_frame(struct script *script, char *line)
{
	struct frame frame = {0};
	char *text = line + strspn(line, " \t"), *end, *module, named[300];
	int error;

	strtoull(text, &end, 16);
	if (end == text || (*end && !isspace((unsigned char)*end)))
		return import_source_fail(script->source, "'ADDRESS SYMBOL (FILE)'", line);
	text = end + strspn(end, " \t");
	module = take_module(text);
	take_last(text);
	cut_offset(text);
	classify(&frame, module);
	if (!*text || strcmp(text, "[unknown]") == 0) {
		snprintf(named, sizeof(named), *module == '[' ? "%s" : "[%s]", path_base(module));
		text = *module ? named : text;
	}
	error = keep_text(script, *text ? text : "[unknown]", &frame.function);
	if (!error)
		error = keep_text(script, frame.flags || frame.type != FRAME_NATIVE ? "" : module,
				  &frame.module);
	if (error || array_grow(script->frames, script->frames_capacity, script->frames_count + 1))
		return -ENOMEM;
	script->frames[script->frames_count++] = frame;
	return 0;
}

/* Whether the text after the event is a frame. A sample without callers has its only frame there;
 * tracepoints have their arguments there. */
static bool is_frame(const char *text)
{
	size_t length;

	text += strspn(text, " \t");
	length = strspn(text, "0123456789abcdef");
	return length >= 4 && isspace((unsigned char)text[length]) && strrchr(text, ')');
}

/* ---- samples ---- */

static int on_head(struct script *script, char *line)
{
	struct event_cpu_sample *sample = &script->sample;
	struct head head = {0};
	uint32_t process;
	char key[16];
	int error = parse_head(script, line, &head);

	if (error)
		return error;
	snprintf(key, sizeof(key), "%" PRIu32, head.pid);
	error = import_target_process(script->target, key, head.pid, head.comm, &process);
	if (!head.has_time)
		head.time_ns = script->last_ns + 1;
	script->without_time += !head.has_time;
	script->last_ns = head.time_ns;
	*sample = (struct event_cpu_sample){
		.time = head.time_ns, .weight = head.period, .cpu = head.cpu};
	if (!error)
		error = import_target_thread(script->target, process, head.tid, head.comm,
					     &sample->thread);
	if (!error)
		error = import_target_text(script->target, head.event, &sample->source_string);
	script->without_period += !head.has_period;
	script->has_sample = !error;
	return !error && is_frame(head.rest) ? on_frame(script, head.rest) : error;
}

static int end_sample(struct script *script)
{
	struct event_cpu_sample *sample = &script->sample;
	int error = 0;

	if (!script->has_sample)
		return 0;
	for (size_t i = script->frames_count; i-- > 0 && !error;) {
		const struct frame *frame = &script->frames[i];

		error = import_target_push(script->target, frame->type, frame->flags,
					   script->pool + frame->function,
					   script->pool + frame->module, &sample->stack);
	}
	sample->mode = !script->frames_count                    ? MODE_UNKNOWN
		       : script->frames[0].type == FRAME_KERNEL ? MODE_KERNEL
								: MODE_USER;
	script->without_stack += !script->frames_count;
	script->frames_count = script->pool_count = 0;
	script->has_sample = false;
	script->samples += !error;
	return error ? error : import_target_sample(script->target, sample);
}

static int on_line(struct script *script, char *line, size_t length)
{
	int error;

	if (strlen(line) != length)
		return import_source_fail(script->source, "text", "a byte of 0");
	if (!line[strspn(line, " \t")]) {
		script->is_skipping = false;
		return end_sample(script);
	}
	if (*line == '#' || (script->is_skipping && isspace((unsigned char)*line)))
		return 0;
	if (script->has_sample && isspace((unsigned char)*line))
		return on_frame(script, line);
	script->is_skipping = false;
	error = end_sample(script); /* no empty line after the previous sample */
	return error ? error : on_head(script, line);
}

/* Leaves out a whole sample if one of its lines is bad: a stack with missing frames would be a
 * different stack. */
static int leave_out(struct script *script, int error)
{
	if (error != -EBADMSG)
		return error;
	script->frames_count = script->pool_count = 0;
	script->has_sample = false;
	script->is_skipping = true;
	return import_faults_add(&script->faults, error);
}

static void put_notes(const struct script *script)
{
	import_target_note(script->target,
			   "no calls and no device commands; symbols are those that perf found");
	import_target_note_count(script->target, script->without_stack, "sample", "samples",
				 "without a stack");
	import_target_note_count(script->target, script->without_period, "sample", "samples",
				 "without a period, counted as 1 each");
	import_target_note_count(script->target, script->without_time, "sample", "samples",
				 "without a time, placed 1 ns after the previous one");
}

static int read_perf_script(struct import_source *source, struct import_target *target)
{
	struct script script = {
		.source = source, .target = target, .faults = {target, "line", "lines"}};
	int error = 0, status;
	size_t length;
	char *line;

	while (!error && (status = import_source_line(source, &line, &length)) != 0) {
		if (status < 0)
			error = import_faults_add_unread(&script.faults, source, status);
		else
			error = leave_out(&script, on_line(&script, line, length));
	}
	if (!error)
		error = end_sample(&script);
	if (!error)
		error = import_faults_end(&script.faults, script.samples, "sample");
	put_notes(&script);
	free(script.frames);
	free(script.pool);
	return error;
}

/* Whether the first line after the comments is the head of a sample. */
static bool recognize_perf_script(const struct import_probe *probe)
{
	const char *line = probe->text;
	struct head head = {0};
	char begin[512];

	while (*line == '#' || isspace((unsigned char)*line)) {
		line += *line == '#' ? strcspn(line, "\n") : 0;
		line += strspn(line, "\r\n \t");
	}
	snprintf(begin, sizeof(begin), "%.*s", (int)strcspn(line, "\r\n"), line);
	return parse_line(begin, &head);
}

const struct importer import_perf_script = {
	.name = "perf-script",
	.help = "output of perf script: CPU samples with their stacks",
	.read = read_perf_script,
	.recognize = recognize_perf_script,
};
