/* SPDX-License-Identifier: MIT
 *
 * import/nsys/devices.c - GPUs of a file of Nsight Systems
 *
 * Runs in:  our own process
 * Gets:     a process and the number of a device in it
 * Gives:    devices of the trace with name, UUID and sizes
 * Owns:     nothing
 * Fails:    -ENOMEM; -EBADMSG of SQLite
 * Why per process: CUDA numbers the devices of each process from 0. Two processes with a device 0
 *           share it only if the file says so.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "event/event.h"
#include "import/nsys/import.h"
#include "import/target.h"

enum { CUDA_DEVICE_GPU, CUDA_DEVICE_CUDA, CUDA_DEVICE_PID, CUDA_DEVICE_UUID, CUDA_DEVICE_UNITS };
static const char *const cuda_device_columns[] = {
	"gpuId", "cudaId", "pid", "uuid", "numMultiprocessors",
};
enum { GPU_NAME, GPU_ID, GPU_DEVICE, GPU_CUDA, GPU_UUID, GPU_BUS, GPU_MEMORY, GPU_UNITS };
static const char *const gpu_columns[] = {
	"name", "id", "deviceId", "cuDevice", "uuid", "busLocation", "totalMemory", "smCount",
};

struct gpu_search {
	struct nsys *nsys;
	uint32_t pid;
	int64_t device;
	int64_t gpu; /* id in TARGET_INFO_GPU; -1: not known */
	struct event_device row;
	char key[64], name[128];
	bool has_uuid;     /* key is the UUID of the whole GPU */
	char own_uuid[64]; /* that of CUDA's device; "": not known */
	uint32_t own_units;
};

static int on_cuda_device(void *context, const struct sqlite_cursor *row)
{
	struct gpu_search *search = context;
	const int64_t pid = sqlite_cursor_number(row, CUDA_DEVICE_PID) & 0xffffff;

	if (pid == search->pid && sqlite_cursor_number(row, CUDA_DEVICE_CUDA) == search->device) {
		search->gpu = sqlite_cursor_number(row, CUDA_DEVICE_GPU);
		snprintf(search->own_uuid, sizeof(search->own_uuid), "%s",
			 sqlite_cursor_text(row, CUDA_DEVICE_UUID));
		search->own_units = (uint32_t)sqlite_cursor_number(row, CUDA_DEVICE_UNITS);
	}
	return 0;
}

static bool is_uuid(const char *text)
{
	return text[strspn(text, "0-")] != '\0';
}

static int on_gpu(void *context, const struct sqlite_cursor *row)
{
	struct gpu_search *search = context;
	const size_t column = sqlite_cursor_has(row, GPU_ID) ? GPU_ID : GPU_DEVICE;
	const bool is_mapped = search->gpu >= 0 || !sqlite_cursor_has(row, GPU_CUDA);
	const int64_t wanted = search->gpu >= 0 ? search->gpu : search->device;
	const char *uuid = sqlite_cursor_text(row, GPU_UUID);
	const char *bus = sqlite_cursor_text(row, GPU_BUS);

	if (!sqlite_cursor_has(row, is_mapped ? column : GPU_CUDA) ||
	    sqlite_cursor_number(row, is_mapped ? column : GPU_CUDA) != wanted)
		return 0;
	/* devices of other vendors have the number 0, too */
	if (*search->name && !is_uuid(uuid))
		return 0;
	snprintf(search->name, sizeof(search->name), "%s", sqlite_cursor_text(row, GPU_NAME));
	if (!*search->key || is_uuid(uuid))
		snprintf(search->key, sizeof(search->key), "%s", is_uuid(uuid) ? uuid : bus);
	search->has_uuid |= is_uuid(uuid);
	search->row.memory_bytes = (uint64_t)sqlite_cursor_number(row, GPU_MEMORY);
	search->row.compute_units = (uint32_t)sqlite_cursor_number(row, GPU_UNITS);
	return 0;
}

static int find_gpu(struct gpu_search *search)
{
	static const struct sqlite_query cuda_devices = {"TARGET_INFO_CUDA_DEVICE",
							 SQLITE_COLUMNS(cuda_device_columns, 3)};
	static const struct sqlite_query gpus = {"TARGET_INFO_GPU", SQLITE_COLUMNS(gpu_columns, 1)};
	int error = nsys_each_row(search->nsys, &cuda_devices, on_cuda_device, search);

	return error ? error : nsys_each_row(search->nsys, &gpus, on_gpu, search);
}

static int next_digit(const char **text)
{
	while (**text && !isxdigit((unsigned char)**text))
		++*text;
	return **text ? tolower((unsigned char)*(*text)++) : 0;
}

/* The tables may spell one UUID in two ways: "GPU-" in front, capitals, no hyphens. */
static bool is_same_uuid(const char *uuid, const char *other)
{
	int digit;

	do {
		digit = next_digit(&uuid);
		if (digit != next_digit(&other))
			return false;
	} while (digit);
	return true;
}

/* A slice of a GPU (MIG) is a device of CUDA with a UUID of its own. */
static bool is_slice(const struct gpu_search *search)
{
	return search->has_uuid && is_uuid(search->own_uuid) &&
	       !is_same_uuid(search->own_uuid, search->key);
}

/* Makes the whole GPU, and turns the search's device into a slice of it. */
static int split_device(struct gpu_search *search)
{
	const size_t length = strlen(search->name);
	int error = import_target_describe_device(search->nsys->target, search->key, search->name,
						  &search->row, &search->row.parent);

	snprintf(search->key, sizeof(search->key), "%s", search->own_uuid);
	snprintf(search->name + length, sizeof(search->name) - length, " MIG");
	search->row.memory_bytes = 0;
	search->row.compute_units = search->own_units;
	return error;
}

static int make_device(struct nsys *nsys, uint64_t global, int64_t device, uint32_t *ret_device)
{
	struct gpu_search search = {.nsys = nsys,
				    .pid = (uint32_t)(global >> 24) & 0xffffff,
				    .device = device,
				    .gpu = -1,
				    .row.type = DEVICE_GPU};
	int error = find_gpu(&search);

	if (!search.has_uuid && is_uuid(search.own_uuid))
		snprintf(search.key, sizeof(search.key), "%s", search.own_uuid);
	if (!*search.key)
		snprintf(search.key, sizeof(search.key), "process %u, GPU %" PRId64, search.pid,
			 device);
	if (!*search.name)
		snprintf(search.name, sizeof(search.name), "GPU %" PRId64, device);
	if (!error)
		error = import_target_text(nsys->target, "NVIDIA", &search.row.vendor_string);
	if (!error && is_slice(&search))
		error = split_device(&search);
	return error ? error
		     : import_target_describe_device(nsys->target, search.key, search.name,
						     &search.row, ret_device);
}

int nsys_machine_device(struct nsys *nsys, uint64_t global, int64_t device, uint32_t *ret_device)
{
	struct nsys_machine *machine = &nsys->machine;
	const int64_t key[] = {(int64_t)(global >> 24), device};
	const uint32_t id = string_table_add(&machine->device_keys, key, sizeof(key));
	int error = 0;

	if (!id || array_grow(machine->devices, machine->devices_capacity, id))
		return -ENOMEM;
	if (!machine->devices[id - 1])
		error = make_device(nsys, global, device, &machine->devices[id - 1]);
	*ret_device = machine->devices[id - 1];
	return error;
}
