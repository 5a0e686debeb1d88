/* SPDX-License-Identifier: MIT
 *
 * export/perfetto/about.h - describe the recording in a Perfetto trace: completeness, ledger,
 * clocks
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct analysis_ledger;
struct model;
struct order;
struct packets;

struct about {
	uint64_t window_begin_ns; /* start of the recording */
	uint64_t begin_ns;        /* the same, or the first row if that is earlier */
	uint64_t end_ns;
	bool has_begin, has_end; /* the trace contains these times */
};

void about_window(struct about *about, const struct model *model, const struct order *order);

/* The start in CLOCK_MONOTONIC and in CLOCK_BOOTTIME. */
void about_boottime(const struct about *about, const struct model *model, uint64_t *ret_host_ns,
		    uint64_t *ret_boot_ns);

/* Write one moment in all host clocks, at the start and at the end. */
int about_write_begin(const struct about *about, const struct model *model,
		      struct packets *packets);
int about_write_end(const struct about *about, const struct model *model, struct packets *packets);

/* Writes instants on `track` at the start: the recording with its ledger, a certificate for each
 * clock, collectors that could not run. Writes nothing if the start time is unknown. */
int about_write(const struct about *about, const struct model *model, struct packets *packets,
		uint64_t track, const struct analysis_ledger *ledger);
