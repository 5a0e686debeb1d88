/* SPDX-License-Identifier: MIT
 *
 * tests/unit/inject/test_python_frames.c - Python stacks: real interpreters, and made-up ones
 *
 * Arguments: the folder of the made-up interpreters, the probe, the script that compares, the
 * program that embeds one.
 */
#include "inject/python_frames.h"
#include "programs/python_find.h"

#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

static const char *fakes, *probe, *script, *embed;

enum { MAX_FRAMES = 64 };

/* ---- made-up interpreters -------------------------------------------------------------------- */

static void *load_fake(const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/libpython_fake_%s.so", fakes, name);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static uint64_t fake_address(void *fake, const char *name)
{
	return (uint64_t)(uintptr_t)dlsym(fake, name);
}

TEST(none)
{
	struct python python = {0};
	struct python_frame frame;
	struct python_code code;
	struct python_key key;
	struct python_gap gap = {.frames = 7};

	CHECK(!find_python(&python));
	CHECK(!find_python(&python));
	CHECK(!python_unknown_version(&python));
	CHECK_EQUAL(python_frames(&python, &frame, 1, &gap), 0);
	CHECK_EQUAL(gap.frames, 0);
	CHECK(!python_is_evaluation(&python, (uint64_t)(uintptr_t)test_none));
	CHECK(!python_code(&python, (uint64_t)(uintptr_t)&frame, &code));
	frame.code = 0;
	python_keys(&python, &frame, 1, &key);
	CHECK(!key.code);
}

TEST(unknown)
{
	static const char *const names[][2] = {{"3_7", "3.7 or older"},
					       {"3_14_alpha", "3.14.0"},
					       {"3_14_free", "3.14.0 free-threaded"},
					       {"3_15", "3.15.2"}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct python python = {0};
		void *fake = load_fake(names[i][0]);

		REQUIRE(fake);
		CHECK(!find_python(&python));
		CHECK_TEXT(python_unknown_version(&python), names[i][1]);
		dlclose(fake);
	}
}

struct want {
	int code; /* of fake_codes; -1: none */
	uint32_t instruction;
	bool entry;
};

static bool check_frame(void *fake, const struct python_frame *frame, const struct want *want,
			uint64_t code_bytes)
{
	uint64_t code = want->code < 0 ? 0
				       : fake_address(fake, "fake_codes") +
						 (uint64_t)want->code * code_bytes;

	return frame->code == code && frame->instruction == want->instruction &&
	       frame->entry == want->entry;
}

TEST(made_up_3_14)
{
	enum { CODE_BYTES = 240 };
	static const struct want wants[] = {
		{0, 10, true}, {-1, 0, true}, {2, 6, true}, {1, 2, true}};
	struct python_frame frames[MAX_FRAMES];
	struct python python = {0};
	struct python_code code;
	struct python_key key;
	struct python_gap gap;
	uint32_t count;
	void *fake = load_fake("3_14");

	REQUIRE(fake);
	REQUIRE(find_python(&python));
	CHECK(!python_unknown_version(&python));
	count = python_frames(&python, frames, MAX_FRAMES, &gap);
	REQUIRE(count == sizeof(wants) / sizeof(wants[0]));
	CHECK_EQUAL(gap.frames, 0);
	for (uint32_t i = 0; i < count; i++)
		CHECK(check_frame(fake, &frames[i], &wants[i], CODE_BYTES));
	CHECK_EQUAL(python_frames(&python, frames, 1, &gap), 1);
	CHECK_EQUAL(gap.frames, 3);
	REQUIRE(python_code(&python, frames[0].code, &code));
	CHECK_TEXT(code.name, "K.method");
	CHECK_TEXT(code.file, "\xc3\xa9\xe4\xb8\xad\xef\xbf\xbdx");
	CHECK_EQUAL(code.first_line, 10);
	CHECK_EQUAL(code.version, 0x030e);
	CHECK_EQUAL(code.lines_bytes, 3);
	CHECK(code.lines && memcmp(code.lines, "\1\2\3", 3) == 0);
	python_keys(&python, frames, 1, &key);
	CHECK(key.code == frames[0].code && key.name == fake_address(fake, "fake_name") &&
	      key.content);
	dlclose(fake);
}

/* What no interpreter writes, and what an address that is none of a code object holds. */
TEST(nonsense)
{
	struct python python = {0};
	struct python_code code;
	void *fake = load_fake("3_14");
	uint64_t at, *length, saved_length;
	uint32_t *state, saved_state;
	void **type, *saved_type;

	REQUIRE(fake && find_python(&python));
	at = fake_address(fake, "fake_codes");
	REQUIRE(python_code(&python, at, &code));
	CHECK(!python_code(&python, at + 1, &code));
	CHECK(!python_code(&python, at + 8, &code));
	CHECK(!python_code(&python, fake_address(fake, "fake_name"), &code));
	type = (void **)dlsym(fake, "fake_name") + 1;
	length = (uint64_t *)dlsym(fake, "fake_name") + 2;
	state = (uint32_t *)dlsym(fake, "fake_name") + 8;
	saved_type = *type;
	saved_length = *length;
	saved_state = *state;
	*type = (void *)type;
	CHECK(!python_code(&python, at, &code));
	*type = saved_type;
	*length = UINT64_MAX;
	CHECK(!python_code(&python, at, &code));
	*length = saved_length;
	*state = saved_state & ~(1u << 5); /* not compact */
	CHECK(!python_code(&python, at, &code));
	*state = saved_state ^ (1u << 2 | 2u << 2); /* two bytes a character, yet ASCII */
	CHECK(!python_code(&python, at, &code));
	*state = saved_state | 7u << 2;
	CHECK(!python_code(&python, at, &code));
	*state = saved_state;
	CHECK(python_code(&python, at, &code));
	dlclose(fake);
}

/* A frame chain that leads back into itself. */
TEST(endless)
{
	struct python_frame frames[MAX_FRAMES];
	struct python python = {0};
	struct python_gap gap;
	void *fake = load_fake("3_14");
	uint64_t *previous;

	REQUIRE(fake && find_python(&python));
	previous = (uint64_t *)dlsym(fake, "fake_frames") + 1;
	*previous = (uint64_t)(uintptr_t)(previous - 1);
	CHECK_EQUAL(python_frames(&python, frames, MAX_FRAMES, &gap), MAX_FRAMES);
	CHECK_EQUAL(gap.frames, MAX_PYTHON_DEPTH - MAX_FRAMES);
	dlclose(fake);
}

TEST(ending)
{
	struct python_frame frames[MAX_FRAMES];
	struct python python = {0};
	struct python_gap gap;
	void *fake = load_fake("3_14");
	uint64_t *ending, other;

	REQUIRE(fake && find_python(&python));
	ending = (uint64_t *)(uintptr_t)(python.interpreters[0].runtime +
					 python.interpreters[0].at.runtime_finalizing);
	*ending = (uint64_t)(uintptr_t)&other;
	CHECK_EQUAL(python_frames(&python, frames, MAX_FRAMES, &gap), 0);
	*ending = fake_address(fake, "fake_thread");
	CHECK_EQUAL(python_frames(&python, frames, MAX_FRAMES, &gap), 4);
	dlclose(fake);
}

/* An interpreter that ends gives the states of other threads back: whoever was just about to read
 * one finds anything. */
enum { ENDS = 100000 };
static struct {
	struct python python;
	_Atomic uint64_t *ending, *frame; /* of the made-up interpreter */
	atomic_int begun, over;           /* rounds */
} ends;

static void *walk_until_end(void *unused)
{
	struct python_frame frames[MAX_FRAMES];
	struct python_gap gap;

	for (int i = 1; i <= ENDS; i++) {
		while (atomic_load(&ends.begun) < i)
			sched_yield();
		while (python_frames(&ends.python, frames, MAX_FRAMES, &gap))
			;
		atomic_store(&ends.over, i);
	}
	return unused;
}

static int end_again_and_again(void)
{
	const uint64_t frame = atomic_load(ends.frame);
	pthread_t walker;

	if (pthread_create(&walker, NULL, walk_until_end, NULL))
		return 1;
	for (int i = 1; i <= ENDS; i++) {
		atomic_store(&ends.begun, i);
		for (volatile int wait = i % 200; wait > 0; wait--)
			;
		atomic_store(ends.ending, 1);
		atomic_store(ends.frame, UINT64_C(0xa5a5a5a5a5a5a5a5));
		while (atomic_load(&ends.over) < i)
			sched_yield();
		atomic_store(ends.frame, frame);
		atomic_store(ends.ending, 0);
	}
	return pthread_join(walker, NULL);
}

TEST(ends_while_it_is_read)
{
	void *fake = load_fake("3_14");
	pid_t pid;
	int status = -1;

	REQUIRE(fake && find_python(&ends.python));
	ends.ending =
		(_Atomic uint64_t *)(uintptr_t)(ends.python.interpreters[0].runtime +
						ends.python.interpreters[0].at.runtime_finalizing);
	ends.frame = (_Atomic uint64_t *)(uintptr_t)(fake_address(fake, "fake_thread") +
						     ends.python.interpreters[0].at.thread_frame);
	pid = fork();
	if (pid == 0)
		_exit(end_again_and_again());
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK_EQUAL(status, 0);
	dlclose(fake);
}

TEST(comes_and_goes)
{
	struct python python = {0};
	struct python_frame frames[MAX_FRAMES];
	struct python_gap gap;

	for (int i = 0; i < 2; i++) {
		void *fake;

		CHECK(!find_python(&python));
		CHECK_EQUAL(python_frames(&python, frames, MAX_FRAMES, &gap), 0);
		fake = load_fake("3_14");
		REQUIRE(fake);
		CHECK(find_python(&python));
		CHECK_EQUAL(python_frames(&python, frames, MAX_FRAMES, &gap), 4);
		dlclose(fake);
	}
	CHECK(!find_python(&python));
}

/* The one with a state of this thread. */
TEST(two)
{
	struct python python = {0};
	struct python_frame frames[MAX_FRAMES];
	struct python_code code;
	struct python_gap gap;
	void *first = load_fake("3_14"), *second = load_fake("3_14_other");

	REQUIRE(first && second && first != second && find_python(&python));
	CHECK_EQUAL(atomic_load(&python.count), 2);
	*(void **)dlsym(first, "fake_current") = NULL;
	REQUIRE(python_frames(&python, frames, MAX_FRAMES, &gap) == 4);
	CHECK_EQUAL(frames[0].code, fake_address(second, "fake_codes"));
	CHECK(python_code(&python, frames[0].code, &code));
	CHECK(python_code(&python, fake_address(first, "fake_codes"), &code));
	CHECK(python_is_evaluation(&python, fake_address(first, "_PyEval_EvalFrameDefault")));
	CHECK(python_is_evaluation(&python, fake_address(second, "_PyEval_EvalFrameDefault")));
	dlclose(first);
	dlclose(second);
}

static struct python cold_python;
static int cold_calls, cold_found, cold_outside;
static uint64_t cold_hot_begin, cold_hot_end;

static void called_rarely(void)
{
	/* The caller's caller is the evaluation function; it is the caller where a compiler ends
	 * with a jump. */
	uint64_t pc =
		(uint64_t)(uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)) - 1;

	cold_calls++;
	cold_found += python_is_evaluation(&cold_python, pc);
	cold_outside += pc < cold_hot_begin || pc >= cold_hot_end;
}

/* Branches that the compiler has moved away belong to the function. */
TEST(cold)
{
	static const int values[17] = {0, 1, 2, 3, 4, 5};
	void *fake = load_fake("3_14");

	REQUIRE(fake && find_python(&cold_python));
	cold_hot_begin = cold_python.interpreters[0].hot_begin;
	cold_hot_end = cold_python.interpreters[0].hot_end;
	CHECK_EQUAL(cold_hot_begin, fake_address(fake, "_PyEval_EvalFrameDefault"));
	CHECK(!python_is_evaluation(&cold_python, cold_hot_end));
	CHECK(!python_is_evaluation(&cold_python, cold_hot_begin - 1));
	*(void (**)(void))dlsym(fake, "fake_called") = called_rarely;
	((int (*)(const volatile int *))dlsym(fake, "_PyEval_EvalFrameDefault"))(values);
	printf("#   %d calls, %d from outside of the function itself\n", cold_calls, cold_outside);
	CHECK_EQUAL(cold_calls, 6);
#if defined(__x86_64__)
	CHECK_EQUAL(cold_found, 6);
#endif
	dlclose(fake);
}

static atomic_bool race_over;

/* Only threads that an interpreter evaluates for may ask for frames: what is just being loaded
 * cannot be called yet. */
static void *race(void *data)
{
	struct python *python = data;
	uint32_t known = 0;

	while (!atomic_load(&race_over)) {
		uint32_t count;

		find_python(python);
		count = atomic_load(&python->count);
		if (count < known || count > 2 || python_is_evaluation(python, 1))
			return data;
		known = count;
	}
	return NULL;
}

TEST(many_threads_find)
{
	enum { THREADS = 4 };
	struct python python = {0};
	pthread_t threads[THREADS];
	void *result = NULL, *fakes_loaded[2];

	atomic_store(&race_over, false);
	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&threads[i], NULL, race, &python) == 0);
	fakes_loaded[0] = load_fake("3_14");
	fakes_loaded[1] = load_fake("3_14_other");
	for (int i = 0; i < 50; i++)
		dlclose(load_fake("3_15"));
	atomic_store(&race_over, true);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &result);
		CHECK(!result);
	}
	CHECK(find_python(&python));
	CHECK_EQUAL(atomic_load(&python.count), 2);
	dlclose(fakes_loaded[0]);
	dlclose(fakes_loaded[1]);
}

/* ---- real interpreters ----------------------------------------------------------------------- */

/* Runs a command; what it says that does not begin with "ok" is shown. True: exit status 0. */
static bool run_command(const char *command, int *ret_ok)
{
	FILE *output = popen(command, "r");
	char line[4096];

	*ret_ok = 0;
	if (!output)
		return false;
	while (fgets(line, sizeof(line), output)) {
		if (strncmp(line, "ok", 2) == 0)
			++*ret_ok;
		else
			printf("#   %s", line);
	}
	return pclose(output) == 0;
}

static const char *interpreter;

TEST(interpreter)
{
	enum { MIN_STACKS = 48 };
	char command[12288];
	int ok;

	/* Threads that come back from calls read their states too, when the interpreter that is
	 * ending has freed them: up to 3.13 it dies of that where freed memory is scribbled over,
	 * as meson asks for. */
	snprintf(command, sizeof(command),
		 "MALLOC_PERTURB_=0 timeout 100 '%s' -W ignore '%s' '%s' 2>&1", interpreter, script,
		 probe);
	CHECK(run_command(command, &ok));
	CHECK(ok >= MIN_STACKS);
}

static const char *embedded[3]; /* home, library, another library */

TEST(embedded)
{
	char command[12288];
	int ok;

	snprintf(command, sizeof(command), "timeout 60 '%s' '%s' '%s' %s 2>&1", embed, embedded[0],
		 embedded[1], embedded[2] ? embedded[2] : "");
	CHECK(run_command(command, &ok));
}

static void add_matches(glob_t *found, const char *pattern)
{
	char path[4096];
	const char *home = getenv("HOME");

	snprintf(path, sizeof(path), "%s%s",
		 pattern[0] == '/' ? ""
		 : home            ? home
				   : "/root",
		 pattern[0] == '/' ? pattern : pattern + 1);
	glob(path, found->gl_pathc ? GLOB_APPEND : 0, NULL, found);
}

/* 8 of ".../python3.8" or ".../libpython3.8.so.1.0"; -1: no release's. */
static int minor_of(const char *path, const char *before)
{
	const char *name = strstr(strrchr(path, '/'), before);
	char *end;
	long minor = name ? strtol(name + strlen(before), &end, 10) : -1;

	return minor >= 8 && (*end == '\0' || *end == '.') ? (int)minor : -1;
}

static void run_interpreters(void)
{
	static const char *const places[] = {"/usr/bin/python3.[0-9]*",
					     "/usr/local/bin/python3.[0-9]*",
					     "/opt/pyenv/versions/3.*/bin/python3.[0-9]*",
					     "~/.pyenv/versions/3.*/bin/python3.[0-9]*"};
	bool is_there[16] = {false};
	glob_t found = {0};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		add_matches(&found, places[i]);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		int minor = minor_of(found.gl_pathv[i], "python3.");

		if (minor < 8 || minor > 14)
			continue;
		is_there[minor] = true;
		interpreter = found.gl_pathv[i];
		harness_run(interpreter, test_interpreter);
	}
	for (int minor = 8; minor <= 14; minor++)
		if (!is_there[minor])
			printf("#   python3.%d: not run, not installed here\n", minor);
	globfree(&found);
}

static void run_embedded(void)
{
	glob_t found = {0};
	char home[4096];

	add_matches(&found, "/usr/lib/*/libpython3.[0-9]*.so.1.0");
	add_matches(&found, "~/.pyenv/versions/3.*/lib/libpython3.[0-9]*.so.1.0");
	if (found.gl_pathc == 0)
		printf("#   no libpython is installed: not embedded\n");
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *path = found.gl_pathv[i];

		if (minor_of(path, "libpython3.") < 8)
			continue;
		snprintf(home, sizeof(home), "%.*s", (int)(strstr(path, "/lib/") - path), path);
		embedded[0] = home;
		embedded[1] = path;
		embedded[2] = NULL;
		harness_run("embedded", test_embedded);
		if (i == 0)
			continue;
		embedded[2] = found.gl_pathv[0];
		harness_run("embedded beside another one", test_embedded);
	}
	globfree(&found);
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	fakes = argv[1];
	probe = argv[2];
	script = argv[3];
	embed = argv[4];
	RUN(none);
	RUN(unknown);
	RUN(made_up_3_14);
	RUN(nonsense);
	RUN(endless);
	RUN(ending);
	RUN(ends_while_it_is_read);
	RUN(comes_and_goes);
	RUN(two);
	RUN(cold);
	RUN(many_threads_find);
	run_interpreters();
	run_embedded();
	return harness_end();
}
