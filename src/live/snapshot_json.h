/* SPDX-License-Identifier: MIT
 *
 * live/snapshot_json.h - write a snapshot as JSON
 */
#pragma once

struct json_writer;
struct live_snapshot;

/* Writes the members of an object, schema duet.top/1 (docs/schemas), without its brackets and
 * without "schema". The keys mean the same as in the document of duet report. */
void live_snapshot_write(const struct live_snapshot *snapshot, struct json_writer *json);
