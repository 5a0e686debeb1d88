/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/device_names.c - names of devices and mounts, found by their number
 *
 * Runs in:  the recorder
 * Gets:     a major and a minor number
 * Gives:    text for reports
 * Owns:     nothing
 * Fails:    returns false: a file system that is not mounted has no name
 */
#include "collect/kernel/device_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* folder is "block" or "char" in /sys/dev; `what` is the word in front of the name. */
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

/* Reads a line of mountinfo: "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw". Uses
 * the device number, the mount point and, behind the dash, the file system's type. */
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
