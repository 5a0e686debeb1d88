/* SPDX-License-Identifier: MIT
 *
 * collect/collector_options.h - the options of each collector: rows of its own table, values in a
 * struct of its own
 *
 *	struct lamp_options {
 *		struct collector_choice choice; // comes first
 *		uint32_t colour;
 *	};
 *	static const struct collector_option options[] = {
 *		{"dim", "half of the light", .set = LAMP_ON | LAMP_DIM},
 *		{"colour=NAME", "the colour of the light", .set = LAMP_ON, .read = read_colour},
 *		{NULL}};
 *	...
 *	const struct lamp_options *own = collector_options(session, "lamp");
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct collector;
struct session_options;

enum {
	MAX_COLLECTORS = 16,
	COLLECTOR_OPTIONS_BYTES = 2048 /* largest size of a collector's own struct */
};

/* The first member of each such struct. If all bytes of the struct are 0, the collector is left
 * out. */
struct collector_choice {
	/* Bits of an enum of the collector's own. Those from RING_OPTION_GUEST on are passed to its
	 * guests. */
	uint32_t words;
	uint32_t hz; /* readings per second, of a collector with a rate */
};

/* A row: an option as the user types it behind "NAME:". */
struct collector_option {
	const char *name; /* NULL ends the table */
	const char *help; /* NULL: messages do not list the option */
	/* Bits of `words`: `clear` is cleared first, then `set` is set. */
	uint32_t set, clear;
	uint32_t off; /* bits that -NAME clears; 0: there is no -NAME */
	/* Reads an option with a value into the collector's struct. 0; -ENOENT: the text is another
	 * option; -EINVAL with the error chain. NULL: the option is its name. */
	int (*read)(const char *text, void *options);
};

/* A place in the options of a session. */
struct collector_slot {
	const struct collector *collector; /* NULL: the place is free */
	const char *guest;                 /* path of its guest's library; NULL: not installed */
	union {
		struct collector_choice choice;
		uint64_t bytes[COLLECTOR_OPTIONS_BYTES / sizeof(uint64_t)];
	};
};

/* The struct of the collector of this name; zeros where it has no place yet. */
const void *collector_options(const struct session_options *session, const char *name);
/* The path of its guest; NULL: not installed, or it has none. */
const char *collector_guest_path(const struct session_options *session, const char *name);
/* Whether the collector is chosen, by the user or by default. */
bool session_collects(const struct session_options *session, const char *name);

/* Whether the collector has this option of its table. */
bool session_has_option(const struct session_options *session, const char *name,
			const char *option);

/* Whether a guest of it is to record calls of a runtime. */
bool collector_slot_has_calls(const struct collector_slot *slot);

/* Applies one option; NULL: the name alone. Errors: -ENOENT where there is no such option; -EINVAL
 * with the error chain. The options are as before then. */
int collector_option_apply(const struct collector *collector, const char *option,
			   struct collector_slot *slot);
void collector_leave_out(struct collector_slot *slot);
