/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/loader.h - loads a BPF object by a program that runs inside the kernel
 */
#pragma once

#include <stddef.h>

struct bpf_object;

/* Loads the maps of an opened object, and its programs that are marked for loading. Afterwards the
 * object has the maps. ret_program_fds: in the object's order of programs, owned by the caller; -1:
 * not loaded. Errors: -E2BIG: more than `capacity` programs; -ENOTSUP: libbpf differs from that at
 * build time; -errno of the kernel, which does not name the refused program. After an error the
 * object must be closed. Needs Linux 5.17. */
int kernel_loader_load(struct bpf_object *object, int *ret_program_fds, size_t capacity);
