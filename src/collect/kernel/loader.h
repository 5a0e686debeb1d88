/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/loader.h - a BPF object loaded by a program that the kernel runs
 */
#ifndef COLLECT_KERNEL_LOADER_H
#define COLLECT_KERNEL_LOADER_H

#include <stddef.h>

struct bpf_object;

/* Loads the maps of an opened object, and those of its programs that are to be loaded. The object has the maps then.
 * ret_program_fds: by the object's order of programs, owned by the caller; -1: not loaded. Errors: -E2BIG: more than
 * `capacity` programs; -ENOTSUP: another libbpf than at build time; -errno of the kernel, which does not name the program that it refuses. The object is of no use
 * after an error. Needs Linux 5.17. */
int kernel_loader_load(struct bpf_object *object, int *ret_program_fds, size_t capacity);

#endif
