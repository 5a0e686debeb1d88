/* SPDX-License-Identifier: MIT
 *
 * collect/device_choice.c - limits a recording to the rows of some devices
 *
 * Runs in:  the recorder
 * Gets:     names of devices, and all rows before they are written
 * Gives:    whether a row is written
 * Owns:     the ids of the devices, queues and counters that are left out
 * Fails:    device_choice_parse: a PCI address or node that does not exist. Without memory a row
 *           is written
 * Why here: no runtime can be asked to report only some devices, and a program's calls must be
 *           recorded in any case. All collectors write through one writer
 */
#include "collect/device_choice.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "collect/devices.h"
#include "trace/writer.h"

/* ---- names ----------------------------------------------------------------------------------- */

/* Whether it is a PCI address. Writes it as the kernel does; nvidia-smi has "00000000:1B:00.0". */
static bool make_address(char name[CHOSEN_DEVICE_BYTES])
{
	unsigned int domain, bus, slot, function;
	int end = 0;

	if (sscanf(name, "%8x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &end) != 4 ||
	    name[end])
		return false;
	snprintf(name, CHOSEN_DEVICE_BYTES, "%04x:%02x:%02x.%x", domain, bus, slot, function);
	return true;
}

/* "renderD128", "card0", also below /dev/dri */
static const char *node_of(const char *name)
{
	const char *node = strncmp(name, "/dev/dri/", 9) == 0 ? name + 9 : name;

	if (node != name)
		return node;
	return strncmp(name, "renderD", 7) == 0 || strncmp(name, "card", 4) == 0 ? node : NULL;
}

static int refuse_name(const char *name)
{
	return error_set(-ENODEV, "no device '%s'", name);
}

/* Replaces a node by its device's PCI address, and checks that an address exists. */
static int resolve(char name[CHOSEN_DEVICE_BYTES], const char *sysfs)
{
	const char *node = node_of(name);
	char path[PATH_MAX], target[PATH_MAX];
	ssize_t length;

	if (make_address(name)) {
		snprintf(path, sizeof(path), "%s/bus/pci/devices/%s", sysfs, name);
		return access(path, F_OK) ? refuse_name(name) : 0;
	}
	if (!node)
		return 0;
	snprintf(path, sizeof(path), "%s/class/drm/%s/device", sysfs, node);
	length = readlink(path, target, sizeof(target) - 1);
	if (length <= 0)
		return refuse_name(name);
	target[length] = '\0';
	snprintf(name, CHOSEN_DEVICE_BYTES, "%s", path_base(target));
	return 0;
}

int device_choice_parse(struct device_choice *choice, const char *list, const char *sysfs)
{
	const char *at = list, *word;
	size_t length;

	*choice = (struct device_choice){0};
	while ((word = word_list_next(&at, &length))) {
		char *name = choice->names[choice->count];
		int error;

		if (choice->count == MAX_CHOSEN_DEVICES)
			return error_set(-EINVAL, "at most %d devices", MAX_CHOSEN_DEVICES);
		if (!length || length >= CHOSEN_DEVICE_BYTES)
			return error_set(-EINVAL,
					 "'%s' is not a list of devices, such as 0000:03:00.0",
					 list);
		memcpy(name, word, length);
		error = resolve(name, sysfs);
		if (error)
			return error;
		choice->count++;
	}
	return choice->count ? 0 : error_set(-EINVAL, "the list of devices is empty");
}

void device_choice_fini(struct device_choice *choice)
{
	if (!choice)
		return;
	hash_map_fini(&choice->devices);
	hash_map_fini(&choice->left_queues);
	hash_map_fini(&choice->left_series);
	free(choice->series);
	choice->series = NULL;
	choice->series_count = choice->series_capacity = 0;
}

const char *device_choice_unmet(const struct device_choice *choice, size_t *index)
{
	for (; *index < choice->count; ++*index)
		if (!choice->is_met[*index])
			return choice->names[(*index)++];
	return NULL;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_name_of(const struct device_choice *choice, const char *name,
		       const struct event_device *row)
{
	const uint32_t text =
		trace_writer_find_string(choice->recording->writer, name, strlen(name));

	return devices_find(choice->recording, name) == row->id ||
	       (text && (text == row->key_string || text == row->name_string));
}

/* Series are described once, so those that were left out are written when their device is chosen.
 */
static void write_left_series(struct device_choice *choice, uint32_t device)
{
	const size_t count = choice->series_count;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		const struct event_series row = choice->series[i];

		if (row.device != device)
			choice->series[kept++] = row;
		else
			trace_writer_entity(choice->recording->writer, EVENT_SERIES, &row);
	}
	choice->series_count = kept;
}

/* A device that was described by a counter under another name may be chosen later, when a runtime
 * describes it. */
static bool choose_device(struct device_choice *choice, const struct event_device *row)
{
	const uint64_t *known = hash_map_find(&choice->devices, row->id);
	bool is_chosen = known && *known;

	for (size_t i = 0; i < choice->count; i++) {
		const bool is_named = is_name_of(choice, choice->names[i], row);

		choice->is_met[i] |= is_named;
		is_chosen |= is_named;
	}
	choice->has_cpu |= is_chosen && row->type == DEVICE_CPU;
	choice->left += !known && !is_chosen;
	choice->left -= known && !*known && is_chosen;
	hash_map_put(&choice->devices, row->id, is_chosen);
	if (is_chosen)
		write_left_series(choice, row->id);
	return is_chosen;
}

/* An unknown device is recorded: its description may come later. */
static bool has_device(const struct device_choice *choice, uint32_t device)
{
	return !device || hash_map_get(&choice->devices, device, 1);
}

/* Samples of a CPU device have the thread and no device. */
static bool has_sample(const struct device_choice *choice,
		       const struct event_instruction_sample *row)
{
	return row->device || !row->thread ? has_device(choice, row->device) : choice->has_cpu;
}

/* An entity of a device; remembers one that is left out. */
static bool has_entity(const struct device_choice *choice, uint32_t device, uint32_t id,
		       struct hash_map *left)
{
	const bool is_left = !has_device(choice, device);

	if (is_left)
		hash_map_put(left, id, 1);
	else
		hash_map_remove(left, id, NULL);
	return !is_left;
}

/* Without memory for the row, its series stays left out. */
static bool has_series(struct device_choice *choice, const struct event_series *row)
{
	if (has_entity(choice, row->device, row->id, &choice->left_series))
		return true;
	(void)array_append(choice->series, choice->series_capacity, choice->series_count, *row);
	return false;
}

bool device_choice_has(void *context, enum event_kind kind, const void *row)
{
	struct device_choice *choice = context;
	const struct event_queue *queue = row;

	switch (kind) {
	case EVENT_DEVICE:
		return choose_device(choice, row);
	case EVENT_QUEUE:
		return has_entity(choice, queue->device, queue->id, &choice->left_queues);
	case EVENT_SERIES:
		return has_series(choice, row);
	case EVENT_LAUNCH:
		return !hash_map_find(&choice->left_queues,
				      ((const struct event_launch *)row)->queue);
	case EVENT_EXECUTION:
		return !hash_map_find(&choice->left_queues,
				      ((const struct event_execution *)row)->queue);
	case EVENT_COUNTER:
		return !hash_map_find(&choice->left_series,
				      ((const struct event_counter *)row)->series);
	case EVENT_INSTRUCTION_SAMPLE:
		return has_sample(choice, row);
	default:
		return true;
	}
}
