/* SPDX-License-Identifier: MIT
 *
 * tests/vm/xe_debug.c - a program that tells its debugger what its code is, and cannot go on
 * without one that answers
 *
 *	xe_debug GPU ZEBIN	with a debugger: kernels that were there before it came, and later
 *		ones
 *	xe_debug GPU ZEBIN again	binds until a debugger has come and gone
 *
 * Runs in:  a virtual machine that has sim/mock_xe
 * Gives:    lines, read by tests/vm/work.py:
 *		process PID
 *		code NAME ADDRESS
 *		scripted NAME ADDRESS OFFSET COUNTS..., of one run; each runs once
 *		fences COUNT, that were signaled
 *		went-on, after its threads stood still
 */
#include <elf.h>
#include <poll.h>
#include <stdbool.h>
#include <time.h>

#include "../../sim/mock_xe/mock_control.h"
#include "abi/xe_debug.h"
#include "xe_gpu.h"

enum {
	KERNELS = 3,
	KERNEL_BYTES = 0x1000,
	CODE = 0x10000,
	PAGE = 4096,
	PATIENCE_S = 25,
	BURST = 150
};
#define FIRST_ADDRESS  UINT64_C(0x800000000000)
#define SECOND_ADDRESS UINT64_C(0x800000100000)
#define BURST_ADDRESS  UINT64_C(0x800010000000)
#define BATCH_ADDRESS  UINT64_C(0x100000)

static const struct mock_rows rows = {.offset = 0x10, .count = 3, .counts = {[6] = 5, [9] = 2}};

static struct xe_gpu gpu;
static struct xe_buffer batch;
static uint32_t gpu_index;
static char *zebin;
static size_t zebin_size;

static void read_zebin(const char *path)
{
	FILE *file = fopen(path, "rb");

	zebin = malloc(1 << 20);
	zebin_size = file && zebin ? fread(zebin, 1, 1 << 20, file) : 0;
	if (zebin_size < sizeof(Elf64_Ehdr))
		give_up(path);
	fclose(file);
}

/* As a runtime does for its debugger: kernels have the addresses that they get. */
static uint32_t make_metadata(uint64_t address)
{
	struct xe_debug_metadata_create create = {.type = XE_DEBUG_ELF, .len = zebin_size};
	const Elf64_Ehdr *head = (const void *)zebin;
	Elf64_Shdr *sections = (void *)(zebin + head->e_shoff);
	const char *names = zebin + sections[head->e_shstrndx].sh_offset;

	for (uint32_t i = 0, kernel = 0; i < head->e_shnum; i++) {
		const char *name = names + sections[i].sh_name;

		if (strncmp(name, ".text.", 6) != 0 || kernel == KERNELS)
			continue;
		sections[i].sh_addr = address + kernel++ * KERNEL_BYTES;
		printf("code %s %#lx\n", name + 6, sections[i].sh_addr);
	}
	create.user_addr = (uintptr_t)zebin;
	if (ioctl(gpu.fd, XE_IOCTL_DEBUG_METADATA_CREATE, &create))
		give_up("metadata");
	return create.metadata_id;
}

static bool has_time(time_t end)
{
	return time(NULL) < end;
}

/* fence: waits until it is signaled, which is the debugger's to allow. */
static void bind_code(struct xe_buffer *buffer, uint64_t address, uint64_t size, uint32_t metadata,
		      bool fence)
{
	volatile uint64_t signaled = 0;
	struct xe_debug_attach attach = {.name = XE_DEBUG_ATTACH, .metadata_id = metadata};
	struct xe_sync sync = {.type = XE_SYNC_USER_FENCE,
			       .flags = XE_SYNC_SIGNAL,
			       .addr = (uintptr_t)&signaled,
			       .timeline_value = 7};
	struct xe_vm_bind bind = {.vm_id = gpu.vm,
				  .num_binds = 1,
				  .num_syncs = fence,
				  .syncs = (uintptr_t)&sync,
				  .bind = {.extensions = metadata ? (uintptr_t)&attach : 0,
					   .obj = buffer->handle,
					   .range = size,
					   .addr = address,
					   .op = XE_BIND_MAP}};
	const time_t end = time(NULL) + PATIENCE_S;

	buffer->address = address;
	if (ioctl(gpu.fd, XE_IOCTL_VM_BIND, &bind))
		give_up("bind");
	while (fence && signaled != 7 && has_time(end))
		usleep(1000);
	if (fence && signaled != 7) {
		errno = ETIMEDOUT;
		give_up("fence of a bind");
	}
}

static bool has_debugger(void)
{
	FILE *file = fopen("/sys/module/xe/parameters/debuggers", "r");
	char text[8] = "0";

	if (!file || !fgets(text, sizeof(text), file))
		give_up("debuggers");
	fclose(file);
	return *text != '0';
}

static void wait_debugger(void)
{
	const time_t end = time(NULL) + PATIENCE_S;

	while (!has_debugger() && has_time(end))
		usleep(10000);
	if (!has_debugger()) {
		errno = ETIMEDOUT;
		give_up("no debugger");
	}
	usleep(100000); /* it is told what there is */
}

static void tell(const struct mock_control *control, size_t size)
{
	const int fd = open("/dev/mock_xe", O_WRONLY);

	if (fd < 0 || write(fd, control, size) != (ssize_t)size)
		give_up("control");
	close(fd);
}

static void script(uint64_t address, uint32_t duration_us)
{
	const size_t size = sizeof(struct mock_control) + sizeof(rows);
	struct mock_control *control = calloc(1, size);

	if (!control)
		give_up("memory");
	*control = (struct mock_control){.what = MOCK_SCRIPT,
					 .gpu = gpu_index,
					 .address = address,
					 .duration_us = duration_us,
					 .rows_count = 1};
	control->rows[0] = rows;
	tell(control, size);
	free(control);
	printf("scripted %#lx %u", address, rows.offset);
	for (uint32_t i = 0; i < MOCK_REASONS; i++)
		printf(" %u", rows.count * rows.counts[i]);
	printf("\n");
}

/* attention: its threads are stopped meanwhile, and somebody has to let them go on. */
static void run_kernel(uint64_t address, bool attention)
{
	const struct mock_control stand = {.what = MOCK_ATTENTION, .gpu = gpu_index};
	struct xe_sync_object object = {.flags = 0};
	struct xe_sync sync = {.type = XE_SYNC_OBJECT, .flags = XE_SYNC_SIGNAL};
	struct xe_exec exec = {.exec_queue_id = gpu.queue,
			       .address = BATCH_ADDRESS,
			       .num_batch_buffer = 1,
			       .num_syncs = 1,
			       .syncs = (uintptr_t)&sync};
	struct xe_sync_wait wait = {.count = 1};
	struct timespec now;

	xe_put_end(xe_put_walker(xe_put_base(batch.dwords, FIRST_ADDRESS),
				 (uint32_t)(address - FIRST_ADDRESS)));
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (ioctl(gpu.fd, XE_IOCTL_SYNC_CREATE, &object))
		give_up("sync object");
	sync.handle = object.handle;
	if (ioctl(gpu.fd, XE_IOCTL_EXEC, &exec))
		give_up("exec");
	if (attention) {
		usleep(200000);
		tell(&stand, sizeof(stand));
	}
	wait.handles = (uintptr_t)&object.handle;
	wait.timeout_ns = (now.tv_sec + PATIENCE_S) * 1000000000L;
	if (ioctl(gpu.fd, XE_IOCTL_SYNC_WAIT, &wait))
		give_up("kernel does not end");
	if (attention)
		printf("went-on\n");
}

static void run_all(void)
{
	for (uint32_t i = 0; i < KERNELS; i++) {
		script(FIRST_ADDRESS + i * KERNEL_BYTES, 150000);
		run_kernel(FIRST_ADDRESS + i * KERNEL_BYTES, false);
		script(SECOND_ADDRESS + i * KERNEL_BYTES, i ? 150000 : 1000000);
		run_kernel(SECOND_ADDRESS + i * KERNEL_BYTES, i == 0);
	}
}

/* More than the driver keeps for a debugger that does not read. */
static void bind_many(void)
{
	struct xe_buffer page;

	xe_make(&gpu, &page, PAGE);
	for (uint32_t i = 0; i < BURST; i++)
		bind_code(&page, BURST_ADDRESS + ((uint64_t)i << 21), PAGE, 0, i % 10 == 0);
	printf("fences %u\n", 1 + BURST / 10);
}

/* Until its debugger has come, and a while after it has gone. */
static void bind_again(void)
{
	const time_t end = time(NULL) + 2 * PATIENCE_S;
	struct xe_buffer page;
	uint32_t count = 0, alone = 0;
	bool is_met = false;

	xe_make(&gpu, &page, PAGE);
	for (; alone < 100 && has_time(end); count++) {
		bind_code(&page, BURST_ADDRESS, PAGE, 0, true);
		usleep(1000);
		is_met |= has_debugger();
		alone += is_met && !has_debugger();
	}
	printf("fences %u\n", count);
}

int main(int argc, char **argv)
{
	struct xe_buffer first, second;

	if (argc < 3)
		return 2;
	gpu_index = (uint32_t)atoi(argv[1]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("process %d\n", getpid());
	read_zebin(argv[2]);
	xe_begin(&gpu, (int)gpu_index);
	xe_make(&gpu, &batch, PAGE);
	xe_bind(&gpu, &batch, BATCH_ADDRESS);
	if (argc > 3) {
		bind_again();
		return 0;
	}
	xe_make(&gpu, &first, CODE);
	bind_code(&first, FIRST_ADDRESS, CODE, make_metadata(FIRST_ADDRESS), false);
	wait_debugger();
	xe_make(&gpu, &second, CODE);
	bind_code(&second, SECOND_ADDRESS, CODE, make_metadata(SECOND_ADDRESS), true);
	bind_many();
	run_all();
	usleep(500000); /* its rows are read */
	xe_unbind(&gpu, &second);
	usleep(300000);
	return 0;
}
