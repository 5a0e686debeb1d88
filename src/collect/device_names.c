/* SPDX-License-Identifier: MIT
 *
 * collect/device_names.c - what lies behind a number of a device
 *
 * Runs in:  the recorder
 * Gets:     major and minor number   Gives: a name for people
 * Owns:     nothing
 * Fails:    with false: numbers of file systems that are mounted nowhere have no name
 */
#include "collect/device_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"

/* what: "disk", in /sys/dev/block, … */
static bool find_device(const char *folder, const char *what, unsigned int major,
			unsigned int minor, char *ret_text, size_t size)
{
	char path[64], line[256];
	auto_fclose FILE *file = NULL;
	bool found = false;

	snprintf(path, sizeof(path), "/sys/dev/%s/%u:%u/uevent", folder, major, minor);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file)) {
		found = strncmp(line, "DEVNAME=", 8) == 0;
		if (found)
			snprintf(ret_text, size, "%s %.*s", what, (int)strcspn(line + 8, "\n"),
				 line + 8);
	}
	return found;
}

bool device_name_character(unsigned int major, unsigned int minor, char *ret_text, size_t size)
{
	return find_device("char", "device", major, minor, ret_text, size);
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw": number, place, and behind the dash the kind. */
static bool read_mount(const char *line, unsigned int major, unsigned int minor, char *ret_text,
		       size_t size)
{
	const char *dash = strstr(line, " - ");
	unsigned int its_major, its_minor;
	char place[4096], kind[64];

	if (!dash || sscanf(line, "%*u %*u %u:%u %*s %4095s", &its_major, &its_minor, place) != 3 ||
	    its_major != major || its_minor != minor || sscanf(dash + 3, "%63s", kind) != 1)
		return false;
	snprintf(ret_text, size, "%s at %s", kind, place);
	return true;
}

static bool find_mount(uint32_t pid, unsigned int major, unsigned int minor, char *ret_text,
		       size_t size)
{
	auto_free char *line = NULL;
	auto_fclose FILE *file = NULL;
	size_t capacity = 0;
	char path[64];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%u/mountinfo", pid);
	file = fopen(path, "re");
	while (file && !found && getline(&line, &capacity, file) > 0)
		found = read_mount(line, major, minor, ret_text, size);
	return found;
}

bool device_name(uint32_t pid, unsigned int major, unsigned int minor, char *ret_text, size_t size)
{
	return find_device("block", "disk", major, minor, ret_text, size) ||
	       find_mount(pid, major, minor, ret_text, size);
}
