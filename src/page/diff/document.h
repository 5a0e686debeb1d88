/* SPDX-License-Identifier: MIT
 *
 * page/diff/document.h - a page around one JSON document: a comparison or a history
 *
 * The page needs no network and no server. Its script reads the document; names become text, never
 * markup.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum document_page { PAGE_DIFF, PAGE_SERIES };

struct document_about {
	const char *version;
	/* PAGE_DIFF: divisors of the sums of both sides, and what they count: "run" or "iteration".
	 * NULL: none. */
	const char *per;
	uint64_t base_units, changed_units;
};

/* json: a document of schema duet.diff/1 or duet.series/1. Errors: -errno with a text. */
int document_page_write(enum document_page page, const struct document_about *about,
			const char *json, size_t size, FILE *file);
