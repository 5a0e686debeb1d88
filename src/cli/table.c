/* SPDX-License-Identifier: MIT
 *
 * cli/table.c - numbers and columns for people
 *
 * Runs in:  our own process
 * Gets:     nanoseconds, bytes, counts and names   Gives: cells on stdout
 * Owns:     nothing
 * Fails:    never; whether stdout arrived is finish_output's question
 * Why:      names come from the recorded program: they are cut to their column, and what a terminal
 *           would obey does not reach it. Columns are counted in code points, because the unit
 *           of 1 us has one that takes two bytes.
 */
#include "cli/table.h"

#include <stdio.h>
#include <string.h>

#include "analyze/model.h"
#include "base/string.h"
#include "trace/reader.h"

struct number format_date(const struct model *model, uint64_t host_ns)
{
	struct number number = {""};
	uint64_t realtime_ns;

	return model_wall_clock(model, host_ns, &realtime_ns) ? format_realtime(realtime_ns)
							      : number;
}

struct number format_damaged_rows(const struct trace_damage *damage)
{
	struct number number = {"not known"};

	return damage->chunks && !damage->rows ? number : format_count(damage->rows);
}

size_t table_width(const char *text)
{
	size_t width = 0, left = strlen(text);

	for (; left; width++) {
		int length = utf8_printable(text, left);
		size_t taken = (size_t)(length > 0 ? length : -length);

		text += taken;
		left -= taken;
	}
	return width;
}

void table_put_text(const char *text, size_t limit)
{
	size_t width = table_width(text), shown = 0, left = strlen(text);

	while (left) {
		int length = utf8_printable(text, left);
		size_t taken = (size_t)(length > 0 ? length : -length);

		if (++shown == limit && width > limit) {
			fputs("…", stdout);
			return;
		}
		if (length > 0)
			fwrite(text, 1, taken, stdout);
		else
			putchar('?');
		text += taken;
		left -= taken;
	}
}

/* Left-aligned and cut to width. */
void table_put_left(const char *text, size_t width)
{
	size_t used = table_width(text);

	table_put_text(text, width);
	for (; used < width; used++)
		putchar(' ');
}

void table_put_right(const char *text, size_t width)
{
	for (size_t used = table_width(text); used < width; used++)
		putchar(' ');
	table_put_text(text, SIZE_MAX);
}

void table_put_title(const char *title, size_t width, const char *const *columns)
{
	putchar('\n');
	table_put_left(title, width);
	for (; *columns; columns++)
		table_put_right(*columns, TABLE_CELL);
	putchar('\n');
}

void table_put_name(const char *name, size_t width)
{
	fputs("  ", stdout);
	table_put_left(name, width - 2);
}

void table_put_cell(struct number number)
{
	table_put_right(number.text, TABLE_CELL);
}

void table_put_rest(size_t shown, size_t all, const char *one, const char *many)
{
	if (shown < all)
		printf("  … %zu more %s (--top 0 shows all)\n", all - shown,
		       table_noun(all - shown, one, many));
}
