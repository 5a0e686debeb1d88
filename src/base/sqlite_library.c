/* SPDX-License-Identifier: MIT
 *
 * base/sqlite_library.c - SQLite, loaded where a database is written or read
 *
 * Runs in:  our own process
 * Gets:     nothing   Gives: SQLite's functions
 * Owns:     the loaded library
 * Fails:    -ENOENT where there is none, or one without a function that is used
 * Why not linked: the loader takes 0.7 ms for it at every start, a quarter of what `duet record` costs.
 */
#include "base/sqlite_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "base/error.h"

#define LIBRARY "libsqlite3.so.0"

int sqlite_library_open(struct sqlite_library *library)
{
	*library = (struct sqlite_library){.handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL)};
	if (!library->handle)
		return error_set(-ENOENT, "%s: install it (on Debian: apt install libsqlite3-0)",
				 dlerror());
#define SQLITE_LOAD(name)                                                                    \
	library->name = (__typeof__(library->name))dlsym(library->handle, "sqlite3_" #name); \
	if (!library->name)                                                                  \
		return error_set(-ENOENT, LIBRARY " is too old: it has no sqlite3_" #name);
	SQLITE_FUNCTIONS(SQLITE_LOAD)
#undef SQLITE_LOAD
	return 0;
}

void sqlite_library_close(struct sqlite_library *library)
{
	if (library->handle)
		dlclose(library->handle);
	library->handle = NULL;
}
