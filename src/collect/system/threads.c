/* SPDX-License-Identifier: MIT
 *
 * collect/system/threads.c - /proc/PID/task/TID/schedstat: CPU time of a process as the sum of its
 * threads'
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     field 1, sum_exec_runtime, of each thread
 * Gives:    ns
 * Owns:     the value of each thread in the last round
 * Fails:    returns false if the process is gone
 * Why:      Each thread is read, because /proc/PID/schedstat is for the first thread only: a
 *           process with eight busy threads appeared to use one processor. All time of a thread
 *           that is new since the previous round counts in this round. The time that an ended
 *           thread used after its last reading is lost.
 */
#include "collect/system/threads.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/system/formats.h"

/* The layout of getdents64(2); readdir(3) would allocate memory. */
struct entry {
	uint64_t inode, offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

void threads_init(struct threads *threads)
{
	hash_map_init(&threads->before);
	hash_map_init(&threads->now);
}

void threads_fini(struct threads *threads)
{
	hash_map_fini(&threads->before);
	hash_map_fini(&threads->now);
}

void threads_begin_round(struct threads *threads)
{
	struct hash_map last = threads->now;

	threads->now = threads->before;
	threads->before = last;
	hash_map_clear(&threads->now);
}

uint64_t schedstat_parse(const char *text, size_t length, uint64_t *values)
{
	return number_parse(text, length, values);
}

static void add_thread(struct threads *threads, size_t place, int folder, const char *tid)
{
	uint64_t key = (uint64_t)place << 32 | (uint32_t)strtoul(tid, NULL, 10), now, before;
	char path[32], text[128];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%.20s/schedstat", tid);
	fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text));
	if (fd >= 0)
		close(fd);
	if (got <= 0 || !schedstat_parse(text, (size_t)got, &now))
		return;
	before = hash_map_get(&threads->before, key, 0);
	/* A smaller value belongs to a new thread with the same tid. */
	threads->totals[place] += now < before ? now : now - before;
	hash_map_put(&threads->now, key, now);
}

bool threads_read(struct threads *threads, struct tick *tick, size_t place,
		  const struct tracked_place *who, uint64_t *ret_ns)
{
	int folder = tick_open(tick, "/proc/%u/task", who->pid);
	long got;

	if (folder < 0)
		return false;
	if (threads->generations[place] != who->generation)
		threads->totals[place] = 0;
	threads->generations[place] = who->generation;
	while ((got = syscall(SYS_getdents64, folder, tick->text, tick->text_bytes)) > 0) {
		for (long at = 0; at < got;) {
			const struct entry *entry = (const void *)(tick->text + at);

			if (entry->name[0] != '.')
				add_thread(threads, place, folder, entry->name);
			at += entry->length;
		}
	}
	close(folder);
	*ret_ns = threads->totals[place];
	return got == 0;
}
