/* SPDX-License-Identifier: MIT
 *
 * export/registry.c - the table of exporters
 *
 * Runs in:  our own process
 * Gets:     nothing
 * Gives:    the exporters, in the order in which they are listed
 * Owns:     nothing
 * Fails:    never
 * Why an explicit table: it sets the order of `duet list formats`, and 18 formats need only 18
 *           lines. An exporter that is linked but has no row in this table cannot be used.
 */
#include "export/exporter.h"

#include <stddef.h>

#include "export/formats.h"

/* clang-format off */
const struct exporter *const exporters[] = {
	&export_text,
	&export_jsonl,
	&export_json,
	&export_csv,
	&export_sqlite,
	&export_perfetto,
	&export_chrome,
	&export_ctf,
	&export_folded,
	&export_svg,
	&export_speedscope,
	&export_pprof,
	&export_otlp,
	&export_otlp_metrics,
	&export_perf_script,
	&export_duet_pb,
	&export_iaprof,
	&export_rocpd,
	NULL,
};
/* clang-format on */
