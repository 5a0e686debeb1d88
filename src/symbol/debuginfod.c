/* SPDX-License-Identifier: MIT
 *
 * symbol/debuginfod.c - download debug files from debuginfod servers, if the user has configured
 * any
 *
 * Runs in:  our own process, in all commands that read a trace; waits for the network up to
 *           DEBUGINFOD_TIMEOUT
 * Gets:     a build id
 * Gives:    the path of a file that the client library downloaded
 * Owns:     the client
 * Fails:    -errno of the client; -ENOSYS if there is no client; opening returns NULL if no server
 *           is configured or the library is missing
 * Why dlopen: libdebuginfod brings libcurl and about thirty libraries along, which every start of
 *           the program would load although most machines do not use them
 */
#include "symbol/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* libdebuginfod's own interface; a build id of length 0 is hexadecimal text */
typedef void *begin_function(void);
typedef void end_function(void *client);
typedef int find_function(void *client, const unsigned char *build_id, int length, char **path);

struct debuginfod {
	void *client;
	end_function *end;
	find_function *find_debug, *find_program;
};

static void *load(void *library, const char *name)
{
	return library ? dlsym(library, name) : NULL;
}

struct debuginfod *debuginfod_open(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct debuginfod *debuginfod;
	begin_function *begin;
	void *library;

	if (!urls || !*urls)
		return NULL;
	debuginfod = calloc(1, sizeof(*debuginfod));
	if (!debuginfod)
		return NULL;
	library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	begin = (begin_function *)load(library, "debuginfod_begin");
	debuginfod->end = (end_function *)load(library, "debuginfod_end");
	debuginfod->find_debug = (find_function *)load(library, "debuginfod_find_debuginfo");
	debuginfod->find_program = (find_function *)load(library, "debuginfod_find_executable");
	if (begin && debuginfod->end && debuginfod->find_debug && debuginfod->find_program)
		debuginfod->client = begin();
	if (!debuginfod->client) {
		debuginfod_close(debuginfod);
		return NULL;
	}
	return debuginfod;
}

void debuginfod_close(struct debuginfod *debuginfod)
{
	if (!debuginfod)
		return;
	if (debuginfod->client)
		debuginfod->end(debuginfod->client);
	/* The library stays loaded: some of its dependencies leak memory when they are unloaded. */
	free(debuginfod);
}

int debuginfod_find(struct debuginfod *debuginfod, const char *build_id, bool is_debug,
		    char **ret_path)
{
	find_function *find;
	char *path = NULL;
	int fd;

	if (!debuginfod)
		return -ENOSYS;
	find = is_debug ? debuginfod->find_debug : debuginfod->find_program;
	fd = find(debuginfod->client, (const unsigned char *)build_id, 0, &path);
	if (fd < 0)
		return fd;
	close(fd);
	if (!path)
		return -ENOENT;
	*ret_path = path;
	return 0;
}
