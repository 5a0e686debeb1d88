/* SPDX-License-Identifier: MIT
 *
 * collect/made_code.c - frames in code that a process makes while it runs, and their names
 *
 * Runs in:  the recorder
 * Gets:     program counters of no file; /tmp/perf-PID.map and jit-PID.dump   Gives: names of these frames
 * Owns:     the frames without a name, the descriptors of the two files
 * Fails:    never; what has no name is counted
 * Why:      a runtime writes its files while it runs, sometimes after the code has been called, and they may be
 *           megabytes long: they are read now and then, in at most a fiftieth of the time for all processes of
 *           a user, and only for what is looked for. They are held open because the process's folders are gone with it.
 */
#include "collect/made_code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/regular_file.h"
#include "collect/host_clocks.h"
#include "symbol/jitdump.h"
#include "symbol/perf_map.h"

enum { INTERVAL_NS = 10000000, SECOND_NS = 1000000000 };
/* Of a file: a second's worth; of one that another user wrote, as much as is read for it in a round. */
#define BYTES_LAST    ((uint64_t)512 << 20)
#define BYTES_MOST    ((uint64_t)64 << 20) /* while the process runs, and others with it */
#define BYTES_LIMITED ((uint64_t)16 << 20)

static void close_files(struct made_code *code)
{
	if (code->has_files && code->map_fd >= 0)
		close(code->map_fd);
	if (code->has_files && code->dump_fd >= 0)
		close(code->dump_fd);
	code->has_files = false;
}

void made_code_fini(struct made_code *code)
{
	close_files(code);
	free(code->frames);
	*code = (struct made_code){0};
}

uint32_t made_code_frame(struct made_code *code, struct recording *recording, uint32_t process_id,
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

/* ---- the files --------------------------------------------------------------------------------- */

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

/* Another user may have put anything under the name, a FIFO that nobody writes among it; and numbers of processes
 * come again. */
static int open_own(const struct made_code_owner *owner, const char *path)
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

/* As the process sees its files and counts itself; after its end as we do, where that is the same. */
static int open_at(const struct made_code_owner *owner, const char *path)
{
	char from_root[PATH_MAX + 64];
	int fd;

	snprintf(from_root, sizeof(from_root), "/proc/%u/root%s", owner->process.pid, path);
	fd = open_own(owner, from_root);
	if (fd < 0 && access(from_root, F_OK) < 0 && owner->process.pid == owner->ns_pid)
		fd = open_own(owner, path);
	return fd;
}

/* A new one takes the old one's place; where there is none, what is held is all there is. */
static void renew(int *held, int fd)
{
	if (fd < 0)
		return;
	if (*held >= 0)
		close(*held);
	*held = fd;
}

static void open_files(struct made_code *code, const struct made_code_owner *owner)
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
	if (images_find_name(owner->images, &owner->process, name, path))
		code->dump_fd = open_at(owner, path);
}

static uint64_t bytes_of(int fd)
{
	struct stat about;

	return fd >= 0 && fstat(fd, &about) == 0 ? (uint64_t)about.st_size : 0;
}

/* ---- names ------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct made_frame *left = a, *right = b;

	return left->address < right->address ? -1 : left->address > right->address;
}

static bool give_name(const struct made_code_owner *owner, struct made_frame *frame,
		      const char *name)
{
	uint32_t string = name && name[0] ? recording_string(owner->recording, name) : 0;

	if (!string || trace_writer_name_frame(owner->recording->writer, frame->id, string))
		return false;
	frame->id = 0;
	return true;
}

static uint64_t most_bytes(const struct made_code_owner *owner)
{
	return owner->is_limited ? BYTES_LIMITED : owner->is_last ? BYTES_LAST : BYTES_MOST;
}

/* What was there when it was called. */
static void name_from_dump(struct made_code *code, const struct made_code_owner *owner)
{
	auto_free uint64_t *addresses = malloc((code->count + 1) * sizeof(*addresses));
	struct jitdump *dump = NULL;
	struct jitdump_frame found;
	struct jitdump_info info;

	if (code->dump_fd < 0 || !addresses)
		return;
	for (size_t i = 0; i < code->count; i++)
		addresses[i] = code->frames[i].address;
	if (jitdump_open_part(code->dump_fd, most_bytes(owner), addresses, code->count, &dump)) {
		error_clear();
		return;
	}
	jitdump_info(dump, &info);
	for (size_t i = 0; i < code->count; i++) {
		struct made_frame *frame = &code->frames[i];
		uint64_t time = info.has_cpu_clock ? JITDUMP_LATEST : frame->seen_ns;

		if (jitdump_find(dump, frame->address, time, &found) == 0)
			give_name(owner, frame, found.name);
	}
	jitdump_close(dump);
}

static void name_from_map(struct made_code *code, const struct made_code_owner *owner)
{
	auto_free struct perf_map_wanted *wanted = calloc(code->count + 1, sizeof(*wanted));

	if (code->map_fd < 0 || !wanted)
		return;
	for (size_t i = 0; i < code->count; i++)
		wanted[i].address = code->frames[i].address;
	if (perf_map_search(code->map_fd, most_bytes(owner), wanted, code->count) < 0)
		return;
	for (size_t i = 0; i < code->count; i++) {
		auto_free char *name = NULL;

		if (code->frames[i].id && wanted[i].length < PATH_MAX)
			name = perf_map_name(code->map_fd, &wanted[i]);
		give_name(owner, &code->frames[i], name);
	}
}

static void drop_named(struct made_code *code)
{
	size_t left = 0;

	for (size_t i = 0; i < code->count; i++)
		if (code->frames[i].id)
			code->frames[left++] = code->frames[i];
	code->count = code->looked_for = left;
}

void made_code_name(struct made_code *code, const struct made_code_owner *owner)
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
	look_time_spend(owner->process.looks, begin_ns, end_ns);
	code->next_ns = end_ns + INTERVAL_NS + LOOK_TIME_SHARE * (end_ns - begin_ns);
}

void made_code_hold(struct made_code *code, const struct made_code_owner *owner)
{
	uint64_t begin_ns = host_clocks_now_ns(), end_ns;

	if (code->has_files && (code->map_fd >= 0 || code->dump_fd >= 0))
		return;
	open_files(code, owner);
	end_ns = host_clocks_now_ns();
	look_time_spend(owner->process.looks, begin_ns, end_ns);
	code->next_ns = end_ns + INTERVAL_NS + LOOK_TIME_SHARE * (end_ns - begin_ns);
}

size_t made_code_finish(struct made_code *code, const struct made_code_owner *owner,
			bool *ret_is_refused)
{
	struct made_code_owner last = *owner;

	last.is_last = true;
	/* what was too long to be read to its end before is read now */
	code->looked_for = 0;
	*ret_is_refused =
		code->count && !look_time_is_left(owner->process.looks, host_clocks_now_ns());
	if (!*ret_is_refused)
		made_code_name(code, &last);
	return code->count + code->lost;
}
