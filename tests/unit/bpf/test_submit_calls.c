/* SPDX-License-Identifier: MIT
 *
 * tests/unit/bpf/test_submit_calls.c - calls of the driver xe, as all system calls are seen
 *
 *	test_bpf_submit_calls xe.bpf.o
 *
 * The driver is a file system of our own (FUSE), whose one file takes every ioctl and hands back
 * what was written: so calls are real, on a real descriptor, and no driver of a GPU is needed. That
 * file has the device number 0.
 */
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "../../../sim/xe_calls.h"
#include "made_up_calls.h"

enum {
	OWN_NODE = 2,
	MESSAGE = 1 << 20,
	LOOPS = 200000,
	ROUNDS = 5,
	PAGES_A_BUFFER = 4,
	REFUSED = 99
};
#define FILE_BYTES (UINT64_C(1) << 40)

static struct bpf_link *links[4];

/* ---- the driver, in a process of its own ----------------------------------------------------- */

static struct fuse_attr attributes_of(uint64_t node)
{
	return (struct fuse_attr){.ino = node,
				  .size = node == OWN_NODE ? FILE_BYTES : 0,
				  .mode = node == OWN_NODE ? S_IFREG | 0666 : S_IFDIR | 0777,
				  .nlink = 1,
				  .blksize = PAGE};
}

/* What an ioctl has written comes back; a read gives zeros. */
static size_t answer_bytes(const struct fuse_in_header *in, char *out)
{
	const struct fuse_ioctl_in *call = (const struct fuse_ioctl_in *)(in + 1);
	const struct fuse_read_in *reads = (const struct fuse_read_in *)(in + 1);
	struct fuse_ioctl_out *called = (struct fuse_ioctl_out *)out;

	if (in->opcode == FUSE_READ) {
		memset(out, 0, reads->size);
		return reads->size;
	}
	*called = (struct fuse_ioctl_out){.result = 0};
	if (call->cmd == XE_IOCTL_EXEC &&
	    ((const struct xe_exec *)(call + 1))->exec_queue_id == REFUSED)
		called->result = -EINVAL;
	if (call->in_size >= call->out_size)
		memcpy(called + 1, call + 1, call->out_size);
	return sizeof(*called) + call->out_size;
}

static size_t answer(const struct fuse_in_header *in, char *out, int *ret_error)
{
	switch (in->opcode) {
	case FUSE_INIT:
		*(struct fuse_init_out *)out = (struct fuse_init_out){.major = FUSE_KERNEL_VERSION,
								      .minor = 31,
								      .max_readahead = PAGE,
								      .max_write = 1 << 16};
		return sizeof(struct fuse_init_out);
	case FUSE_LOOKUP:
		*(struct fuse_entry_out *)out = (struct fuse_entry_out){
			.nodeid = OWN_NODE, .entry_valid = 3600, .attr = attributes_of(OWN_NODE)};
		return sizeof(struct fuse_entry_out);
	case FUSE_GETATTR:
		*(struct fuse_attr_out *)out = (struct fuse_attr_out){
			.attr_valid = 3600, .attr = attributes_of(in->nodeid)};
		return sizeof(struct fuse_attr_out);
	case FUSE_OPEN:
		*(struct fuse_open_out *)out = (struct fuse_open_out){.fh = 1};
		return sizeof(struct fuse_open_out);
	case FUSE_WRITE:
		*(struct fuse_write_out *)out = (struct fuse_write_out){
			.size = ((const struct fuse_write_in *)(in + 1))->size};
		return sizeof(struct fuse_write_out);
	case FUSE_READ:
	case FUSE_IOCTL:
		return answer_bytes(in, out);
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		return 0;
	default:
		*ret_error = -ENOSYS;
		return 0;
	}
}

static void serve(int device)
{
	static char question[MESSAGE], reply[MESSAGE];
	const struct fuse_in_header *in = (const struct fuse_in_header *)question;
	struct fuse_out_header *out = (struct fuse_out_header *)reply;

	while (read(device, question, sizeof(question)) > 0) {
		int why = 0;
		const size_t bytes = answer(in, (char *)(out + 1), &why);

		if (in->opcode == FUSE_FORGET || in->opcode == FUSE_BATCH_FORGET)
			continue;
		*out = (struct fuse_out_header){.len = (uint32_t)(sizeof(*out) + bytes),
						.error = why,
						.unique = in->unique};
		if (write(device, reply, out->len) < 0)
			break;
	}
	_exit(0);
}

/* A descriptor of its file; below 0: this machine has no such file systems, or does not let us. */
static int open_driver(pid_t *ret_pid)
{
	char folder[] = "/tmp/duet-calls-XXXXXX", path[64], options[100];
	const int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	int file = -1;

	if (device < 0 || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || !mkdtemp(folder))
		return -1;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	snprintf(path, sizeof(path), "%s/card", folder);
	if (!mount("duet", folder, "fuse", MS_NOSUID | MS_NODEV, options)) {
		*ret_pid = fork();
		if (!*ret_pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			serve(device);
		}
		file = open(path, O_RDWR | O_CLOEXEC);
		umount2(folder, MNT_DETACH);
	}
	rmdir(folder);
	close(device);
	return file;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int card;

static void make_queue_and_vm(int file)
{
	struct xe_vm_create vm = {.vm_id = 1};
	struct xe_exec_queue_create queue = {
		.vm_id = 1, .exec_queue_id = 1, .width = 1, .num_placements = 1};

	CHECK_EQUAL(ioctl(file, XE_IOCTL_VM_CREATE, &vm), 0);
	CHECK_EQUAL(ioctl(file, XE_IOCTL_EXEC_QUEUE_CREATE, &queue), 0);
}

/* The driver's memory, which the program maps. */
static void *map_buffer(int file, uint32_t handle)
{
	struct xe_gem_mmap_offset arguments = {.handle = handle, .offset = (uint64_t)handle << 20};
	void *bytes;

	CHECK_EQUAL(ioctl(file, XE_IOCTL_GEM_MMAP_OFFSET, &arguments), 0);
	bytes = mmap(NULL, PAGES_A_BUFFER * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file,
		     (off_t)arguments.offset);
	return bytes == MAP_FAILED ? NULL : bytes;
}

static void bind(int file, uint32_t handle, uint64_t address)
{
	struct xe_vm_bind arguments = {.vm_id = 1,
				       .num_binds = 1,
				       .bind = {.obj = handle,
						.addr = address,
						.range = PAGES_A_BUFFER * PAGE,
						.op = XE_BIND_MAP}};

	CHECK_EQUAL(ioctl(file, XE_IOCTL_VM_BIND, &arguments), 0);
}

/* NULL: there is none, but for what is told once more of earlier ones. */
static const struct submit_record *find_batch(void)
{
	ring_buffer__consume(ring);
	for (size_t i = 0; i < records_count; i++)
		if (records[i].head.kind == SUBMIT_RECORD_BATCH)
			return &records[i];
	return NULL;
}

static uint64_t space_of(const struct submit_record *record)
{
	return record ? record->vm : 0;
}

static const struct submit_record *submit(int file, uint64_t address)
{
	struct xe_exec arguments = {.exec_queue_id = 1, .address = address, .num_batch_buffer = 1};

	take_records();
	CHECK_EQUAL(ioctl(file, XE_IOCTL_EXEC, &arguments), 0);
	return find_batch();
}

/* ---- tests ----------------------------------------------------------------------------------- */

TEST(a_batch_and_its_kernel)
{
	struct xe_gem_close closing = {.handle = 3};
	const struct submit_record *record;
	char *bytes;

	make_queue_and_vm(card);
	bytes = map_buffer(card, 3);
	REQUIRE(bytes != NULL);
	put_batch(bytes, 0x40);
	bind(card, 3, AREA);
	record = submit(card, AREA);
	CHECK_EQUAL(kernel_of(record), 0x40);
	REQUIRE(record != NULL);
	CHECK_EQUAL(record->head.tgid, getpid());
	CHECK_EQUAL(record->minor, 0);
	CHECK(record->user_stack != 0);
	CHECK_EQUAL(record->frames_count, 0); /* a system call's own frames say nothing */
	CHECK_EQUAL(ioctl(card, XE_IOCTL_GEM_CLOSE, &closing), 0);
	bind(card, 3, AREA);
	CHECK_EQUAL(kernel_of(submit(card, AREA)), 0);
	munmap(bytes, PAGES_A_BUFFER * PAGE);
}

/* Of other files, and of other types, nothing is looked at; and what it refuses is nothing. */
TEST(what_is_not_the_drivers)
{
	const int pipe_end[2] = {open("/dev/null", O_RDWR), open("/dev/zero", O_RDWR)};
	struct xe_exec arguments = {.exec_queue_id = 1, .address = AREA, .num_batch_buffer = 1};

	take_records();
	for (int i = 0; i < 2; i++) {
		CHECK(ioctl(pipe_end[i], XE_IOCTL_EXEC, &arguments) < 0);
		close(pipe_end[i]);
	}
	CHECK(ioctl(-1, XE_IOCTL_EXEC, &arguments) < 0);
	CHECK(ioctl(100000, XE_IOCTL_EXEC, &arguments) < 0);
	ioctl(card, _IOW('e', 0x49, struct xe_exec), &arguments);
	arguments.exec_queue_id = REFUSED;
	CHECK(ioctl(card, XE_IOCTL_EXEC, &arguments) < 0);
	CHECK(find_batch() == NULL);
}

/* By close, by dup2 over it, and with its process: whose number is used again is another. */
TEST(files_end)
{
	char path[40];
	int again, other, status;
	uint64_t vm;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", card);
	again = open(path, O_RDWR);
	REQUIRE(again >= 0);
	make_queue_and_vm(again);
	vm = space_of(submit(again, AREA));
	CHECK(vm != 0);
	other = dup(again);
	take_records();
	close(again);
	ring_buffer__consume(ring);
	CHECK_EQUAL(unbound_count, 0); /* the other is it, too */
	CHECK_EQUAL(space_of(submit(other, AREA)), vm);
	take_records();
	CHECK(dup2(card, other) == other);
	ring_buffer__consume(ring);
	REQUIRE(unbound_count == 1);
	CHECK(unbounds[0].vm == vm && !unbounds[0].end);
	close(other);

	take_records();
	if (!fork()) {
		again = open(path, O_RDWR);
		make_queue_and_vm(again);
		_exit(again < 0);
	}
	CHECK(wait(&status) > 0 && status == 0);
	ring_buffer__consume(ring);
	CHECK_EQUAL(exit_count, 1);
	CHECK_EQUAL(unbound_count, 1);
}

/* By a range only where one of the driver's is in it. */
TEST(ranges_are_closed)
{
	enum { AT = 100, BEHIND = 200 };
	char path[40];
	uint64_t vm;
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", card);
	/* what we were begun with: files without a device are the driver's here */
	CHECK_EQUAL(syscall(SYS_close_range, AT, ~0U, 0), 0);
	again = open(path, O_RDWR);
	REQUIRE(again >= 0);
	CHECK_EQUAL(dup2(again, AT), AT);
	close(again);
	make_queue_and_vm(AT);
	vm = space_of(submit(AT, AREA));
	CHECK(vm != 0);
	CHECK_EQUAL(syscall(SYS_close_range, AT + 1, ~0U, 0), 0);
	CHECK_EQUAL(space_of(submit(AT, AREA)), vm);
	CHECK_EQUAL(syscall(SYS_close_range, AT, BEHIND, 4), 0); /* with the next program */
	CHECK_EQUAL(space_of(submit(AT, AREA)), vm);
	take_records();
	CHECK_EQUAL(dup2(AT, BEHIND), BEHIND);
	CHECK_EQUAL(syscall(SYS_close_range, AT, BEHIND, 0), 0);
	ring_buffer__consume(ring);
	CHECK(unbound_count >= 1);
	for (size_t i = 0; i < unbound_count; i++)
		vm = unbounds[i].vm == vm ? 0 : vm;
	CHECK_EQUAL(vm, 0);
}

/* Nothing is looked for in all of the tables: says what it takes, in a process that has called no
 * driver. */
TEST(ranges_of_others)
{
	struct timespec from, to;
	int status;

	if (!fork()) {
		double least = 1e9;

		for (int i = 0; i < ROUNDS * ROUNDS; i++) {
			clock_gettime(CLOCK_MONOTONIC, &from);
			syscall(SYS_close_range, 500, 600, 0);
			clock_gettime(CLOCK_MONOTONIC, &to);
			const double took = (double)(to.tv_sec - from.tv_sec) * 1e6 +
					    (double)(to.tv_nsec - from.tv_nsec) / 1e3;
			least = took < least ? took : least;
		}
		dprintf(STDOUT_FILENO,
			"# close_range of no file, in a process that calls no driver: %.1f us\n",
			least);
		_exit(0);
	}
	CHECK(wait(&status) > 0 && status == 0);
	take_records();
	CHECK_EQUAL(exit_count, 0);
}

static double loop_ns(void)
{
	struct timespec from, to;
	double least = 1e9;

	for (int round = 0; round < ROUNDS; round++) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
		for (int i = 0; i < LOOPS; i++)
			syscall(SYS_getppid);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
		const double took = ((double)(to.tv_sec - from.tv_sec) * 1e9 +
				     (double)(to.tv_nsec - from.tv_nsec)) /
				    LOOPS;
		least = took < least ? took : least;
	}
	return least;
}

static bool attach_all(void)
{
	static const char *const names[] = {"call_exit", "call_enter", "call_exec", "on_exit"};

	for (size_t i = 0; i < 4; i++) {
		links[i] = bpf_program__attach(bpf_object__find_program_by_name(object, names[i]));
		if (!links[i])
			return false;
	}
	return true;
}

static void detach_all(void)
{
	for (size_t i = 0; i < 4; i++) {
		bpf_link__destroy(links[i]);
		links[i] = NULL;
	}
}

/* Says what every system call of the machine costs more; asserts nothing of it, for the machine may
 * be busy. */
TEST(cost)
{
	double with_ns, without_ns;

	with_ns = loop_ns();
	detach_all();
	without_ns = loop_ns();
	printf("# getppid: %.0f ns, %.0f ns while all system calls are seen: ratio %.2f (least of "
	       "%d)\n",
	       without_ns, with_ns, with_ns / without_ns, ROUNDS);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"call_exit", "call_enter", "call_exec", "on_exit",
					    NULL};
	const uint32_t device = 0, node = 1;
	pid_t pid = 0;

	card = open_driver(&pid);
	if (card < 0) {
		printf("1..0 # SKIP no file system of our own: %s\n", strerror(errno));
		return 0;
	}
	if (!begin_tests_of(argc > 1 ? argv[1] : "", names))
		return error != 0;
	bpf_map_update_elem(bpf_object__find_map_fd_by_name(object, "nodes"), &device, &node,
			    BPF_ANY);
	if (!attach_all()) {
		printf("1..1\nnot ok 2 - attached: %s\n", strerror(errno));
		return 1;
	}
	RUN(a_batch_and_its_kernel);
	RUN(what_is_not_the_drivers);
	RUN(files_end);
	RUN(ranges_are_closed);
	RUN(ranges_of_others);
	RUN(cost);
	detach_all();
	close(card);
	kill(pid, SIGKILL);
	return end_tests();
}
