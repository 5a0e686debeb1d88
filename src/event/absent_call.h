/* SPDX-License-Identifier: MIT
 *
 * event/absent_call.h - the function of a launch that an importer added to a command without a call
 */
#pragma once

#define ABSENT_CALL "(not in the file)"
