/* SPDX-License-Identifier: MIT
 *
 * import/frame.h - frames of folded text: an escaped name, and a suffix for the kind of code
 */
#pragma once

#include <stdint.h>

#include "event/event.h"

struct import_target;

/* Replaces \xNN by its byte, in place. \x00 stays, because a NUL would end the name. */
void import_frame_unescape(char *text);

/* Id of this frame. Changes its text. type: kind of a frame without a suffix. Errors: -ENOMEM. */
int import_frame_id(struct import_target *target, char *frame, enum event_frame_type type,
		    uint32_t *ret_frame);

/* Sets *stack to the stack of caller *stack and this frame. */
int import_frame_push(struct import_target *target, char *frame, enum event_frame_type type,
		      uint32_t *stack);
