/* SPDX-License-Identifier: MIT
 *
 * export/flame_picture.h - a trace as a flame graph, for the exporters that write one
 */
#ifndef EXPORT_FLAME_PICTURE_H
#define EXPORT_FLAME_PICTURE_H

#include "export/exporter.h"
#include "export/flame_drawing.h"

#define PICTURE_KINDS "total, gpu, idle, cpu, offcpu, launch, stall"

struct picture {
	struct analysis *analysis;
	struct drawing drawing;
};

/* One view, and with a process none that has idle time, which is a device's. */
int picture_check(const struct export_options *options);

/* Draws the view that is the options' kind. Errors: -ENODATA where the trace has nothing of that view, -ENOMEM, what
 * the reader fails with; with a text. */
int picture_open(const struct model *model, const struct export_options *options,
		 struct picture *ret_picture);
void picture_close(struct picture *picture); /* half-built-safe */

#endif
