/* SPDX-License-Identifier: MIT
 *
 * flame/picture.h - a trace as a flame graph, for the exporters folded and svg
 */
#pragma once

#include "flame/drawing.h"

#define PICTURE_KINDS "total, gpu, idle, cpu, offcpu, launch, stall"

struct output_options;

struct picture {
	struct analysis *analysis;
	struct drawing drawing;
};

/* Checks that the option names one view, and no view with idle time together with --pid: idle time
 * belongs to a device. */
int picture_check(const struct output_options *options);

/* Draws the view that the option --kind names. Errors, with a text: -ENODATA if the trace has no
 * data for that view, -ENOMEM, errors of the reader. */
int picture_open(const struct model *model, const struct output_options *options,
		 struct picture *ret_picture);
void picture_close(struct picture *picture); /* accepts a half-built picture */
