/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_options.c - reads CAPTURE
 *
 * Runs in:  the captured program   Gets: "key=value,…"   Gives: struct capture_options
 * Owns:     nothing   Fails: at the first word that it does not know
 */
#include "capture_agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int word_index(const char *text, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(text, words[i]))
			return i;
	return -1;
}

static bool set_choice(struct capture_options *options, const char *key, const char *value)
{
	static const char *const modes[] = {"null", "subscribe", "activity", NULL};
	static const char *const stacks[] = {"none", "fp", "unwind", NULL};
	static const char *const logs[] = {"0", "1", "all", NULL};
	static const char *const pcs[] = {"off", "continuous", "serialized", "ranges", NULL};
	static const char *const flushes[] = {"none", "normal", "forced", NULL};
	static const char *const graphs[] = {"node", "trace", NULL};
	static const char *const keys[] = {"mode",  "stack",  "callbacks", "pc",
					   "flush", "graphs", NULL};
	static const char *const *const choices[] = {modes, stacks, logs, pcs, flushes, graphs};
	int which = word_index(key, keys),
	    choice = which < 0 ? -1 : word_index(value, choices[which]);

	if (choice < 0)
		return false;
	switch (which) {
	case 0:
		options->mode = (enum capture_mode)choice;
		break;
	case 1:
		options->stack = (enum capture_stack)choice;
		break;
	case 2:
		options->log = (enum capture_log)choice;
		break;
	case 3:
		options->pc = (enum capture_pc_mode)choice;
		break;
	case 4:
		options->flush = (enum capture_flush)choice;
		break;
	default:
		options->has_graph_trace = choice == 1;
	}
	return true;
}

static bool set_one(struct capture_options *options, const char *key, const char *value)
{
	if (!strcmp(key, "out"))
		snprintf(options->out, sizeof(options->out), "%s", value);
	else if (!strcmp(key, "what"))
		snprintf(options->what, sizeof(options->what), "%s", value);
	else if (!strcmp(key, "kinds"))
		snprintf(options->kinds, sizeof(options->kinds), "%s", value);
	else if (!strcmp(key, "period"))
		options->period_log2 = (uint32_t)atoi(value);
	else if (!strcmp(key, "driver"))
		options->driver_version = (uint32_t)atoi(value);
	else if (!strcmp(key, "max"))
		options->record_limit = strtoull(value, NULL, 10);
	else if (!strcmp(key, "buffers"))
		options->buffer_limit = (uint32_t)atoi(value);
	else if (!strcmp(key, "pool"))
		options->pool_limit = (uint32_t)atoi(value);
	else if (!strcmp(key, "late"))
		options->is_late = !strcmp(value, "1");
	else if (!strcmp(key, "cubins"))
		options->has_cubins = !strcmp(value, "1");
	else if (!strcmp(key, "hold"))
		options->is_holder = !strcmp(value, "1");
	else if (!strcmp(key, "stamp"))
		return capture_stamp_parse(value, &options->stamp);
	else
		return set_choice(options, key, value);
	return true;
}

bool capture_options_parse(const char *text, struct capture_options *ret_options,
			   char ret_wrong[64])
{
	struct capture_options options = {.mode = CAPTURE_RECORD,
					  .out = "capture.cap",
					  .what = "?",
					  .kinds = "default",
					  .stamp = CAPTURE_STAMP_MONOTONIC,
					  .buffer_limit = UINT32_MAX,
					  .record_limit = 50000};
	char copy[2048], *rest = copy, *word;

	snprintf(copy, sizeof(copy), "%s", text);
	while ((word = strsep(&rest, ","))) {
		char *value = strchr(word, '=');

		if (!*word)
			continue;
		snprintf(ret_wrong, 64, "%.63s", word);
		if (!value)
			return false;
		*value++ = 0;
		if (!set_one(&options, word, value))
			return false;
	}
	*ret_options = options;
	return true;
}
