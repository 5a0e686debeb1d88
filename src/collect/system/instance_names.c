/* SPDX-License-Identifier: MIT
 *
 * collect/system/instance_names.c - the disks and network interfaces that the kernel lists now
 *
 * Runs in:  our own process, before a recording, and for `duet list`
 * Gets:     /proc/diskstats, /proc/net/dev
 * Gives:    names
 * Owns:     nothing
 * Fails:    a file that cannot be read has no names; names beyond 256 are left out
 * Why:      The parsers are those of the readings, so a name that is listed is one that matches
 */
#include "collect/system/instance_names.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "collect/system/formats.h"

enum { MAX_FILE_BYTES = 1 << 20 };

static void read_names(const char *root, const char *file,
		       bool (*next)(struct scan *rest, struct format_row *ret_row),
		       struct instance_names *ret_names)
{
	auto_free char *text = NULL;
	struct format_row row;
	struct scan rest;
	char path[512];

	ret_names->count = 0;
	snprintf(path, sizeof(path), "%s%s", root, file);
	if (read_file(path, MAX_FILE_BYTES, &text, NULL) < 0) {
		error_clear();
		return;
	}
	rest = scan_of(text, strlen(text));
	while (ret_names->count < MAX_INSTANCE_NAMES && next(&rest, &row)) {
		char *name = ret_names->texts[ret_names->count];

		if (!row.name || !row.valid)
			continue;
		snprintf(name, SERIES_NAME_BYTES, "%.*s", (int)row.name_length, row.name);
		ret_names->all[ret_names->count++] = name;
	}
}

void instance_names_read_disks(const char *root, struct instance_names *ret_names)
{
	read_names(root, "/proc/diskstats", diskstats_next, ret_names);
}

void instance_names_read_interfaces(const char *root, struct instance_names *ret_names)
{
	read_names(root, "/proc/net/dev", netdev_next, ret_names);
}
