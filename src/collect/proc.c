/* SPDX-License-Identifier: MIT
 *
 * collect/proc.c - reads facts about processes from /proc
 *
 * Runs in:  the recorder, once per attached process or thread
 * Gets:     a pid in the recorder's pid namespace
 * Gives:    identity and names
 * Owns:     nothing
 * Fails:    -ESRCH for a process that is gone; a member that cannot be read stays empty
 * Why:      A busy machine reuses a pid within minutes, so pid and start time identify a process. A
 *           guest in a container knows only the pids of its namespace; NSpid translates them.
 */
#include "collect/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"

/* Limit of arguments and environment of a process: the kernel allows 6 MiB for both together. */
enum { MAX_ENVIRONMENT = 6 << 20 };

static size_t read_text(const char *path, size_t most, char *text)
{
	auto_free char *bytes = NULL;
	size_t size = 0;

	text[0] = '\0';
	if (read_file(path, 1 << 20, &bytes, &size) < 0) {
		error_clear();
		return 0;
	}
	if (size >= most)
		size = most - 1;
	memcpy(text, bytes, size);
	text[size] = '\0';
	return size;
}

/* In /proc/PID/stat the name in parentheses may contain any character, so fields are counted from
 * the last ')'. */
static int read_stat(uint32_t pid, struct proc_info *info)
{
	char path[64], text[2048], *open, *close;
	unsigned long long start = 0;
	unsigned int parent = 0;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (!read_text(path, sizeof(text), text))
		return -ESRCH;
	open = strchr(text, '(');
	close = strrchr(text, ')');
	if (!open || !close || close < open)
		return -ESRCH;
	snprintf(info->name, sizeof(info->name), "%.*s", (int)(close - open - 1), open + 1);
	if (sscanf(close + 1,
		   " %*c %u %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		   "%llu",
		   &parent, &start) != 2)
		return -ESRCH;
	info->parent_pid = parent;
	info->start_ticks = start;
	return 0;
}

uint64_t proc_start_ticks(uint32_t pid)
{
	struct proc_info info;

	return read_stat(pid, &info) ? 0 : info.start_ticks;
}

bool proc_is_alive(int pid_fd, uint32_t pid)
{
	struct pollfd process = {.fd = pid_fd, .events = POLLIN};
	char path[64], text[2048], *close;

	if (pid_fd >= 0)
		return poll(&process, 1, 0) == 0;
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	read_text(path, sizeof(text), text);
	close = strrchr(text, ')');
	return close && close[1] == ' ' && close[2] != 'Z' && close[2] != 'X';
}

int proc_try(uint32_t pid)
{
	char path[64], target;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	return readlink(path, &target, sizeof(target)) < 0 ? -errno : 0;
}

static bool is_plain(const char *word)
{
	if (!*word)
		return false;
	for (; *word; word++)
		if (!isalnum((unsigned char)*word) && !strchr("_-./=:,+@%^", *word))
			return false;
	return true;
}

/* Joins NUL-separated arguments to one line that a shell would parse back. */
static void quote_command(const char *arguments, size_t size, char *command, size_t most)
{
	size_t used = 0;

	command[0] = '\0';
	for (size_t at = 0; at < size && used + 8 < most; at += strlen(arguments + at) + 1) {
		const char *word = arguments + at;
		bool plain = is_plain(word);

		if (used)
			command[used++] = ' ';
		if (!plain)
			command[used++] = '\'';
		for (; *word && used + 8 < most; word++) {
			if (*word == '\'') {
				memcpy(command + used, "'\\''", 4);
				used += 4;
			} else {
				command[used++] = *word;
			}
		}
		if (!plain)
			command[used++] = '\'';
	}
	command[used] = '\0';
}

void proc_quote(char *const *arguments, char *command, size_t most)
{
	auto_free char *joined = calloc(1, most);
	size_t used = 0;

	for (size_t i = 0; joined && arguments[i] && used + strlen(arguments[i]) + 1 < most; i++)
		used += (size_t)(stpcpy(joined + used, arguments[i]) - (joined + used)) + 1;
	quote_command(joined ? joined : "", used, command, most);
}

/* Returns the last number of the NSpid line: the thread's id in its own namespace. 0: not known. */
static uint32_t ns_tid_of(uint32_t pid, uint32_t tid)
{
	char path[96], text[4096], *line, *last;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/status", pid, tid);
	read_text(path, sizeof(text), text);
	line = strstr(text, "\nNSpid:");
	if (!line)
		return 0;
	line[strcspn(line + 1, "\n") + 1] = '\0';
	last = strrchr(line, '\t');
	return last ? (uint32_t)strtoul(last + 1, NULL, 10) : 0;
}

/* Reads the environment at the program's start. Later changes by the program are not visible. */
static struct rank read_rank(uint32_t pid)
{
	auto_free char *environment = NULL;
	struct rank rank;
	char path[64];
	size_t size = 0;

	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	if (read_file(path, MAX_ENVIRONMENT, &environment, &size) < 0)
		error_clear();
	rank = ranks_parse(environment, size);
	return rank;
}

static size_t path_length(const char *line)
{
	const size_t length = strcspn(line, "\n"), before = strcspn(line, "/\n");

	return length - before;
}

void proc_keep_group(char *text)
{
	const char *best = text;

	for (const char *line = text; *line; line += *line == '\n') {
		if (path_length(line) > path_length(best))
			best = line;
		line += strcspn(line, "\n");
	}
	memmove(text, best, strlen(best) + 1);
	text[strcspn(text, "\n")] = '\0';
}

int proc_read(uint32_t pid, struct proc_info *ret_info)
{
	auto_free struct proc_info *info = calloc(1, sizeof(*info));
	char path[64], arguments[4096];
	struct stat about;
	ssize_t length;
	size_t size;

	if (!info)
		return -ENOMEM;
	info->pid = pid;
	if (read_stat(pid, info) < 0)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (stat(path, &about) == 0)
		info->uid = about.st_uid;
	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	length = readlink(path, info->exe, sizeof(info->exe) - 1);
	info->exe[length > 0 ? length : 0] = '\0';
	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	size = read_text(path, sizeof(arguments), arguments);
	quote_command(arguments, size, info->command, sizeof(info->command));
	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	read_text(path, sizeof(info->cgroup), info->cgroup);
	proc_keep_group(info->cgroup);
	info->ns_pid = ns_tid_of(pid, pid);
	info->rank = read_rank(pid);
	*ret_info = *info;
	return 0;
}

uint32_t proc_thread(uint32_t pid, uint32_t ns_pid, uint32_t ns_tid, uint32_t *inout_files)
{
	char path[64];
	struct dirent *entry;
	uint32_t found = ns_tid;
	DIR *folder;

	if (ns_pid == pid || !*inout_files)
		return ns_tid;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	folder = opendir(path);
	while (folder && *inout_files && (entry = readdir(folder))) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		*inout_files -= tid != 0;
		if (tid && ns_tid_of(pid, tid) == ns_tid) {
			found = tid;
			break;
		}
	}
	if (folder)
		closedir(folder);
	return found;
}

void proc_thread_name(uint32_t pid, uint32_t tid, char name[64])
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, tid);
	read_text(path, 64, name);
	name[strcspn(name, "\n")] = '\0';
}

bool proc_waited_ns(uint32_t pid, uint32_t tid, uint64_t *ret_ns)
{
	char path[64], text[96];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", pid, tid);
	read_text(path, sizeof(text), text);
	return sscanf(text, "%*u %" SCNu64, ret_ns) == 1;
}

int proc_seccomp(uint32_t pid, int *ret_filters)
{
	char path[64], text[1 << 16],
		*line; /* large, because the line lists all groups of the user */

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	read_text(path, sizeof(text), text);
	line = strstr(text, "\nSeccomp_filters:");
	*ret_filters = line ? atoi(line + 17) : -1;
	line = strstr(text, "\nSeccomp:");
	return line ? atoi(line + 9) : -1;
}

static FILE *open_maps(uint32_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	return fopen(path, "re");
}

bool proc_has_mapping(uint32_t pid, uint64_t inode)
{
	auto_fclose FILE *maps = open_maps(pid);
	char line[8192], kind = 'p';
	unsigned long long found = 0;
	bool is_there = false;

	for (int i = 0; maps && !is_there && i < PROC_MAPPINGS && fgets(line, sizeof(line), maps);
	     i++)
		is_there = sscanf(line, "%*x-%*x %*3c%c %*x %*s %llu", &kind, &found) == 2 &&
			   kind == 's' && found == inode;
	return is_there;
}

bool proc_maps_word(uint32_t pid, const char *word)
{
	auto_fclose FILE *maps = open_maps(pid);
	char line[8192];
	bool is_there = false;

	for (int i = 0; maps && !is_there && i < PROC_MAPPINGS && fgets(line, sizeof(line), maps);
	     i++)
		is_there = strstr(line, word) != NULL;
	return is_there;
}

bool proc_has_variable(uint32_t pid, const char *variable)
{
	auto_free char *text = NULL;
	size_t size = 0;
	char path[64];

	if (!variable || !*variable)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	if (read_file(path, MAX_ENVIRONMENT, &text, &size) < 0) {
		error_clear();
		return false;
	}
	for (const char *at = text; at < text + size; at += strlen(at) + 1)
		if (strcmp(at, variable) == 0)
			return true;
	return false;
}

bool proc_counts_as_machine(void)
{
	char name[64] = "";

	/* the inode of the first pid namespace is part of the kernel's interface:
	 * PROC_PID_INIT_INO */
	return readlink("/proc/self/ns/pid", name, sizeof(name) - 1) > 0 &&
	       strcmp(name, "pid:[4026531836]") == 0;
}

uint64_t own_memory_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	uint64_t pages = 0, shared = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%*u %" SCNu64 " %" SCNu64, &pages, &shared) != 2 || shared > pages)
		pages = shared = 0;
	fclose(file);
	return (pages - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}
