/* SPDX-License-Identifier: MIT
 *
 * collect/kernel_object.h - programs of ours inside the kernel: loaded as far as this kernel takes them
 */
#ifndef COLLECT_KERNEL_OBJECT_H
#define COLLECT_KERNEL_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"

struct bpf_map;
struct kernel_object;

enum { KERNEL_PROGRAMS_MOST = 32, KERNEL_REASON_BYTES = 240 };

/* A program of an object, and what is missing without it. */
struct kernel_program {
	const char *name;
	const char *
		instead_of; /* loaded only where that one, which stands before it, is refused; NULL: always */
	const char *lacks; /* "who woke a thread"; NULL: nothing that a user would miss */
	bool is_spared;    /* not wanted this time */
};

struct kernel_object_options {
	const char *name;   /* "sched": for errors */
	const uint8_t *elf; /* as the compiler made it */
	size_t elf_bytes;
	const struct kernel_program *programs;
	size_t programs_count;
	/* Of an object for many kinds of kernels and modules: which of its places are there is read in all types before, as
	 * each place that is missing costs one more load. */
	bool looks_first;
	/* All its programs are at events of the kernel (tp_btf): they may be loaded the quick way (kernel/loader.h). */
	bool is_of_events;
	uint32_t ring_bytes; /* of its map `records`; 0: as it says itself */
};

enum kernel_program_state {
	KERNEL_PROGRAM_ABSENT,  /* this kernel has nothing that it could be attached to */
	KERNEL_PROGRAM_REFUSED, /* by the verifier, or for lack of rights: reason */
	KERNEL_PROGRAM_SPARED,  /* the one that it stands in for is there, or it is not wanted */
	KERNEL_PROGRAM_RUNS
};

struct kernel_program_report {
	const char *name, *lacks; /* the options' */
	enum kernel_program_state state;
	char reason[KERNEL_REASON_BYTES]; /* what the kernel said; "": nothing */
};

/* Loads and attaches. That single programs cannot be had is no error: see the reports. Errors: -EPERM, -EACCES: no
 * rights; -ENOSYS: the kernel has no BTF, or this build no libbpf; -ENOENT: it has no place for any of them; -ENOMEM,
 * -EINVAL; with the error chain. */
int kernel_object_open(const struct kernel_object_options *options,
		       struct kernel_object **ret_object);
/* Detaches. What is inside the kernel goes with its last descriptor, so also where the recorder is killed. */
void kernel_object_close(struct kernel_object *object); /* NULL-safe */

const struct kernel_program_report *kernel_object_reports(const struct kernel_object *object,
							  size_t *ret_count);
bool kernel_object_runs(struct kernel_object *object, const char *program);

/* From now on what libbpf says is kept for the thread that it is said in, and not printed. libbpf has one place for that for all
 * threads, so that everything that uses libbpf says this, and nothing else. */
void kernel_object_keep_words(void);

/* Whether the kernel loads this one program of an object, which is let go at once. */
bool kernel_object_loads(const uint8_t *elf, size_t elf_bytes, const char *name);

/* Puts a value into one of its maps. Errors: -ENOENT: it has no such map; -errno of the kernel. */
int kernel_object_put(const struct kernel_object *object, const char *map, const void *key,
		      const void *value);

/* Takes one out. Errors: the same; -ENOENT where it is not there, too. */
int kernel_object_remove(const struct kernel_object *object, const char *map, const void *key);

/* How often the kernel left out to run one of its programs, as it ran on that processor already. */
uint64_t kernel_object_missed(const struct kernel_object *object);

/* NULL: it has none of this name. */
struct bpf_map *kernel_object_map(const struct kernel_object *object, const char *name);

#endif
