/* SPDX-License-Identifier: MIT
 *
 * collect/enter/injector.c - loads a library into a running process
 *
 * Runs in:  the recorder, in a thread of its own
 * Gets:     a process, a library's file, the name of its entry function
 * Gives:    the function's result
 * Owns:     nothing
 * Fails:    with a message. Until the new thread in the process runs, the process is unchanged.
 *           After that the guest may still start in spite of the message, if the process's dynamic
 *           loader was only too slow
 * Why:      a thread of the process is borrowed for a millisecond to start the new thread. A
 *           waiting thread is chosen, because it holds no lock of the C library. If all are busy
 *           they are checked again, up to ROUNDS times; a program that spends half of its time in
 *           the allocator is soon found outside of it. The library is loaded by its own path if the
 *           process sees the same file there, because a memfd is a new library each time; otherwise
 *           by a memfd.
 */
#include "collect/enter/injector.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collect/enter/inject_stub.h"
#include "collect/enter/injector_target.h"
#include "collect/enter/remote_call.h"
#include "collect/host_clocks.h"
#include "collect/proc.h"
#include "collect/start/rights.h"
#include "symbol/remote/library.h"

#if defined(__x86_64__)

enum {
	ROUNDS = 200,
	ROUND_NS = 3000000, /* pause between two rounds */
	ATTEMPTS_A_ROUND = 8,
	MAX_THREADS = 4096,
	PAGE = 4096,
	STACK_BYTES = 128 << 10, /* stack of the borrowed thread while it creates another one */
	LOOK_NS = 1000000
};
#define FUNCTION_NS UINT64_C(30000000000)

struct injector {
	const struct injector_options *options;
	struct injector_target target;
	struct injector_result *result;
	struct injected_block block;
	uint64_t code, data; /* addresses in the process; 0: not mapped */
	uint64_t function;   /* entry function if the library is already loaded; 0: it is not */
	bool is_seen;        /* the process can open the library's file by its path */
	/* own flag (the process could change the block): its memfd is not filled yet */
	bool wants_file;
	const char *why; /* the reason why no thread was free */
};

static void sleep_ns(uint64_t ns)
{
	const struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	nanosleep(&time, NULL);
}

static int refuse(const struct injector *injector, int error, const char *why)
{
	return error_set(error, "process %d ('%s'): %s", (int)injector->target.pid,
			 injector->target.name, why);
}

static int refuse_attaching(const struct injector *injector, int error)
{
	const char *why = rights_why_root_is_refused();

	return error_set(error, "process %d ('%s') may not be attached to: %s",
			 (int)injector->target.pid, injector->target.name,
			 why ? why : "record it as root (sudo duet record -p)");
}

static int refuse_image(const struct injector *injector)
{
	return refuse(injector, -ESTALE,
		      "it became another program, or changed its user, before duet's guest was "
		      "loaded; nothing was loaded into the new program: record it again");
}

/* ---- the library's file ---------------------------------------------------------------------- */

static bool may_read(const struct stat *about, uid_t uid, mode_t others, mode_t owners)
{
	return uid == 0 || about->st_mode & others ||
	       (about->st_uid == uid && about->st_mode & owners);
}

/* Whether the process's user may enter all folders of the path and read the file. */
static bool is_reachable(const char *path, uid_t uid)
{
	char folder[PATH_MAX];
	struct stat about;

	snprintf(folder, sizeof(folder), "%s", path);
	for (char *slash = strrchr(folder, '/'); slash && slash != folder;
	     slash = strrchr(folder, '/')) {
		*slash = '\0';
		if (stat(folder, &about) < 0 || !may_read(&about, uid, S_IXOTH, S_IXUSR))
			return false;
	}
	return stat(path, &about) == 0 && may_read(&about, uid, S_IROTH, S_IRUSR);
}

static bool is_seen_by(const struct injector *injector, const char *path)
{
	const pid_t pid = injector->target.pid;
	long uid = injector_status(pid, pid, "Uid", 10, NULL);
	struct stat ours, theirs;
	char there[PATH_MAX + 64];

	snprintf(there, sizeof(there), "/proc/%d/root%s", (int)pid, path);
	return path[0] == '/' && strlen(path) < sizeof(injector->block.path) && uid >= 0 &&
	       stat(path, &ours) == 0 && stat(there, &theirs) == 0 &&
	       ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino &&
	       is_reachable(path, (uid_t)uid);
}

/* Finds the entry function in a library that an earlier injection loaded: a mapping whose path
 * contains the library's file name, or the entry's name as a memfd has. 0: none. */
static uint64_t find_loaded(const struct injector *injector)
{
	const struct proc_maps *maps = &injector->target.maps;
	const char *slash = strrchr(injector->options->path, '/');
	const char *name = slash ? slash + 1 : injector->options->path;

	for (size_t i = 0; i < maps->count; i++) {
		const struct proc_mapping *mapping = &maps->mappings[i];
		struct remote_library library;
		uint64_t function;

		if (mapping->file_offset || (!strstr(mapping->path, name) &&
					     !strstr(mapping->path, injector->options->entry)))
			continue;
		if (remote_library_open(&library, injector->target.pid, mapping->start))
			continue;
		function = remote_library_find(&library, injector->options->entry, NULL);
		if (function)
			return function;
	}
	return 0;
}

/* Checks that the descriptor is an empty unlinked file of the process's user, such as a memfd.
 * The process chooses the number, and the recorder may have rights to write where the process
 * may not. */
static bool is_new_file(const struct injector *injector, int fd)
{
	char path[64];
	struct stat about, process;

	snprintf(path, sizeof(path), "/proc/%d", (int)injector->target.pid);
	return fstat(fd, &about) == 0 && stat(path, &process) == 0 && S_ISREG(about.st_mode) &&
	       about.st_nlink == 0 && about.st_size == 0 && about.st_uid == process.st_uid;
}

/* Opens the process's memfd for writing; -errno. The type is checked before, because opening a pipe
 * may block, and opening a device may have effects. */
static int open_memory(const struct injector *injector, int memory_fd)
{
	auto_close int file = -1;
	char path[64];
	int to;

	if (memory_fd < 0)
		return -EBADF;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)injector->target.pid, memory_fd);
	file = open(path, O_PATH | O_CLOEXEC);
	if (file < 0)
		return -errno;
	if (!is_new_file(injector, file))
		return -EPERM;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	to = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (to < 0)
		return -errno;
	if (fcntl(to, F_GET_SEALS) < 0) {
		close(to);
		return -EPERM;
	}
	return to;
}

/* Copies the library into the process's memfd. */
static int give_file(const struct injector *injector, int memory_fd)
{
	auto_close int from = open(injector->options->path, O_RDONLY | O_CLOEXEC), to = -1;
	struct stat about;

	to = from < 0 ? -errno : open_memory(injector, memory_fd);
	if (to < 0)
		return to;
	if (fstat(from, &about) < 0)
		return -errno;
	for (off_t left = about.st_size; left > 0;) {
		ssize_t done = sendfile(to, from, NULL, (size_t)left);

		if (done <= 0)
			return done < 0 ? -errno : -ENODATA;
		left -= done;
	}
	return 0;
}

/* ---- the block ------------------------------------------------------------------------------- */

static int write_block(const struct injector *injector, size_t at, size_t size)
{
	return target_identity_write(&injector->target.identity, injector->data + at,
				     (const char *)&injector->block + at, size);
}

static int read_block(struct injector *injector)
{
	return target_identity_read(&injector->target.identity, injector->data, &injector->block,
				    sizeof(injector->block));
}

static uint64_t data_bytes(void)
{
	return (sizeof(struct injected_block) + PAGE - 1) / PAGE * PAGE + STACK_BYTES;
}

static void fill_block(struct injector *injector, const struct borrowed_thread *borrowed)
{
	const struct injector_target *target = &injector->target;
	struct injected_block *block = &injector->block;

	*block = (struct injected_block){
		.pthread_create = target->pthread_create,
		.pthread_self = target->pthread_self,
		.pthread_detach = target->pthread_detach,
		.dlopen = target->dlopen,
		.dlsym = target->dlsym,
		.dlerror = target->dlerror,
		.munmap = target->munmap,
		.frame = borrowed->frame + sizeof(uint64_t), /* as after a return to the restorer */
		.code = injector->code,
		.code_bytes = PAGE,
		.data = injector->data,
		.data_bytes = data_bytes(),
		.function = injector->function,
		.pid = borrowed->ns_pid,
		.tid = borrowed->ns_tid,
		.signal = (uint32_t)borrowed->signal,
		.created = -1,
		.memory_fd = -1,
	};
	snprintf(block->path, sizeof(block->path), "%s", injector->options->path);
	snprintf(block->entry, sizeof(block->entry), "%s", injector->options->entry);
	snprintf(block->argument, sizeof(block->argument), "%s", injector->options->argument);
	block->wants_file = !injector->function && !injector->is_seen;
	injector->wants_file = block->wants_file;
}

/* ---- borrowing a thread ---------------------------------------------------------------------- */

static int run(struct injector *injector, struct borrowed_thread *borrowed)
{
	const uint64_t end = (uint64_t)(injected_code_stop - injected_code_begin);
	int error = target_identity_write(&injector->target.identity, injector->code,
					  injected_code_begin, injected_code_bytes());

	if (!error)
		error = write_block(injector, 0, sizeof(injector->block));
	if (!error)
		error = borrowed_thread_run(borrowed, injector->code, injector->code + end,
					    injector->data, injector->data + data_bytes() - 64);
	return error ? error : read_block(injector);
}

static int work(struct injector *injector, struct borrowed_thread *borrowed)
{
	const uint64_t bytes = PAGE + data_bytes();
	int error = target_identity_check_library(&injector->target.identity);

	injector->code = injector_target_gap(&injector->target, bytes);
	injector->data = injector->code + PAGE;
	if (!error && !injector->code)
		error = -ENOMEM;
	if (!error)
		error = borrowed_thread_map(borrowed, injector->code, bytes, PROT_READ | PROT_EXEC);
	if (!error) {
		fill_block(injector, borrowed);
		error = run(injector, borrowed);
	}
	/* The code has returned and created no thread, so no thread runs in it. After an error one
	 * may still be inside, holding a lock. */
	if (!error && injector->block.created)
		borrowed_thread_unmap(borrowed, injector->code, bytes);
	if (error == -ENOMEM || (!error && injector->block.created == -1))
		return refuse(injector, -ENOMEM,
			      "it may not map more memory (ulimit -v, vm.max_map_count)");
	if (!error && injector->block.created)
		return refuse(injector, -EAGAIN,
			      "it may not create another thread (ulimit -u, the limit of its "
			      "control group)");
	if (error == -ESTALE)
		return refuse_image(injector);
	if (error == -EDEADLK)
		return refuse(
			injector, error,
			"the thread that should load duet's guest waited for a lock: try again");
	return error ? refuse(injector, error,
			      "the code that loads duet's guest did not finish: try again")
		     : 0;
}

/* -EAGAIN: this thread cannot be borrowed now. */
static int try_thread(struct injector *injector, pid_t tid)
{
	struct borrowed_thread borrowed;
	int error = borrowed_thread_take(&injector->target, tid, &borrowed);
	uint64_t stopped_ns;

	injector->result->attempts += borrowed.is_seized;
	if (!error && !borrowed_thread_is_free(&borrowed, &injector->why))
		error = -EAGAIN;
	if (!error) {
		error = work(injector, &borrowed);
		/* after this point no attempt is repeated */
		if (error == -EAGAIN || error == -ESRCH)
			error = -EIO;
	} else if (error == -EPERM) {
		error = refuse_attaching(injector, error);
	} else if (error == -ETIMEDOUT) {
		error = refuse(injector, error, "it could not be stopped within 5 s");
	} else if (error == -ESTALE) {
		error = refuse_image(injector);
	}
	stopped_ns = borrowed_thread_return(&borrowed);
	if (!error)
		injector->result->stopped_ns = stopped_ns;
	return error;
}

static size_t list_threads(pid_t pid, pid_t *threads)
{
	struct dirent *entry;
	char path[64];
	size_t count = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	folder = opendir(path);
	if (!folder)
		return 0;
	while (count < MAX_THREADS && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			threads[count++] = (pid_t)strtol(entry->d_name, NULL, 10);
	closedir(folder);
	return count;
}

static int try_threads(struct injector *injector, uint32_t round)
{
	auto_free pid_t *threads = calloc(MAX_THREADS, sizeof(*threads));
	size_t count = threads ? list_threads(injector->target.pid, threads) : 0;
	int error = -EAGAIN;

	if (!threads)
		return refuse(injector, -ENOMEM, "out of memory");
	if (!count)
		return refuse(injector, -ENOENT, "it has ended");
	if (target_identity_check(&injector->target.identity, injector->target.pid))
		return refuse_image(injector);
	for (size_t i = 0; i < count && i < ATTEMPTS_A_ROUND; i++) {
		error = try_thread(injector,
				   threads[((size_t)round * ATTEMPTS_A_ROUND + i) % count]);
		if (error != -EAGAIN && error != -ESRCH)
			return error;
	}
	return -EAGAIN;
}

static int make_thread(struct injector *injector)
{
	char text[256];

	for (uint32_t round = 0; round < ROUNDS && !injector_target_is_unwanted(&injector->target);
	     round++) {
		int error = try_threads(injector, round);

		if (error != -EAGAIN)
			return error;
		sleep_ns(ROUND_NS);
		/* reads the mappings again, for the stacks of new threads */
		proc_maps_fini(&injector->target.maps);
		injector->target.maps = (struct proc_maps){0};
		error = proc_maps_read(injector->target.pid, &injector->target.maps);
		if (error)
			return error;
	}
	if (injector_target_is_unwanted(&injector->target))
		return refuse(injector, -ECANCELED,
			      "the recording ended before the guest was loaded");
	snprintf(text, sizeof(text),
		 "none of its threads could be borrowed to load duet's guest, in %d rounds: they "
		 "%s: "
		 "try again",
		 ROUNDS,
		 injector->why ? injector->why
			       : "are blocked in the kernel, or have handlers for all signals");
	return refuse(injector, -EBUSY, text);
}

/* ---- waiting for the new thread -------------------------------------------------------------- */

static void answer(struct injector *injector)
{
	struct injected_block *block = &injector->block;

	if (block->has_file || !injector->wants_file)
		return;
	injector->wants_file = false;
	if (target_identity_check(&injector->target.identity, injector->target.pid) ||
	    give_file(injector, block->memory_fd)) {
		error_clear();
		return; /* the new thread gives up after 5 s */
	}
	snprintf(block->path, sizeof(block->path), "/proc/self/fd/%d", block->memory_fd);
	block->has_file = 1;
	write_block(injector, offsetof(struct injected_block, path), sizeof(block->path));
	write_block(injector, offsetof(struct injected_block, has_file), sizeof(block->has_file));
}

static int judge(const struct injector *injector)
{
	const struct injected_block *block = &injector->block;
	char text[sizeof(block->why) + 128];

	switch (block->stage) {
	case INJECTED_DONE:
		injector->result->result = block->result;
		return 0;
	case INJECTED_FAILED:
		snprintf(text, sizeof(text), "its dynamic loader rejects duet's guest: %.255s",
			 block->why);
		return refuse(injector, -ENOEXEC, text);
	case INJECTED_HAS_NO_FILE:
		return refuse(
			injector, -EIO,
			"duet's guest could not be copied into its memory: does it see its own "
			"/proc?");
	default:
		if (injector_target_is_unwanted(&injector->target))
			return refuse(injector, -ECANCELED,
				      "the recording ended before duet's guest was loaded");
		return refuse(injector, -ETIMEDOUT,
			      "duet's guest was not loaded within 30 s: a constructor of another "
			      "library may be running; the guest starts after it");
	}
}

static int await_function(struct injector *injector)
{
	const uint64_t until_ns = host_clocks_now_ns() + FUNCTION_NS;
	const uint32_t is_released = 1;
	int error = 0;

	while (!error && host_clocks_now_ns() < until_ns &&
	       !injector_target_is_unwanted(&injector->target)) {
		error = read_block(injector);
		if (!error && injector->block.stage == INJECTED_WANTS_FILE)
			answer(injector);
		if (!error && injector->block.stage > INJECTED_WANTS_FILE)
			break;
		sleep_ns(LOOK_NS);
	}
	if (error)
		return refuse(injector, -ESRCH, "it ended, or became another program");
	injector->block.is_released = is_released;
	write_block(injector, offsetof(struct injected_block, is_released), sizeof(is_released));
	return judge(injector);
}

int injector_enter(const struct injector_options *options, struct injector_result *ret_result)
{
	struct injector *injector = calloc(1, sizeof(*injector));
	int error;

	*ret_result = (struct injector_result){0};
	if (!injector)
		return error_set(-ENOMEM, "out of memory");
	injector->options = options;
	injector->result = ret_result;
	error = injector_target_open(options->pid, options->is_unwanted, &injector->target);
	if (!error) {
		injector->function = find_loaded(injector);
		injector->is_seen = is_seen_by(injector, options->path);
		error = make_thread(injector);
	}
	if (!error)
		error = await_function(injector);
	/* If the process has changed its program meanwhile, that explains the error. */
	if (error && injector->target.identity.memory_fd >= 0 &&
	    target_identity_check(&injector->target.identity, options->pid))
		error = refuse_image(injector);
	if (error && !proc_is_alive(injector->target.identity.pid_fd, (uint32_t)options->pid))
		error = refuse(injector, -ESRCH, "it ended while duet's guest was being loaded");
	injector_target_close(&injector->target);
	free(injector);
	return error;
}

#else

int injector_enter(const struct injector_options *options, struct injector_result *ret_result)
{
	*ret_result = (struct injector_result){0};
	return error_set(
		-ENOTSUP,
		"process %d: guests can only be loaded into x86-64 processes: start it with duet "
		"record instead",
		(int)options->pid);
}

#endif
