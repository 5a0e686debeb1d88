/* SPDX-License-Identifier: MIT
 *
 * export/otlp/common.h - the messages that OpenTelemetry's profiles and metrics have in common:
 * machine, tool, completeness
 */
#pragma once

#include <stdint.h>

#include "export/exporter.h"

/* Version of the protocol. Profiles are v1development: a later version may move their fields. */
#define OTLP_VERSION "1.11.0"

struct analysis;
struct protobuf;

/* Write a KeyValue in `field`; an empty text is left out. */
void otlp_put_text(struct protobuf *message, unsigned int field, const char *key, const char *text);
void otlp_put_int(struct protobuf *message, unsigned int field, const char *key, int64_t number);

/* The Resource (the machine) and the InstrumentationScope (duet, the command, the ledger,
 * losses). */
void otlp_put_resource(struct protobuf *message, const struct analysis *analysis);
void otlp_put_scope(struct protobuf *message, const struct analysis *analysis,
		    const struct output_options *options);
