/* SPDX-License-Identifier: MIT
 *
 * page/causes.h - the idle causes in the head of a page
 */
#pragma once

struct json_writer;

/* Writes the keys "causes" (names), "cause_texts" and "cause_colours" (on a light and on a dark
 * page), in the order of enum account_cause. */
void page_write_causes(struct json_writer *json);
