/* SPDX-License-Identifier: MIT
 *
 * export/chrome/links.h - the numbers that link calls, commands and operators in a Chrome trace
 *
 * Readers find the command of a call by "correlation" alone, so the number must be unique in the
 * file: the trace's own number, with the index of the process above bit 40. All commands of one
 * call have the number of the call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "event/event.h"
#include "export/common/thread_nesting.h"

struct command;
struct model;

struct chrome_link {
	uint64_t correlation;
	uint64_t external; /* number of the innermost operator; outside of operators: correlation */
	bool has_no_call;  /* the file has no slice of its launch: it is another command's call, or
			      an  importer added it */
};

/* The link of a launch whose command is to come. */
struct chrome_held_link {
	struct chrome_link link;
	size_t next_free; /* index + 1 */
};

/* The latest call of a thread that launched. */
struct chrome_call_link {
	uint64_t correlation;
	uint64_t enter, exit;
	bool is_shared; /* further commands of the call have its number */
};

struct chrome_links {
	const struct model *model;      /* borrowed */
	struct hash_map processes;      /* id -> index + 1, in the order of first use */
	struct thread_nesting nesting;  /* operators */
	struct chrome_call_link *calls; /* by index of the thread */
	uint64_t operators;             /* number of operators so far */
	struct chrome_held_link *held;  /* by tag - 1 */
	size_t held_count, held_capacity, free_held;
};

/* Errors: -ENOMEM. */
int chrome_links_init(struct chrome_links *links, const struct model *model);
void chrome_links_fini(struct chrome_links *links); /* NULL-safe, half-built-safe */

/* The file's number of a process's command. Errors: -ENOMEM. */
int chrome_links_correlation(struct chrome_links *links, uint32_t process, uint64_t correlation,
			     uint64_t *ret_correlation);

/* To be called for all launches in the order of their start. has_command: the file has a slice of
 * its command. Errors: -ENOMEM. */
int chrome_links_launch(struct chrome_links *links, const struct event_launch *row,
			bool has_command, struct chrome_link *ret_link);

/* Keeps the link of a launch for its command, as its tag. Errors: -ENOMEM. */
int chrome_links_hold(struct chrome_links *links, const struct chrome_link *link,
		      uint64_t *ret_tag);

/* The link of a command; ends its keeping. Errors: -ENOMEM. */
int chrome_links_take(struct chrome_links *links, const struct command *command,
		      struct chrome_link *ret_link);

/* To be called for all operators in the order of their start, among the launches. Errors: -ENOMEM.
 */
int chrome_links_operator(struct chrome_links *links, const struct event_api *row,
			  uint64_t *ret_number);
