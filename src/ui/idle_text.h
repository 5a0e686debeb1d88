/* SPDX-License-Identifier: MIT
 *
 * ui/idle_text.h - the words for causes of a device's idle time
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/account/account.h"

struct live_device;

/* A command that has run for longer than this explains the time that is not known. */
#define UI_LONG_NS UINT64_C(1000000000)

/* "a command has run for 12 s" */
void ui_format_long(const struct live_device *device, char *ret_text, size_t size);
/* "no command for 4.6 s" */
void ui_format_no_command(const struct live_device *device, char *ret_text, size_t size);
/* "computing" */
void ui_format_cause(const struct live_device *device, unsigned int cause, char *ret_text,
		     size_t size);
/* "so far: load_batch (data.py:31): computing": with the place if it is the largest cause */
void ui_format_place(const struct live_device *device, enum account_cause cause, char *ret_text,
		     size_t size);
/* "  (mutex (app+0x162a0); no command for 4.6 s)" */
void ui_format_meaning(const struct live_device *device, enum account_cause cause, char *ret_text,
		       size_t size);
/* The last two. */
void ui_idle_text(const struct live_device *device, enum account_cause cause, char *ret_text,
		  size_t size);
