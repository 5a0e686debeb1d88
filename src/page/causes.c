/* SPDX-License-Identifier: MIT
 *
 * page/causes.c - the idle causes in the head of a page
 *
 * Runs in:  our own process
 * Gets:     the causes of the account, their colours in flame graphs
 * Gives:    three keys of a JSON object
 * Owns:     nothing
 * Fails:    never; the writer keeps its error
 */
#include "page/causes.h"

#include <stdio.h>

#include "analyze/account/account.h"
#include "base/json.h"
#include "flame/colour.h"

static void write_texts(struct json_writer *json, const char *key,
			const char *(*text)(enum account_cause cause))
{
	json_pair_array(json, key);
	for (unsigned int cause = 0; cause < CAUSE_COUNT; cause++)
		json_string(json, text((enum account_cause)cause));
	json_array_end(json);
}

void page_write_causes(struct json_writer *json)
{
	char text[16];

	write_texts(json, "causes", account_cause_name);
	write_texts(json, "cause_texts", account_cause_text);
	json_pair_array(json, "cause_colours");
	for (unsigned int i = 0; i < 2 * CAUSE_COUNT; i++) {
		snprintf(text, sizeof(text), "#%06x",
			 flame_cause_colour((enum account_cause)(i / 2), i % 2));
		json_string(json, text);
	}
	json_array_end(json);
}
