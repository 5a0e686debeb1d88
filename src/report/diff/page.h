/* SPDX-License-Identifier: MIT
 *
 * report/diff/page.h - a comparison as JSON for the page with two timelines
 */
#pragma once

struct diff_report;
struct json_writer;

/* Writes one object, as docs/design/view.md, "Two runs", describes it. */
void diff_write_page(const struct diff_report *report, struct json_writer *json);
