/* SPDX-License-Identifier: MIT
 *
 * collect/drm/formats.h - files of DRM drivers that are more than one number
 */
#ifndef COLLECT_DRM_FORMATS_H
#define COLLECT_DRM_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* pp_dpm_sclk and its kin: a line for each level, "1: 1200Mhz *"; that with the star is taken, MHz. False: none has. */
bool dpm_parse(const char *text, size_t length, uint64_t *ret_mhz);

/* An event of a driver's PMU, as its folder below /sys/bus/event_source/devices says it: perf_event_attr's config, config1
 * and config2. */
enum { EVENT_WORDS = 3 };

/* events/NAME: "event=0x02", "config=0x1000". */
bool event_parse(const char *text, size_t length, uint64_t *ret_config);

/* format/NAME: "config:20-27", "config1:0". */
struct event_field {
	uint8_t word, low, high;
};
bool event_field_parse(const char *text, size_t length, struct event_field *ret_field);
/* False: the value has more bits than the field, or the field is no such. */
bool event_field_put(const struct event_field *field, uint64_t value, uint64_t words[EVENT_WORDS]);

#endif
