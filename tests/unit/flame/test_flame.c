/* SPDX-License-Identifier: MIT
 *
 * tests/unit/export/test_flame.c - stacks gathered, written folded and drawn
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "flame/flame.h"
#include "flame/colour.h"
#include "flame/escape.h"
#include "harness.h"

#define DEEP 512

static char *folded(const struct flame *flame)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	int error = flame_write_folded(flame, file);

	fclose(file);
	CHECK_EQUAL(error, 0);
	return text;
}

static char *drawn(const struct flame *flame, const struct flame_options *options, size_t *ret_size)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	int error = flame_write_svg(flame, options, file);

	fclose(file);
	CHECK_EQUAL(error, 0);
	if (ret_size)
		*ret_size = size;
	return text;
}

/* A stack of host frames from "a;b;c". */
static int add(struct flame *flame, const char *stack, uint64_t value)
{
	uint32_t frames[64];
	size_t count = 0;
	char copy[256], *rest = copy;

	snprintf(copy, sizeof(copy), "%s", stack);
	for (char *name = strsep(&rest, ";"); name; name = strsep(&rest, ";"))
		frames[count++] = flame_frame(flame, name, FLAME_HOST);
	return flame_add(flame, frames, count, value);
}

static int add_one(struct flame *flame, const char *name, enum flame_class frame_class)
{
	uint32_t frame = flame_frame(flame, name, frame_class);

	return flame_add(flame, &frame, 1, 1);
}

static uint64_t sum_of(const char *text)
{
	uint64_t sum = 0;

	for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
		const char *space = memrchr(text, ' ', (size_t)(end - text));

		sum += strtoull(space, NULL, 10);
	}
	return sum;
}

static size_t count_of(const char *text, const char *word)
{
	size_t count = 0;

	while ((text = strstr(text, word))) {
		count++;
		text++;
	}
	return count;
}

TEST(same_stack_adds_up)
{
	struct flame *flame = flame_new();
	auto_free char *text = NULL;

	CHECK_EQUAL(add(flame, "main;b;c", 5), 0);
	CHECK_EQUAL(add(flame, "main;a", 2), 0);
	CHECK_EQUAL(add(flame, "main;b", 3), 0);
	CHECK_EQUAL(add(flame, "main;b;c", 7), 0);
	CHECK_EQUAL(add(flame, "main;zero", 0), 0);
	CHECK_EQUAL(flame_total(flame), 17);
	text = folded(flame);
	CHECK_TEXT(text, "main;a 2\nmain;b 3\nmain;b;c 12\n");
	CHECK(flame_memory_bytes(flame) > 1000);
	flame_free(flame);
}

TEST(frames_are_interned)
{
	struct flame *flame = flame_new();
	uint32_t host = flame_frame(flame, "f", FLAME_HOST);

	CHECK_EQUAL(flame_frame(flame, "f", FLAME_HOST), host);
	CHECK(flame_frame(flame, "f", FLAME_KERNEL) != host);
	CHECK_EQUAL(flame_frame(flame, "x", FLAME_SEPARATOR),
		    flame_frame(flame, "y", FLAME_SEPARATOR));
	CHECK(flame_frame(flame, "", FLAME_HOST) != UINT32_MAX);
	flame_free(flame);
}

TEST(suffixes)
{
	static const char expected[] = "Py (a.py:1) 1\n[truncated] 1\ndev_[G] 1\nhost 1\nidle 1\n"
				       "in_[i] 1\njit_[j] 1\nkern_[k] 1\nmad_[g] 1\nsbid_[g] 1\n";
	struct flame *flame = flame_new();
	auto_free char *text = NULL;

	add_one(flame, "host", FLAME_HOST);
	add_one(flame, "kern", FLAME_KERNEL);
	add_one(flame, "jit", FLAME_JIT);
	add_one(flame, "in", FLAME_INLINED);
	add_one(flame, "Py (a.py:1)", FLAME_PYTHON);
	add_one(flame, "dev", FLAME_DEVICE);
	add_one(flame, "mad", FLAME_INSTRUCTION);
	add_one(flame, "sbid", FLAME_STALL);
	add_one(flame, "", FLAME_SEPARATOR);
	add_one(flame, "idle", FLAME_IDLE);
	add_one(flame, "", FLAME_TRUNCATED);
	text = folded(flame);
	CHECK(strncmp(text, "- 1\n", 4) == 0);
	CHECK_TEXT(text + 4, expected);
	flame_free(flame);
}

TEST(names_are_unambiguous)
{
	static const struct {
		const char *name, *line;
	} rows[] = {
		{"a;b", "a\\x3bb 1\n"},
		{"a\nb\tc\r", "a\\x0ab\\x09c\\x0d 1\n"},
		{"a\\x3bb", "a\\x5cx3bb 1\n"},
		{"\x1b[31m\x7f", "\\x1b[31m\\x7f 1\n"},
		{"\xff\xc0\x80\xed\xa0\x80", "\\xff\\xc0\\x80\\xed\\xa0\\x80 1\n"},
		{"\xc3", "\\xc3 1\n"},
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80 1\n"},
		{"\xc2\x85", "\\xc2\\x85 1\n"},
		{"na\xc3\xafve \xe6\xbc\xa2 \xf0\x9f\x9a\x80", "na\xc3\xafve \xe6\xbc\xa2 "
							       "\xf0\x9f\x9a\x80 1\n"},
		{"f_[k]", "f_\\x5bk] 1\n"},
		{"f_[k", "f_[k 1\n"},
		{"-", "\\x2d 1\n"},
		{"[truncated]", "\\x5btruncated] 1\n"},
		{"", "\\ 1\n"},
		{"operator new 5", "operator new 5 1\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct flame *flame = flame_new();
		auto_free char *text = NULL;

		add_one(flame, rows[i].name, FLAME_HOST);
		text = folded(flame);
		CHECK_TEXT(text, rows[i].line);
		flame_free(flame);
	}
}

/* Host, Python and idle frames have no suffix: with the same name they are the same text. */
TEST(equal_text_is_one_line)
{
	struct flame *flame = flame_new();
	auto_free char *text = NULL;
	uint32_t stack[2] = {flame_frame(flame, "run", FLAME_HOST), 0};

	stack[1] = flame_frame(flame, "x", FLAME_HOST);
	flame_add(flame, stack, 2, 4);
	stack[0] = flame_frame(flame, "run", FLAME_PYTHON);
	flame_add(flame, stack, 2, 5);
	flame_add(flame, stack, 1, 1);
	text = folded(flame);
	CHECK_TEXT(text, "run 1\nrun;x 9\n");
	flame_free(flame);
}

TEST(rejects)
{
	struct flame *flame = flame_new();
	uint32_t frame = flame_frame(flame, "f", FLAME_HOST), unknown = 77;
	auto_free char *text = NULL;
	struct flame_options narrow = {.width_px = 10}, wide = {.min_width_px = 1e9};

	CHECK_EQUAL(flame_add(flame, &frame, 0, 1), -EINVAL);
	CHECK_EQUAL(flame_add(flame, &unknown, 1, 1), -EINVAL);
	CHECK_EQUAL(flame_add(flame, &frame, 1, UINT64_MAX - 1), 0);
	CHECK_EQUAL(flame_add(flame, &frame, 1, 2), -EOVERFLOW);
	CHECK(*error_text());
	CHECK_EQUAL(flame_add(flame, &frame, 1, 1), 0);
	CHECK(flame_total(flame) == UINT64_MAX);
	text = folded(flame);
	CHECK_TEXT(text, "f 18446744073709551615\n");
	CHECK_EQUAL(flame_write_svg(flame, &narrow, stdout), -EINVAL);
	CHECK_EQUAL(flame_write_svg(flame, &wide, stdout), -EINVAL);
	flame_free(flame);
	flame_free(NULL);
}

TEST(largest_value_is_drawn)
{
	struct flame *flame = flame_new();
	auto_free char *svg = NULL;

	add(flame, "a;b", UINT64_MAX - 10);
	add(flame, "a;c", 10);
	svg = drawn(flame, &(struct flame_options){.unit = "ns"}, NULL);
	CHECK(strstr(svg, "data-v=\"18446744073709551605\""));
	CHECK(strstr(svg, "18,446,744,073,709,551,615 ns"));
	CHECK(strstr(svg, "data-u=\"1 10\""));
	flame_free(flame);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* Many stacks with shared beginnings, in an order of its own. */
static struct flame *random_flame(uint64_t seed, bool is_backwards)
{
	struct flame *flame = flame_new();
	uint32_t names[50];

	for (int i = 0; i < 50; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", is_backwards ? 49 - i : i);
		names[is_backwards ? 49 - i : i] = flame_frame(
			flame, name, (enum flame_class)((is_backwards ? 49 - i : i) % 3));
	}
	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t state = seed + (is_backwards ? 19999 - i : i) * 977;
		uint32_t stack[40];
		size_t count = 1 + next_random(&state) % 40;

		for (size_t j = 0; j < count; j++)
			stack[j] = names[next_random(&state) % (j < 5 ? 3 : 50)];
		CHECK_EQUAL(flame_add(flame, stack, count, next_random(&state) % 1000), 0);
	}
	return flame;
}

TEST(sums_are_exact_and_order_does_not_matter)
{
	struct flame *flame = random_flame(1, false), *other = random_flame(1, true);
	auto_free char *text = folded(flame), *other_text = folded(other);
	auto_free char *svg = drawn(flame, NULL, NULL), *other_svg = drawn(other, NULL, NULL);

	CHECK(sum_of(text) == flame_total(flame));
	CHECK(flame_total(flame) > 9000000);
	CHECK(strcmp(text, other_text) == 0);
	CHECK(strcmp(svg, other_svg) == 0);
	flame_free(flame);
	flame_free(other);
}

TEST(deep_stacks)
{
	struct flame *flame = flame_new();
	auto_free uint32_t *stack = calloc(100000, sizeof(*stack));
	auto_free char *svg = NULL, *deeper = NULL, *text = NULL;

	for (size_t i = 0; i < 100000; i++)
		stack[i] = flame_frame(flame, i % 2 ? "odd" : "even", FLAME_PYTHON);
	CHECK_EQUAL(flame_add(flame, stack, DEEP, 100), 0);
	svg = drawn(flame, NULL, NULL);
	CHECK_EQUAL(count_of(svg, "<g data-v"), DEEP + 1);
	CHECK_EQUAL(flame_add(flame, stack, 100000, 100), 0);
	text = folded(flame);
	CHECK_EQUAL(count_of(text, ";"), 99999 + DEEP - 1);
	deeper = drawn(flame, NULL, NULL);
	CHECK_EQUAL(count_of(deeper, "<g data-v"), 1024);
	CHECK(strstr(deeper, "data-u=\"1 100\""));
	flame_free(flame);
}

TEST(empty_says_so)
{
	struct flame *flame = flame_new();
	auto_free char *text = folded(flame), *svg = drawn(flame, NULL, NULL);

	CHECK_TEXT(text, "");
	CHECK(strstr(svg, "Nothing was recorded."));
	CHECK(strncmp(svg, "<?xml", 5) == 0);
	CHECK(strstr(svg, "</svg>\n"));
	flame_free(flame);
}

TEST(one_frame)
{
	struct flame *flame = flame_new();
	struct flame_options options = {
		.title = "T", .subtitle = "S", .warning = "W", .unit = "ns"};
	auto_free char *svg = NULL;

	add(flame, "only", 1234567);
	svg = drawn(flame, &options, NULL);
	CHECK_EQUAL(count_of(svg, "<g data-v=\"1234567\""), 2);
	CHECK(strstr(svg, "<title>only\n1.235 ms (1,234,567 ns), 100.00 % of the total</title>"));
	CHECK(strstr(svg, "<title>T</title>"));
	CHECK(strstr(svg, ">S</text>"));
	CHECK(strstr(svg, ">W</text>"));
	CHECK(!strstr(svg, "href"));
	flame_free(flame);
}

/* Narrow children are counted where they belong, and only there. */
TEST(narrow_frames_are_counted)
{
	struct flame *flame = flame_new();
	auto_free char *svg = NULL;

	add(flame, "main;wide", 999000);
	for (int i = 0; i < 500; i++) {
		char stack[64];

		snprintf(stack, sizeof(stack), "main;narrow%d;inner", i);
		add(flame, stack, 2);
	}
	svg = drawn(flame, NULL, NULL);
	CHECK_EQUAL(count_of(svg, "<g data-v"), 3);
	CHECK_EQUAL(count_of(svg, "data-u=\"500 1000\""), 1);
	CHECK_EQUAL(count_of(svg, "data-u="), 1);
	CHECK(!strstr(svg, "narrow0"));
	flame_free(flame);
}

/* Attribute values and text of the picture hold no byte that could be markup of a name. */
TEST(hostile_names)
{
	static const char *const names[] = {
		"</title></svg><script>x()</script>",
		"]]>",
		"\" onload=\"x()\" '",
		"&lt;&amp;",
		"\x01\x02\n\r\t\x1b",
		"\xff\xfe\xc0\x80",
		"\xe2\x80\xaegnp",
		"\xef\xbf\xbf",
		"__proto__",
		"<!-- -->",
	};
	struct flame *flame = flame_new();
	auto_free char *long_name = calloc(1, 20001), *svg = NULL;
	size_t size = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		add_one(flame, names[i], FLAME_HOST);
	add_one(flame, memset(long_name, 'L', 10240), FLAME_HOST);
	add_one(flame, memset(long_name, 'M', 20000), FLAME_HOST);
	svg = drawn(flame, &(struct flame_options){.title = names[0], .unit = names[2]}, &size);
	CHECK_EQUAL(strlen(svg), size);
	CHECK_EQUAL(count_of(svg, "<script"), 1);
	CHECK_EQUAL(count_of(svg, "]]>"), 1);
	CHECK_EQUAL(count_of(svg, "<!--"), 0);
	CHECK(strstr(svg, "&lt;/title&gt;&lt;/svg&gt;&lt;script&gt;x()"));
	CHECK(strstr(svg, "&amp;lt;&amp;amp;"));
	CHECK(strstr(svg, "\\x01\\x02\\x0a\\x0d\\x09\\x1b"));
	CHECK(strstr(svg, "\\xff\\xfe\\xc0\\x80"));
	CHECK(strstr(svg, "\\u202egnp"));
	CHECK(strstr(svg, "\\uffff"));
	CHECK(strstr(svg, "data-unit=\"&quot; onload="));
	/* once whole, and shortened where it is drawn */
	CHECK(count_of(svg, "LLLLLLLLL") < 10240 + 2 * 256);
	CHECK(count_of(svg, "MMMMMMMMM") < 16384 + 2 * 256);
	for (size_t i = 0; i < size; i++)
		CHECK((unsigned char)svg[i] >= 0x20 || svg[i] == '\n');
	flame_free(flame);
}

TEST(an_icicle_has_its_root_at_the_top)
{
	struct flame *flame = flame_new();
	auto_free char *flame_svg = NULL, *icicle = NULL;

	add(flame, "a;b", 1);
	flame_svg = drawn(flame, NULL, NULL);
	icicle = drawn(flame, &(struct flame_options){.is_icicle = true}, NULL);
	CHECK(strstr(flame_svg, "class=\"r\" x=\"10\" y=\"107\""));
	CHECK(strstr(icicle, "class=\"r\" x=\"10\" y=\"73\""));
	CHECK(strstr(icicle, "data-icicle=\"1\""));
	flame_free(flame);
}

static double linear(uint32_t channel)
{
	double c = channel / 255.0;

	return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double luminance(uint32_t colour)
{
	return 0.2126 * linear(colour >> 16) + 0.7152 * linear(colour >> 8 & 255) +
	       0.0722 * linear(colour & 255);
}

/* The formula of WCAG 2.2 */
static double contrast(uint32_t a, uint32_t b)
{
	double first = luminance(a), second = luminance(b);

	return (fmax(first, second) + 0.05) / (fmin(first, second) + 0.05);
}

TEST(text_is_readable_on_every_colour)
{
	for (int i = 0; i < FLAME_CLASS_COUNT; i++) {
		for (uint32_t shade = 0; shade < flame_shades(i); shade++) {
			CHECK(contrast(flame_colour(i, shade, false), FLAME_INK) >= 6);
			CHECK(contrast(flame_colour(i, shade, true), FLAME_INK_ON_DARK) >= 5);
		}
	}
}

/* Linear light of a colour as someone sees it; the matrices are those of Machado 2009. */
static void see(uint32_t colour, int sight, double ret_light[3])
{
	static const double sights[4][3][3] = {
		{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
		{{0.152286, 1.052583, -0.204868},
		 {0.114503, 0.786281, 0.099216},
		 {-0.003882, -0.048116, 1.051998}},
		{{0.367322, 0.860646, -0.227968},
		 {0.280085, 0.672501, 0.047413},
		 {-0.011820, 0.042940, 0.968881}},
		{{1.255528, -0.076749, -0.178779},
		 {-0.078411, 0.930809, 0.147602},
		 {0.004733, 0.691367, 0.303900}},
	};
	const double light[] = {linear(colour >> 16 & 255), linear(colour >> 8 & 255),
				linear(colour & 255)};

	for (int i = 0; i < 3; i++) {
		const double *row = sights[sight][i];

		ret_light[i] =
			fmin(1, fmax(0, row[0] * light[0] + row[1] * light[1] + row[2] * light[2]));
	}
}

static double lab_root(double value)
{
	return value > 0.008856 ? cbrt(value) : 7.787 * value + 16.0 / 116;
}

static double colour_distance(uint32_t a, uint32_t b, int sight)
{
	double labs[2][3], light[3];

	for (int i = 0; i < 2; i++) {
		double x, y, z;

		see(i ? b : a, sight, light);
		x = lab_root((0.4124 * light[0] + 0.3576 * light[1] + 0.1805 * light[2]) / 0.9505);
		y = lab_root(0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]);
		z = lab_root((0.0193 * light[0] + 0.1192 * light[1] + 0.9505 * light[2]) / 1.089);
		labs[i][0] = 116 * y - 16;
		labs[i][1] = 500 * (x - y);
		labs[i][2] = 200 * (y - z);
	}
	return sqrt(pow(labs[0][0] - labs[1][0], 2) + pow(labs[0][1] - labs[1][1], 2) +
		    pow(labs[0][2] - labs[1][2], 2));
}

TEST(idle_causes_differ_for_colour_blind_readers)
{
	for (unsigned int i = 0; i < CAUSE_COUNT; i++)
		for (unsigned int j = 0; j < i; j++)
			for (int k = 0; k < 8; k++)
				CHECK(colour_distance(flame_cause_colour(i, k % 2),
						      flame_cause_colour(j, k % 2), k / 2) >= 10);
}

static uint32_t shade_of(const char *name)
{
	return flame_shade(FLAME_IDLE, (struct flame_text){name, strlen(name)});
}

TEST(idle_boxes_have_the_colour_of_their_cause)
{
	char text[96];

	for (unsigned int i = 0; i < CAUSE_COUNT; i++) {
		snprintf(text, sizeof(text), "[idle: %s]", account_cause_text(i));
		CHECK_EQUAL(flame_colour(FLAME_IDLE, shade_of(text), false),
			    flame_cause_colour(i, false));
		CHECK_TEXT(flame_shade_word(FLAME_IDLE, shade_of(text)), account_cause_text(i));
	}
	CHECK_EQUAL(flame_colour(FLAME_IDLE, shade_of("[waiting in read]"), true),
		    flame_cause_colour(CAUSE_BLOCKED, true));
	CHECK_EQUAL(shade_of("[before the first command]"), 0);
	CHECK_TEXT(flame_shade_word(FLAME_IDLE, 0), "idle");
	CHECK_TEXT(flame_shade_word(FLAME_HOST, 3), "host");
}

TEST(a_name_keeps_its_colour)
{
	struct flame *flame = flame_new();
	uint32_t a = flame_shade(FLAME_HOST, (struct flame_text){"clEnqueueNDRangeKernel", 22});

	CHECK_EQUAL(a,
		    flame_shade(FLAME_DEVICE, (struct flame_text){"clEnqueueNDRangeKernelX", 22}));
	/* what the first release painted, so that graphs can be compared over the years */
	CHECK_EQUAL(a, 2);
	CHECK_EQUAL(flame_colour(FLAME_DEVICE, 3, false) != flame_colour(FLAME_HOST, 3, false), 1);
	flame_free(flame);
}

static void check_human(uint64_t value, const char *unit, const char *expected)
{
	struct string_builder text;

	string_builder_init(&text);
	flame_format_human(&text, value, unit);
	CHECK_TEXT(string_builder_text(&text), expected);
	string_builder_fini(&text);
}

TEST(numbers)
{
	check_human(0, "ns", "0 ns");
	check_human(999, "ns", "999 ns");
	check_human(999949, "ns", "999.9 \302\265s");
	check_human(999960, "ns", "1.000 ms");
	check_human(12345678, "ns", "12.35 ms");
	check_human(83400000000, "ns", "83.40 s");
	check_human(UINT64_MAX, "ns", "18446744074 s");
	check_human(1023, "bytes", "1023 bytes");
	check_human(1536, "bytes", "1.500 KiB");
	check_human(7, "launches", "7 launches");
	check_human(1234567, "samples", "1.235 M samples");
}

TEST(a_full_disk_is_told)
{
	struct flame *flame = flame_new();
	FILE *full = fopen("/dev/full", "w");

	add(flame, "a;b", 1);
	if (!full) {
		flame_free(flame);
		SKIP("/dev/full is not there");
	}
	CHECK_EQUAL(flame_write_folded(flame, full), -ENOSPC);
	CHECK(strstr(error_text(), "write"));
	CHECK_EQUAL(flame_write_svg(flame, NULL, full), -ENOSPC);
	fclose(full);
	flame_free(flame);
}

int main(void)
{
	RUN(same_stack_adds_up);
	RUN(frames_are_interned);
	RUN(suffixes);
	RUN(names_are_unambiguous);
	RUN(equal_text_is_one_line);
	RUN(rejects);
	RUN(largest_value_is_drawn);
	RUN(sums_are_exact_and_order_does_not_matter);
	RUN(deep_stacks);
	RUN(empty_says_so);
	RUN(one_frame);
	RUN(narrow_frames_are_counted);
	RUN(hostile_names);
	RUN(an_icicle_has_its_root_at_the_top);
	RUN(text_is_readable_on_every_colour);
	RUN(idle_causes_differ_for_colour_blind_readers);
	RUN(idle_boxes_have_the_colour_of_their_cause);
	RUN(a_name_keeps_its_colour);
	RUN(numbers);
	RUN(a_full_disk_is_told);
	return harness_end();
}
