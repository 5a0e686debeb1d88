/* SPDX-License-Identifier: MIT
 *
 * import/nvvp/counters.c - clocks, power and temperature of devices
 *
 * Runs in:  our own process
 * Gets:     ENVIRONMENT
 * Gives:    counters
 * Owns:     nothing
 * Fails:    -ENOMEM; -EBADMSG of SQLite, or with the table and the row
 * Why from bytes: the column `data` is CUPTI's union of five 32-bit numbers
 */
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "event/event.h"
#include "import/nvvp/import.h"
#include "import/target.h"

enum { ENVIRONMENT_TIME, ENVIRONMENT_DEVICE, ENVIRONMENT_KIND, ENVIRONMENT_DATA };
static const char *const columns[] = {"timestamp", "deviceId", "environmentKind", "data"};

/* A number of the union; the metrics are those of a live recording. */
static const struct reading {
	uint32_t kind, index; /* CUpti_ActivityEnvironmentKind, number of the word */
	const char *metric, *unit;
	int64_t factor;
	int64_t of; /* not 0: a ratio */
} readings[] = {
	{1, 0, "gpu.clock", "Hz", 1000000, 0},    {1, 1, "gpu.clock.memory", "Hz", 1000000, 0},
	{2, 0, "gpu.temperature", "mC", 1000, 0}, {3, 0, "gpu.power", "mW", 1, 0},
	{4, 0, "gpu.fan", "events", 1, 100},
};

static int write_reading(struct nvvp *nvvp, const struct reading *reading, const uint8_t *data,
			 uint32_t device, uint64_t time)
{
	struct event_counter row = {.begin = time, .end = time, .of = (uint64_t)reading->of};
	struct event_series series = {.type = reading->of ? SERIES_RATIO : SERIES_LEVEL,
				      .device = device};
	uint32_t words[2];
	int error;

	memcpy(words, data, sizeof(words));
	row.value = (int64_t)words[reading->index] * reading->factor;
	if (reading->kind == 3)
		series.limit = words[1];
	error = import_target_describe_series(nvvp->target, reading->metric, reading->unit, &series,
					      &row.series);
	return error ? error : import_target_counter(nvvp->target, &row);
}

static int on_environment(void *context, const struct sqlite_cursor *row)
{
	struct nvvp *nvvp = context;
	const int64_t kind = sqlite_cursor_number(row, ENVIRONMENT_KIND);
	int64_t time, number;
	uint32_t device;
	size_t size;
	const uint8_t *data = sqlite_cursor_bytes(row, ENVIRONMENT_DATA, &size);
	int error = sqlite_cursor_take_number(row, ENVIRONMENT_TIME, "a time", 0, INT64_MAX, &time);

	if (!error)
		error = sqlite_cursor_take_number(row, ENVIRONMENT_DEVICE, "a device", 0,
						  UINT32_MAX, &number);
	if (!error && size < 2 * sizeof(uint32_t))
		error = error_set(-EBADMSG,
				  "table %s: expected at least 8 bytes of data, found %zu",
				  row->table, size);
	if (!error)
		error = nvvp_machine_device(nvvp, number, &device);
	for (size_t i = 0; i < ARRAY_COUNT(readings) && !error; i++)
		if (readings[i].kind == kind)
			error = write_reading(nvvp, &readings[i], data, device, (uint64_t)time);
	nvvp->rows += !error;
	return error;
}

int nvvp_read_counters(struct nvvp *nvvp)
{
	static const struct sqlite_query query = {"CUPTI_ACTIVITY_KIND_ENVIRONMENT",
						  SQLITE_COLUMNS(columns, 4), NULL, "timestamp"};

	return nvvp_each_row(nvvp, &query, on_environment, nvvp);
}
