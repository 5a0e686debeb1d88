/* SPDX-License-Identifier: MIT
 *
 * import/chrome/join/arrows.h - arrows from calls to commands in the Chrome traces of rpd2tracing
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct chrome_arrows;
struct chrome_launches;
struct chrome_slice;

/* A place in a row of the file. */
struct arrow_place {
	uint32_t row; /* id of a thread or queue */
	int64_t ts_ns;
};

int chrome_arrows_new(struct chrome_arrows **ret_arrows);
void chrome_arrows_free(struct chrome_arrows *arrows); /* NULL-safe */

/* In any order. Errors: as for record_sort_add. */
int chrome_arrows_add_end(struct chrome_arrows *arrows, int64_t id, bool is_target,
			  const struct arrow_place *place);
/* number: the event's. */
int chrome_arrows_add_command(struct chrome_arrows *arrows, const struct arrow_place *place,
			      uint32_t number);

/* After the last end and command. Calls and commands go to `launches`. */
int chrome_arrows_start(struct chrome_arrows *arrows, struct chrome_launches *launches);

/* After the start, row by row and in the order of the begins. */
int chrome_arrows_pass_call(struct chrome_arrows *arrows, const struct chrome_slice *slice,
			    uint32_t stack, uint32_t collective);

/* After the last call. */
int chrome_arrows_finish(struct chrome_arrows *arrows);
