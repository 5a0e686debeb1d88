/* SPDX-License-Identifier: MIT
 *
 * isa/nvdisasm.c - run NVIDIA's disassembler, if it is installed
 *
 * Runs in:  our own process, in all commands that read a trace, and a child for each piece of code
 * Gets:     bytes of code, untrusted
 * Gives:    lines of nvdisasm
 * Owns:     the texts of decoded instructions
 * Fails:    returns false. After four runs that hang, crash or write invalid output, the program is
 *           not run again, and nvdisasm_why has the reason
 * Why a child: nvdisasm is a program, not a library, and its licence forbids shipping it with duet.
 *           It takes tens of ms to start, so it decodes 256 instructions at a time. Their texts are
 *           kept by address and bytes, up to 262,144 of them; then all are dropped, and decoded
 *           again when needed.
 */
#include "isa/decoders.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/io.h"

enum {
	INSTRUCTION_BYTES = 16,
	AT_A_TIME = 256, /* instructions */
	MAX_OUTPUT = 1 << 20,
	WAIT_MS = 10000,
	MAX_FAILURES = 4,
	MAX_TEXTS = 1 << 18,
	NOTHING = -1 /* instead of a text's id: decoded without a result */
};

struct nvdisasm {
	char path[4096], target[16]; /* "SM90" */
	char name[4200];
	struct hash_map texts; /* key of an instruction -> id in strings */
	struct string_table strings;
	size_t count;
	int failures;
	char why[WHY_BYTES]; /* reason why it is not run any more; "": it is run */
};

/* ---- finding the program --------------------------------------------------------------------- */

static bool is_program(char *path, size_t size, const char *folder, size_t length)
{
	return length &&
	       (size_t)snprintf(path, size, "%.*s/nvdisasm", (int)length, folder) < size &&
	       access(path, X_OK) == 0;
}

static bool find_in_path(char *path, size_t size)
{
	const char *at = getenv("PATH");

	while (at && *at) {
		size_t length = strcspn(at, ":");

		/* A relative path would depend on the current folder. */
		if (*at == '/' && is_program(path, size, at, length))
			return true;
		at += length + (at[length] == ':');
	}
	return false;
}

static bool find_program(char *path, size_t size)
{
	static const char usual[] = "/usr/local/cuda/bin";
	const char *named = getenv("DUET_NVDISASM"), *home = getenv("CUDA_HOME");
	char folder[4000];

	if (named)
		return (size_t)snprintf(path, size, "%s", named) < size && access(path, X_OK) == 0;
	if (find_in_path(path, size))
		return true;
	if (home && (size_t)snprintf(folder, sizeof(folder), "%s/bin", home) < sizeof(folder) &&
	    is_program(path, size, folder, strlen(folder)))
		return true;
	return is_program(path, size, usual, strlen(usual));
}

int nvdisasm_new(const char *name, struct nvdisasm **ret_nvdisasm, char *ret_why)
{
	struct nvdisasm *nvdisasm = calloc(1, sizeof(*nvdisasm));

	if (!nvdisasm)
		return -ENOMEM;
	if (!find_program(nvdisasm->path, sizeof(nvdisasm->path))) {
		free(nvdisasm);
		snprintf(ret_why, WHY_BYTES,
			 "instructions of NVIDIA GPUs are shown without operands because nvdisasm "
			 "is missing; "
			 "install the CUDA toolkit or set DUET_NVDISASM");
		return -ENOENT;
	}
	ret_why[0] = '\0';
	snprintf(nvdisasm->target, sizeof(nvdisasm->target), "SM%s", name + strlen("sm_"));
	snprintf(nvdisasm->name, sizeof(nvdisasm->name), "nvdisasm (%s)", nvdisasm->path);
	*ret_nvdisasm = nvdisasm;
	return 0;
}

void nvdisasm_free(struct nvdisasm *nvdisasm)
{
	if (!nvdisasm)
		return;
	hash_map_fini(&nvdisasm->texts);
	string_table_fini(&nvdisasm->strings);
	free(nvdisasm);
}

const char *nvdisasm_name(const struct nvdisasm *nvdisasm)
{
	return nvdisasm->name;
}

const char *nvdisasm_why(const struct nvdisasm *nvdisasm)
{
	return nvdisasm->failures < MAX_FAILURES ? NULL : nvdisasm->why;
}

/* ---- the child ------------------------------------------------------------------------------- */

/* Reads until the child closes the pipe, within limits of size and time. False: a limit was
 * reached. */
static bool read_output(int fd, char *output)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	struct timespec now;
	int64_t end_ms, left_ms;
	size_t used = 0;

	clock_gettime(CLOCK_MONOTONIC, &now);
	end_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + WAIT_MS;
	while (used < MAX_OUTPUT - 1) {
		ssize_t got;

		clock_gettime(CLOCK_MONOTONIC, &now);
		left_ms = end_ms - ((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
		if (left_ms <= 0)
			break;
		if (poll(&poll_fd, 1, (int)left_ms) <= 0)
			continue;
		got = read(fd, output + used, MAX_OUTPUT - 1 - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			output[used] = '\0';
			return true;
		}
		used += (size_t)got;
	}
	output[used] = '\0';
	return false;
}

/* Starts the program, which inherits only its input, its output and the file with the code. */
static int spawn(const struct nvdisasm *nvdisasm, uint64_t address, int code, int output,
		 pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	char base[32];
	char *arguments[] = {(char *)(uintptr_t) "nvdisasm",
			     (char *)(uintptr_t) "--binary",
			     (char *)(uintptr_t)nvdisasm->target,
			     (char *)(uintptr_t) "--base-address",
			     base,
			     (char *)(uintptr_t) "/dev/stdin",
			     NULL};
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return -error;
	snprintf(base, sizeof(base), "0x%" PRIx64, address);
	error = posix_spawn_file_actions_adddup2(&actions, code, STDIN_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!error)
		error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
							 O_WRONLY, 0);
	if (!error)
		error = posix_spawn(ret_pid, nvdisasm->path, &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -error;
}

static bool was_done(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The program's output for `size` bytes; NULL: it failed. */
static char *run(const struct nvdisasm *nvdisasm, const uint8_t *bytes, size_t size,
		 uint64_t address)
{
	auto_close int code = memfd_create("sass", MFD_CLOEXEC);
	char *output = malloc(MAX_OUTPUT);
	int ends[2] = {-1, -1}, kept = -1;
	bool is_done = false;
	pid_t pid = 0;

	if (output && code >= 0 && !pwrite_all(code, bytes, size, 0) && !pipe2(ends, O_CLOEXEC)) {
		kept = fcntl(code, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		is_done = kept >= 0 && !spawn(nvdisasm, address, kept, ends[1], &pid);
		close(ends[1]);
		if (is_done && !read_output(ends[0], output))
			kill(pid, SIGKILL); /* a hanging one is killed */
		is_done = is_done && was_done(pid);
		close(ends[0]);
	}
	if (kept >= 0)
		close(kept);
	if (is_done)
		return output;
	free(output);
	return NULL;
}

/* ---- lines of the output --------------------------------------------------------------------- */

/* Key of an instruction: a hash of its bytes and address, because branches print their target. */
static uint64_t key_of(const uint8_t *bytes, uint64_t address)
{
	uint64_t words[2], key = address * UINT64_C(0x9e3779b97f4a7c15);

	memcpy(words, bytes, sizeof(words));
	key = (key ^ words[0]) * UINT64_C(0xff51afd7ed558ccd);
	key ^= key >> 32;
	key = (key ^ words[1]) * UINT64_C(0xc4ceb9fe1a85ec53);
	return key ^ key >> 29;
}

/* The text between a comment with the address and the semicolon; 0: another kind of line. */
static size_t cut_line(const char *line, size_t length, uint64_t *ret_address,
		       const char **ret_text)
{
	const char *end = line + length, *at = line + strspn(line, " \t"), *stop;
	char *behind;

	if (end - at < 4 || memcmp(at, "/*", 2) != 0)
		return 0;
	*ret_address = strtoull(at + 2, &behind, 16);
	if (behind == at + 2 || behind + 2 > end || memcmp(behind, "*/", 2) != 0)
		return 0;
	at = behind + 2;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	stop = memchr(at, ';', (size_t)(end - at));
	while (stop && stop > at && (stop[-1] == ' ' || stop[-1] == '\t'))
		stop--;
	/* only printable ASCII is kept */
	for (const char *letter = at; stop && letter < stop; letter++)
		if (*letter < ' ' || *letter > '~')
			return 0;
	*ret_text = at;
	return stop ? (size_t)(stop - at) : 0;
}

static bool keep_line(struct nvdisasm *nvdisasm, const uint8_t *bytes, size_t size,
		      uint64_t address, const char *line, size_t length)
{
	uint64_t at;
	const char *text;
	size_t text_length = cut_line(line, length, &at, &text);
	uint32_t id;

	if (!text_length || at < address || at - address > size - INSTRUCTION_BYTES ||
	    (at - address) % INSTRUCTION_BYTES)
		return false;
	id = string_table_add(&nvdisasm->strings, text,
			      text_length < RAW_BYTES ? text_length : RAW_BYTES - 1);
	if (!id || hash_map_put(&nvdisasm->texts, key_of(bytes + (at - address), at), id))
		return false;
	nvdisasm->count++;
	return true;
}

/* Remembers that an instruction has no text, so that it is not decoded again. */
static void keep_silence(struct nvdisasm *nvdisasm, const uint8_t *bytes, size_t size,
			 uint64_t address)
{
	for (size_t at = 0; at < size; at += INSTRUCTION_BYTES) {
		const uint64_t key = key_of(bytes + at, address + at);

		if (!hash_map_get(&nvdisasm->texts, key, 0) &&
		    !hash_map_put(&nvdisasm->texts, key, (uint64_t)NOTHING))
			nvdisasm->count++;
	}
}

/* Drops all texts to make room. */
static void forget_texts(struct nvdisasm *nvdisasm)
{
	hash_map_fini(&nvdisasm->texts);
	string_table_fini(&nvdisasm->strings);
	hash_map_init(&nvdisasm->texts);
	string_table_init(&nvdisasm->strings);
	nvdisasm->count = 0;
}

static void count_failure(struct nvdisasm *nvdisasm)
{
	if (++nvdisasm->failures < MAX_FAILURES)
		return;
	snprintf(nvdisasm->why, sizeof(nvdisasm->why),
		 "some instructions of NVIDIA GPUs are shown without operands: '%.300s' failed %d "
		 "times; "
		 "set DUET_NVDISASM to one of a CUDA toolkit that supports %s",
		 nvdisasm->path, MAX_FAILURES, nvdisasm->target);
}

/* False: no instruction was decoded. */
static bool run_nvdisasm(struct nvdisasm *nvdisasm, const uint8_t *bytes, size_t size,
			 uint64_t address)
{
	char *output = run(nvdisasm, bytes, size, address), *line = output;
	size_t kept = 0;

	if (nvdisasm->count > MAX_TEXTS - AT_A_TIME)
		forget_texts(nvdisasm);
	while (line && *line) {
		size_t length = strcspn(line, "\n");

		kept += keep_line(nvdisasm, bytes, size, address, line, length);
		line += length + (line[length] == '\n');
	}
	free(output);
	if (kept)
		keep_silence(nvdisasm, bytes, size, address);
	return kept > 0;
}

bool nvdisasm_decode(struct nvdisasm *nvdisasm, const uint8_t *bytes, size_t size, uint64_t address,
		     char *text)
{
	size_t asked = size - size % INSTRUCTION_BYTES;
	uint64_t id;

	if (asked < INSTRUCTION_BYTES)
		return false;
	if (asked > AT_A_TIME * INSTRUCTION_BYTES)
		asked = AT_A_TIME * INSTRUCTION_BYTES;
	id = hash_map_get(&nvdisasm->texts, key_of(bytes, address), 0);
	if (!id && nvdisasm->failures < MAX_FAILURES) {
		if (!run_nvdisasm(nvdisasm, bytes, asked, address))
			count_failure(nvdisasm);
		id = hash_map_get(&nvdisasm->texts, key_of(bytes, address), 0);
	}
	if (!id || id == (uint64_t)NOTHING)
		return false;
	snprintf(text, RAW_BYTES, "%s", string_table_text(&nvdisasm->strings, (uint32_t)id, NULL));
	return true;
}
