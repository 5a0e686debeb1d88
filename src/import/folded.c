/* SPDX-License-Identifier: MIT
 *
 * import/folded.c - import folded stacks: one line per stack, frames from the root separated by
 * ';', then a count
 *
 * Runs in:  our own process
 * Gets:     lines
 * Gives:    a CPU sample per line; its weight is the count
 * Owns:     the frames of the texts seen, and the previous line
 * Fails:    a file without a valid line; bad lines among others are left out and reported
 * Why frames of device code become frames of CPU samples and no commands: a line contains neither
 *           the command of a device nor its time
 * Why the previous line is kept: stackcollapse scripts sort their lines, so that a line repeats
 * most frames of the previous one
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "import/faults.h"
#include "import/formats.h"
#include "import/frame.h"
#include "import/common/probe.h"
#include "import/source.h"
#include "import/target.h"

/* Texts are forgotten when they take more memory. */
#define TEXTS_BYTES ((size_t)8 << 20)

/* Frames that are looked up together, and frames of a line that the next line may repeat. */
enum { KEYS = 64, STEPS = 512 };

/* The frames of a line up to a ';'. */
struct folded_step {
	size_t end; /* offset behind the ';' */
	uint32_t stack;
};

struct folded {
	const struct import_source *source;
	struct import_target *target;
	struct string_table texts;
	uint32_t *frames; /* by id in texts - 1 */
	size_t frames_capacity;
	char *previous; /* the previous line */
	size_t previous_capacity;
	struct folded_step steps[STEPS]; /* those of the previous line */
	size_t steps_count;
	bool has_device;
};

static void folded_fini(struct folded *folded)
{
	string_table_fini(&folded->texts);
	free(folded->frames);
	free(folded->previous);
}

/* Whether `duet flame` wrote this frame for device activity ("_[G]", "_[g]") or as the separator
 * ("-") between host and device. */
static bool is_of_device(const char *frame)
{
	size_t length = strlen(frame);

	return strcmp(frame, "-") == 0 || (length > 4 && (strcmp(frame + length - 4, "_[G]") == 0 ||
							  strcmp(frame + length - 4, "_[g]") == 0));
}

/* Parses the count at the end of the line and cuts it off. */
static int take_count(const struct import_source *source, char *line, size_t *length,
		      uint64_t *ret_count)
{
	char *blank = memrchr(line, ' ', *length), *end;

	if (memchr(line, 0, *length))
		return import_source_fail(source, "text", "a byte of 0");
	if (!blank || blank == line)
		return import_source_fail(source, "frames, one blank and a count", line);
	if (!isdigit((unsigned char)blank[1]))
		return import_source_fail(source, "a whole number at the end", blank + 1);
	errno = 0;
	*ret_count = strtoull(blank + 1, &end, 10);
	if (*end || errno)
		return import_source_fail(source, "a whole number at the end", blank + 1);
	*blank = 0;
	*length = (size_t)(blank - line);
	return 0;
}

/* The frame of a text that was not seen before. Changes the text. */
static int add_text(struct folded *folded, char *text, size_t length, uint32_t *ret_frame)
{
	uint32_t id = string_table_add(&folded->texts, text, length);

	if (!id || array_grow(folded->frames, folded->frames_capacity, id))
		return -ENOMEM;
	folded->has_device |= is_of_device(text);
	if (import_frame_id(folded->target, text, FRAME_NATIVE, &folded->frames[id - 1]))
		return -ENOMEM;
	*ret_frame = folded->frames[id - 1];
	return 0;
}

/* Keeps the steps that the line shares with the previous one, and replaces the rest of that line.
 * Sets *ret_start to the offset of the first frame that differs. */
static int keep_line(struct folded *folded, const char *line, size_t length, size_t *ret_start)
{
	size_t start = 0, kept = 0;

	while (kept < folded->steps_count && folded->steps[kept].end <= length &&
	       memcmp(line + start, folded->previous + start, folded->steps[kept].end - start) == 0)
		start = folded->steps[kept++].end;
	folded->steps_count = kept;
	*ret_start = start;
	if (array_grow(folded->previous, folded->previous_capacity, length + 1))
		return -ENOMEM;
	memcpy(folded->previous + start, line + start, length + 1 - start);
	return 0;
}

/* Splits off up to KEYS frames of the rest of a line. *rest NULL: no more follow. */
static size_t split_frames(char **rest, struct string_key *keys)
{
	size_t count = 0;

	while (*rest && count < KEYS) {
		char *text = *rest, *end = strchrnul(text, ';');

		*rest = *end ? end + 1 : NULL;
		*end = 0;
		keys[count++] = (struct string_key){.bytes = text, .length = (size_t)(end - text)};
	}
	return count;
}

/* Pushes a frame of the line. Keeps the step to it if another frame follows. */
static int push_frame(struct folded *folded, const char *line, const struct string_key *key,
		      bool is_last, uint32_t *stack)
{
	char *text = (char *)key->bytes;
	uint32_t frame = key->id ? folded->frames[key->id - 1] : 0;
	int error;

	if (!key->length)
		return import_source_fail(folded->source, "a frame between two ';'", NULL);
	error = frame ? 0 : add_text(folded, text, key->length, &frame);
	if (!error)
		error = import_target_push_id(folded->target, frame, stack);
	if (!error && !is_last && folded->steps_count < STEPS)
		folded->steps[folded->steps_count++] =
			(struct folded_step){(size_t)(text - line) + key->length + 1, *stack};
	return error;
}

static int read_stack(struct folded *folded, char *line, size_t length, uint32_t *ret_stack)
{
	struct string_key keys[KEYS];
	size_t start;
	int error = keep_line(folded, line, length, &start);
	char *rest = line + start;

	*ret_stack = folded->steps_count ? folded->steps[folded->steps_count - 1].stack : 0;
	if (folded->texts.arena.bytes > TEXTS_BYTES)
		string_table_fini(&folded->texts);
	while (rest && !error) {
		size_t count = split_frames(&rest, keys);

		string_table_find_all(&folded->texts, keys, count);
		for (size_t i = 0; i < count && !error; i++)
			error = push_frame(folded, line, &keys[i], !rest && i + 1 == count,
					   ret_stack);
	}
	return error;
}

static int read_lines(struct folded *folded, struct import_source *source,
		      struct event_cpu_sample *row)
{
	struct import_faults faults = {folded->target, "line", "lines"};
	uint64_t samples = 0;
	size_t length;
	char *line;
	int status, error = 0;

	while (!error && (status = import_source_line(source, &line, &length)) != 0) {
		if (status < 0) {
			error = import_faults_add_unread(&faults, source, status);
			continue;
		}
		if (!length)
			continue;
		error = take_count(source, line, &length, &row->weight);
		if (!error)
			error = read_stack(folded, line, length, &row->stack);
		if (error) {
			error = import_faults_add(&faults, error);
			continue;
		}
		error = import_target_sample(folded->target, row);
		row->time++;
		samples++;
	}
	return error ? error : import_faults_end(&faults, samples, "line");
}

static int read_folded(struct import_source *source, struct import_target *target)
{
	struct folded folded = {.source = source, .target = target};
	struct event_cpu_sample row = {0};
	uint32_t process;
	int error = import_target_process(target, "", 0, "[imported]", &process);

	if (!error)
		error = import_target_thread(target, process, 0, "", &row.thread);
	if (!error)
		error = import_target_text(target, "samples", &row.source_string);
	if (!error)
		error = read_lines(&folded, source, &row);
	import_target_note(target, "no times (a line is a sample, 1 ns after the previous one), no "
				   "threads, no processes, no unit of the counts");
	if (folded.has_device)
		import_target_note(target,
				   "device activity is imported as frames, not as commands");
	folded_fini(&folded);
	return error;
}

/* Whether a line is "FRAME;FRAME COUNT". */
static bool is_stack(const char *line, size_t length)
{
	size_t digits = 0;

	while (digits < length && isdigit((unsigned char)line[length - digits - 1]))
		digits++;
	return digits && length > digits + 1 && line[length - digits - 1] == ' ';
}

/* Whether the first line and most others are stacks, and one has a caller. */
static bool recognize_folded(const struct import_probe *probe)
{
	size_t stacks = 0, others = 0, callers = 0;

	for (const char *line = probe->text, *end; *line; line = end + (*end != '\0')) {
		size_t length = strcspn(line, "\r\n");
		bool is_cut;

		end = line + strcspn(line, "\n");
		is_cut = !*end && import_probe_is_cut(probe);
		if (!length || is_cut)
			continue;
		if (is_stack(line, length))
			stacks++;
		else
			others++;
		callers += memchr(line, ';', length) != NULL;
		if (!stacks)
			return false;
	}
	return stacks > others && callers;
}

const struct importer import_folded = {
	.name = "folded",
	.help = "folded stacks, lines of FRAME;FRAME COUNT, from stackcollapse scripts or duet "
		"flame",
	.read = read_folded,
	.recognize = recognize_folded,
};
