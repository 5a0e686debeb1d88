/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_stacks.c - stacks that a guest describes, and some that no honest one
 * does
 */
#include "harness.h"

#include "bench.h"

/* By this a program has an interpreter in it. */
__attribute__((noinline, used)) void _PyEval_EvalFrameDefault(void);
__attribute__((noinline, used)) void _PyEval_EvalFrameDefault(void)
{
	__asm__ volatile("");
}

static void own_path(const char *prefix, char path[4096])
{
	ssize_t length;

	strcpy(path, prefix);
	length = readlink("/proc/self/exe", path + strlen(prefix), 4000);
	path[strlen(prefix) + (size_t)(length > 0 ? length : 0)] = '\0';
}

static void put_module(struct bench *bench, uint32_t id, uint64_t address, const char *path)
{
	struct record_module module = {.head = {.kind = RECORD_MODULE, .detail = id},
				       .address = address,
				       .size_bytes = 0x10000,
				       .file_offset_bytes = 0x1000,
				       .build_id_bytes = 2,
				       .build_id = {0xab, 0x01}};
	struct draft draft;

	draft_begin(&draft, RECORD_MODULE, id, 0);
	draft_add(&draft, &module, offsetof(struct record_module, texts));
	draft_add(&draft, path, strlen(path) + 1);
	draft_decode(bench, &draft);
}

static void put_function(struct bench *bench, uint32_t id, const char *name, const char *file)
{
	/* co_lnotab of 3.8: two bytes on, one line on */
	static const uint8_t lines[] = {2, 1, 2, 1};
	struct record_python_code code = {.head = {.kind = RECORD_PYTHON_CODE, .detail = 0x0308},
					  .code = id,
					  .first_line = 10,
					  .lines_bytes = sizeof(lines)};
	struct draft draft;

	draft_begin(&draft, RECORD_PYTHON_CODE, 0x0308, 0);
	draft_add(&draft, &code, offsetof(struct record_python_code, texts));
	draft_add(&draft, name, strlen(name) + 1);
	draft_add(&draft, file, strlen(file) + 1);
	draft_add(&draft, lines, sizeof(lines));
	draft_decode(bench, &draft);
}

static void put_stack(struct bench *bench, uint32_t id, const uint64_t *frames, uint32_t count,
		      uint64_t truncated, uint32_t kept, bool is_cut)
{
	struct record_stack stack = {.head = {.kind = RECORD_STACK, .detail = count},
				     .truncated = truncated,
				     .stack = id,
				     .kept = kept,
				     .is_cut = is_cut};
	struct draft draft;

	draft_begin(&draft, RECORD_STACK, count, 0);
	draft_add(&draft, &stack, sizeof(stack));
	draft_add(&draft, frames, 8 * count);
	draft_decode(bench, &draft);
}

/* A call with a stack, and the chain that it leads to: frames innermost first. */
static size_t frames_of(struct bench *bench, uint32_t stack, const struct event_frame **frames,
			size_t most)
{
	size_t count = 0;
	const struct event_stack *node;

	for (; (node = trace_reader_stack(bench->reader, stack)); stack = node->caller) {
		if (count < most)
			frames[count] = trace_reader_frame(bench->reader, node->frame);
		count++;
	}
	return count;
}

static void put_call(struct bench *bench, uint32_t stack)
{
	struct draft draft;

	draft_begin(&draft, EVENT_API, 3, RECORD_API_BYTES);
	draft.api.begin = 100 + stack;
	draft.api.end = 110 + stack;
	draft.api.stack = stack;
	draft_decode(bench, &draft);
}

#define AT(module, pc)            ((uint64_t)(module) << RECORD_FRAME_MODULE_SHIFT | (pc))
#define PYTHON(code, instruction) (RECORD_FRAME_PYTHON | (uint64_t)(code) << 32 | (instruction))

TEST(native_and_python)
{
	const uint64_t plain[] = {AT(1, 0x401234), AT(2, 0x7f0000000100) | RECORD_FRAME_EXACT,
				  AT(1, 0x400010)};
	const uint64_t mixed[] = {AT(2, 0x7f0000000200), PYTHON(7, 4), AT(3, 0x500000),
				  PYTHON(7, 0), AT(1, 0x400020)};
	const struct event_frame *frames[8];
	struct event_api *rows;
	struct bench bench;
	char path[4200];
	size_t count;

	bench_open(&bench);
	put_module(&bench, 1, 0x400000, "/bin/prog");
	put_module(&bench, 2, 0x7f0000000000, "/lib/libx.so");
	/* this program under another path, as if a library */
	own_path("/..", path);
	put_module(&bench, 3, 0x500000, path);
	put_function(&bench, 7, "Scene.render", "/home/u/scene.py");
	put_stack(&bench, 1, plain, 3, 0, 3, false);
	put_stack(&bench, 2, mixed, 5, 0, 5, false);
	put_call(&bench, 1);
	put_call(&bench, 2);
	CHECK_EQUAL(bench.injected->losses.broken_times, 0);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_API, struct event_api, &count, NULL);
	REQUIRE(count == 2);
	REQUIRE(frames_of(&bench, rows[0].stack, frames, 8) == 3);
	CHECK_EQUAL(frames[0]->type, FRAME_NATIVE);
	CHECK_EQUAL(frames[0]->flags, FRAME_RETURN);
	CHECK_EQUAL(frames[0]->offset, 0x1234 + 0x1000);
	CHECK_TEXT(text_of(&bench, frames[0]->module_string), "/bin/prog");
	CHECK_TEXT(text_of(&bench, frames[0]->build_id_string), "ab01");
	CHECK_EQUAL(frames[1]->flags, 0);
	CHECK_EQUAL(frames[1]->offset, 0x1100);
	/* the interpreter's own frame is left out */
	REQUIRE(frames_of(&bench, rows[1].stack, frames, 8) == 4);
	CHECK_EQUAL(frames[1]->type, FRAME_PYTHON);
	CHECK_TEXT(text_of(&bench, frames[1]->name_string), "Scene.render");
	CHECK_TEXT(text_of(&bench, frames[1]->file_string), "/home/u/scene.py");
	CHECK_EQUAL(frames[1]->line, 12);
	CHECK_EQUAL(frames[2]->line, 10);
	CHECK_EQUAL(frames[2]->first_line, 10);
	CHECK_EQUAL(frames[3]->type, FRAME_NATIVE);
	free(rows);
	bench_close(&bench);
}

/* A program with the interpreter inside it has frames of its own; one called python… need not have
 * any. */
TEST(embedded_python)
{
	const uint64_t mixed[] = {AT(1, 0x400010), AT(2, 0x500010), PYTHON(7, 4),
				  AT(1, 0x400020), AT(2, 0x500020), PYTHON(7, 0),
				  AT(1, 0x400030), AT(2, 0x500030)};
	const uint64_t offsets[] = {0x1010, 0x1010, 4, 0x1020, 0, 0x1030, 0x1030};
	const struct event_frame *frames[8];
	struct event_api *rows;
	struct bench bench;
	char path[4200];
	size_t count;

	bench_open(&bench);
	own_path("", path);
	put_module(&bench, 1, 0x400000, "/opt/python-studio/bin/python-studio");
	put_module(&bench, 2, 0x500000, path);
	put_function(&bench, 7, "Scene.render", "/home/u/scene.py");
	put_stack(&bench, 1, mixed, 8, 0, 8, false);
	put_call(&bench, 1);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_API, struct event_api, &count, NULL);
	REQUIRE(count == 1);
	REQUIRE(frames_of(&bench, rows[0].stack, frames, 8) == 7);
	for (int i = 0; i < 7; i++)
		if (frames[i]->type == FRAME_NATIVE)
			CHECK_EQUAL(frames[i]->offset, offsets[i]);
	CHECK_EQUAL(frames[2]->type, FRAME_PYTHON);
	CHECK_EQUAL(frames[4]->type, FRAME_PYTHON);
	CHECK_TEXT(text_of(&bench, frames[3]->module_string),
		   "/opt/python-studio/bin/python-studio");
	CHECK_TEXT(text_of(&bench, frames[6]->module_string), path);
	free(rows);
	bench_close(&bench);
}

/* libpython3.11.so leads to libpython3.11.so.1.0, and on Debian on to another folder: the
 * interpreter's frames are left out all the same. */
TEST(interpreter_named_by_links)
{
	const uint64_t mixed[] = {PYTHON(7, 4), AT(1, 0x500000), AT(2, 0x400020)};
	const struct event_frame *frames[4];
	char folder[] = "/tmp/duet-links-XXXXXX", path[4200], library[64], link[64];
	struct event_api *rows;
	struct bench bench;
	size_t count;

	REQUIRE(mkdtemp(folder));
	own_path("", path);
	snprintf(library, sizeof(library), "%s/libpython3.11.so.1.0", folder);
	snprintf(link, sizeof(link), "%s/libpython3.11.so", folder);
	REQUIRE(symlink(path, library) == 0 && symlink("libpython3.11.so.1.0", link) == 0);
	bench_open(&bench);
	put_module(&bench, 1, 0x500000, link);
	put_module(&bench, 2, 0x400000, "/bin/prog");
	put_function(&bench, 7, "Scene.render", "/home/u/scene.py");
	put_stack(&bench, 1, mixed, 3, 0, 3, false);
	put_call(&bench, 1);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_API, struct event_api, &count, NULL);
	REQUIRE(count == 1);
	REQUIRE(frames_of(&bench, rows[0].stack, frames, 4) == 2);
	CHECK_EQUAL(frames[0]->type, FRAME_PYTHON);
	CHECK_TEXT(text_of(&bench, frames[1]->module_string), "/bin/prog");
	free(rows);
	bench_close(&bench);
	unlink(link);
	unlink(library);
	rmdir(folder);
}

TEST(left_out_frames_are_said)
{
	const uint64_t deep[] = {AT(1, 0x400010), AT(1, 0x400020), AT(1, 0x400030),
				 AT(1, 0x400040)};
	const struct event_frame *frames[8];
	struct event_api *rows;
	struct bench bench;
	size_t count;

	bench_open(&bench);
	put_module(&bench, 1, 0x400000, "/bin/prog");
	put_stack(&bench, 1, deep, 4, 5000, 2, false);
	put_stack(&bench, 2, deep, 1, 0, 1, true);
	/* at its outer end, and a record that says nonsense about it */
	put_stack(&bench, 3, deep, 2, 300, 2, false);
	put_stack(&bench, 4, deep, 2, 301, 77, false);
	for (uint32_t i = 1; i <= 4; i++)
		put_call(&bench, i);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_API, struct event_api, &count, NULL);
	REQUIRE(count == 4);
	for (uint32_t i = 2; i < 4; i++) {
		REQUIRE(frames_of(&bench, rows[i].stack, frames, 8) == 3);
		CHECK_EQUAL(frames[1]->offset, 0x1020);
		CHECK_EQUAL(frames[2]->type, FRAME_TRUNCATED);
		CHECK_EQUAL(frames[2]->offset, 298 + i);
	}
	REQUIRE(frames_of(&bench, rows[0].stack, frames, 8) == 5);
	CHECK_EQUAL(frames[1]->offset, 0x1020);
	CHECK_EQUAL(frames[2]->type, FRAME_TRUNCATED);
	CHECK_EQUAL(frames[2]->offset, 5000);
	CHECK_EQUAL(frames[3]->offset, 0x1030);
	REQUIRE(frames_of(&bench, rows[1].stack, frames, 8) == 2);
	CHECK_EQUAL(frames[1]->type, FRAME_TRUNCATED);
	CHECK_EQUAL(frames[1]->offset, 0);
	free(rows);
	bench_close(&bench);
}

/* What makes no sense is counted, and names nothing. */
TEST(nonsense)
{
	const uint64_t frames[] = {AT(9, 0x1000), PYTHON(1 << 29, 77), ~UINT64_C(0)};
	const struct event_frame *found[8];
	struct event_api *rows;
	struct draft draft;
	struct bench bench;
	size_t count;

	bench_open(&bench);
	put_stack(&bench, 0, frames, 3, 0, 3, false);              /* no id */
	put_stack(&bench, (1u << 21) + 1, frames, 3, 0, 3, false); /* too large an id */
	put_module(&bench, 0, 0x1000, "/x");
	put_module(&bench, 1 << 15, 0x1000, "/x");
	put_function(&bench, 0, "f", "g");
	put_function(&bench, (1 << 20) + 1, "f", "g");
	CHECK_EQUAL(bench.injected->losses.broken_times, 6);
	/* more frames than the record has */
	draft_begin(&draft, RECORD_STACK, 400, sizeof(struct record_stack));
	((struct record_stack *)draft.words)->stack = 3;
	draft_decode(&bench, &draft);
	/* texts without an end, more lines than there are */
	draft_begin(&draft, RECORD_MODULE, 3, sizeof(struct record_module));
	((struct record_module *)draft.words)->size_bytes = 1;
	memset(((struct record_module *)draft.words)->texts, 'x', 8);
	draft.at = (uint32_t)offsetof(struct record_module, texts);
	draft_add(&draft, "xxxxxxxx", 8);
	draft_decode(&bench, &draft);
	draft_begin(&draft, RECORD_PYTHON_CODE, 0x0308, sizeof(struct record_python_code));
	((struct record_python_code *)draft.words)->code = 1;
	((struct record_python_code *)draft.words)->lines_bytes = UINT32_MAX;
	draft_add(&draft, "f\0g\0\0\0\0", 8);
	draft_decode(&bench, &draft);
	CHECK_EQUAL(bench.injected->losses.broken_times, 9);
	/* frames that name nothing are frames all the same */
	put_stack(&bench, 4, frames, 3, 0, 3, false);
	put_call(&bench, 4);
	put_call(&bench, 5);
	bench_read(&bench);
	rows = ROWS(&bench, EVENT_API, struct event_api, &count, NULL);
	REQUIRE(count == 2);
	CHECK_EQUAL(frames_of(&bench, rows[0].stack, found, 8), 3);
	CHECK_EQUAL(rows[1].stack, 0);
	free(rows);
	bench_close(&bench);
}

/* A frame of code that no file has, which a perf map names. */
static void put_made(struct bench *bench, char map_path[64])
{
	const uint64_t frames[] = {AT(0, 0x5000) | RECORD_FRAME_EXACT};
	FILE *map;

	snprintf(map_path, 64, "/tmp/perf-%d.map", (int)getpid());
	map = fopen(map_path, "w");
	REQUIRE(map);
	fprintf(map, "4000 2000 made_here\n");
	REQUIRE(fclose(map) == 0);
	put_stack(bench, 1, frames, 1, 0, 0, false);
	put_call(bench, 1);
}

static const char *made_name(struct bench *bench)
{
	const struct event_frame *frames[2];
	struct event_api *calls;
	size_t count;

	bench_read(bench);
	calls = ROWS(bench, EVENT_API, struct event_api, &count, NULL);
	if (count != 1 || frames_of(bench, calls[0].stack, frames, 2) != 1)
		abort();
	free(calls);
	return text_of(bench, frames[0]->name_string);
}

TEST(names_cost_the_time_of_a_user)
{
	static const struct {
		uint64_t ahead;
		bool is_limited, is_named;
	} cases[] = {{0, true, true}, {1, true, true}, {3, true, false}, {3, false, true}};
	char map_path[64];
	struct bench bench;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bench_open(&bench);
		bench.injected->looks = (struct lookup_budget){
			host_clocks_now_ns() + cases[i].ahead * LOOKUP_BUDGET_AHEAD / 2,
			cases[i].is_limited};
		put_made(&bench, map_path);
		/* as it runs only what is due; a round without time left looks for nothing */
		injected_drain(bench.injected, 0);
		CHECK_EQUAL(bench.injected->made.count, 1);
		injected_drain(bench.injected, UINT64_MAX);
		CHECK_EQUAL(bench.injected->made.count, cases[i].ahead ? 1 : 0);
		/* whose turn will come has its files held */
		if (cases[i].ahead && cases[i].is_named)
			unlink(map_path);
		CHECK_TEXT(made_name(&bench), cases[i].is_named ? "made_here" : "");
		bench_close(&bench);
		unlink(map_path);
	}
}

/* Who describes what is not there makes the recorder read mappings: in its user's time. */
TEST(doubts_cost_the_time_of_a_user)
{
	char told[64];
	struct bench bench;
	uint64_t until_ns;

	bench_open(&bench);
	bench.injected->looks.is_limited = true;
	until_ns = bench.injected->looks.until_ns;
	put_module(&bench, 1, 0x1000, "a/lib1.so");
	CHECK_EQUAL(bench.injected->images.doubts, 1);
	CHECK(bench.injected->looks.until_ns > until_ns);
	bench.injected->looks.until_ns = until_ns = host_clocks_now_ns() + 2 * LOOKUP_BUDGET_AHEAD;
	for (uint32_t i = 2; i < 8; i++) {
		snprintf(told, sizeof(told), "a/lib%u.so", i);
		put_module(&bench, i, 0x1000, told);
	}
	CHECK_EQUAL(bench.injected->images.doubts, 1);
	CHECK_EQUAL(bench.injected->looks.until_ns, until_ns);
	bench_read(&bench);
	bench_close(&bench);
}

int main(void)
{
	RUN(native_and_python);
	RUN(embedded_python);
	RUN(interpreter_named_by_links);
	RUN(left_out_frames_are_said);
	RUN(nonsense);
	RUN(names_cost_the_time_of_a_user);
	RUN(doubts_cost_the_time_of_a_user);
	return harness_end();
}
