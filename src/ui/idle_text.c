/* SPDX-License-Identifier: MIT
 *
 * ui/idle_text.c - the words for causes of a device's idle time
 *
 * Runs in:  our own process, in duet top
 * Gets:     a device of a snapshot
 * Gives:    texts
 * Owns:     nothing
 * Fails:    never; a text is cut to its buffer
 */
#include "ui/idle_text.h"

#include <stdio.h>
#include <string.h>

#include "live/snapshot.h"

void ui_format_long(const struct live_device *device, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "a command has run for %.0f s",
		 (double)device->in_flight_ns / 1e9);
}

void ui_format_no_command(const struct live_device *device, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "no command for %.1f s", (double)device->no_command_ns / 1e9);
}

void ui_format_cause(const struct live_device *device, unsigned int cause, char *ret_text,
		     size_t size)
{
	if (cause == CAUSE_UNKNOWN && device->open_ns)
		ui_format_no_command(device, ret_text, size);
	else if (cause == CAUSE_UNKNOWN && device->in_flight_ns >= UI_LONG_NS)
		ui_format_long(device, ret_text, size);
	else
		snprintf(ret_text, size, "%s",
			 cause == CAUSE_UNKNOWN ? "not known why"
						: account_cause_text((enum account_cause)cause));
}

void ui_format_place(const struct live_device *device, enum account_cause cause, char *ret_text,
		     size_t size)
{
	const bool is_first = cause == device->cause;
	char name[64];

	ui_format_cause(device, cause, name, sizeof(name));
	snprintf(ret_text, size, "%s%s%s%s", is_first && device->is_so_far ? "so far: " : "",
		 is_first ? device->place : "", is_first && *device->place ? ": " : "", name);
}

void ui_format_meaning(const struct live_device *device, enum account_cause cause, char *ret_text,
		       size_t size)
{
	char since[64];

	ui_format_no_command(device, since, sizeof(since));
	if (cause == device->cause && device->is_so_far && cause != CAUSE_UNKNOWN)
		snprintf(ret_text, size, "  (%s%s%s)", device->wait, *device->wait ? "; " : "",
			 since);
	else
		snprintf(ret_text, size, "  (%s)",
			 cause == CAUSE_UNKNOWN && device->open_ns
				 ? "the next command decides the cause"
				 : account_cause_meaning(cause));
}

void ui_idle_text(const struct live_device *device, enum account_cause cause, char *ret_text,
		  size_t size)
{
	char meaning[160];
	size_t used;

	ui_format_place(device, cause, ret_text, size);
	ui_format_meaning(device, cause, meaning, sizeof(meaning));
	used = strlen(ret_text);
	snprintf(ret_text + used, size - used, "%s", meaning);
}
