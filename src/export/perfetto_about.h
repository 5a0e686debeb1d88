/* SPDX-License-Identifier: MIT
 *
 * export/perfetto_about.h - what is said about a trace: the recording, its ledger, its clocks
 */
#ifndef EXPORT_PERFETTO_ABOUT_H
#define EXPORT_PERFETTO_ABOUT_H

#include <stdbool.h>
#include <stdint.h>

struct analysis_ledger;
struct model;
struct order;
struct packets;

struct about {
	uint64_t window_begin_ns; /* of the recording */
	uint64_t begin_ns;        /* … or of the first row, where that is earlier */
	uint64_t end_ns;
	bool has_begin, has_end; /* whether anything tells them */
};

void about_window(struct about *about, const struct model *model, const struct order *order);

/* The same moment in all host clocks, at the begin and at the end. */
int about_write_begin(const struct about *about, const struct model *model,
		      struct packets *packets);
int about_write_end(const struct about *about, const struct model *model, struct packets *packets);

/* Instants on `track` at the begin: the recording with its ledger, a certificate for each clock, collectors that could
 * not run. Nothing where nobody knows when the begin was. */
int about_write(const struct about *about, const struct model *model, struct packets *packets,
		uint64_t track, const struct analysis_ledger *ledger);

#endif
