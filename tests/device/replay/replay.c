/* SPDX-License-Identifier: MIT
 *
 * tests/device/replay/replay.c - a program that says again what one with a GPU did: as the driver
 * would, it loads the tool that CUDA_INJECTION64_PATH names, and then has a capture played to it
 *
 * Runs in:  a process of its own, below duet record
 * Gets:     CUDA_INJECTION64_PATH, DUET_CUPTI (replay_cupti.c), REPLAY_CAPTURE
 * Fails:    with a line on stderr and status 1
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *find(const char *variable, const char *function)
{
	const char *path = getenv(variable);
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	void *found = library ? dlsym(library, function) : NULL;

	if (found)
		return found;
	fprintf(stderr, "replay: %s: %s\n", variable, path ? dlerror() : "it is not set");
	exit(1);
}

int main(void)
{
	int (*inject)(void), (*play)(void);

	*(void **)&inject = find("CUDA_INJECTION64_PATH", "InitializeInjection");
	inject();
	*(void **)&play = find("DUET_CUPTI", "replay_play");
	return play();
}
