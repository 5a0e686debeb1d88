/* SPDX-License-Identifier: MIT
 *
 * tests/unit/ui/test_canvas.c - texts and bars in cells
 */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "ui/canvas.h"

/* The rows of a canvas, without blanks at their ends. */
static char *text_of(const struct canvas *canvas)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	canvas_print(canvas, file);
	fclose(file);
	return text;
}

static void check_text(const struct canvas *canvas, const char *want)
{
	char *text = text_of(canvas);

	CHECK_TEXT(text, want);
	free(text);
}

TEST(long_text_is_cut_and_marked)
{
	struct canvas canvas;

	CHECK_EQUAL(canvas_init(&canvas, 2, 10, false), 0);
	CHECK_EQUAL(canvas_put(&canvas, 0, 0, 5, STYLE_PLAIN, "abcdefgh"), 5);
	CHECK_EQUAL(canvas_put(&canvas, 1, 2, 5, STYLE_PLAIN, "ab"), 2);
	check_text(&canvas, "abcd…\n  ab\n");
	canvas_fini(&canvas);
}

TEST(ascii_replaces_other_characters)
{
	struct canvas canvas;
	const struct canvas_part parts[] = {{0.5, STYLE_KERNEL}, {0.25, STYLE_COPY}};

	CHECK_EQUAL(canvas_init(&canvas, 2, 10, true), 0);
	canvas_put(&canvas, 0, 0, 4, STYLE_PLAIN, "aµ…€");
	canvas_put_bar(&canvas, 1, 0, 8, parts, 2);
	check_text(&canvas, "au~?\n####==..\n");
	canvas_fini(&canvas);
}

TEST(numbers_end_at_the_right)
{
	struct canvas canvas;

	CHECK_EQUAL(canvas_init(&canvas, 1, 8, false), 0);
	canvas_put_right(&canvas, 0, 1, 6, STYLE_PLAIN, "12 %");
	check_text(&canvas, "   12 %\n");
	canvas_fini(&canvas);
}

TEST(bars_show_half_a_percent_and_no_less)
{
	const struct canvas_part little = {0.006, STYLE_KERNEL}, less = {0.001, STYLE_KERNEL};
	const struct canvas_part all[] = {{0.9, STYLE_KERNEL}, {0.9, STYLE_COPY}};
	struct canvas canvas;

	CHECK_EQUAL(canvas_init(&canvas, 3, 4, false), 0);
	canvas_put_bar(&canvas, 0, 0, 4, &little, 1);
	canvas_put_bar(&canvas, 1, 0, 4, &less, 1);
	canvas_put_bar(&canvas, 2, 0, 4, all, 2);
	check_text(&canvas, "█···\n····\n████\n");
	canvas_fini(&canvas);
}

TEST(what_lies_outside_is_not_drawn)
{
	struct canvas canvas;

	CHECK_EQUAL(canvas_init(&canvas, 1, 4, false), 0);
	canvas_put(&canvas, 0, 2, 9, STYLE_PLAIN, "abcdef");
	canvas_put(&canvas, 1, 0, 4, STYLE_PLAIN, "below");
	canvas_put(&canvas, -1, 0, 4, STYLE_PLAIN, "above");
	canvas_put(&canvas, 0, 0, 0, STYLE_PLAIN, "no room");
	canvas_paint(&canvas, 0, -3, 20, STYLE_TITLE);
	check_text(&canvas, "  ab\n");
	canvas_fini(&canvas);
}

TEST(control_characters_are_not_passed_on)
{
	struct canvas canvas;

	CHECK_EQUAL(canvas_init(&canvas, 1, 8, false), 0);
	canvas_put(&canvas, 0, 0, 8, STYLE_PLAIN, "a\033[2J\xff");
	check_text(&canvas, "a?[2J?\n");
	canvas_fini(&canvas);
}

int main(void)
{
	RUN(long_text_is_cut_and_marked);
	RUN(ascii_replaces_other_characters);
	RUN(numbers_end_at_the_right);
	RUN(bars_show_half_a_percent_and_no_less);
	RUN(what_lies_outside_is_not_drawn);
	RUN(control_characters_are_not_passed_on);
	return harness_end();
}
