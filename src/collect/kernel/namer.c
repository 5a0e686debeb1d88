/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/namer.c - names of kernel functions, looked up by the kernel itself
 *
 * Runs in:  the recorder
 * Gets:     addresses in the kernel
 * Gives:    names, 64 per call into the kernel
 * Owns:     a BPF object with one program and one map, and the mapping of that map
 * Fails:    -EPERM without rights; -errno if the kernel is older than the program. The caller then
 *           reads /proc/kallsyms.
 * Why not /proc/kallsyms: reading it takes 38 ms at the end of each recording, more than all other
 *           work of the recorder in a short recording.
 */
#include "collect/kernel/namer.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/objects.h"
#include "collect/kernel/object.h"
#include "collect/start/rights.h"
#include "event/kernel_record.h"
#include "symbol/kernel/kallsyms.h"

struct kernel_namer {
	struct bpf_object *object;
	int program_fd;                /* belongs to the object */
	struct kernel_texts *exchange; /* mapped */
	size_t mapped_bytes;
};

static int load_object(struct kernel_namer *names)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "names");

	kernel_object_keep_words();
	names->object = bpf_object__open_mem(bpf_names, bpf_names_size, &options);
	if (!names->object)
		return -errno;
	return bpf_object__load(names->object);
}

static int map_exchange(struct kernel_namer *names)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(names->object, ".bss");
	const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *mapped;

	if (!map || bpf_map__value_size(map) < sizeof(*names->exchange))
		return -EINVAL;
	names->mapped_bytes = (bpf_map__value_size(map) + page_bytes - 1) / page_bytes * page_bytes;
	mapped = mmap(NULL, names->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		      bpf_map__fd(map), 0);
	if (mapped == MAP_FAILED)
		return -errno;
	names->exchange = mapped;
	return 0;
}

int kernel_namer_open(struct kernel_namer **ret_names)
{
	struct kernel_namer *names;
	int error;

	if (!rights_can_load())
		return -EPERM;
	names = calloc(1, sizeof(*names));
	if (!names)
		return -ENOMEM;
	error = load_object(names);
	if (!error)
		error = map_exchange(names);
	if (error) {
		kernel_namer_close(names);
		return error;
	}
	names->program_fd =
		bpf_program__fd(bpf_object__find_program_by_name(names->object, "name_addresses"));
	*ret_names = names;
	return 0;
}

void kernel_namer_close(struct kernel_namer *names)
{
	if (!names)
		return;
	if (names->exchange)
		munmap(names->exchange, names->mapped_bytes);
	bpf_object__close(names->object);
	free(names);
}

/* Looks up at most KERNEL_ADDRESSES_MAX addresses. */
static int find_some(struct kernel_namer *names, struct kernel_symbol *symbols, size_t count)
{
	struct kernel_texts *exchange = names->exchange;
	LIBBPF_OPTS(bpf_test_run_opts, options);

	memset(exchange->addresses, 0, sizeof(exchange->addresses));
	for (size_t i = 0; i < count; i++)
		exchange->addresses[i] = symbols[i].address;
	if (bpf_prog_test_run_opts(names->program_fd, &options))
		return -errno;
	for (size_t i = 0; i < count; i++) {
		exchange->texts[i][KERNEL_TEXT_BYTES - 1] = '\0';
		kernel_symbol_parse(exchange->texts[i], &symbols[i]);
	}
	return 0;
}

int kernel_namer_find(struct kernel_namer *names, struct kernel_symbol *symbols, size_t count)
{
	int error = 0;

	for (size_t i = 0; !error && i < count; i += KERNEL_ADDRESSES_MAX)
		error = find_some(names, symbols + i,
				  count - i < KERNEL_ADDRESSES_MAX ? count - i
								   : KERNEL_ADDRESSES_MAX);
	return error;
}
