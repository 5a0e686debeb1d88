/* SPDX-License-Identifier: MIT
 *
 * export/formats.h - the exporters by name, for the registry
 */
#pragma once

#include "export/exporter.h"

extern const struct exporter export_text, export_jsonl, export_perfetto, export_chrome, export_ctf,
	export_duet_pb;
extern const struct exporter export_folded, export_svg, export_pprof, export_speedscope,
	export_perf_script, export_csv, export_json, export_sqlite, export_otlp,
	export_otlp_metrics, export_iaprof, export_rocpd;
