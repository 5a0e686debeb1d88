/* SPDX-License-Identifier: MIT
 *
 * analyze/text/row_names.h - names of devices, queues and series in a timeline
 */
#pragma once

#include "event/event.h"

struct model;
struct string_builder;

/* "GPU Radeon VII"; row NULL: "[unknown device]". */
void row_name_device(const struct model *model, const struct event_device *row,
		     struct string_builder *name);

/* "queue 3 of process 1001"; row NULL: "[unknown queue]". */
void row_name_queue(const struct model *model, const struct event_queue *row,
		    struct string_builder *name);

/* The metric and its instance: "disk.read nvme0n1", "cpu.busy cpu 3"; row NULL: "[unknown
 * metric]". */
void row_name_series(const struct model *model, const struct event_series *row,
		     struct string_builder *name);
