/* SPDX-License-Identifier: MIT
 *
 * export/otlp_common.h - what OpenTelemetry's profiles and metrics say alike: where, by whom, how complete
 */
#ifndef EXPORT_OTLP_COMMON_H
#define EXPORT_OTLP_COMMON_H

#include <stdint.h>

#include "export/exporter.h"

struct analysis;
struct protobuf;

/* A KeyValue in `field`; nothing for an empty text. */
void otlp_put_text(struct protobuf *message, unsigned int field, const char *key, const char *text);
void otlp_put_int(struct protobuf *message, unsigned int field, const char *key, int64_t value);
void otlp_put_bool(struct protobuf *message, unsigned int field, const char *key, bool value);

/* The Resource and the InstrumentationScope: the machine; duet, the command, the ledger and what is missing. */
void otlp_put_resource(struct protobuf *message, const struct analysis *analysis);
void otlp_put_scope(struct protobuf *message, const struct analysis *analysis,
		    const struct export_options *options);

#endif
