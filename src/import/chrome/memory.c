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
		       const struct chrome_number *value)
{
	struct event_counter row = {.begin = time, .end = time, .value = value->value};
	int error = 0;

	if (!value->is_known || value->value < 0)
		return 0;
	error = import_target_series(chrome->target, metric, "bytes", SERIES_LEVEL, device,
				     &row.series);
	return error ? error : import_target_counter(chrome->target, &row);
}

/* The device's number is that of PyTorch, which is the pid of the device in the file. Device -1 is
 * the host. */
int chrome_on_memory(struct chrome *chrome, const struct chrome_event *event)
{
	const struct chrome_arguments *arguments = &event->arguments;
	const uint64_t time = chrome_time(chrome, event->ts_ns.value);
	uint32_t device = 0;
	char pid[24];
	int error = 0;

	if (!arguments->allocated_bytes.is_known) {
		chrome->left_out++;
		return 0;
	}
	if (arguments->device_id.is_known && arguments->device_id.value >= 0 &&
	    arguments->device_type.value != 0) {
		snprintf(pid, sizeof(pid), "%" PRId64, arguments->device_id.value);
		error = chrome_device_of_pid(chrome, pid, &arguments->device_id, &device);
	}
	if (!error)
		error = write_value(chrome, "torch.allocated", device, time,
				    &arguments->allocated_bytes);
	if (!error && device)
		error = write_value(chrome, "torch.reserved", device, time,
				    &arguments->reserved_bytes);
	return error;
}
