/* SPDX-License-Identifier: MIT
 *
 * collect/enter/call_probes.c - uprobes on a library's functions in chosen processes
 *
 * Runs in:  the recorder; privileged steps in a thread of its own, which has only these rights
 * Gets:     processes and their libraries
 * Gives:    records of bpf/calls.bpf.c
 * Owns:     the BPF object, its probes, descriptors of libraries
 * Fails:    per process, with the reason
 * Why a thread: probes are needed only after a runtime has refused its own interface. The recorder
 *           may have dropped the rights for probes before that, so a thread that keeps only these
 *           rights waits for the refusal. A probe takes 0.1 ms to create and 1 to 2 us per call. It
 *           covers only the watched process: a probe for all processes would slow down every user
 *           of the library on the machine.
 */
#include "collect/enter/call_probes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/thread.h"
#include "bpf/objects.h"
#include "collect/kernel/object.h"
#include "collect/kernel/ring.h"
#include "collect/proc.h"
#include "collect/start/rights.h"
#include "symbol/elf/names.h"

enum {
	MAX_WATCHED = 64,
	MAX_NAMES = 32 /* names per search in a library */
};
enum { STACKS_A_SECOND = 2000 };

/* A watched process. */
struct watch {
	enum { WATCH_FREE, WATCH_WANTED, WATCH_DONE } state;
	bool is_reported;
	bool is_over; /* the process has ended: the thread removes its probes */
	uint32_t pid, functions;
	int file_fd; /* owned; valid in state WATCH_WANTED */
	char text[CALL_PROBES_TEXT_BYTES];
	/* Used by the thread only. */
	bool is_left;            /* removed from the BPF map of watched pids */
	struct bpf_link **links; /* owned */
	size_t links_count, links_capacity;
};

struct call_probes {
	pthread_t thread;
	struct call_probes_options options;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Protected by `lock`. */
	struct watch watches[MAX_WATCHED];
	bool is_stopping;
	struct ring_buffer *ring; /* owned; NULL: nothing is loaded yet */
	int counts_fd, stacks_fd;
	/* Used by the thread only. */
	struct bpf_object *object; /* owned */
	bool has_tried;
	char refusal[CALL_PROBES_TEXT_BYTES];
	time_t allowed_s; /* second in which stacks were last allowed; 0: never */
};

/* ---- loading --------------------------------------------------------------------------------- */

static int on_record(void *context, void *data, size_t size)
{
	struct call_probes *probes = context;

	probes->options.on_record(probes->options.context, data, size);
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

/* Loads the BPF object, once. False: `refusal` has the reason. */
static bool load_object(struct call_probes *probes)
{
	LIBBPF_OPTS(bpf_object_open_opts, how, .object_name = "calls");
	struct ring_buffer *ring = NULL;
	int error = 0;

	if (probes->has_tried)
		return probes->ring != NULL;
	probes->has_tried = true;
	kernel_object_keep_words();
	probes->object = bpf_object__open_mem(bpf_calls, bpf_calls_size, &how);
	error = probes->object ? bpf_object__load(probes->object) : -errno;
	if (!error)
		ring = open_ring(probes);
	if (!error && !ring)
		error = -ENOMEM;
	if (error)
		snprintf(probes->refusal, sizeof(probes->refusal), "BPF programs 'calls': %s",
			 strerror(-error));
	pthread_mutex_lock(&probes->lock);
	probes->ring = ring;
	probes->counts_fd = ring ? fd_of_map(probes, "counts") : -1;
	probes->stacks_fd = ring ? fd_of_map(probes, "sent_stacks") : -1;
	pthread_mutex_unlock(&probes->lock);
	return !error;
}

static void put_element(struct call_probes *probes, const char *map, uint32_t key,
			const void *value)
{
	bpf_map_update_elem(fd_of_map(probes, map), &key, value, BPF_ANY);
}

/* ---- probes ---------------------------------------------------------------------------------- */

/* The probe is for this process only; other processes that map the same file are unaffected. */
static void attach_one(struct call_probes *probes, struct watch *watch, const char *path,
		       size_t function, uint64_t offset)
{
	const struct bpf_program *program =
		bpf_object__find_program_by_name(probes->object, "on_call");
	LIBBPF_OPTS(bpf_uprobe_opts, how,
		    .bpf_cookie = function | (probes->options.has_stacks ? CALL_COOKIE_STACKS : 0));
	struct bpf_link *link = NULL;

	if (!array_grow(watch->links, watch->links_capacity, watch->links_count + 1))
		link = bpf_program__attach_uprobe_opts(program, (pid_t)watch->pid, path, offset,
						       &how);
	if (link) {
		watch->links[watch->links_count++] = link;
		watch->functions++;
		return;
	}
	snprintf(watch->text, sizeof(watch->text), "uprobes: %s at %s%s", strerror(errno),
		 probes->options.functions[function],
		 errno == EACCES || errno == EPERM ? ": record as root" : "");
}

/* Functions that this library lacks are skipped. Its symbols are read as copies: libbpf would map
 * the file, and the recorder would get SIGBUS if the file is truncated. */
static void attach_all(struct call_probes *probes, struct watch *watch)
{
	const char *const *names = probes->options.functions;
	struct elf_symbol symbols[MAX_NAMES];
	uint64_t offset;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", watch->file_fd);
	for (size_t first = 0, count; first < probes->options.functions_count; first += count) {
		count = probes->options.functions_count - first;
		if (count > MAX_NAMES)
			count = MAX_NAMES;
		elf_names_find_symbols(watch->file_fd, names + first, count, symbols);
		for (size_t i = 0; i < count; i++)
			if (symbols[i].value &&
			    elf_names_offset(watch->file_fd, symbols[i].value, 1, &offset))
				attach_one(probes, watch, path, first + i, offset);
	}
	if (!watch->functions && !*watch->text)
		snprintf(watch->text, sizeof(watch->text), "it has none of the functions");
}

static void work_on(struct call_probes *probes, struct watch *watch)
{
	const uint8_t one = 1;

	if (!load_object(probes)) {
		snprintf(watch->text, sizeof(watch->text), "%s", probes->refusal);
		return;
	}
	put_element(probes, "watched", watch->pid, &one);
	attach_all(probes, watch);
}

/* ---- removing probes ------------------------------------------------------------------------- */

/* Removing a probe takes some 75 ms, because the kernel waits until no processor can be executing
 * it. To save that time, the links are only disconnected; the kernel removes the probes when the
 * recorder's descriptors are closed at its end. */
static void leave_links(struct call_probes *probes)
{
	for (size_t i = 0; i < MAX_WATCHED; i++) {
		struct watch *watch = &probes->watches[i];

		for (size_t k = 0; k < watch->links_count; k++) {
			bpf_link__disconnect(watch->links[k]);
			bpf_link__destroy(watch->links[k]);
		}
		free(watch->links);
	}
}

/* Removes one probe of an ended process; one per turn, because each takes some 75 ms. True: it was
 * the last one. */
static bool take_away(struct call_probes *probes, struct watch *watch)
{
	if (!watch->is_left && probes->ring)
		bpf_map_delete_elem(fd_of_map(probes, "watched"), &watch->pid);
	watch->is_left = true;
	if (watch->links_count)
		bpf_link__destroy(watch->links[--watch->links_count]);
	if (watch->links_count)
		return false;
	free(watch->links);
	return true;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Each stack is reported once, up to a limit per second, because it takes up to 16 KiB. */
static void allow_stacks(struct call_probes *probes)
{
	const int64_t count = STACKS_A_SECOND;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!probes->ring || now.tv_sec == probes->allowed_s)
		return;
	put_element(probes, "allowance", 0, &count);
	probes->allowed_s = now.tv_sec;
}

/* Ended processes that the kernel still watches come first, because their pid may be reused; then
 * wanted ones. NULL: nothing to do. Under the lock. */
static struct watch *find_work(struct call_probes *probes)
{
	struct watch *last = NULL;

	for (size_t i = 0; i < MAX_WATCHED; i++) {
		struct watch *watch = &probes->watches[i];

		if (watch->state == WATCH_DONE && watch->is_over && !watch->is_left)
			return watch;
		if (watch->state == WATCH_WANTED ||
		    (watch->state == WATCH_DONE && watch->is_over && !last))
			last = watch;
	}
	return last;
}

/* Called with the lock held; unlocks it during the work. */
static void work(struct call_probes *probes, struct watch *watch)
{
	const bool is_new = watch->state == WATCH_WANTED;
	bool is_gone = false;

	pthread_mutex_unlock(&probes->lock);
	if (is_new) {
		work_on(probes, watch);
		close(watch->file_fd);
	} else {
		is_gone = take_away(probes, watch);
	}
	allow_stacks(probes);
	pthread_mutex_lock(&probes->lock);
	if (is_new)
		watch->state = WATCH_DONE;
	else if (is_gone)
		*watch = (struct watch){0};
}

static void *run(void *argument)
{
	struct call_probes *probes = argument;
	struct timespec until;
	struct watch *watch;

	/* Without cap_sys_admin perf's uprobes are refused, whatever cap_perfmon allows. */
	rights_keep_loading(true);
	pthread_mutex_lock(&probes->lock);
	while (!probes->is_stopping) {
		watch = find_work(probes);
		if (watch) {
			work(probes, watch);
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

	/* opening a uprobe needs cap_sys_admin */
	if (!rights_can_load())
		return error_set(-EPERM, "this needs root's rights: record as root");
	if (!proc_counts_as_machine())
		return error_set(
			-ENOTSUP,
			"this needs the host's process ids, but this container has its own pid "
			"namespace: record from the host");
	probes = calloc(1, sizeof(*probes));
	if (!probes)
		return error_set(-ENOMEM, "out of memory");
	probes->options = *options;
	probes->counts_fd = probes->stacks_fd = -1;
	pthread_mutex_init(&probes->lock, NULL);
	pthread_cond_init(&probes->changed, NULL);
	if (!thread_start(&probes->thread, run, probes)) {
		free(probes);
		return error_set(-EAGAIN, "no thread could be created");
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
	for (size_t i = 0; i < MAX_WATCHED; i++)
		if (probes->watches[i].state == WATCH_WANTED)
			close(probes->watches[i].file_fd);
	ring_buffer__free(probes->ring);
	bpf_object__close(probes->object);
	pthread_cond_destroy(&probes->changed);
	pthread_mutex_destroy(&probes->lock);
	free(probes);
}

/* ---- calls from the recorder's main thread --------------------------------------------------- */

int call_probes_watch(struct call_probes *probes, uint32_t pid, int file_fd)
{
	struct watch *free_one = NULL;

	pthread_mutex_lock(&probes->lock);
	for (size_t i = 0; i < MAX_WATCHED && !free_one; i++)
		if (probes->watches[i].state == WATCH_FREE)
			free_one = &probes->watches[i];
	if (free_one)
		*free_one = (struct watch){.state = WATCH_WANTED, .pid = pid, .file_fd = file_fd};
	pthread_cond_signal(&probes->changed);
	pthread_mutex_unlock(&probes->lock);
	if (free_one)
		return 0;
	close(file_fd);
	return -ENOSPC;
}

void call_probes_forget(struct call_probes *probes, uint32_t pid)
{
	pthread_mutex_lock(&probes->lock);
	for (size_t i = 0; i < MAX_WATCHED; i++)
		if (probes->watches[i].state != WATCH_FREE && probes->watches[i].pid == pid)
			probes->watches[i].is_over = true;
	pthread_cond_signal(&probes->changed);
	pthread_mutex_unlock(&probes->lock);
}

bool call_probes_next(struct call_probes *probes, uint32_t *ret_pid, uint32_t *ret_functions,
		      char ret_text[CALL_PROBES_TEXT_BYTES])
{
	bool has_one = false;

	pthread_mutex_lock(&probes->lock);
	for (size_t i = 0; i < MAX_WATCHED && !has_one; i++) {
		struct watch *watch = &probes->watches[i];

		has_one = watch->state == WATCH_DONE && !watch->is_reported;
		if (!has_one)
			continue;
		watch->is_reported = true;
		*ret_pid = watch->pid;
		*ret_functions = watch->functions;
		snprintf(ret_text, CALL_PROBES_TEXT_BYTES, "%s", watch->text);
	}
	pthread_mutex_unlock(&probes->lock);
	return has_one;
}

/* A known stack has come with a record, so the object is loaded. */
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
	return probes->counts_fd < 0 ? 0 : kernel_ring_sum(probes->counts_fd, which);
}
