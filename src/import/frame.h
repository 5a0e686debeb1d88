/* SPDX-License-Identifier: MIT
 *
 * import/frame.h - frames of stacks as folded text has them: a name, escaped, and a suffix that says what kind of code
 */
#ifndef IMPORT_FRAME_H
#define IMPORT_FRAME_H

#include <stdint.h>

#include "event/event.h"

struct import_target;

/* \xNN stands for a byte but 0, which would end the name. In place. */
void import_frame_unescape(char *text);

/* The stack of a caller and a frame, whose text is changed; type: of one without a suffix. -ENOMEM. */
int import_frame_push(struct import_target *target, char *frame, enum event_frame_type type,
		      uint32_t *stack);

#endif
