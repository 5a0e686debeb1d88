/* SPDX-License-Identifier: MIT
 *
 * collect/call_probes.c - calls of a library's functions, seen from outside of the processes that call
 *
 * Runs in:  the recorder; what takes rights in a thread of its own, which has no others
 * Gets:     processes and their libraries   Gives: records of bpf/calls.bpf.c
 * Owns:     the object inside the kernel, its probes, descriptors of libraries
 * Fails:    for each process, with the reason
 * Why:      whether it is wanted is known when a runtime has refused its own interface, and by then the recorder may have
 *           given up the rights that it takes: a thread that has kept those alone waits for that moment. Each probe is
 *           some 0.1 ms to make, and 1 to 2 us a call.
 */
#include "collect/call_probes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/thread.h"
#include "bpf/objects.h"
#include "collect/proc.h"
#include "collect/rights.h"

enum { WATCHED_MOST = 64, LIBRARIES_MOST = 8, PROCESSORS_MOST = 1024 };
enum { STACKS_A_SECOND = 2000 };

/* A process that is to be watched. */
struct wanted {
	uint32_t pid, functions;
	int library_fd;
	char text[CALL_PROBES_TEXT_BYTES];
};

struct library {
	dev_t device;
	ino_t inode;
	uint32_t functions; /* that are probed */
};

struct call_probes {
	pthread_t thread;
	struct call_probes_options options;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under the lock. */
	struct wanted wanted[WATCHED_MOST];
	size_t count, done, told; /* told <= done <= count */
	bool is_stopping;
	struct ring_buffer *ring; /* owned; NULL: nothing is loaded yet */
	int counts_fd, stacks_fd;
	/* The thread's own. */
	struct bpf_object *object; /* owned */
	bool has_tried;
	char refusal[CALL_PROBES_TEXT_BYTES];
	struct library libraries[LIBRARIES_MOST];
	size_t libraries_count;
	struct bpf_link **links; /* owned */
	size_t links_count, links_capacity;
	int processors;
};

/* ---- loading ----------------------------------------------------------------------------------- */

static int on_record(void *context, void *data, size_t size)
{
	struct call_probes *probes = context;

	probes->options.on_record(probes->options.context, data, size);
	return 0;
}

static int on_words(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level;
	(void)format;
	(void)arguments;
	return 0;
}

static struct ring_buffer *open_ring(struct call_probes *probes)
{
	const struct bpf_map *records = bpf_object__find_map_by_name(probes->object, "records");

	return records ? ring_buffer__new(bpf_map__fd(records), on_record, probes, NULL) : NULL;
}

static int fd_of_map(const struct call_probes *probes, const char *name)
{
	return bpf_map__fd(bpf_object__find_map_by_name(probes->object, name));
}

/* Once. False: refusal says why. */
static bool load(struct call_probes *probes)
{
	LIBBPF_OPTS(bpf_object_open_opts, how, .object_name = "calls");
	struct ring_buffer *ring = NULL;
	int error = 0;

	if (probes->has_tried)
		return probes->ring != NULL;
	probes->has_tried = true;
	libbpf_set_print(on_words);
	probes->object = bpf_object__open_mem(bpf_calls, bpf_calls_size, &how);
	error = probes->object ? bpf_object__load(probes->object) : -errno;
	if (!error)
		ring = open_ring(probes);
	if (!error && !ring)
		error = -ENOMEM;
	if (error)
		snprintf(probes->refusal, sizeof(probes->refusal),
			 "programs inside the kernel (BPF), 'calls': %s", strerror(-error));
	pthread_mutex_lock(&probes->lock);
	probes->ring = ring;
	probes->counts_fd = ring ? fd_of_map(probes, "counts") : -1;
	probes->stacks_fd = ring ? fd_of_map(probes, "told_stacks") : -1;
	pthread_mutex_unlock(&probes->lock);
	return !error;
}

static void put(struct call_probes *probes, const char *map, uint32_t key, const void *value)
{
	bpf_map_update_elem(fd_of_map(probes, map), &key, value, BPF_ANY);
}

/* ---- probes ------------------------------------------------------------------------------------ */

/* What this library has not is left out; it is 0 where the kernel refuses, with the reason. */
static uint32_t attach_all(struct call_probes *probes, int library_fd, char *text)
{
	const struct bpf_program *program =
		bpf_object__find_program_by_name(probes->object, "on_call");
	uint32_t count = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", library_fd);
	snprintf(text, CALL_PROBES_TEXT_BYTES, "it has none of the functions");
	for (size_t i = 0; i < probes->options.functions_count; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, how, .bpf_cookie = i,
			    .func_name = probes->options.functions[i]);
		struct bpf_link *link;

		if (array_grow(probes->links, probes->links_capacity, probes->links_count + 1))
			return count;
		link = bpf_program__attach_uprobe_opts(program, -1, path, 0, &how);
		if (link) {
			probes->links[probes->links_count++] = link;
			count++;
		} else if (errno != ENOENT) {
			snprintf(text, CALL_PROBES_TEXT_BYTES, "uprobes: %s%s", strerror(errno),
				 errno == EACCES || errno == EPERM ? ": record as root" : "");
		}
	}
	return count;
}

/* A library's functions are probed once, for all processes. */
static uint32_t probe(struct call_probes *probes, const struct wanted *wanted, char *text)
{
	struct library *library = probes->libraries;
	struct stat about;

	if (fstat(wanted->library_fd, &about)) {
		snprintf(text, CALL_PROBES_TEXT_BYTES, "its library: %s", strerror(errno));
		return 0;
	}
	for (size_t i = 0; i < probes->libraries_count; i++)
		if (library[i].device == about.st_dev && library[i].inode == about.st_ino)
			return library[i].functions;
	if (probes->libraries_count == LIBRARIES_MOST) {
		snprintf(text, CALL_PROBES_TEXT_BYTES, "there are too many libraries already");
		return 0;
	}
	library += probes->libraries_count++;
	*library = (struct library){.device = about.st_dev, .inode = about.st_ino};
	library->functions = attach_all(probes, wanted->library_fd, text);
	return library->functions;
}

static void work_on(struct call_probes *probes, struct wanted *wanted)
{
	const uint8_t one = 1;

	if (!load(probes)) {
		snprintf(wanted->text, sizeof(wanted->text), "%s", probes->refusal);
		return;
	}
	put(probes, "watched", wanted->pid, &one);
	wanted->functions = probe(probes, wanted, wanted->text);
}

/* ---- the end ----------------------------------------------------------------------------------- */

/* The kernel waits some 75 ms for each until no processor may be in it, one after the other. The recording is not to wait for
 * that: their descriptors are closed when the recorder ends. */
static void leave_links(struct call_probes *probes)
{
	for (size_t i = 0; i < probes->links_count; i++) {
		bpf_link__disconnect(probes->links[i]);
		bpf_link__destroy(probes->links[i]);
	}
}

/* ---- the thread -------------------------------------------------------------------------------- */

/* Stacks have a meaning once: so many a second are told, as each takes up to 16 KiB. */
static void allow_stacks(struct call_probes *probes)
{
	const int64_t count = STACKS_A_SECOND;

	if (probes->ring)
		put(probes, "allowance", 0, &count);
}

static void *run(void *argument)
{
	struct call_probes *probes = argument;
	struct timespec until;

	/* Without cap_sys_admin perf's uprobes are refused, whatever cap_perfmon allows. */
	rights_keep_loading(true);
	pthread_mutex_lock(&probes->lock);
	while (!probes->is_stopping) {
		if (probes->done < probes->count) {
			struct wanted *wanted = &probes->wanted[probes->done];

			pthread_mutex_unlock(&probes->lock);
			work_on(probes, wanted);
			close(wanted->library_fd);
			allow_stacks(probes);
			pthread_mutex_lock(&probes->lock);
			probes->done++;
			continue;
		}
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		if (probes->ring)
			pthread_cond_timedwait(&probes->changed, &probes->lock, &until);
		else
			pthread_cond_wait(&probes->changed, &probes->lock);
		allow_stacks(probes);
	}
	pthread_mutex_unlock(&probes->lock);
	leave_links(probes);
	return NULL;
}

int call_probes_start(const struct call_probes_options *options, struct call_probes **ret_probes)
{
	struct call_probes *probes;

	/* what opens a probe of a program's function is cap_sys_admin, which is all that root is */
	if (!rights_can_load())
		return error_set(-EPERM, "that takes root's rights: record as root");
	if (!proc_counts_as_machine())
		return error_set(-ENOTSUP, "that takes the numbers that the machine gives to "
					   "processes, and in this container they have others");
	probes = calloc(1, sizeof(*probes));
	if (!probes)
		return error_set(-ENOMEM, "out of memory");
	probes->options = *options;
	probes->counts_fd = probes->stacks_fd = -1;
	probes->processors = libbpf_num_possible_cpus();
	pthread_mutex_init(&probes->lock, NULL);
	pthread_cond_init(&probes->changed, NULL);
	if (!thread_start(&probes->thread, run, probes)) {
		free(probes);
		return error_set(-EAGAIN, "no thread can be made");
	}
	*ret_probes = probes;
	return 0;
}

void call_probes_stop(struct call_probes *probes)
{
	if (!probes)
		return;
	pthread_mutex_lock(&probes->lock);
	probes->is_stopping = true;
	pthread_cond_signal(&probes->changed);
	pthread_mutex_unlock(&probes->lock);
	pthread_join(probes->thread, NULL);
	for (size_t i = probes->done; i < probes->count; i++)
		close(probes->wanted[i].library_fd);
	ring_buffer__free(probes->ring);
	bpf_object__close(probes->object);
	pthread_cond_destroy(&probes->changed);
	pthread_mutex_destroy(&probes->lock);
	free(probes->links);
	free(probes);
}

/* ---- for the recorder's own thread ------------------------------------------------------------- */

int call_probes_watch(struct call_probes *probes, uint32_t pid, int library_fd)
{
	int error = 0;

	pthread_mutex_lock(&probes->lock);
	if (probes->count == WATCHED_MOST)
		error = -ENOSPC;
	else
		probes->wanted[probes->count++] =
			(struct wanted){.pid = pid, .library_fd = library_fd};
	pthread_cond_signal(&probes->changed);
	pthread_mutex_unlock(&probes->lock);
	if (error)
		close(library_fd);
	return error;
}

bool call_probes_next(struct call_probes *probes, uint32_t *ret_pid, uint32_t *ret_functions,
		      char ret_text[CALL_PROBES_TEXT_BYTES])
{
	bool has_one;

	pthread_mutex_lock(&probes->lock);
	has_one = probes->told < probes->done;
	if (has_one) {
		const struct wanted *wanted = &probes->wanted[probes->told++];

		*ret_pid = wanted->pid;
		*ret_functions = wanted->functions;
		snprintf(ret_text, CALL_PROBES_TEXT_BYTES, "%s", wanted->text);
	}
	pthread_mutex_unlock(&probes->lock);
	return has_one;
}

/* Who knows of a stack has taken a record of it: it is loaded. */
void call_probes_forget_stack(struct call_probes *probes, uint64_t user_stack)
{
	if (probes && probes->stacks_fd >= 0)
		bpf_map_delete_elem(probes->stacks_fd, &user_stack);
}

void call_probes_drain(struct call_probes *probes)
{
	struct ring_buffer *ring;

	pthread_mutex_lock(&probes->lock);
	ring = probes->ring;
	pthread_mutex_unlock(&probes->lock);
	if (ring)
		ring_buffer__consume(ring);
}

uint64_t call_probes_lost(const struct call_probes *probes, enum call_count which)
{
	uint64_t values[PROCESSORS_MOST], sum = 0;
	const uint32_t key = which;

	if (probes->counts_fd < 0 || probes->processors > (int)ARRAY_COUNT(values) ||
	    bpf_map_lookup_elem(probes->counts_fd, &key, values))
		return 0;
	for (int i = 0; i < probes->processors; i++)
		sum += values[i];
	return sum;
}
