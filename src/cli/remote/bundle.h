/* SPDX-License-Identifier: MIT
 *
 * cli/remote/bundle.h - this duet with its guests and libraries, to be copied to another machine
 */
#pragma once

#include "base/string.h"

struct bundle {
	struct string_builder tar; /* bin/duet, lib/duet/… */
	char name[64];             /* VERSION-HASH */
	unsigned glibc_minor;      /* it needs glibc 2.N or newer */
};

/* Reads the running program, its guests and the libraries that it has loaded, except those of
 * glibc. Errors: -errno with the error chain. */
int bundle_init(struct bundle *bundle, const char *version);
void bundle_fini(struct bundle *bundle);

/* Appends the archive compressed by gzip. Errors: -errno with the error chain. */
int bundle_compress(const struct bundle *bundle, struct string_builder *ret_bytes);
