/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/part.h - the part of a recording that --range names
 */
#pragma once

#include <stdint.h>

struct model;

/* The window of a part, relative to the start of the recording. name: "NAME" or "NAME:N", the N-th
 * range of this name in the order of time, from 1 on; "iteration:N" the N-th iteration, and
 * "iteration" all of them. Errors: -ENOENT with a text in the error chain, -ENOMEM, those of the
 * reader. */
int compare_part_find(const struct model *model, const char *name, uint64_t *ret_from_ns,
		      uint64_t *ret_to_ns);
