/* SPDX-License-Identifier: MIT
 *
 * isa/nvdisasm.c - NVIDIA's disassembler, where it is installed
 *
 * Runs in:  the readers, and a child for each piece of code
 * Gets:     bytes of code, which may be anything   Gives: lines of nvdisasm's
 * Owns:     the texts of what was asked about
 * Fails:    false; a program that hangs, crashes or writes what makes no sense is asked four times and then no more, which is said
 * Why a child: it is a program, and none that may be given to others with ours. It takes tens of ms to begin, so it is asked
 *           about 256 instructions at a time, whose texts are kept by where they are and what their bytes are, up to 262,144
 *           of them: then they are asked about again.
 */
#include "isa/nvdisasm.h"

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
	OUTPUT_MOST = 1 << 20,
	WAIT_MS = 10000,
	FAILURES_MOST = 4,
	TEXTS_MOST = 1 << 18,
	NOTHING = -1 /* instead of a text's id: it was asked about, and nothing was said */
};

extern char **environ;

struct nvdisasm {
	char path[4096], target[16]; /* "SM90" */
	char name[4200];
	struct hash_map texts; /* key of an instruction -> id in strings */
	struct string_table strings;
	size_t count;
	int failures;
	char why[NVDISASM_WHY_MAX]; /* it is asked no more */
};

/* ---- where it is ------------------------------------------------------------------------------- */

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

		/* Not where one happens to be. */
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
		snprintf(
			ret_why, NVDISASM_WHY_MAX,
			"instructions of NVIDIA's GPUs are shown without operands: those come from "
			"nvdisasm, which is part of CUDA's toolkit (or name it in DUET_NVDISASM)");
		return -ENOENT;
	}
	ret_why[0] = '\0';
	snprintf(nvdisasm->target, sizeof(nvdisasm->target), "SM%s", name + strlen("sm_"));
	snprintf(nvdisasm->name, sizeof(nvdisasm->name), "nvdisasm (%s)", nvdisasm->path);
	hash_map_init(&nvdisasm->texts);
	string_table_init(&nvdisasm->strings);
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
	return nvdisasm->failures < FAILURES_MOST ? NULL : nvdisasm->why;
}

/* ---- the child --------------------------------------------------------------------------------- */

/* Reads until it closes, at most so much and so long. False: it goes on. */
static bool read_output(int fd, char *output)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	struct timespec now;
	int64_t end_ms, left_ms;
	size_t used = 0;

	clock_gettime(CLOCK_MONOTONIC, &now);
	end_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + WAIT_MS;
	while (used < OUTPUT_MOST - 1) {
		ssize_t got;

		clock_gettime(CLOCK_MONOTONIC, &now);
		left_ms = end_ms - ((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
		if (left_ms <= 0)
			break;
		if (poll(&poll_fd, 1, (int)left_ms) <= 0)
			continue;
		got = read(fd, output + used, OUTPUT_MOST - 1 - used);
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

/* Nothing of ours but its input, output and the file with the code. */
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

/* Output of the program about so many bytes; NULL: it failed. */
static char *run(const struct nvdisasm *nvdisasm, const uint8_t *bytes, size_t size,
		 uint64_t address)
{
	auto_close int code = memfd_create("sass", MFD_CLOEXEC);
	char *output = malloc(OUTPUT_MOST);
	int ends[2] = {-1, -1}, kept = -1;
	bool is_done = false;
	pid_t pid = 0;

	if (output && code >= 0 && !pwrite_all(code, bytes, size, 0) && !pipe2(ends, O_CLOEXEC)) {
		kept = fcntl(code, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		is_done = kept >= 0 && !spawn(nvdisasm, address, kept, ends[1], &pid);
		close(ends[1]);
		if (is_done && !read_output(ends[0], output))
			kill(pid, SIGKILL); /* one that hangs is not waited for */
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

/* ---- its lines --------------------------------------------------------------------------------- */

/* By what it is, and where: branches name their target. */
static uint64_t key_of(const uint8_t *bytes, uint64_t address)
{
	uint64_t words[2], key = address * UINT64_C(0x9e3779b97f4a7c15);

	memcpy(words, bytes, sizeof(words));
	key = (key ^ words[0]) * UINT64_C(0xff51afd7ed558ccd);
	key ^= key >> 32;
	key = (key ^ words[1]) * UINT64_C(0xc4ceb9fe1a85ec53);
	return key ^ key >> 29;
}

/* What is between a comment with the address and the semicolon; 0: it is no such line. */
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
	/* printable ASCII, whatever it wrote */
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
			      text_length < NVDISASM_TEXT_SIZE ? text_length
							       : NVDISASM_TEXT_SIZE - 1);
	if (!id || hash_map_put(&nvdisasm->texts, key_of(bytes + (at - address), at), id))
		return false;
	nvdisasm->count++;
	return true;
}

/* It is not asked about again. */
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

/* All texts, so that there is room for more. */
static void forget(struct nvdisasm *nvdisasm)
{
	hash_map_fini(&nvdisasm->texts);
	string_table_fini(&nvdisasm->strings);
	hash_map_init(&nvdisasm->texts);
	string_table_init(&nvdisasm->strings);
	nvdisasm->count = 0;
}

static void count_failure(struct nvdisasm *nvdisasm)
{
	if (++nvdisasm->failures < FAILURES_MOST)
		return;
	snprintf(
		nvdisasm->why, sizeof(nvdisasm->why),
		"some instructions of NVIDIA's GPUs are shown without operands: '%.300s' failed %d "
		"times (is it of a CUDA that knows %s? Another one can be named in DUET_NVDISASM)",
		nvdisasm->path, FAILURES_MOST, nvdisasm->target);
}

/* False: it told of nothing. */
static bool ask(struct nvdisasm *nvdisasm, const uint8_t *bytes, size_t size, uint64_t address)
{
	char *output = run(nvdisasm, bytes, size, address), *line = output;
	size_t kept = 0;

	if (nvdisasm->count > TEXTS_MOST - AT_A_TIME)
		forget(nvdisasm);
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
	if (!id && nvdisasm->failures < FAILURES_MOST) {
		if (!ask(nvdisasm, bytes, asked, address))
			count_failure(nvdisasm);
		id = hash_map_get(&nvdisasm->texts, key_of(bytes, address), 0);
	}
	if (!id || id == (uint64_t)NOTHING)
		return false;
	snprintf(text, NVDISASM_TEXT_SIZE, "%s",
		 string_table_text(&nvdisasm->strings, (uint32_t)id, NULL));
	return true;
}
