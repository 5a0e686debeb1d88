/* SPDX-License-Identifier: MIT
 *
 * export/formats.h - the exporters by name, for the registry
 */
#ifndef EXPORT_FORMATS_H
#define EXPORT_FORMATS_H

#include "export/exporter.h"

extern const struct exporter export_text, export_jsonl, export_perfetto;

#endif
