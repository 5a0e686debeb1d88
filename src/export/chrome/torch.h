/* SPDX-License-Identifier: MIT
 *
 * export/chrome/torch.h - the names, categories and numbers by which programs that read PyTorch's
 * traces (HolisticTraceAnalysis, TraceLens) find calls, commands and devices
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"

struct command;
struct json_writer;
struct model;

/* The category of a call that is not a launch; waits and calls of a runtime have the same. */
const char *chrome_torch_call(const char *function, uint32_t type);
const char *chrome_torch_launch(const char *function);

#define CHROME_TORCH_NAME 96
/* "Memcpy HtoD (Pageable -> Device)", "Memset (Device)", otherwise the command's own name. buffer:
 * CHROME_TORCH_NAME bytes. */
const char *chrome_torch_command(const struct model *model, const struct command *command,
				 char *buffer);

/* The number of a device, which no other device has: its ordinal in the program if the trace has
 * those of all devices, otherwise its index among the trace's devices, CPU devices last. */
uint64_t chrome_torch_device(const struct model *model, const struct event_device *device);

/* The number of a stream: that of its runtime, otherwise the queue's id. */
uint64_t chrome_torch_stream(const struct model *model, const struct event_queue *queue);

/* Writes the keys deviceProperties and, if the trace has the rank of one process, distributedInfo.
 */
void chrome_torch_document(struct json_writer *json, const struct model *model);
