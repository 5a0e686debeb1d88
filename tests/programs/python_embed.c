/* SPDX-License-Identifier: MIT
 *
 * tests/programs/python_embed.c - a program that loads interpreters late and keeps them to itself
 *
 * Runs in:  test_python_frames, as a program: python_embed HOME LIBRARY [LIBRARY_NOT_STARTED]
 * Gives:    exit status 0 where inject/python_frames saw what there was at each step, else a line
 *           that says what differs and 1
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/python_frames.h"
#include "python_find.h"

struct method {
	const char *name;
	void *(*function)(void *self, void *arguments);
	int flags;
	const char *help;
};
enum { TAKES_NOTHING = 4 };

static struct python python;
static int failures;
static uint32_t seen;

static void check(bool is_so, const char *what)
{
	if (is_so)
		return;
	printf("#   %s\n", what);
	failures++;
}

static uint32_t count_frames(struct python_frame *frames)
{
	struct python_gap gap;

	return python_frames(&python, frames, 8, &gap);
}

/* Called by Python, in two functions. */
static void *probe(void *self, void *arguments)
{
	struct python_frame frames[8];
	static struct python_code code;

	find_python(&python);
	seen = count_frames(frames);
	check(seen == 3, "three frames inside");
	check(seen == 3 && python_code(&python, frames[0].code, &code) &&
		      strcmp(code.name, "inner") == 0 && strcmp(code.file, "<string>") == 0 &&
		      code.first_line == 2,
	      "the innermost is inner");
	check(seen == 3 && frames[2].entry && frames[1].entry == (code.version < 0x030b),
	      "entry marks");
	return NULL; /* an exception without one set: Python says so and goes on */
}

static void *load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		printf("#   %s\n", dlerror());
		exit(1);
	}
	return library;
}

#define FUNCTION(library, type, name) ((type)(uintptr_t)dlsym(library, name))

static void run(void *library)
{
	static struct method method = {"probe", probe, TAKES_NOTHING, NULL};
	void *main_module, *function;

	FUNCTION(library, void (*)(int), "Py_InitializeEx")(0);
	main_module = FUNCTION(library, void *(*)(const char *), "PyImport_AddModule")("__main__");
	function = FUNCTION(library, void *(*)(struct method *, void *, void *),
			    "PyCFunction_NewEx")(&method, NULL, NULL);
	FUNCTION(library, int (*)(void *, const char *, void *), "PyObject_SetAttrString")
	(main_module, "probe", function);
	FUNCTION(library, int (*)(const char *, void *), "PyRun_SimpleStringFlags")
	("\n"
	 "def inner():\n"
	 "    try:\n"
	 "        probe()\n"
	 "    except SystemError:\n"
	 "        pass\n"
	 "def outer():\n"
	 "    inner()\n"
	 "outer()\n",
	 NULL);
}

int main(int argc, char **argv)
{
	struct python_frame frames[8];
	void *library;

	if (argc < 3)
		return 2;
	setenv("PYTHONHOME", argv[1], 1);
	check(!find_python(&python) && count_frames(frames) == 0, "nothing before it is loaded");
	if (argc > 3)
		load(argv[3]);
	library = load(argv[2]);
	check(find_python(&python), "found once it is loaded");
	check(!python_unknown_version(&python), "known");
	check(count_frames(frames) == 0, "no frames before it is started");
	run(library);
	check(seen > 0, "Python ran");
	check(count_frames(frames) == 0, "no frames outside of Python");
	FUNCTION(library, int (*)(void), "Py_FinalizeEx")();
	check(count_frames(frames) == 0, "no frames once it has ended");
	return failures ? 1 : 0;
}
