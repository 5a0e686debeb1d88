/* SPDX-License-Identifier: MIT
 *
 * cli/remote/options.h - the options of --host, which many verbs have
 */
#pragma once

#include <stdbool.h>

#include "cli/options.h"

struct remote_values {
	const char *host, *ssh, *folder;
	bool keep_remote, forget_bundle;
};

/* The first row is of record only. */
extern const struct option_row remote_rows[];
