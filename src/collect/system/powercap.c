/* SPDX-License-Identifier: MIT
 *
 * collect/system/powercap.c - /sys/class/powercap: energy of packages, cores and memory (RAPL)
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     microjoules; the counter wraps at a maximum
 * Gives:    differences
 * Owns:     a descriptor per domain
 * Fails:    since Linux 5.10 only root may read the counter; for other users the values are absent,
 *           which is noted
 * Why once a second: a read accesses the package's registers. The counter wraps after a minute at
 *           the earliest (2^32 units of 15 uJ at 1000 W), so slow reads lose nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "collect/counter/sensors.h"
#include "collect/system/formats.h"
#include "collect/system/sources.h"

#define FOLDER "/sys/class/powercap"
#define MAPPED "intel-rapl-mmio"

static const struct metric metrics[] = {{"power", "uJ",
					 "energy that one part of the machine used, such as a CPU "
					 "package or its memory (energy_uj)",
					 .kind = METRIC_TOTAL}};

/* "intel-rapl:0" is a package, "intel-rapl:0:1" a part of it, and "intel-rapl" neither.
 * "intel-rapl-mmio:0" is the same package through registers in memory. It has other limits, so it
 * keeps a name of its own. */
static void meet_domain(struct source_state *state, const struct tick *tick, const char *entry)
{
	const char *first = strchr(entry, ':'), *second = first ? strchr(first + 1, ':') : NULL;
	char parent[128], part[32], whole[32] = "", name[SERIES_NAME_BYTES];
	int fd;

	if (!first || strlen(entry) >= sizeof(parent))
		return;
	fd = tick_open(tick, "%s/%s/energy_uj", FOLDER, entry);
	if (fd < 0) {
		if (errno == EACCES)
			state->why = "energy_uj of /sys/class/powercap may be read by root only; "
				     "record as root, or let others read it (chmod a+r)";
		return;
	}
	sensor_text(tick, FOLDER, entry, "name", part, sizeof(part));
	if (second) {
		snprintf(parent, sizeof(parent), "%.*s", (int)(second - entry), entry);
		sensor_text(tick, FOLDER, parent, "name", whole, sizeof(whole));
	}
	snprintf(name, sizeof(name), "%.18s%s%.18s%s", whole, *whole ? "." : "", part,
		 strncmp(entry, MAPPED, strlen(MAPPED)) == 0 ? " mmio" : "");
	sensors_add(state, fd, name, sensor_number(tick, FOLDER, entry, "max_energy_range_uj"));
}

static bool open_domains(struct source_state *state, const struct tick *tick)
{
	return sensors_list(state, tick, FOLDER, "intel-rapl", meet_domain);
}

/* Adds the increase, also across the wrap. */
static bool add_energy(struct sensor *sensor, uint64_t now)
{
	bool went_back = sensor->has_last && now < sensor->last;

	if (went_back && (!sensor->number || sensor->last > sensor->number))
		sensor->has_last = false;
	if (sensor->has_last)
		sensor->total +=
			went_back ? sensor->number - sensor->last + now : now - sensor->last;
	sensor->last = now;
	sensor->has_last = true;
	return !(went_back && !sensor->number);
}

static uint64_t read_domain(struct source_state *state, struct tick *tick, size_t index,
			    uint64_t *values)
{
	struct sensor *sensor = &((struct sensors *)state->own)->all[index];
	uint64_t now;
	const bool is_valid =
		number_parse(tick->text, tick->length, &now) && add_energy(sensor, now);

	values[0] = sensor->total;
	return is_valid;
}

const struct source powercap_source = {
	.name = "power",
	.file = FOLDER,
	SOURCE_METRICS(metrics),
	.group = GROUP_SLOW,
	.max_instances = MAX_SENSORS,
	.own_bytes = sizeof(struct sensors),
	.open = open_domains,
	.read = sensors_read,
	.read_one = read_domain,
	.close = sensors_close,
};
