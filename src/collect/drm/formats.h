/* SPDX-License-Identifier: MIT
 *
 * collect/drm/formats.h - parses files of DRM drivers that contain more than one number
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parses pp_dpm_sclk and similar files: one line per level, "1: 1200Mhz *". The line with the star
 * is current; MHz. False: no line has one. */
bool dpm_parse(const char *text, size_t length, uint64_t *ret_mhz);

/* An event of a driver's PMU, from its folder below /sys/bus/event_source/devices: the words
 * config, config1 and config2 of perf_event_attr. */
enum { EVENT_WORDS = 3 };

/* Parses events/NAME: "event=0x02", "config=0x1000". */
bool event_parse(const char *text, size_t length, uint64_t *ret_config);

/* Parses format/NAME: "config:20-27", "config1:0". */
struct event_field {
	uint8_t word, low, high;
};
bool event_field_parse(const char *text, size_t length, struct event_field *ret_field);
/* Puts a value into its bits of words. False: the value does not fit, or the field is invalid. */
bool event_field_put(const struct event_field *field, uint64_t value, uint64_t words[EVENT_WORDS]);
