/* SPDX-License-Identifier: MIT
 *
 * import/chrome/memory.c - the memory of PyTorch's allocators in a Chrome trace
 *
 * Runs in:  our own process
 * Gets:     instants "[memory]", in the second pass
 * Gives:    counters of devices
 * Owns:     nothing
 * Fails:    -ENOMEM, -errno of a write
 */
#include <inttypes.h>
#include <stdio.h>

#include "import/chrome/private.h"
#include "import/target.h"

static int write_value(struct chrome *chrome, const char *metric, uint32_t device, uint64_t time,
		       const struct json_integer *value)
{
	struct event_counter row = {.begin = time, .end = time, .value = value->value};
	int error = 0;

	if (!value->is_known || value->value < 0)
		return 0;
	error = import_target_series(chrome->target, metric, "bytes", SERIES_LEVEL, device,
				     &row.series);
	return error ? error : import_target_counter(chrome->target, &row);
}

/* The device of an allocator. Its number is that of PyTorch. The pids of devices are the same
 * numbers with CUDA; with ROCm they count from another base. *ret_device: 0 if it is not known. */
static int find_device(struct chrome *chrome, const struct json_integer *id, uint32_t *ret_device)
{
	struct chrome_names *names = &chrome->scan.names;
	const char *only = names->only_device;
	char pid[24];

	snprintf(pid, sizeof(pid), "%" PRId64, id->value);
	if (only)
		return chrome_device_of_pid(chrome, only, id, ret_device);
	*ret_device = 0;
	return chrome_names_row(names, pid, "")->has_commands
		       ? chrome_device_of_pid(chrome, pid, id, ret_device)
		       : 0;
}

int chrome_on_memory(struct chrome *chrome, const struct chrome_event *event)
{
	const struct chrome_arguments *arguments = &event->arguments;
	const uint64_t time = chrome_time(chrome, event->ts_ns.value);
	const bool is_host = arguments->device_type.value == 0 || arguments->device_id.value < 0;
	uint32_t device = 0;
	int error;

	if (!arguments->allocated_bytes.is_known) {
		chrome->left_out++;
		return 0;
	}
	if (is_host)
		return write_value(chrome, "torch.host.allocated", 0, time,
				   &arguments->allocated_bytes);
	error = find_device(chrome, &arguments->device_id, &device);
	if (!error)
		error = write_value(chrome, "torch.allocated", device, time,
				    &arguments->allocated_bytes);
	return error ? error
		     : write_value(chrome, "torch.reserved", device, time,
				   &arguments->reserved_bytes);
}
