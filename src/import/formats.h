/* SPDX-License-Identifier: MIT
 *
 * import/formats.h - the importers by name, for the registry
 */
#pragma once

#include "import/importer.h"

extern const struct importer import_folded, import_perf_script, import_chrome, import_iaprof,
	import_nsys, import_nvvp, import_perfetto, import_rocm_trace_lite, import_rocpd,
	import_rocprof_code, import_rocprof_compute, import_rocprof_db, import_rocprof_json,
	import_rocprofv3_csv, import_rocprofv3_json, import_rpd;
