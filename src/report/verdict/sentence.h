/* SPDX-License-Identifier: MIT
 *
 * report/verdict/sentence.h - sentences of the verdict and of findings, for text and JSON
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/format.h"

enum { SENTENCE_NAME = 120 }; /* bytes of a name in a sentence */

struct sentence {
	char text[1024];
	size_t length;
};

/* Appends to the sentence, as much as fits. */
__attribute__((format(printf, 2, 3))) void say(struct sentence *sentence, const char *format, ...);

/* "NAME (FILE:LINE)"; file NULL or line 0: not known. */
void say_place(struct sentence *sentence, const char *function, const char *file, uint32_t line);

/* Prints a text on stdout, wrapped between words to a width in columns. `first`: columns that are
 * used in the first line already; the others are indented. A word that is longer than a line is
 * cut. */
void sentence_put_wrapped(const char *text, size_t first, size_t indent, size_t width);
