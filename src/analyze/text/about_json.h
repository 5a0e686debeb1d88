/* SPDX-License-Identifier: MIT
 *
 * analyze/text/about_json.h - writes the description of a recording into JSON formats
 */
#pragma once

struct account;
struct analysis;
struct analysis_ledger;
struct frame_name;
struct json_writer;
struct model;

/* Writes into the caller's open object: duet's version, the recorded command, the times, and
 * whether the trace is complete. */
void json_about_recording(struct json_writer *json, const struct analysis *analysis,
			  const char *version);

/* Writes an array: the certificate of each clock, one per line. */
void json_about_clocks(struct json_writer *json, const struct model *model);

/* Writes an array: the notes of the collectors about what they recorded, one per line. */
void json_about_collectors(struct json_writer *json, const struct model *model);

/* Writes into the caller's open object: a device's busy time by class and idle time by cause. */
void json_about_account(struct json_writer *json, const struct account *account);

/* Writes into the caller's open object: the outcomes of the launches. */
void json_about_ledger(struct json_writer *json, const struct analysis_ledger *ledger);

/* Writes an object: function, file and line of a frame. */
void json_about_frame(struct json_writer *json, const struct frame_name *name);
