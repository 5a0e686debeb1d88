/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/profiles.h - requests that carry profiles
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "agent/endpoints/options.h"

struct exporter;
struct live_window;

/* Exports the window's data in a format. version: duet's. *ret_bytes comes from malloc. Errors:
 * -errno with the error chain; -ENODATA: the window has nothing for a profile. */
int profile_export(const struct live_window *window, const struct exporter *exporter,
		   const char *version, void **ret_bytes, size_t *ret_size);

/* The times and names of a profile that its URL or body contains. */
struct profile_place {
	const char *url;  /* as configured */
	const char *name; /* program */
	const char *host;
	uint64_t from_ns, until_ns; /* CLOCK_REALTIME */
};

/* The URL for a receiver, from malloc; NULL: no memory. */
char *profile_url(enum pprof_receiver receiver, const struct profile_place *place);

/* The body for a receiver: takes ownership of a pprof file's bytes, and returns them or a new body;
 * NULL: no memory. *inout_size: its size. */
void *profile_body(enum pprof_receiver receiver, const struct profile_place *place, void *bytes,
		   size_t *inout_size);
const char *profile_content_type(enum pprof_receiver receiver);

/* Joins a base URL and a path with one '/'; from malloc; NULL: no memory. */
char *url_join(const char *base, const char *path);

/* Compresses bytes as one gzip member and frees them; NULL: no memory. */
void *gzip_bytes(void *bytes, size_t *inout_size);
