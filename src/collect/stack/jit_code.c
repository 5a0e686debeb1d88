/* SPDX-License-Identifier: MIT
 *
 * collect/stack/jit_code.c - frames in JIT code, and their names from perf maps and jitdumps
 *
 * Runs in:  the recorder
 * Gets:     program counters outside of all files; /tmp/perf-PID.map and jit-PID.dump
 * Gives:    frames of the trace, and later their names
 * Owns:     the frames that have no name yet; descriptors of the two files
 * Fails:    never; frames without a name are counted
 * Why:      a runtime writes these files while it runs, sometimes after the code was called, and
 *           they may be megabytes long. They are read repeatedly, but only if they have changed,
 *           and all processes of a user together get at most 1/50 of the recorder's time. The files
 *           are held open because /proc/PID/root is gone after the process's end.
 */
#include "collect/stack/jit_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file/regular_file.h"
#include "collect/host_clocks.h"
#include "collect/time_namespace.h"
#include "symbol/jit/jitdump.h"
#include "symbol/jit/perf_map.h"

enum { INTERVAL_NS = 10000000, SECOND_NS = 1000000000 };
/* Limits for reading a file once. 512 MiB takes about a second. For a file of another user, the
 * limit is what may be read in one round. */
#define BYTES_LAST    ((uint64_t)512 << 20)
#define MAX_BYTES     ((uint64_t)64 << 20) /* while the process runs */
#define BYTES_LIMITED ((uint64_t)16 << 20)

static void close_files(struct jit_code *code)
{
	if (code->has_files && code->map_fd >= 0)
		close(code->map_fd);
	if (code->has_files && code->dump_fd >= 0)
		close(code->dump_fd);
	code->has_files = false;
}

void jit_code_fini(struct jit_code *code)
{
	close_files(code);
	free(code->frames);
	*code = (struct jit_code){0};
}

uint32_t jit_code_frame(struct jit_code *code, struct recording *recording, uint32_t process_id,
			uint64_t pc, uint32_t flags)
{
	const struct event_frame row = {.type = FRAME_JIT, .flags = flags, .offset = pc};
	uint32_t id = trace_writer_own_frame(recording->writer, &row, process_id);

	if (id <= recording->last_frame)
		return id;
	recording->last_frame = id;
	recording->kept_bytes += FRAME_BYTES;
	if (array_grow(code->frames, code->capacity, code->count + 1)) {
		code->lost++;
		return id;
	}
	code->frames[code->count++] =
		(struct made_frame){pc - (flags & FRAME_RETURN ? 1 : 0), host_clocks_now_ns(), id};
	return id;
}

/* ---- the files ------------------------------------------------------------------------------- */

static bool is_older(const struct stat *about, uint64_t start_ticks)
{
	struct timespec boot, wall;
	double start;

	if (!start_ticks || clock_gettime(CLOCK_BOOTTIME, &boot) < 0 ||
	    clock_gettime(CLOCK_REALTIME, &wall) < 0)
		return false;
	start = (double)wall.tv_sec - (double)boot.tv_sec +
		(double)start_ticks / (double)sysconf(_SC_CLK_TCK);
	return (double)about->st_mtim.tv_sec < start - 2;
}

/* Opens a regular file of the process's user (or of root) that is not older than the process.
 * Another user may have created the name, for example as a FIFO without a writer, and the pid may
 * have been reused. */
static int open_own(const struct jit_code_owner *owner, const char *path)
{
	int fd = regular_file_open(path);
	struct stat about;

	if (fd < 0)
		return -1;
	if (fstat(fd, &about) == 0 && (about.st_uid == owner->uid || about.st_uid == 0) &&
	    !is_older(&about, owner->start_ticks))
		return fd;
	close(fd);
	return -1;
}

/* Opens a path below the process's root folder. After the process's end, opens it below our own
 * root, if the process had our pid namespace. */
static int open_at(const struct jit_code_owner *owner, const char *path)
{
	char from_root[PATH_MAX + 64];
	int fd;

	snprintf(from_root, sizeof(from_root), "/proc/%u/root%s", owner->process.pid, path);
	fd = open_own(owner, from_root);
	if (fd < 0 && access(from_root, F_OK) < 0 && owner->process.pid == owner->ns_pid)
		fd = open_own(owner, path);
	return fd;
}

/* Replaces the held descriptor by a new one; fd < 0: keeps the held one. */
static void renew(int *held, int fd)
{
	if (fd < 0)
		return;
	if (*held >= 0)
		close(*held);
	*held = fd;
}

static void open_files(struct jit_code *code, const struct jit_code_owner *owner)
{
	char path[PATH_MAX], name[64];

	if (!code->has_files)
		code->map_fd = code->dump_fd = -1;
	code->has_files = true;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", owner->ns_pid);
	renew(&code->map_fd, open_at(owner, path));
	if (code->dump_fd >= 0)
		return;
	snprintf(name, sizeof(name), "jit-%u.dump", owner->ns_pid);
	if (!images_find_name(owner->images, &owner->process, name, path))
		return;
	code->dump_fd = open_at(owner, path);
	code->shift_ns = time_namespace_shift_ns(owner->process.pid);
}

static uint64_t bytes_of(int fd)
{
	struct stat about;

	return fd >= 0 && fstat(fd, &about) == 0 ? (uint64_t)about.st_size : 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct made_frame *left = a, *right = b;

	return left->address < right->address ? -1 : left->address > right->address;
}

static bool give_name(const struct jit_code_owner *owner, struct made_frame *frame,
		      const char *name)
{
	uint32_t string = name && name[0] ? recording_string(owner->recording, name) : 0;

	if (!string || trace_writer_name_frame(owner->recording->writer, frame->id, string))
		return false;
	frame->id = 0;
	return true;
}

static uint64_t max_bytes(const struct jit_code_owner *owner)
{
	return owner->is_limited ? BYTES_LIMITED : owner->is_last ? BYTES_LAST : MAX_BYTES;
}

/* Names frames by the code that was at the address when the frame was seen. */
static void name_from_dump(struct jit_code *code, const struct jit_code_owner *owner)
{
	auto_free uint64_t *addresses = malloc((code->count + 1) * sizeof(*addresses));
	struct jitdump *dump = NULL;

	if (code->dump_fd < 0 || !addresses)
		return;
	for (size_t i = 0; i < code->count; i++)
		addresses[i] = code->frames[i].address;
	if (jitdump_open(code->dump_fd, max_bytes(owner), addresses, code->count, &dump))
		return;
	for (size_t i = 0; i < code->count; i++) {
		struct made_frame *frame = &code->frames[i];
		uint64_t time = frame->seen_ns + (uint64_t)code->shift_ns;

		give_name(owner, frame, jitdump_find(dump, frame->address, time));
	}
	jitdump_close(dump);
}

static void name_from_map(struct jit_code *code, const struct jit_code_owner *owner)
{
	auto_free struct perf_map_wanted *wanted = calloc(code->count + 1, sizeof(*wanted));

	if (code->map_fd < 0 || !wanted)
		return;
	for (size_t i = 0; i < code->count; i++)
		wanted[i].address = code->frames[i].address;
	if (perf_map_search(code->map_fd, max_bytes(owner), wanted, code->count) < 0)
		return;
	for (size_t i = 0; i < code->count; i++) {
		auto_free char *name = NULL;

		if (code->frames[i].id && wanted[i].length < PATH_MAX)
			name = perf_map_name(code->map_fd, &wanted[i]);
		give_name(owner, &code->frames[i], name);
	}
}

static void drop_named(struct jit_code *code)
{
	size_t left = 0;

	for (size_t i = 0; i < code->count; i++)
		if (code->frames[i].id)
			code->frames[left++] = code->frames[i];
	code->count = code->looked_for = left;
}

void jit_code_name(struct jit_code *code, const struct jit_code_owner *owner)
{
	uint64_t begin_ns = host_clocks_now_ns(), end_ns, map_bytes, dump_bytes;

	if (!code->count)
		return;
	open_files(code, owner);
	map_bytes = bytes_of(code->map_fd);
	dump_bytes = bytes_of(code->dump_fd);
	if (code->count != code->looked_for || map_bytes != code->map_bytes ||
	    dump_bytes != code->dump_bytes) {
		qsort(code->frames, code->count, sizeof(*code->frames), compare);
		name_from_dump(code, owner);
		name_from_map(code, owner);
		drop_named(code);
		code->map_bytes = map_bytes;
		code->dump_bytes = dump_bytes;
	}
	end_ns = host_clocks_now_ns();
	lookup_budget_spend(owner->process.looks, begin_ns, end_ns);
	code->next_ns = end_ns + INTERVAL_NS + LOOKUP_BUDGET_SHARE * (end_ns - begin_ns);
}

void jit_code_hold(struct jit_code *code, const struct jit_code_owner *owner)
{
	uint64_t begin_ns = host_clocks_now_ns(), end_ns;

	if (code->has_files && (code->map_fd >= 0 || code->dump_fd >= 0))
		return;
	open_files(code, owner);
	end_ns = host_clocks_now_ns();
	lookup_budget_spend(owner->process.looks, begin_ns, end_ns);
	code->next_ns = end_ns + INTERVAL_NS + LOOKUP_BUDGET_SHARE * (end_ns - begin_ns);
}

size_t jit_code_finish(struct jit_code *code, const struct jit_code_owner *owner,
		       bool *ret_is_refused)
{
	struct jit_code_owner last = *owner;

	last.is_last = true;
	/* reads also the rest of files that were longer than the limit before */
	code->looked_for = 0;
	*ret_is_refused =
		code->count && !lookup_budget_is_left(owner->process.looks, host_clocks_now_ns());
	if (!*ret_is_refused)
		jit_code_name(code, &last);
	return code->count + code->lost;
}
