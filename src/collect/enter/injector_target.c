/* SPDX-License-Identifier: MIT
 *
 * collect/enter/injector_target.c - checks whether a library can be loaded into a process
 *
 * Runs in:  the recorder, in the injecting thread
 * Gets:     /proc/PID, the memory of the process
 * Gives:    a message, or addresses in the process
 * Owns:     the process's memory map, the unwind rules of its C library
 * Fails:    before anything was changed in the process
 * Why:      requirements are checked before anything is changed: a guest needs glibc, 64 bits,
 *           sockets, and a process without a tracer. A thread may be borrowed if its stack is not
 *           inside of C library functions that hold a lock; the unwind rules of the C library
 *           suffice to check that.
 */
#include "collect/enter/injector_target.h"

#include <elf.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file/regular_file.h"
#include "base/io.h"
#include "collect/proc.h"
#include "collect/start/rights.h"
#include "collect/stack/mapped_file.h"
#include "symbol/remote/library.h"

enum { MAX_TEXT = 8 << 20, STATUS_BYTES = 1 << 16, MAX_FILES = 4096 };
#define LOWEST_ADDRESS  UINT64_C(0x10000)
#define HIGHEST_ADDRESS UINT64_C(0x7ffffffff000)

/* ---- reading /proc --------------------------------------------------------------------------- */

static char *read_status(pid_t pid, pid_t tid)
{
	char path[64], *text = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	if (read_file(path, STATUS_BYTES, &text, NULL) < 0) {
		error_clear();
		return NULL;
	}
	return text;
}

long injector_status(pid_t pid, pid_t tid, const char *label, int base, uint64_t *ret_mask)
{
	auto_free char *text = read_status(pid, tid);
	char wanted[64], *at, *end, *rest;
	uint64_t value;
	bool is_any = false;

	snprintf(wanted, sizeof(wanted), "\n%s:", label);
	at = text ? strstr(text, wanted) : NULL;
	if (!at)
		return -1;
	at += strlen(wanted);
	end = at + strcspn(at, "\n");
	*end = '\0';
	for (value = 0; at < end; at = rest) {
		uint64_t next = strtoull(at, &rest, base);

		if (rest == at)
			break;
		value = next;
		is_any = true;
	}
	if (is_any && ret_mask)
		*ret_mask = value;
	return is_any ? (long)value : -1;
}

static bool has_word(pid_t pid, const char *label, const char *word)
{
	auto_free char *text = read_status(pid, pid);
	char wanted[64], *at;

	snprintf(wanted, sizeof(wanted), "\n%s:", label);
	at = text ? strstr(text, wanted) : NULL;
	if (!at)
		return false;
	at += strlen(wanted);
	at[strcspn(at, "\n")] = '\0';
	return strstr(at, word) != NULL;
}

/* ---- refusals -------------------------------------------------------------------------------- */

static int refuse_rights(const struct injector_target *target)
{
	const pid_t pid = target->pid;
	long uid = injector_status(pid, pid, "Uid", 10, NULL), scope = -1;
	const struct passwd *user = getpwuid((uid_t)uid);
	auto_free char *yama = NULL;

	if (uid >= 0 && (uid_t)uid != geteuid() && geteuid() != 0)
		return error_set(
			-EPERM,
			"process %d ('%s') is of user %s (%ld): record it as that user, or as "
			"root (sudo duet record -p %d)",
			(int)pid, target->name, user ? user->pw_name : "?", uid, (int)pid);
	if (read_file("/proc/sys/kernel/yama/ptrace_scope", 16, &yama, NULL) == 0)
		scope = strtol(yama, NULL, 10);
	error_clear();
	if (scope == 3)
		return error_set(
			-EPERM,
			"process %d ('%s') cannot be attached to: kernel.yama.ptrace_scope is 3 on "
			"this machine, for all users and until the next boot",
			(int)pid, target->name);
	if (scope > 0 && geteuid() != 0)
		return error_set(
			-EPERM,
			"process %d ('%s') may not be attached to: kernel.yama.ptrace_scope is "
			"%ld: record it as root (sudo duet record -p %d), or run sudo sysctl "
			"kernel.yama.ptrace_scope=0",
			(int)pid, target->name, scope, (int)pid);
	if (rights_why_root_is_refused())
		return error_set(-EPERM, "process %d ('%s') may not be attached to: %s", (int)pid,
				 target->name, rights_why_root_is_refused());
	return error_set(-EPERM,
			 "process %d ('%s') may not be attached to: it has rights that its user "
			 "lacks, or excludes debuggers, or duet runs in a "
			 "container without CAP_SYS_PTRACE: record it as root of the machine (sudo "
			 "duet record -p %d)",
			 (int)pid, target->name, (int)pid);
}

static int check_tracer(const struct injector_target *target)
{
	long tracer = injector_status(target->pid, target->pid, "TracerPid", 10, NULL);
	char name[64] = "";

	if (tracer <= 0)
		return 0;
	proc_thread_name((uint32_t)tracer, (uint32_t)tracer, name);
	return error_set(-EBUSY,
			 "process %d ('%s') is already traced by process %ld ('%s'), and the "
			 "kernel allows one tracer: end that tracer (gdb, strace) first",
			 (int)target->pid, target->name, tracer, name);
}

/* A seccomp filter may kill the process for a guest's system calls. Filters that the recorder has,
 * too, belong to the container and are accepted. */
static int check_filters(const struct injector_target *target)
{
	int filters, own_filters, mode = proc_seccomp((uint32_t)target->pid, &filters);
	int own_mode = proc_seccomp((uint32_t)getpid(), &own_filters);

	if (mode <= 0 || (own_mode > 0 && filters >= 0 && filters <= own_filters))
		return 0;
	return error_set(-EPERM,
			 "process %d ('%s') has its own seccomp filter, which may kill it for "
			 "system calls of a guest: "
			 "start it with duet record instead",
			 (int)target->pid, target->name);
}

static int check_state(const struct injector_target *target)
{
	if (has_word(target->pid, "State", "T (stopped)"))
		return error_set(-EBUSY,
				 "process %d ('%s') is stopped: continue it first (kill -CONT %d)",
				 (int)target->pid, target->name, (int)target->pid);
	if (has_word(target->pid, "x86_Thread_features", "shstk"))
		return error_set(-ENOTSUP,
				 "process %d ('%s') has a shadow stack (GLIBC_TUNABLES), on which "
				 "injected calls fault: start it with duet record instead",
				 (int)target->pid, target->name);
	return check_filters(target);
}

static int check_program(const struct injector_target *target)
{
	unsigned char head[20] = {0};
	auto_close int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)target->pid);
	fd = regular_file_open(path);
	if (fd == -EACCES || fd == -EPERM)
		return refuse_rights(target);
	if (fd < 0)
		return error_set(-ESRCH, "process %d: not found, or it has ended",
				 (int)target->pid);
	if (pread_all(fd, head, sizeof(head), 0) == 0 && head[EI_CLASS] == ELFCLASS64 &&
	    head[18] == EM_X86_64)
		return 0;
	return error_set(-ENOTSUP, "process %d ('%s') is %s: guests need a 64-bit x86-64 program",
			 (int)target->pid, target->name,
			 head[EI_CLASS] == ELFCLASS32 ? "a 32-bit program"
						      : "a program for another processor");
}

static int refuse_ids(const struct injector_target *target, const struct target_ids *ids)
{
	return error_set(-EPERM,
			 "process %d ('%s') runs with the rights of several users or groups (user "
			 "ids: real %u, effective %u, saved %u; group ids: %u, %u, %u), as a "
			 "set-user-ID program does; no guest is loaded into it. Record it from "
			 "outside: duet record -p %d --collect cpu",
			 (int)target->pid, target->name, ids->user[0], ids->user[1], ids->user[2],
			 ids->group[0], ids->group[1], ids->group[2], (int)target->pid);
}

static int open_identity(struct injector_target *target)
{
	struct target_ids ids;
	int error = target_identity_open(target->pid, &target->identity, &ids);

	if (error == -EXDEV)
		return refuse_ids(target, &ids);
	if (error == -EACCES || error == -EPERM)
		return refuse_rights(target);
	return error ? error_set(error,
				 "process %d ('%s'): it ended, or became another program, before "
				 "duet's guest was loaded",
				 (int)target->pid, target->name)
		     : 0;
}

/* ---- libraries of the process ---------------------------------------------------------------- */

static const char *file_name(const struct proc_mapping *mapping)
{
	const char *slash = strrchr(mapping->path, '/');

	return slash ? slash + 1 : mapping->path;
}

static bool begins_with(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

static const struct proc_mapping *find_library(const struct proc_maps *maps, const char *name)
{
	for (size_t i = 0; i < maps->count; i++)
		if (maps->mappings[i].kind == PROC_MAPPING_FILE &&
		    maps->mappings[i].file_offset == 0 &&
		    begins_with(file_name(&maps->mappings[i]), name))
			return &maps->mappings[i];
	return NULL;
}

static int refuse_library(const struct injector_target *target)
{
	const struct proc_mapping *musl = find_library(&target->maps, "ld-musl-");

	if (musl || find_library(&target->maps, "libc.musl-"))
		return error_set(-ENOTSUP,
				 "process %d ('%s') uses the C library musl, but the library that "
				 "duet loads into programs needs glibc",
				 (int)target->pid, target->name);
	return error_set(-ENOTSUP,
			 "process %d ('%s') has no libc.so.6: it is statically linked and cannot "
			 "load libraries",
			 (int)target->pid, target->name);
}

static void guard(struct injector_target *target, uint64_t start, uint64_t end)
{
	if (target->guarded_count < MAX_INJECTOR_GUARDED)
		target->guarded[target->guarded_count++] = (struct injector_range){start, end};
}

static bool is_guarded_library(const char *name)
{
	return begins_with(name, "ld-linux") || begins_with(name, "ld-2.") ||
	       (begins_with(name, "lib") && strstr(name, "malloc"));
}

/* Guards the dynamic loader and replacement allocators. */
static void guard_libraries(struct injector_target *target)
{
	for (size_t i = 0; i < target->maps.count; i++) {
		const struct proc_mapping *mapping = &target->maps.mappings[i];

		if (mapping->is_executable && mapping->kind == PROC_MAPPING_FILE &&
		    is_guarded_library(file_name(mapping)))
			guard(target, mapping->start, mapping->end);
	}
}

static bool is_begin_of_file(const struct proc_mapping *mapping)
{
	return mapping->kind == PROC_MAPPING_FILE && mapping->file_offset == 0 &&
	       !is_guarded_library(file_name(mapping));
}

/* Whether a library exports malloc, calloc or free. If its symbols cannot be read, this is assumed;
 * that only delays the injection. */
static bool has_allocator(const struct injector_target *target, const struct proc_mapping *first)
{
	static const char *const names[] = {"malloc", "calloc", "free"};
	struct remote_library library;
	const int error = remote_library_open(&library, target->pid, first->start);
	bool is_there = error == -ENOTSUP;

	if (error)
		return is_there;
	for (size_t i = 0; i < ARRAY_COUNT(names) && !is_there; i++)
		is_there = remote_library_find(&library, names[i], NULL) != 0;
	return is_there;
}

/* Whether the program itself or any library has a malloc of its own (jemalloc, tcmalloc, mimalloc,
 * a sanitizer's). Its inner functions have no symbols, so that a thread inside cannot be
 * recognized. If there are too many libraries to check, one is assumed to have it. */
static void find_allocators(struct injector_target *target, const struct proc_mapping *libc)
{
	uint32_t looks = 0;

	for (size_t i = 0; i < target->maps.count && !target->has_other_allocator &&
			   !injector_target_is_unwanted(target);
	     i++) {
		const struct proc_mapping *mapping = &target->maps.mappings[i];

		if (mapping->inode != libc->inode && is_begin_of_file(mapping))
			target->has_other_allocator =
				++looks > MAX_FILES || has_allocator(target, mapping);
	}
}

/* Functions that create or end threads and processes, allocate, or load. */
static void guard_functions(struct injector_target *target, const struct remote_library *libc)
{
	static const char *const names[] = {
		"malloc",
		"free",
		"calloc",
		"realloc",
		"memalign",
		"aligned_alloc",
		"posix_memalign",
		"valloc",
		"pvalloc",
		"malloc_trim",
		"malloc_stats",
		"malloc_info",
		"mallinfo",
		"mallinfo2",
		"mallopt",
		"malloc_usable_size",
		"__libc_malloc",
		"__libc_free",
		"__libc_calloc",
		"__libc_realloc",
		"__libc_memalign",
		"reallocarray",
		"cfree",
		"pthread_create",
		"pthread_exit",
		"pthread_getattr_np",
		"fork",
		"_Fork",
		"vfork",
		"posix_spawn",
		"posix_spawnp",
		"exit",
		"_exit",
		"dlopen",
		"dlclose",
		"dlsym",
		"setuid",
		"setgid",
		"setresuid",
		"setresgid",
		"setreuid",
		"setregid",
		"seteuid",
		"setegid",
		"setgroups",
		"clone",
		"__libc_freeres",
		"pthread_attr_setstack",
	};
	uint64_t size;

	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		uint64_t address = remote_library_find(libc, names[i], &size);

		if (address && size)
			guard(target, address, address + size);
	}
}

/* Searches the C library and, for glibc before 2.34, also libpthread and libdl. */
static uint64_t find_function(const struct injector_target *target, const char *name)
{
	static const char *const libraries[] = {"libc.so.6", "libc-2.", "libpthread", "libdl"};
	uint64_t address = 0;

	for (size_t i = 0; i < ARRAY_COUNT(libraries) && !address; i++) {
		const struct proc_mapping *mapping = find_library(&target->maps, libraries[i]);
		struct remote_library library;

		if (mapping && !remote_library_open(&library, target->pid, mapping->start))
			address = remote_library_find(&library, name, NULL);
	}
	return address;
}

static int find_functions(struct injector_target *target)
{
	const struct {
		const char *name;
		uint64_t *address;
	} wanted[] = {
		{"pthread_create", &target->pthread_create},
		{"pthread_self", &target->pthread_self},
		{"pthread_detach", &target->pthread_detach},
		{"dlopen", &target->dlopen},
		{"dlsym", &target->dlsym},
		{"dlerror", &target->dlerror},
		{"mmap", &target->mmap},
		{"munmap", &target->munmap},
		{"raise", &target->raise},
	};

	for (size_t i = 0; i < ARRAY_COUNT(wanted); i++) {
		*wanted[i].address = find_function(target, wanted[i].name);
		if (!*wanted[i].address)
			return error_set(-ENOTSUP,
					 "process %d ('%s'): its C library has no function %s, so "
					 "no library can be loaded into it: start it with duet "
					 "record instead",
					 (int)target->pid, target->name, wanted[i].name);
	}
	return 0;
}

/* Finds two unexported pieces of code by their bytes. The restorer (rt_sigreturn) is in each glibc.
 * "pop %rdi; ret" occurs as the second half of "pop %r15; ret", at the end of many functions. */
static void find_pieces(struct injector_target *target)
{
	static const uint8_t restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static const uint8_t load[] = {0x5f, 0xc3};
	const size_t size = (size_t)(target->libc.end - target->libc.start);
	auto_free uint8_t *text = size <= MAX_TEXT ? malloc(size) : NULL;
	const uint8_t *found;

	if (!text || remote_library_read(target->pid, target->libc.start, text, size))
		return;
	found = memmem(text, size, restorer, sizeof(restorer));
	if (found)
		target->restorer = target->libc.start + (uint64_t)(found - text);
	found = memmem(text, size, load, sizeof(load));
	if (found)
		target->load_argument = target->libc.start + (uint64_t)(found - text);
}

static int read_libc(struct injector_target *target, const struct proc_mapping *first)
{
	struct remote_library libc;
	auto_close int fd = mapped_file_open(target->pid, first);

	for (size_t i = 0; i < target->maps.count; i++) {
		const struct proc_mapping *mapping = &target->maps.mappings[i];

		if (mapping->is_executable && mapping->inode == first->inode &&
		    mapping->kind == PROC_MAPPING_FILE && !target->libc.start) {
			target->libc = (struct injector_range){mapping->start, mapping->end};
			target->libc_offset = mapping->file_offset;
			target_identity_set_library(&target->identity, mapping);
		}
	}
	if (fd >= 0 && unwind_table_open(fd, &target->rules) == 0 &&
	    remote_library_open(&libc, target->pid, first->start) == 0) {
		guard_functions(target, &libc);
		find_pieces(target);
	}
	if (target->restorer && target->load_argument)
		return 0;
	return error_set(-ENOTSUP,
			 "process %d ('%s'): its C library ('%s') cannot be read, or is unknown: "
			 "start it with duet record instead",
			 (int)target->pid, target->name, first->path);
}

uint64_t injector_target_gap(const struct injector_target *target, uint64_t bytes)
{
	uint64_t before = LOWEST_ADDRESS, begin = 0, most = 0;

	for (size_t i = 0; i < target->maps.count; i++) {
		const struct proc_mapping *mapping = &target->maps.mappings[i];
		const uint64_t end =
			mapping->start < HIGHEST_ADDRESS ? mapping->start : HIGHEST_ADDRESS;

		if (end > before && end - before > most) {
			most = end - before;
			begin = before;
		}
		before = mapping->end > before ? mapping->end : before;
	}
	return most > 2 * bytes ? (begin + (most - bytes) / 2) & ~UINT64_C(4095) : 0;
}

bool injector_target_is_in_libc(const struct injector_target *target, uint64_t pc)
{
	return pc >= target->libc.start && pc < target->libc.end;
}

bool injector_target_is_unwanted(const struct injector_target *target)
{
	return target->is_unwanted && atomic_load(target->is_unwanted);
}

/* The identity is opened first. Data read later belongs to that image; otherwise a later check
 * fails and the data is not used. */
static int check_process(struct injector_target *target)
{
	int error = check_program(target);

	if (!error)
		error = open_identity(target);
	if (!error)
		error = check_tracer(target);
	return error ? error : check_state(target);
}

int injector_target_open(pid_t pid, const _Atomic bool *is_unwanted, struct injector_target *target)
{
	const struct proc_mapping *libc;
	int error;

	*target = (struct injector_target){.pid = pid,
					   .is_unwanted = is_unwanted,
					   .identity = {.pid_fd = -1, .memory_fd = -1}};
	proc_thread_name((uint32_t)pid, (uint32_t)pid, target->name);
	error = check_process(target);
	if (error)
		return error;
	error = proc_maps_read(pid, &target->maps);
	if (error == -EACCES || error == -EPERM)
		return refuse_rights(target);
	if (error)
		return error;
	libc = find_library(&target->maps, "libc.so.6");
	if (!libc)
		libc = find_library(&target->maps, "libc-2.");
	if (!libc)
		return refuse_library(target);
	guard_libraries(target);
	find_allocators(target, libc);
	error = read_libc(target, libc);
	return error ? error : find_functions(target);
}

void injector_target_close(struct injector_target *target)
{
	proc_maps_fini(&target->maps);
	unwind_table_close(target->rules);
	target_identity_close(&target->identity);
	*target = (struct injector_target){.identity = {.pid_fd = -1, .memory_fd = -1}};
}
