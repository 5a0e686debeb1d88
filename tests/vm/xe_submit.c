/* SPDX-License-Identifier: MIT
 *
 * tests/vm/xe_submit.c - batches for a GPU of sim/mock_xe, bound in all the ways there are, and not
 * bound any more
 *
 *	xe_submit GPU
 *
 * Runs in:  a virtual machine that has the module
 * Gives:    lines, read by tests/vm/work.py, in the order of submissions:
 *		submitted WHAT ADDRESS..., of the kernels that are in it; 0: what lies there now
 *		    must not be found
 *		replaced ADDRESS COUNT: so many kernels lay there one after the other
 */
#include "xe_gpu.h"

enum { PAGE = 4096 };
#define CODE_ADDRESS  UINT64_C(0x800000000000)
#define BATCH_ADDRESS UINT64_C(0x40000000)
#define OTHER_ADDRESS UINT64_C(0x7fff000000)
#define CHAIN_ADDRESS UINT64_C(0x60000000)
#define SHORT_ADDRESS UINT64_C(0x50000000)
#define CODE_OFFSET   0x100000 /* of a kernel whose code is bound and unbound */

static struct xe_gpu gpu;

static void put_batch(uint32_t *dwords, uint32_t kernel)
{
	xe_put_end(xe_put_walker(xe_put_base(dwords, CODE_ADDRESS), kernel));
}

/* Errors of the driver are none of ours: some of these it need not take. */
static void submit(const char *what, uint64_t address, uint64_t kernel)
{
	if (xe_submit(&gpu, address) == 0)
		printf("submitted %s %#lx\n", what, kernel ? CODE_ADDRESS + kernel : 0);
}

static void bind_plainly(struct xe_buffer *buffer)
{
	xe_make(&gpu, buffer, 4 * PAGE);
	put_batch(buffer->dwords, 0x40);
	xe_bind(&gpu, buffer, BATCH_ADDRESS);
	submit("plain", BATCH_ADDRESS, 0x40);
	/* the queue keeps what the batch before has set */
	xe_put_end(xe_put_walker(buffer->dwords + PAGE / 4, 0x80));
	submit("kept-base", BATCH_ADDRESS + PAGE, 0x80);
}

static void bind_vector(struct xe_buffer *buffer)
{
	struct xe_vm_bind_op operations[2] = {
		{.obj = buffer->handle, .range = PAGE, .addr = OTHER_ADDRESS, .op = XE_BIND_MAP},
		{.obj = buffer->handle,
		 .obj_offset = PAGE,
		 .range = PAGE,
		 .addr = OTHER_ADDRESS + 0x40000000,
		 .op = XE_BIND_MAP}};
	const struct xe_vm_bind bind = {
		.vm_id = gpu.vm, .num_binds = 2, .vector_of_binds = (uintptr_t)operations};

	if (ioctl(gpu.fd, XE_IOCTL_VM_BIND, &bind))
		give_up("bind of several");
	submit("vector", OTHER_ADDRESS, 0x40);
	submit("vector", OTHER_ADDRESS + 0x40000000, 0x80);
}

static void bind_own_memory(void)
{
	struct xe_vm_bind bind = {
		.vm_id = gpu.vm,
		.num_binds = 1,
		.bind = {.range = PAGE, .addr = OTHER_ADDRESS, .op = XE_BIND_MAP_USERPTR}};
	uint32_t *mine = NULL;

	if (posix_memalign((void **)&mine, PAGE, PAGE))
		give_up("memory");
	put_batch(mine, 0xc0);
	bind.bind.userptr = (uintptr_t)mine;
	if (ioctl(gpu.fd, XE_IOCTL_VM_BIND, &bind))
		give_up("bind of a user pointer");
	submit("userptr", OTHER_ADDRESS, 0xc0);
}

static void unbind(struct xe_buffer *buffer)
{
	xe_unbind(&gpu, buffer);
	submit("unbound", BATCH_ADDRESS, 0);
	xe_bind(&gpu, buffer, BATCH_ADDRESS);
	submit("bound-again", BATCH_ADDRESS, 0x40);
}

/* The next buffer gets its handle, and is mapped nowhere. */
static void reuse_handle(struct xe_buffer *buffer)
{
	struct xe_gem_close close = {.handle = buffer->handle};
	struct xe_gem_create create = {.size = 4 * PAGE, .placement = 1, .cpu_caching = 1};

	if (ioctl(gpu.fd, XE_IOCTL_GEM_CLOSE, &close) ||
	    ioctl(gpu.fd, XE_IOCTL_GEM_CREATE, &create))
		give_up("handle");
	buffer->handle = create.handle;
	xe_bind(&gpu, buffer, BATCH_ADDRESS);
	submit("handle-reused", BATCH_ADDRESS, 0);
}

static void reuse_vm(void)
{
	struct xe_exec_queue_destroy queue = {.exec_queue_id = gpu.queue};
	struct xe_vm_destroy vm = {.vm_id = gpu.vm};

	if (ioctl(gpu.fd, XE_IOCTL_EXEC_QUEUE_DESTROY, &queue) ||
	    ioctl(gpu.fd, XE_IOCTL_VM_DESTROY, &vm))
		give_up("destroy");
	xe_make_queue(&gpu);
	submit("vm-reused", OTHER_ADDRESS, 0);
}

static void reuse_file(int index)
{
	struct xe_buffer buffer;

	close(gpu.fd);
	xe_begin(&gpu, index);
	submit("file-reused", OTHER_ADDRESS, 0);
	xe_make(&gpu, &buffer, PAGE);
	put_batch(buffer.dwords, 0x100);
	xe_bind(&gpu, &buffer, OTHER_ADDRESS);
	submit("file-again", OTHER_ADDRESS, 0x100);
}

/* Two that go on where nothing is written yet: kernels that are found later are of the one, and of
 * the other. */
static void leave_two_open(void)
{
	struct xe_buffer buffer;
	uint32_t *at;

	xe_make(&gpu, &buffer, 4 * PAGE);
	xe_bind(&gpu, &buffer, CHAIN_ADDRESS);
	for (uint32_t i = 0; i < 2; i++) {
		at = xe_put_walker(xe_put_base(buffer.dwords + i * PAGE / 4, CODE_ADDRESS),
				   0x1000 * (i + 1));
		at[0] = XE2_BATCH_START;
		at[1] = (uint32_t)(CHAIN_ADDRESS + (i + 2) * PAGE);
		at[2] = 0;
	}
	for (uint32_t i = 0; i < 2; i++)
		if (xe_submit(&gpu, CHAIN_ADDRESS + i * PAGE) == 0)
			printf("submitted open %#lx %#lx\n", CODE_ADDRESS + 0x1000 * (i + 1),
			       CODE_ADDRESS + 0x1000 * (i + 1) + 0x40);
	for (uint32_t i = 0; i < 2; i++)
		xe_put_end(
			xe_put_walker(buffer.dwords + (i + 2) * PAGE / 4, 0x1000 * (i + 1) + 0x40));
	/* a call, in which it is looked again */
	xe_unbind(&gpu, &buffer);
}

static void make_code(struct xe_buffer *batch, struct xe_buffer *code)
{
	xe_make(&gpu, batch, PAGE);
	put_batch(batch->dwords, CODE_OFFSET);
	xe_bind(&gpu, batch, SHORT_ADDRESS);
	xe_make(&gpu, code, PAGE);
	xe_bind(&gpu, code, CODE_ADDRESS + CODE_OFFSET);
}

static void unbind_all(const struct xe_buffer *buffer)
{
	const struct xe_vm_bind bind = {.vm_id = gpu.vm,
					.num_binds = 1,
					.bind = {.obj = buffer->handle, .op = XE_BIND_UNMAP_ALL}};

	if (ioctl(gpu.fd, XE_IOCTL_VM_BIND, &bind))
		give_up("unbind of all of an object");
}

/* In all the ways in which code goes, and other code comes to its place: each time it is another
 * kernel. */
static void replace_code(int index)
{
	struct xe_buffer batch, code, other;

	/* one of which nothing is mapped in the end, so that it can be closed */
	xe_begin(&gpu, index);
	make_code(&batch, &code);
	submit("code", SHORT_ADDRESS, CODE_OFFSET);
	xe_unbind(&gpu, &code);
	xe_bind(&gpu, &code, CODE_ADDRESS + CODE_OFFSET);
	submit("code-unbound", SHORT_ADDRESS, CODE_OFFSET);
	unbind_all(&code);
	xe_bind(&gpu, &code, CODE_ADDRESS + CODE_OFFSET);
	submit("code-all-unbound", SHORT_ADDRESS, CODE_OFFSET);
	xe_make(&gpu, &other, PAGE);
	xe_bind(&gpu, &other, CODE_ADDRESS + CODE_OFFSET);
	submit("code-bound-over", SHORT_ADDRESS, CODE_OFFSET);
	usleep(300000);
	/* its address space was not destroyed */
	munmap(batch.dwords, batch.size);
	munmap(code.dwords, code.size);
	munmap(other.dwords, other.size);
	close(gpu.fd);
	xe_begin(&gpu, index);
	make_code(&batch, &code);
	submit("code-file-closed", SHORT_ADDRESS, CODE_OFFSET);
	printf("replaced %#lx 5\n", CODE_ADDRESS + CODE_OFFSET);
}

int main(int argc, char **argv)
{
	const int index = argc > 1 ? atoi(argv[1]) : 0;
	struct xe_buffer buffer;

	setvbuf(stdout, NULL, _IOLBF, 0);
	xe_begin(&gpu, index);
	bind_plainly(&buffer);
	bind_vector(&buffer);
	bind_own_memory();
	unbind(&buffer);
	reuse_handle(&buffer);
	/* so that no job is cut off by what follows */
	usleep(300000);
	reuse_vm();
	usleep(300000);
	reuse_file(index);
	leave_two_open();
	replace_code(index);
	usleep(300000);
	return 0;
}
