/* SPDX-License-Identifier: MIT
 *
 * collect/start/program.c - forks and executes the profiled program; reports why that failed
 *
 * Runs in:  the recorder; between fork and exec in the child
 * Gets:     arguments, environment, signal mask, user
 * Gives:    the pid of the program
 * Owns:     nothing that outlives the call
 * Fails:    -errno of the exec or of a step before it. The child sends it over a pipe that a
 *           successful exec closes
 * Why:      a failed exec must become duet's exit status (127 or 126) and a message of duet, and
 *           not of a child that looks like the program. Failures of duet itself (fork, setuid) give
 *           125
 */
#include "collect/start/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"

/* Raises the soft limit to the hard limit. */
static void raise_limit(int resource, struct rlimit *ret_old)
{
	struct rlimit raised;

	getrlimit(resource, ret_old);
	raised = *ret_old;
	raised.rlim_cur = raised.rlim_max;
	setrlimit(resource, &raised);
}

void program_state_take(struct program_state *state, const sigset_t *blocked)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, usual = {.sa_handler = SIG_DFL};

	raise_limit(RLIMIT_FSIZE, &state->file_limit);
	raise_limit(RLIMIT_NOFILE, &state->descriptor_limit);
	sigaction(SIGXFSZ, &ignore, &state->file_size);
	sigaction(SIGPIPE, &ignore, &state->broken_pipe);
	/* If duet's parent ignored SIGCHLD, the kernel would reap the program before its status is
	 * read. */
	sigaction(SIGCHLD, &usual, &state->child);
	sigprocmask(SIG_BLOCK, blocked, &state->mask);
}

void program_state_restore(const struct program_state *state)
{
	setrlimit(RLIMIT_FSIZE, &state->file_limit);
	setrlimit(RLIMIT_NOFILE, &state->descriptor_limit);
	sigaction(SIGXFSZ, &state->file_size, NULL);
	sigaction(SIGPIPE, &state->broken_pipe, NULL);
	sigaction(SIGCHLD, &state->child, NULL);
	sigprocmask(SIG_SETMASK, &state->mask, NULL);
}

static int become_user(const struct program_user *user)
{
	if (!user->set)
		return 0;
	if (initgroups(user->name, user->gid) < 0 || setgid(user->gid) < 0 || setuid(user->uid) < 0)
		return -errno;
	return 0;
}

/* Sent by the child if it could not execute the program. */
struct start_failure {
	int error;
	bool by_exec;
};

/* Becomes the program. gate: a pipe; the child waits until the parent closes its end. -1: none. */
static _Noreturn void become_program(const struct program_options *options, int report, int gate)
{
	struct start_failure failure = {.error = become_user(&options->user)};
	char nothing;

	if (gate >= 0)
		read_all(gate, &nothing, 1);
	program_state_restore(options->state);
	if (options->has_one_output)
		dup2(STDOUT_FILENO, STDERR_FILENO);
	if (!failure.error) {
		execvpe(options->arguments[0], options->arguments, options->environment);
		failure = (struct start_failure){-errno, true};
	}
	if (write_all(report, &failure, sizeof(failure)) < 0)
		_exit(126);
	_exit(127);
}

static int start_error(const struct program_options *options, const struct start_failure *failure)
{
	const char *name = options->arguments[0];
	int error = failure->error;

	if (!failure->by_exec)
		return error_set(error, "start '%s': become user '%s': %s", name,
				 options->user.name, strerror(-error));
	if (error == -ENOENT)
		return error_set(
			error,
			"cannot run '%s': no such program; give a path, or a name that is in "
			"PATH",
			name);
	if (error == -EACCES)
		return error_set(error, "cannot run '%s': it is not executable (permission denied)",
				 name);
	return error_set(error, "cannot run '%s': %s", name, strerror(-error));
}

int program_start(const struct program_options *options, pid_t *ret_pid, int *ret_exec_error)
{
	auto_close int reading = -1, gate = -1;
	struct start_failure failure;
	int ends[2], gates[2] = {-1, -1}, error;
	pid_t pid;

	*ret_exec_error = 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(-errno, "start '%s': pipe: %s", options->arguments[0],
				 strerror(errno));
	reading = ends[0];
	if (options->on_forked && pipe2(gates, O_CLOEXEC) < 0)
		/* the program then starts before the collectors have attached */
		gates[0] = gates[1] = -1;
	gate = gates[0];
	pid = fork();
	if (pid < 0) {
		error = -errno;
		close(ends[1]);
		if (gates[1] >= 0)
			close(gates[1]);
		return error_set(error, "start '%s': fork: %s", options->arguments[0],
				 strerror(-error));
	}
	if (pid == 0) {
		if (gates[1] >= 0)
			close(gates[1]);
		become_program(options, ends[1], gate);
	}
	close(ends[1]);
	if (options->on_forked)
		options->on_forked(options->context, pid);
	if (gates[1] >= 0)
		close(gates[1]);
	if (read_all(reading, &failure, sizeof(failure)) == 0) {
		waitpid(pid, NULL, 0);
		*ret_exec_error = failure.by_exec ? failure.error : 0;
		return start_error(options, &failure);
	}
	*ret_pid = pid;
	return 0;
}

int program_find_user(const char *name, struct program_user *ret_user)
{
	struct passwd *entry = getpwnam(name);

	if (!entry)
		return error_set(-ENOENT, "no user '%s' on this machine", name);
	*ret_user = (struct program_user){.set = true, .uid = entry->pw_uid, .gid = entry->pw_gid};
	snprintf(ret_user->name, sizeof(ret_user->name), "%s", name);
	snprintf(ret_user->home, sizeof(ret_user->home), "%s", entry->pw_dir);
	return 0;
}

/* ---- kind of program file -------------------------------------------------------------------- */

static int open_in_path(const char *name)
{
	const char *folders = getenv("PATH");

	if (strchr(name, '/'))
		/* O_NONBLOCK: a FIFO may have no writer */
		return open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	while (folders && *folders) {
		size_t length = strcspn(folders, ":");
		char path[4096];
		int fd;

		snprintf(path, sizeof(path), "%.*s/%s", (int)length, folders, name);
		fd = access(path, X_OK) == 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
		if (fd >= 0)
			return fd;
		folders += length + (folders[length] == ':');
	}
	return -1;
}

/* Finds the next program header of a type, from *inout_index on. A header outside of the file ends
 * the search. */
static bool next_part(const uint8_t *file, size_t size, uint32_t type, unsigned int *inout_index,
		      Elf64_Phdr *ret_part)
{
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)file;

	while (*inout_index < head->e_phnum) {
		size_t at = head->e_phoff + (*inout_index)++ * sizeof(Elf64_Phdr);

		if (head->e_phentsize != sizeof(Elf64_Phdr) || at > size ||
		    size - at < sizeof(Elf64_Phdr))
			return false;
		/* a copy, because the offset may be unaligned */
		memcpy(ret_part, file + at, sizeof(*ret_part));
		if (ret_part->p_type == type)
			return true;
	}
	return false;
}

static bool is_inside(uint64_t offset, uint64_t bytes, size_t size)
{
	return offset <= size && bytes <= size - offset;
}

/* File offset of the byte that is loaded to an address; `size`: none. */
static uint64_t offset_of(const uint8_t *file, size_t size, uint64_t address)
{
	unsigned int index = 0;
	Elf64_Phdr part;

	while (next_part(file, size, PT_LOAD, &index, &part))
		if (address >= part.p_vaddr && address - part.p_vaddr < part.p_filesz)
			return part.p_offset + (address - part.p_vaddr);
	return size;
}

struct dynamic_names {
	uint64_t address, bytes;
};

static struct dynamic_names read_dynamic(const uint8_t *file, const Elf64_Phdr *dynamic)
{
	struct dynamic_names names = {0};
	Elf64_Dyn entry;

	for (uint64_t at = 0; at + sizeof(entry) <= dynamic->p_filesz; at += sizeof(entry)) {
		memcpy(&entry, file + dynamic->p_offset + at, sizeof(entry));
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_STRTAB)
			names.address = entry.d_un.d_ptr;
		if (entry.d_tag == DT_STRSZ)
			names.bytes = entry.d_un.d_val;
	}
	return names;
}

/* Whether the program's dynamic string table contains `name`. That table is some 1/100 of the file;
 * if there is none, the whole file is searched. */
static bool has_dynamic_name(const uint8_t *file, size_t size, const char *name)
{
	struct dynamic_names names = {0};
	unsigned int index = 0;
	Elf64_Phdr dynamic;
	uint64_t offset;

	if (next_part(file, size, PT_DYNAMIC, &index, &dynamic) &&
	    is_inside(dynamic.p_offset, dynamic.p_filesz, size))
		names = read_dynamic(file, &dynamic);
	offset = offset_of(file, size, names.address);
	if (!names.bytes || !is_inside(offset, names.bytes, size))
		return memmem(file, size, name, strlen(name)) != NULL;
	return memmem(file + offset, names.bytes, name, strlen(name)) != NULL;
}

static bool is_damaged(const uint8_t *file, size_t size)
{
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)file;

	return head->e_phnum &&
	       (head->e_phentsize != sizeof(Elf64_Phdr) ||
		!is_inside(head->e_phoff, (uint64_t)head->e_phnum * sizeof(Elf64_Phdr), size));
}

/* Whether the program is dynamically linked. True for a damaged file, so that it is not reported as
 * static. */
static bool has_interpreter(const uint8_t *file, size_t size)
{
	unsigned int index = 0;
	Elf64_Phdr part;

	return is_damaged(file, size) || next_part(file, size, PT_INTERP, &index, &part);
}

static enum program_kind kind_of_elf(const uint8_t *file, size_t size, bool setuid_bit,
				     bool look_for_sanitizer)
{
	if (size < sizeof(Elf64_Ehdr) || memcmp(file, ELFMAG, SELFMAG) != 0)
		return PROGRAM_UNKNOWN;
	if (setuid_bit)
		return PROGRAM_SETUID;
	if (file[EI_CLASS] != ELFCLASS64)
		return PROGRAM_OTHER_CLASS;
	if (!has_interpreter(file, size))
		return PROGRAM_STATIC;
	return look_for_sanitizer && has_dynamic_name(file, size, "__asan_init") ? PROGRAM_SANITIZED
										 : PROGRAM_ORDINARY;
}

/* Maps the program's file; the caller unmaps it. NULL: it cannot be read. */
static uint8_t *map_program(const char *name, struct stat *ret_about)
{
	auto_close int fd = open_in_path(name);
	uint8_t *file;

	if (fd < 0 || fstat(fd, ret_about) < 0 || ret_about->st_size <= 0)
		return NULL;
	file = mmap(NULL, (size_t)ret_about->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	return file == MAP_FAILED ? NULL : file;
}

enum program_kind program_kind_of(const char *name, bool look_for_sanitizer)
{
	enum program_kind kind;
	struct stat about;
	uint8_t *file = map_program(name, &about);

	if (!file)
		return PROGRAM_UNKNOWN;
	kind = kind_of_elf(file, (size_t)about.st_size,
			   (about.st_mode & S_ISUID) && about.st_uid != geteuid(),
			   look_for_sanitizer);
	munmap(file, (size_t)about.st_size);
	return kind;
}

/* Like memmem, but faster: memchr searches many bytes at a time for a letter that is rare in
 * programs. The 7 MB of a Python take 0.9 ms instead of 3.5. */
static bool has_word(const uint8_t *file, size_t size, const char *word)
{
	const char *rare = strpbrk(word, "jqxz");
	const size_t length = strlen(word), before = rare ? (size_t)(rare - word) : 0;
	const uint8_t *end = file + size, *at = file + before;

	if (!rare)
		return memmem(file, size, word, length) != NULL;
	while (at < end && (at = memchr(at, *rare, (size_t)(end - at)))) {
		if ((size_t)(end - at) >= length - before && memcmp(at - before, word, length) == 0)
			return true;
		at++;
	}
	return false;
}

bool program_mentions(const char *name, const char *word)
{
	struct stat about;
	uint8_t *file = map_program(name, &about);
	bool found = file && has_word(file, (size_t)about.st_size, word);

	if (file)
		munmap(file, (size_t)about.st_size);
	return found;
}

const char *program_kind_text(enum program_kind kind)
{
	static const char *const texts[] = {
		[PROGRAM_STATIC] =
			"it is linked statically, so that no library can be loaded beside it",
		[PROGRAM_OTHER_CLASS] = "it is a 32-bit program and the guest is 64-bit",
		[PROGRAM_SETUID] = "it is set-user-ID, and no guest is loaded into such a program. "
				   "Start it as that user (duet record --user)",
		[PROGRAM_SANITIZED] =
			"it is built with AddressSanitizer, which refuses preloaded libraries",
		[PROGRAM_UNKNOWN] = NULL,
	};

	return array_text(texts, ARRAY_COUNT(texts), kind, NULL);
}
