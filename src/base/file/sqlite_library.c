/* SPDX-License-Identifier: MIT
 *
 * base/file/sqlite_library.c - load SQLite to write or read a database
 *
 * Runs in:  our own process
 * Gets:     nothing
 * Gives:    SQLite's functions
 * Owns:     the loaded library
 * Fails:    -ENOENT if it is missing, or lacks a function that is used
 * Why not linked: loading SQLite takes 0.7 ms at every start, a quarter of the cost of `duet
 *           record`.
 */
#include "base/file/sqlite_library.h"

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
