/* SPDX-License-Identifier: MIT
 *
 * analyze/output_options.h - which part of a trace an export, a flame graph or a page contains
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct output_options {
	bool has_from, has_to;
	uint64_t from_ns, to_ns; /* relative to the start of the recording; [from, to) */
	const char *kinds;       /* "api,started": see exporter_check_kinds; NULL: all */
	const char *event;       /* only CPU samples of this event; NULL: all */
	uint64_t pid;            /* 0: all */
	const char *archive;     /* directory of symbol files kept with the trace; NULL: none */
	const char *version;     /* duet's version */
	bool may_download;       /* may query the debuginfod servers in DEBUGINFOD_URLS */
	bool has_no_times;
	bool is_absolute; /* times are CLOCK_MONOTONIC ns instead of relative to the start of the
			     recording */
	/* Called with one line per kind of data in this trace that the format cannot express; may
	 * be NULL. */
	void (*on_note)(const char *line);
};
