/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/loader.c - loads a BPF object by a loader program that runs inside the kernel
 *
 * Runs in:  the recorder
 * Gets:     an opened object
 * Gives:    maps and programs inside the kernel
 * Owns:     nothing
 * Fails:    on a kernel before 5.17, with another version of libbpf than at build time (-ENOTSUP),
 *           or if the kernel refuses a program. The caller then tries libbpf's own loader, which
 *           loads the object or names the reason
 * Why:      To find the fields that a program reads, libbpf parses all types of the kernel, 5 MB.
 *           The kernel has its types in memory. The loader program takes 23 ms of CPU time, while
 *           the recorded program already runs; libbpf's loader takes 64 ms.
 */
#include "collect/kernel/loader.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <bpf/skel_internal.h>

#include "base/cleanup.h"

static size_t count_maps(const struct bpf_object *object)
{
	const struct bpf_map *map;
	size_t count = 0;

	bpf_object__for_each_map(map, object) count++;
	return count;
}

static size_t count_programs(struct bpf_object *object)
{
	struct bpf_program *program;
	size_t count = 0;

	bpf_object__for_each_program(program, object) count++;
	return count;
}

/* Runs the loader program. Its answer is this head, then the maps, then the programs, in the
 * object's order. */
static int run_loader(struct bpf_object *object, struct bpf_loader_ctx *answer)
{
	LIBBPF_OPTS(gen_loader_opts, loader);
	struct bpf_load_and_run_opts run = {.ctx = answer};
	int error = bpf_object__gen_loader(object, &loader);

	if (!error)
		error = bpf_object__load(object);
	if (error)
		return error;
	run.data = loader.data;
	run.data_sz = loader.data_sz;
	run.insns = loader.insns;
	run.insns_sz = loader.insns_sz;
	return bpf_load_and_run(&run);
}

/* Gives each map to the object, which makes a duplicate of the descriptor. */
static int adopt_maps(struct bpf_object *object, const struct bpf_map_desc *maps)
{
	struct bpf_map *map;
	int error = 0;

	bpf_object__for_each_map(map, object)
	{
		if (!error)
			error = bpf_map__reuse_fd(map, maps->map_fd);
		close(maps->map_fd);
		maps++;
	}
	return error;
}

/* The answer has descriptors only for the programs that were to be loaded. */
static void adopt_programs(struct bpf_object *object, const struct bpf_prog_desc *answers,
			   int *ret_fds)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object) *ret_fds++ =
		bpf_program__autoload(program) ? (answers++)->prog_fd : -1;
}

/* The answer has the layout of the libbpf headers at build time. */
static bool is_same_libbpf(void)
{
	return libbpf_major_version() == LIBBPF_MAJOR_VERSION &&
	       libbpf_minor_version() == LIBBPF_MINOR_VERSION;
}

int kernel_loader_load(struct bpf_object *object, int *ret_program_fds, size_t capacity)
{
	const size_t maps = count_maps(object), programs = count_programs(object);
	const size_t bytes = sizeof(struct bpf_loader_ctx) + maps * sizeof(struct bpf_map_desc) +
			     programs * sizeof(struct bpf_prog_desc);
	auto_free struct bpf_loader_ctx *answer = calloc(1, bytes);
	struct bpf_map_desc *map_answers;
	int error;

	if (!is_same_libbpf())
		return -ENOTSUP;
	if (programs > capacity)
		return -E2BIG;
	if (!answer)
		return -ENOMEM;
	answer->sz = (uint32_t)bytes;
	error = run_loader(object, answer);
	if (error)
		return error;
	map_answers = (struct bpf_map_desc *)(answer + 1);
	error = adopt_maps(object, map_answers);
	adopt_programs(object, (const struct bpf_prog_desc *)(map_answers + maps), ret_program_fds);
	for (size_t i = 0; error && i < programs; i++)
		if (ret_program_fds[i] >= 0)
			close(ret_program_fds[i]);
	return error;
}
