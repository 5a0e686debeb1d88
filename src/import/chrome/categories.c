/* SPDX-License-Identifier: MIT
 *
 * import/chrome/categories.c - the kind of an event of a Chrome trace, from its categories
 *
 * Runs in:  our own process; pure functions
 * Gets:     events
 * Gives:    kinds
 * Owns:     the names of categories: PyTorch's of 2021 ("Kernel") and of later years ("kernel"),
 *           duet's own
 * Fails:    never; an unknown category is a slice of a thread
 */
#include "import/chrome/categories.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "event/event.h"
#include "import/chrome/file.h"
#include "import/common/commands.h"

uint32_t chrome_categories(const char *text)
{
	static const struct {
		const char *word;
		uint32_t bits;
	} rows[] = {
		{"kernel", CATEGORY_KERNEL},
		{"cpu_op", CATEGORY_OPERATOR},
		{"python_function", CATEGORY_FUNCTION},
		{"cuda_runtime", CATEGORY_RUNTIME},
		{"cuda_driver", CATEGORY_RUNTIME},
		{"gpu_memcpy", CATEGORY_COPY},
		{"memcpy", CATEGORY_COPY},
		{"gpu_memset", CATEGORY_FILL},
		{"memset", CATEGORY_FILL},
		{"gpu_command", CATEGORY_COMMAND},
		{"rejected", CATEGORY_REJECTED},
		{"mtia_ccp_events", CATEGORY_KERNEL | CATEGORY_ACCELERATOR},
		{"hpu_op", CATEGORY_KERNEL | CATEGORY_ACCELERATOR},
		{"user_annotation", CATEGORY_RANGE},
		{"gpu_user_annotation", CATEGORY_TWICE},
		{"cuda_sync", CATEGORY_TWICE},
		{"cuda_profiler_range", CATEGORY_TWICE},
		{"trace", CATEGORY_TWICE},
		{"overhead", CATEGORY_OVERHEAD},
		{"operator", CATEGORY_OPERATOR},
		{"runtime", CATEGORY_RUNTIME},
		{"mtia_runtime", CATEGORY_RUNTIME},
		{"glow_runtime", CATEGORY_RUNTIME},
		{"xpu_runtime", CATEGORY_RUNTIME},
		{"privateuse1_runtime", CATEGORY_RUNTIME},
		{"privateuse1_driver", CATEGORY_RUNTIME},
		{"launch", CATEGORY_LAUNCH},
		{"wait", CATEGORY_WAIT},
		{"api_op", CATEGORY_ARROW},
	};
	const char *at = text, *own;
	uint32_t bits = 0;
	size_t length;

	while ((own = word_list_next(&at, &length)))
		for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
			if (strncasecmp(own, rows[i].word, length) == 0 && !rows[i].word[length]) {
				bits |= rows[i].bits;
				break;
			}
	return bits;
}

static bool has_times(const struct chrome_event *event, bool is_slice)
{
	return event->ts_ns.is_known &&
	       (!is_slice || (event->dur_ns.is_known && event->dur_ns.value >= 0));
}

static enum chrome_kind kind_of_slice(uint32_t categories)
{
	if (categories & CATEGORY_TWICE)
		return KIND_LEFT_OUT;
	if (categories & CATEGORY_OVERHEAD)
		return KIND_OVERHEAD;
	return categories & CATEGORY_COMMANDS ? KIND_COMMAND : KIND_SLICE;
}

enum chrome_kind chrome_kind_of(const struct chrome_event *event)
{
	const char *phase = string_builder_text(&event->phase);
	enum chrome_kind kind = KIND_LEFT_OUT;

	if (!*phase || phase[1])
		return KIND_LEFT_OUT;
	if (*phase == 'M')
		return KIND_META;
	if (*phase == 'X')
		kind = kind_of_slice(event->categories);
	else if (*phase == 'B' || *phase == 'E')
		kind = event->categories & CATEGORY_TWICE ? KIND_LEFT_OUT
		       : *phase == 'B'                    ? KIND_BEGIN
							  : KIND_END;
	else if (*phase == 'i' && strcmp(string_builder_text(&event->name), "[memory]") == 0 &&
		 event->ts_ns.is_known)
		return KIND_MEMORY;
	else if ((*phase == 's' || *phase == 'f') && event->categories & CATEGORY_ARROW)
		kind = KIND_ARROW;
	return kind == KIND_LEFT_OUT || has_times(event, *phase == 'X') ? kind : KIND_INVALID;
}

bool chrome_is_range(const struct chrome_event *event)
{
	return event->categories & CATEGORY_RANGE ||
	       (event->categories & CATEGORY_OPERATOR &&
		strncmp(string_builder_text(&event->name), "ProfilerStep", 12) == 0);
}

/* PyTorch's own ranges, which were operators in 2021. */
static bool is_operator_range(const struct chrome_event *event)
{
	static const char *const starts[] = {"enumerate(DataLoader)#", "Optimizer.step#",
					     "Optimizer.zero_grad#"};

	for (size_t i = 0; event->categories & CATEGORY_RANGE && i < ARRAY_COUNT(starts); i++)
		if (strncmp(string_builder_text(&event->name), starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

bool chrome_is_frame(const struct chrome_event *event)
{
	const char *name = string_builder_text(&event->name);

	if (!chrome_is_range(event) || is_operator_range(event))
		return true;
	while (*name && !isdigit((unsigned char)*name))
		name++;
	return !*name;
}

uint32_t chrome_call_type(const struct chrome_event *event)
{
	const char *name = string_builder_text(&event->name);

	if (event->categories & CATEGORY_WAIT || event->arguments.wait.is_known)
		return API_TYPE_WAIT;
	if (event->categories & CATEGORY_FUNCTION)
		return API_TYPE_FUNCTION;
	if (event->categories & CATEGORY_OPERATOR || is_operator_range(event))
		return API_TYPE_OPERATOR;
	return import_call_waits(name) ? API_TYPE_WAIT : API_TYPE_CALL;
}
