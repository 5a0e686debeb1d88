/* SPDX-License-Identifier: MIT
 *
 * import/frame.c - frames of folded text: an escaped name, and a suffix for the kind of code
 *
 * Runs in:  our own process
 * Gets:     text
 * Gives:    frames of a trace
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why \xNN is a byte: `duet flame --folded` escapes bytes this way if they would break a line, and
 *           no other tool writes a backslash on purpose
 */
#include "import/frame.h"

#include <ctype.h>
#include <string.h>

#include "base/array.h"
#include "import/target.h"

struct kind {
	const char *suffix;
	enum event_frame_type type;
	uint32_t flags;
};

static const struct kind kinds[] = {
	{"_[k]", FRAME_KERNEL, 0}, {"_[j]", FRAME_JIT, 0}, {"_[i]", FRAME_NATIVE, FRAME_INLINED}};

static int hex_value(char digit)
{
	if (isdigit((unsigned char)digit))
		return digit - '0';
	return isxdigit((unsigned char)digit) ? tolower((unsigned char)digit) - 'a' + 10 : -1;
}

void import_frame_unescape(char *text)
{
	char *to = text;

	for (const char *at = text; *at; to++) {
		int high = at[0] == '\\' && at[1] == 'x' ? hex_value(at[2]) : -1;
		int low = high >= 0 ? hex_value(at[3]) : -1;
		int byte = low >= 0 ? high * 16 + low : 0;

		*to = byte ? (char)byte : *at;
		at += byte ? 4 : 1;
	}
	*to = 0;
}

/* Cuts off the suffix and returns its kind of code; `type` without a suffix. An escaped suffix is
 * part of the name. */
static struct kind take_suffix(char *frame, enum event_frame_type type)
{
	size_t length = strlen(frame);

	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		if (length > 4 && strcmp(frame + length - 4, kinds[i].suffix) == 0) {
			frame[length - 4] = 0;
			return kinds[i];
		}
	}
	return (struct kind){.type = type};
}

int import_frame_id(struct import_target *target, char *frame, enum event_frame_type type,
		    uint32_t *ret_frame)
{
	struct kind kind = {.type = FRAME_TRUNCATED};

	if (strcmp(frame, "[truncated]") != 0) {
		kind = take_suffix(frame, type);
		import_frame_unescape(frame);
	} else {
		frame += strlen(frame);
	}
	return import_target_frame(target, kind.type, kind.flags, frame, "", ret_frame);
}

int import_frame_push(struct import_target *target, char *frame, enum event_frame_type type,
		      uint32_t *stack)
{
	uint32_t id;
	int error = import_frame_id(target, frame, type, &id);

	return error ? error : import_target_push_id(target, id, stack);
}
