/* SPDX-License-Identifier: MIT
 *
 * import/chrome/scan.h - the first pass over a Chrome trace
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "import/chrome/collectives.h"
#include "import/chrome/names.h"
#include "import/chrome/slices.h"
#include "import/common/open_slices.h"

struct chrome_arrows;
struct chrome_launches;
struct import_source;
struct import_target;

struct chrome_scan {
	struct chrome_names names;
	struct chrome_slices *slices;
	struct chrome_launches *launches;
	struct chrome_arrows *arrows;
	struct chrome_collectives collectives;
	struct string_table rows; /* keys of threads: pid and tid */
	struct string_builder key, last_key;
	uint32_t last_row;   /* row of last_key */
	uint32_t *innermost; /* by id of a thread - 1: its stack of `open` */
	size_t innermost_capacity;
	struct open_slices open;   /* struct chrome_slice of B events without their E events */
	int64_t first_ns, last_ns; /* earliest and latest event; first_ns is at most 0 */
	int64_t least_ns;          /* earliest event; INT64_MAX: none */
	uint32_t events;
	bool has_owners; /* device commands name their process */
	bool is_cut;
};

/* Reads the whole source, and finds stacks and launches. Errors: those of chrome_file_read. */
int chrome_scan_read(struct chrome_scan *scan, struct import_source *source,
		     struct import_target *target);
/* Sets the clock of the file's times if it is known: UTC, from a base time or because they are
 * times of this century. Errors: those of import_target_clock. */
int chrome_scan_set_clock(const struct chrome_scan *scan, struct import_target *target);
void chrome_scan_fini(struct chrome_scan *scan);

/* Id of the thread of an event, new or known. *ret_is_new may be NULL. Errors: -ENOMEM. */
int chrome_scan_row(struct chrome_scan *scan, const struct chrome_event *event, uint32_t *ret_row);

/* The pid of the process that owns a command; 0: the file has none. */
int64_t chrome_owner_of(const struct chrome_event *event);
/* The pid of an event as a number; `otherwise` if it is none. */
uint32_t chrome_number_of(const char *text, uint32_t otherwise);
