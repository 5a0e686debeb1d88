/* SPDX-License-Identifier: MIT
 *
 * collect/unrecorded.c - reasons why a process has no recorded call
 *
 * Runs in:  the recorder, at the end of a recording
 * Gets:     pids
 * Gives:    sentences for the user
 * Owns:     nothing
 * Fails:    returns what is known; processes that /proc hides are left out
 * Why:      /proc shows the reason while the process lives, and the trace does not contain it. Only
 *           environments of processes younger than the program are read, because reading those of
 *           all processes took 5 ms.
 */
#include "collect/unrecorded.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collect/proc.h"

enum { NAMES_MAX = 3 };

const char unrecorded_filtered[] =
	"has installed a seccomp filter of its own, which may kill it for opening the guest's "
	"socket. So the guest stays idle; --collect cpu samples such a program";

bool unrecorded_is_filtered(uint32_t pid)
{
	int own_filters, filters, mode = proc_seccomp(pid, &filters);
	const int own_mode = proc_seccomp((uint32_t)getpid(), &own_filters);

	return mode > 0 && (own_mode <= 0 || filters > own_filters);
}

bool unrecorded_explain(uint32_t pid, const char *(*find_why)(pid_t pid), char *text, size_t size)
{
	auto_free struct proc_info *info = calloc(1, sizeof(*info));

	if (!info || proc_read(pid, info) < 0)
		return false;
	snprintf(text, size, "process %u (%s) %s", pid, info->name, find_why((pid_t)pid));
	error_clear();
	return true;
}

/* Returns the last pid that the kernel assigned; 0: not known. */
static uint32_t read_last_pid(void)
{
	auto_fclose FILE *file = fopen("/proc/loadavg", "re");
	unsigned int last = 0;

	return file && fscanf(file, "%*s %*s %*s %*s %u", &last) == 1 ? last : 0;
}

static void add_left(struct unrecorded_left *left, uint32_t pid)
{
	const size_t length = strlen(left->names);
	char name[64];

	proc_thread_name(pid, pid, name);
	left->has_guest |= proc_maps_word(pid, "libduet-");
	if (!left->count)
		left->first_pid = pid;
	if (left->count++ < NAMES_MAX)
		snprintf(left->names + length, sizeof(left->names) - length, "%s%s (%u)",
			 length ? ", " : "", name, pid);
	else if (left->count == NAMES_MAX + 1)
		snprintf(left->names + length, sizeof(left->names) - length, ", ...");
}

void unrecorded_find_left(pid_t program, const char *variable, struct unrecorded_left *ret_left)
{
	const uint32_t last_pid = read_last_pid();
	/* If pids have wrapped around, any process may be younger. */
	const uint32_t least_pid = last_pid >= (uint32_t)program ? (uint32_t)program : 0;
	DIR *folder = opendir("/proc");
	const struct dirent *entry;

	*ret_left = (struct unrecorded_left){0};
	while (folder && (entry = readdir(folder))) {
		const uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (pid > least_pid && pid != (uint32_t)program && pid != (uint32_t)getpid() &&
		    proc_has_variable(pid, variable))
			add_left(ret_left, pid);
	}
	if (folder)
		closedir(folder);
}

void unrecorded_find_users(const char *library, struct unrecorded_left *ret_left)
{
	DIR *folder = opendir("/proc");
	const struct dirent *entry;

	*ret_left = (struct unrecorded_left){0};
	while (folder && (entry = readdir(folder))) {
		const uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (pid && pid != (uint32_t)getpid() && proc_maps_word(pid, library) &&
		    !proc_maps_word(pid, "libduet-"))
			add_left(ret_left, pid);
	}
	if (folder)
		closedir(folder);
}
