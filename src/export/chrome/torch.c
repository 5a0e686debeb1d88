/* SPDX-License-Identifier: MIT
 *
 * export/chrome/torch.c - the names, categories and numbers by which programs that read PyTorch's
 * traces (HolisticTraceAnalysis, TraceLens) find calls, commands and devices
 *
 * Runs in:  our own process; pure functions
 * Gets:     rows of a model
 * Gives:    texts, numbers, members of the document
 * Owns:     nothing
 * Fails:    never; the JSON writer keeps errors
 * Why exact categories: both programs compare the whole text of "cat". PyTorch uses cuda_runtime
 *           for HIP too, so the word stands for the calls of any runtime.
 */
#include "export/chrome/torch.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/join/commands.h"
#include "analyze/model.h"
#include "base/array.h"
#include "base/json.h"

#define MAX_ORDINAL 1024
#define MAX_STREAM  INT32_MAX /* larger handles are addresses */

/* ---- calls ---- */

/* The category of a runtime's function; NULL: it is none. */
static const char *runtime_category(const char *function)
{
	static const struct {
		const char *prefix;
		bool is_upper; /* an upper-case letter follows */
		const char *category;
	} rows[] = {
		{"cuda", false, "cuda_runtime"}, {"hip", false, "cuda_runtime"},
		{"hsa_", false, "cuda_runtime"}, {"cu", true, "cuda_driver"},
		{"cl", true, "cuda_runtime"},    {"ze", true, "cuda_runtime"},
	};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		size_t length = strlen(rows[i].prefix);

		if (strncmp(function, rows[i].prefix, length) == 0 &&
		    (!rows[i].is_upper || isupper((unsigned char)function[length])))
			return rows[i].category;
	}
	return NULL;
}

const char *chrome_torch_call(const char *function, uint32_t type)
{
	const char *category = runtime_category(function);

	switch (type) {
	case API_TYPE_DUET:
		return "duet";
	case API_TYPE_OPERATOR:
		return "cpu_op";
	case API_TYPE_FUNCTION:
		return "python_function";
	case API_TYPE_OS:
		return "os";
	default:
		return category ? category : "api";
	}
}

const char *chrome_torch_launch(const char *function)
{
	const char *category = runtime_category(function);

	return category ? category : "cuda_runtime";
}

/* ---- commands ---- */

static const char *memory_name(uint32_t memory)
{
	static const char *const names[MEMORY_COUNT] = {[MEMORY_UNKNOWN] = "Unknown",
							[MEMORY_PAGEABLE] = "Pageable",
							[MEMORY_PINNED] = "Pinned",
							[MEMORY_DEVICE] = "Device",
							[MEMORY_MANAGED] = "Managed",
							[MEMORY_ARRAY] = "Array",
							[MEMORY_DEVICE_STATIC] = "Device Static"};

	return names[memory < MEMORY_COUNT ? memory : MEMORY_UNKNOWN];
}

static bool is_host(uint32_t memory)
{
	return memory == MEMORY_PAGEABLE || memory == MEMORY_PINNED;
}

static const char *copy_name(const struct event_execution *row, uint32_t type)
{
	if (type == COMMAND_WRITE)
		return "Memcpy HtoD";
	if (type == COMMAND_READ)
		return "Memcpy DtoH";
	if (is_host(row->source_memory) && is_host(row->destination_memory))
		return "Memcpy HtoH";
	if (row->source_device && row->destination_device &&
	    row->source_device != row->destination_device)
		return "Memcpy PtoP";
	return "Memcpy DtoD";
}

const char *chrome_torch_command(const struct model *model, const struct command *command,
				 char *buffer)
{
	const struct event_execution *row = command->execution;
	uint32_t type =
		command->launch ? analysis_launch_command(model, command->launch) : COMMAND_OTHER;
	bool is_copy = type == COMMAND_WRITE || type == COMMAND_READ || type == COMMAND_COPY;

	if (type == COMMAND_FILL && row->destination_memory)
		snprintf(buffer, CHROME_TORCH_NAME, "Memset (%s)",
			 memory_name(row->destination_memory));
	else if (is_copy && (row->source_memory || row->destination_memory))
		snprintf(buffer, CHROME_TORCH_NAME, "%s (%s -> %s)", copy_name(row, type),
			 memory_name(row->source_memory), memory_name(row->destination_memory));
	else if (is_copy)
		return copy_name(row, type);
	else
		return type == COMMAND_FILL ? "Memset" : command_name(model, command);
	return buffer;
}

/* ---- devices and streams ---- */

/* A text that is a number up to `most`; false: it is something else. */
static bool parse_number(const char *text, uint64_t most, uint64_t *ret_number)
{
	char *end;
	unsigned long long number = strtoull(text, &end, 10);

	if (!isdigit((unsigned char)*text) || *end || number > most)
		return false;
	*ret_number = number;
	return true;
}

static bool parse_ordinal(const struct model *model, const struct event_device *device,
			  uint64_t *ret_number)
{
	return parse_number(model_text(model, device->key_string, ""), MAX_ORDINAL, ret_number);
}

/* Whether the key of each device is an ordinal that no other device has. */
static bool has_ordinals(const struct model *model, const struct event_device *rows, size_t count)
{
	bool is_taken[MAX_ORDINAL + 1] = {false};
	uint64_t number;

	for (size_t i = 0; i < count; i++) {
		if (!parse_ordinal(model, &rows[i], &number) || is_taken[number])
			return false;
		is_taken[number] = true;
	}
	return true;
}

uint64_t chrome_torch_device(const struct model *model, const struct event_device *device)
{
	const struct event_device *rows = NULL;
	size_t count = model_entities(model, EVENT_DEVICE, &rows);
	uint64_t number = 0;

	if (has_ordinals(model, rows, count) && parse_ordinal(model, device, &number))
		return number;
	number = 0;
	for (size_t i = 0; i < count; i++) {
		bool is_cpu = rows[i].type == DEVICE_CPU;

		if (device->type == DEVICE_CPU)
			number += !is_cpu || rows[i].id < device->id;
		else
			number += !is_cpu && rows[i].id < device->id;
	}
	return number;
}

uint64_t chrome_torch_stream(const struct model *model, const struct event_queue *queue)
{
	const char *name = model_text(model, queue->name_string, "");
	uint64_t number;

	if (strncasecmp(name, "stream ", 7) == 0 && parse_number(name + 7, MAX_STREAM, &number))
		return number;
	return queue->handle && queue->handle <= MAX_STREAM ? queue->handle : queue->id;
}

/* ---- the document ---- */

static void put_device(struct json_writer *json, const struct model *model,
		       const struct event_device *device)
{
	json_newline(json);
	json_object_begin(json);
	json_pair_u64(json, "id", chrome_torch_device(model, device));
	json_pair_text(json, "name", model_text(model, device->name_string, ""));
	if (device->memory_bytes)
		json_pair_u64(json, "totalGlobalMem", device->memory_bytes);
	if (device->compute_units)
		json_pair_u64(json, "numSms", device->compute_units);
	if (device->local_bytes)
		json_pair_u64(json, "sharedMemPerBlock", device->local_bytes);
	json_object_end(json);
}

/* The only process with a rank; NULL: there is none, or there are several. */
static const struct event_process *find_rank(const struct model *model)
{
	const struct event_process *rows = NULL, *found = NULL;
	size_t count = model_entities(model, EVENT_PROCESS, &rows);

	for (size_t i = 0; i < count; i++) {
		if (rows[i].rank && found)
			return NULL;
		if (rows[i].rank)
			found = &rows[i];
	}
	return found;
}

/* HolisticTraceAnalysis finds the rank by a search for "rank": and a space in a line. */
static void put_rank(struct json_writer *json, const struct event_process *process)
{
	json_newline(json);
	json_key(json, "distributedInfo");
	json_object_begin(json);
	json_key(json, "rank");
	json_space(json);
	json_u64(json, process->rank - 1);
	if (process->rank_count)
		json_pair_u64(json, "world_size", process->rank_count);
	json_object_end(json);
}

void chrome_torch_document(struct json_writer *json, const struct model *model)
{
	const struct event_device *rows = NULL;
	size_t count = model_entities(model, EVENT_DEVICE, &rows);
	const struct event_process *process = find_rank(model);

	json_newline(json);
	json_key(json, "deviceProperties");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++)
		put_device(json, model, &rows[i]);
	json_array_end(json);
	if (process)
		put_rank(json, process);
}
