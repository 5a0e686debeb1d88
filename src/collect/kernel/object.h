/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/object.h - loads an object of BPF programs, without the programs that the kernel
 * refuses
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"

struct bpf_map;
struct kernel_object;

enum { MAX_KERNEL_PROGRAMS = 32, KERNEL_REASON_BYTES = 240 };

/* A program of an object, and the text for a report when it is missing. */
struct kernel_program {
	const char *name;
	const char *instead_of; /* loaded only if that earlier program is refused; NULL: always */
	const char *lacks;      /* the missing data, "the waker of a thread"; NULL: no report */
	const char *weakens;    /* a sentence for reports if the program runs; NULL: no report */
	bool is_spared;         /* do not load it in this recording */
	bool is_attached_later; /* only load it; see kernel_object_program */
};

struct kernel_object_options {
	const char *name;   /* for error texts: "sched" */
	const uint8_t *elf; /* the compiled object */
	size_t elf_bytes;
	const struct kernel_program *programs;
	size_t programs_count;
	/* For an object with programs for many kernels and modules. Attach points are looked up in
	 * all types before loading, because each missing one costs another load. */
	bool looks_first;
	/* All programs attach to kernel events (tp_btf), or later, so the quick way may be tried
	 * (kernel/loader.h). */
	bool is_of_events;
	uint32_t ring_bytes; /* size of the map `records`; 0: as compiled */
};

enum kernel_program_state {
	KERNEL_PROGRAM_ABSENT,  /* this kernel has no attach point for it */
	KERNEL_PROGRAM_REFUSED, /* refused by the verifier, or for lack of rights: reason */
	/* Not needed, because the program that it replaces runs or it is not wanted. */
	KERNEL_PROGRAM_SPARED,
	KERNEL_PROGRAM_RUNS
};

struct kernel_program_report {
	const char *name, *lacks, *weakens; /* those of the options */
	bool is_attached_later;
	enum kernel_program_state state;
	char reason[KERNEL_REASON_BYTES]; /* text from the kernel; "": none */
};

/* Loads and attaches the programs. A single missing program is not an error; see the reports.
 * Errors: -EPERM, -EACCES: no rights; -ENOSYS: the kernel has no BTF, or duet no libbpf; -ENOENT:
 * no attach point for any program; -ENOMEM, -EINVAL. All set the error chain. */
int kernel_object_open(const struct kernel_object_options *options,
		       struct kernel_object **ret_object);
/* Detaches the programs. The kernel removes them with their last descriptor, even if the recorder
 * is killed. */
void kernel_object_close(struct kernel_object *object); /* NULL-safe */

const struct kernel_program_report *kernel_object_reports(const struct kernel_object *object,
							  size_t *ret_count);
bool kernel_object_runs(struct kernel_object *object, const char *program);

/* Descriptor of a loaded program, borrowed; -1: it is not loaded. */
int kernel_object_program(struct kernel_object *object, const char *program);

/* Keeps libbpf's messages for the thread that causes them, instead of printing them. libbpf has one
 * such setting for all threads, so every user of libbpf calls this function and no other. */
void kernel_object_keep_words(void);

/* Whether the kernel loads this program of an object the quick way (kernel/loader.h). The program
 * is released at once. */
bool kernel_object_loads(const uint8_t *elf, size_t elf_bytes, const char *name);

/* Looks up names in the types of the kernel without its modules. */
void kernel_object_find_names(const char *const *names, size_t count, bool *ret_has);

/* Sets a value in one of the object's maps. Errors: -ENOENT: no such map; -errno of the kernel. */
int kernel_object_put(const struct kernel_object *object, const char *map, const void *key,
		      const void *value);

/* Removes a key from a map. Errors: as above; -ENOENT also if the key is not there. */
int kernel_object_remove(const struct kernel_object *object, const char *map, const void *key);

/* Number of events that the kernel dropped because the program was running on that processor
 * already. */
uint64_t kernel_object_missed(const struct kernel_object *object);

/* NULL: no map has this name. */
struct bpf_map *kernel_object_map(const struct kernel_object *object, const char *name);
