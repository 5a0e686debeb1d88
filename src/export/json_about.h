/* SPDX-License-Identifier: MIT
 *
 * export/json_about.h - what is said about a trace, in formats that are JSON
 */
#ifndef EXPORT_JSON_ABOUT_H
#define EXPORT_JSON_ABOUT_H

struct account;
struct analysis;
struct analysis_ledger;
struct frame_name;
struct json_writer;
struct model;

/* Keys of an object that the caller has begun: by what it was written, what was recorded, when, and whether it is complete. */
void json_about_recording(struct json_writer *json, const struct analysis *analysis,
			  const char *version);

/* An array: the certificate of each clock, one a line. */
void json_about_clocks(struct json_writer *json, const struct model *model);

/* An array: what each collector could and could not do, one note a line. */
void json_about_collectors(struct json_writer *json, const struct model *model);

/* Keys of an object that the caller has begun: a device's time, and its idle time by cause. */
void json_about_account(struct json_writer *json, const struct account *account);

/* Keys of an object that the caller has begun: what became of the launches. */
void json_about_ledger(struct json_writer *json, const struct analysis_ledger *ledger);

/* An object: a function of a stack. */
void json_about_frame(struct json_writer *json, const struct frame_name *name);

#endif
