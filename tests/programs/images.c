/* SPDX-License-Identifier: MIT
 *
 * tests/programs/images.c - launch from a library that is not where the recorder would look for it
 *
 *	images LIBRARY [launch|deep|chdir|unlink|rest]...
 *
 *	Loads LIBRARY as it is named and does what the words say, one after the other. launch: from
 *	    its plugged_in().
 *	deep: below 3000 calls of one function.
 *	chdir: into /. unlink: deletes the library. rest: sleeps for 0.2 s.
 */
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "launch_work.h"

static __attribute__((noinline)) int deep(int depth)
{
	int result = 0;

	if (depth)
		result = deep(depth - 1);
	else
		launch_once();
	launch_sink++;
	return result + launch_sink % 2;
}

int main(int argc, char **argv)
{
	void (*plugged_in)(void (*)(void));
	void *library;
	char path[4096] = "";

	launch_open();
	launch_once();
	library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!library) {
		fprintf(stderr, "images: %s\n", argc > 1 ? dlerror() : "LIBRARY is missing");
		return 99;
	}
	if (!realpath(argv[1], path))
		path[0] = '\0';
	*(void **)&plugged_in = dlsym(library, "plugged_in");
	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], "launch") == 0)
			plugged_in(launch_once);
		if (strcmp(argv[i], "deep") == 0)
			deep(2999);
		if (strcmp(argv[i], "rest") == 0)
			usleep(200000);
		if (strcmp(argv[i], "chdir") == 0 && chdir("/") < 0)
			return 99;
		if (strcmp(argv[i], "unlink") == 0 && unlink(path) < 0)
			return 99;
	}
	launch_finish();
	return 0;
}
