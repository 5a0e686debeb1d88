/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_wait_words.c - words for what threads wait at, from what the kernel knows
 * of it
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "collect/cpu/cpu_private.h"
#include "collect/kernel/fd_describe.h"
#include "collect/host_clocks.h"
#include "collect/stack/memory_places.h"

#include "harness.h"

static char words[600];

static const char *say(const struct kernel_out *out)
{
	return file_words((uint32_t)getpid(), out, words, sizeof(words)) ? words : "";
}

/* As the kernel has it inside. */
static uint32_t number_of(dev_t device)
{
	return major(device) << 20 | minor(device);
}

TEST(pipes_and_sockets)
{
	CHECK_TEXT(say(&(struct kernel_out){.file_mode = S_IFIFO, .file_device = 13}), "pipe");
	CHECK_TEXT(say(&(struct kernel_out){.file_mode = S_IFSOCK,
					    .family = AF_INET,
					    .socket_type = SOCK_STREAM,
					    .peer_port = 5432}),
		   "TCP, port 5432 of the peer");
	CHECK_TEXT(say(&(struct kernel_out){.file_mode = S_IFSOCK,
					    .family = AF_INET6,
					    .socket_type = SOCK_DGRAM,
					    .peer_port = 53}),
		   "UDP, port 53 of the peer");
	CHECK_TEXT(say(&(struct kernel_out){.file_mode = S_IFSOCK,
					    .family = AF_INET,
					    .socket_type = SOCK_STREAM,
					    .peer_port = 443,
					    .peer = {10, 0, 0, 5}}),
		   "TCP, port 443 of 10.0.0.5");
	CHECK_TEXT(say(&(struct kernel_out){.file_mode = S_IFSOCK,
					    .family = AF_INET6,
					    .socket_type = SOCK_STREAM,
					    .peer_port = 443,
					    .peer = {0xfe, 0x80, [15] = 7}}),
		   "TCP, port 443 of fe80::7");
	/* whose port was given out for the connection says nothing; unless both were */
	CHECK_TEXT(say(&(struct kernel_out){.file_mode = S_IFSOCK,
					    .family = AF_INET,
					    .socket_type = SOCK_STREAM,
					    .own_port = 8080,
					    .peer_port = 32768}),
		   "TCP, own port 8080");
	CHECK_TEXT(say(&(struct kernel_out){.file_mode = S_IFSOCK,
					    .family = AF_INET,
					    .socket_type = SOCK_STREAM,
					    .own_port = 8080,
					    .peer_port = 32767}),
		   "TCP, port 32767 of the peer");
	CHECK_TEXT(say(&(struct kernel_out){.file_mode = S_IFSOCK,
					    .family = AF_INET,
					    .socket_type = SOCK_STREAM,
					    .own_port = 40000,
					    .peer_port = 50000}),
		   "TCP, port 50000 of the peer");
	CHECK_TEXT(say(&(struct kernel_out){
			   .file_mode = S_IFSOCK, .family = AF_INET, .socket_type = SOCK_STREAM}),
		   "TCP socket");
	CHECK_TEXT(say(&(struct kernel_out){
			   .file_mode = S_IFSOCK, .family = AF_INET, .socket_type = SOCK_DGRAM}),
		   "UDP socket");
	CHECK_TEXT(say(&(struct kernel_out){
			   .file_mode = S_IFSOCK, .family = AF_INET, .socket_type = SOCK_RAW}),
		   "raw socket");
	CHECK_TEXT(say(&(struct kernel_out){
			   .file_mode = S_IFSOCK, .family = AF_UNIX, .socket_type = SOCK_STREAM}),
		   "unix socket");
	CHECK_TEXT(say(&(struct kernel_out){.file_mode = S_IFSOCK, .family = 250}), "socket");
}

TEST(devices)
{
	struct stat status;
	struct kernel_out out = {.file_mode = S_IFCHR};

	REQUIRE(stat("/dev/null", &status) == 0);
	out.file_device = number_of(status.st_rdev);
	CHECK_TEXT(say(&out), "device null");
	out.file_device = number_of(makedev(4000, 77));
	CHECK_TEXT(say(&out), "");
	CHECK_TEXT(say(&(struct kernel_out){0}), "");
	REQUIRE(stat("/proc/self/status", &status) == 0);
	out = (struct kernel_out){.file_mode = S_IFREG, .file_device = number_of(status.st_dev)};
	CHECK_TEXT(say(&out), "proc at /proc");
}

TEST(files_without_a_file_system)
{
	struct stat status;
	struct kernel_out out = {.file_mode = 0600, .file_device = 14, .file_name = "[eventfd]"};
	const uint64_t key = file_words_key(&out);

	CHECK_TEXT(say(&out), "eventfd");
	strcpy(out.file_name, "[timerfd]");
	CHECK_TEXT(say(&out), "timerfd");
	CHECK(file_words_key(&out) != key);
	out.file_mode |= S_IFREG; /* since Linux 6.16 */
	strcpy(out.file_name, "inotify");
	CHECK_TEXT(say(&out), "inotify");
	out.head.flags = KERNEL_IO_WAIT;
	out.disk = number_of(makedev(4000, 1));
	CHECK_TEXT(say(&out), "");
	out = (struct kernel_out){.file_mode = S_IFCHR};
	for (unsigned int major = 135; major < 145; major++) {
		out.file_device = number_of(makedev(major, 3));
		CHECK_EQUAL(strcmp(say(&out), "terminal") == 0, major >= 128 && major < 144);
	}
	REQUIRE(stat("/dev/tty", &status) == 0);
	out.file_device = number_of(status.st_rdev);
	CHECK_TEXT(say(&out), "terminal");
}

static const char *say_descriptor(int descriptor)
{
	return descriptor_words((uint32_t)getpid(), (uint32_t)gettid(), (uint32_t)descriptor, words,
				sizeof(words))
		       ? words
		       : "";
}

static void check_closing(int descriptor, const char *wanted)
{
	REQUIRE(descriptor >= 0);
	CHECK_TEXT(say_descriptor(descriptor), wanted);
	close(descriptor);
	CHECK_TEXT(say_descriptor(descriptor), "");
}

TEST(descriptors)
{
	char path[] = "/tmp/duet-wait-words-XXXXXX";
	int ends[2];

	REQUIRE(pipe(ends) == 0);
	check_closing(ends[0], "pipe");
	close(ends[1]);
	check_closing(socket(AF_UNIX, SOCK_STREAM, 0), "socket");
	check_closing(eventfd(0, 0), "eventfd");
	check_closing(timerfd_create(CLOCK_MONOTONIC, 0), "timerfd");
	check_closing(inotify_init1(0), "inotify");
	check_closing(posix_openpt(O_RDWR | O_NOCTTY), "terminal");
	check_closing(open("/dev/null", O_RDONLY), "device null");
	check_closing(mkstemp(path), path);
	unlink(path);
	CHECK_TEXT(say_descriptor(-100), ""); /* AT_FDCWD */
}

/* A pipe with a path is a pipe while a thread waits for it. */
struct fifo_reader {
	const char *path;
	_Atomic int file;
	_Atomic uint32_t tid;
};

static void *read_fifo(void *argument)
{
	struct fifo_reader *reader = argument;
	char byte;

	reader->file = open(reader->path, O_RDWR);
	reader->tid = (uint32_t)gettid();
	return read(reader->file, &byte, 1) == 1 ? reader : NULL;
}

TEST(pipe_with_a_path)
{
	char folder[] = "/tmp/duet-wait-words-XXXXXX", path[64];
	struct fifo_reader reader = {path};
	pthread_t thread;
	bool is_pipe = false;

	REQUIRE(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/fifo", folder);
	REQUIRE(mkfifo(path, 0600) == 0);
	REQUIRE(pthread_create(&thread, NULL, read_fifo, &reader) == 0);
	for (int i = 0; i < 2000 && !is_pipe; i++) {
		usleep(1000);
		is_pipe = reader.tid &&
			  descriptor_words((uint32_t)getpid(), reader.tid, (uint32_t)reader.file,
					   words, sizeof(words)) &&
			  strcmp(words, "pipe") == 0;
	}
	CHECK(is_pipe);
	CHECK_EQUAL(write(reader.file, "x", 1), 1);
	pthread_join(thread, NULL);
	close(reader.file);
	unlink(path);
	rmdir(folder);
}

/* The path of an open file, unless another file has its descriptor by now. */
TEST(paths)
{
	char path[] = "/tmp/duet-wait-words-XXXXXX", text[300];
	const int fd = mkstemp(path);
	struct kernel_out out = {
		.head.tid = (uint32_t)getpid(), .file_mode = S_IFREG, .arguments = {(uint32_t)fd}};
	struct stat status;

	REQUIRE(fd >= 0 && fstat(fd, &status) == 0);
	CHECK(!file_path((uint32_t)getpid(), &out, text,
			 sizeof(text))); /* the inode is not known */
	out.file_inode = status.st_ino;
	if (!file_path((uint32_t)getpid(), &out, text, sizeof(text)))
		SKIP("no inode in /proc/self/fdinfo: before Linux 5.14");
	CHECK_TEXT(text, path);
	out.file_inode++;
	CHECK(!file_path((uint32_t)getpid(), &out, text, sizeof(text)));
	out.file_inode--;
	out.file_mode = S_IFIFO;
	CHECK(!file_path((uint32_t)getpid(), &out, text, sizeof(text)));
	out.file_mode = S_IFREG;
	close(fd);
	CHECK(!file_path((uint32_t)getpid(), &out, text, sizeof(text)));
	unlink(path);
}

/* The request is nearer than the file; where it is not waited for, it was another one's. */
TEST(requests)
{
	const struct kernel_out pipe = {.file_mode = S_IFIFO, .disk = number_of(makedev(4000, 1))};
	struct kernel_out waiting = pipe;

	waiting.head.flags = KERNEL_IO_WAIT;
	CHECK_TEXT(say(&pipe), "pipe");
	CHECK_TEXT(say(&waiting), "");
	CHECK(file_words_key(&pipe) != file_words_key(&waiting));
}

TEST(keys)
{
	struct kernel_out one = {.file_mode = S_IFSOCK,
				 .family = AF_INET,
				 .socket_type = SOCK_STREAM,
				 .peer_port = 80};
	struct kernel_out other = one;

	other.file_device = 7; /* of no interest for a socket */
	CHECK_EQUAL(file_words_key(&one), file_words_key(&other));
	other.peer_port = 81;
	CHECK(file_words_key(&one) != file_words_key(&other));
	other = one;
	other.peer[3] = 5;
	CHECK(file_words_key(&one) != file_words_key(&other));
	other = one;
	other.peer[15] = 5;
	CHECK(file_words_key(&one) != file_words_key(&other));
	other = one;
	other.call = 1;
	CHECK(file_words_key(&one) != file_words_key(&other));
	memcpy(one.peer, "\xfd\0\0\1\0\2\0\3", 8);
	memcpy(other.peer, "\xfd\0\0\1\0\2\0\4", 8);
	other.call = 0;
	CHECK(file_words_key(&one) != file_words_key(&other));
	/* of one service all connections are the same, and it is not the peer's of that number */
	one.own_port = other.own_port = 80;
	one.peer_port = 40000;
	other.peer_port = 50000;
	CHECK_EQUAL(file_words_key(&one), file_words_key(&other));
	other = one;
	other.own_port = 40000;
	other.peer_port = 80;
	CHECK(file_words_key(&one) != file_words_key(&other));
	one = (struct kernel_out){.file_mode = S_IFREG | 0644, .file_device = 7};
	other = (struct kernel_out){.file_mode = S_IFREG | 0600, .file_device = 7};
	CHECK_EQUAL(file_words_key(&one), file_words_key(&other));
	other.file_mode = S_IFCHR;
	CHECK(file_words_key(&one) != file_words_key(&other));
}

/* ---- places in memory ------------------------------------------------------------------------ */

static int filled = 7, zeroed[1 << 16];
extern char __executable_start;

static uint64_t now(void)
{
	return host_clocks_now_ns();
}

/* Until the mappings may be read again. */
static void wait_for_turn(struct memory_places *places)
{
	places->kept[0].cost_ns = 0;
}

static const struct proc_maps *maps_of(struct memory_places *places, const void *address,
				       uint64_t time_ns, uint32_t state)
{
	const struct memory_moment moment = {time_ns, state};

	return memory_places_maps(places, 1, (uint32_t)getpid(), (uintptr_t)address, &moment);
}

static const char *variable(struct memory_places *places, const void *address)
{
	memory_places_variable(maps_of(places, address, 1, 0), (uintptr_t)address, words,
			       sizeof(words));
	return words;
}

/* As nm(1) has it: what the linker counts from is where the file's first byte lies. */
static const char *expected(const void *address)
{
	static char text[128];

	snprintf(text, sizeof(text), "test_collect_wait_words+0x%zx",
		 (size_t)((const char *)address - &__executable_start));
	return text;
}

TEST(variables)
{
	struct memory_places places = {0};
	char text[64];
	int local;

	filled++;
	CHECK_TEXT(variable(&places, &filled), expected(&filled));
	CHECK_TEXT(variable(&places, &zeroed[40000]), expected(&zeroed[40000]));
	snprintf(text, sizeof(text), "%p", (void *)&local);
	CHECK_TEXT(variable(&places, &local), text);
	CHECK_TEXT(variable(&places, (void *)16), "0x10");
	memory_places_fini(&places);
}

TEST(files)
{
	struct memory_places places = {0};
	void *mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[] = "/tmp/wait_words_XXXXXX";
	int file = mkstemp(path);
	/* a sanitizer may have variables elsewhere */
	void *frame = __builtin_frame_address(0);

	REQUIRE(mapped != MAP_FAILED && file >= 0 && ftruncate(file, 4096) == 0);
	CHECK(memory_places_file(maps_of(&places, mapped, 1, 0), (uintptr_t)mapped, words,
				 sizeof(words)));
	CHECK_TEXT(words, "memory");
	CHECK(memory_places_file(maps_of(&places, frame, 1, 0), (uintptr_t)frame, words,
				 sizeof(words)));
	CHECK_TEXT(words, "stack");
	REQUIRE(mmap(mapped, 4096, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) == mapped);
	/* nothing has changed up to that moment */
	CHECK(memory_places_file(maps_of(&places, mapped, 1, 0), (uintptr_t)mapped, words,
				 sizeof(words)));
	CHECK_TEXT(words, "memory");
	wait_for_turn(&places);
	CHECK(memory_places_file(maps_of(&places, mapped, now(), 0), (uintptr_t)mapped, words,
				 sizeof(words)));
	CHECK_TEXT(words, path);
	unlink(path);
	munmap(mapped, 4096);
	close(file);
	memory_places_fini(&places);
}

/* Of a moment behind the reading only those are believed whose state is the same; the others are
 * read again. */
TEST(new_mappings)
{
	enum { BEFORE = 7, AFTER, LATER };
	struct memory_places places = {0};
	const struct memory_moment moment = {now(), 0};
	void *mapped;

	CHECK(maps_of(&places, (void *)16, now(), BEFORE) == NULL);
	mapped = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(mapped != MAP_FAILED);
	CHECK(maps_of(&places, mapped, now(), BEFORE) == NULL);
	wait_for_turn(&places);
	CHECK(maps_of(&places, mapped, now(), AFTER) != NULL);
	munmap(mapped, 1 << 20);
	CHECK(maps_of(&places, mapped, now(), AFTER) != NULL);
	wait_for_turn(&places);
	CHECK(maps_of(&places, mapped, now(), LATER) == NULL);
	/* a process that is gone, and more of them than are kept */
	for (uint64_t image = 2; image < 40; image++)
		CHECK(memory_places_maps(&places, image, 1U << 30, 16, &moment) == NULL);
	memory_places_fini(&places);
}

/* Reading takes a share of the time: in between nothing is believed that may have changed. */
TEST(mappings_that_change_often)
{
	struct memory_places places = {0};

	CHECK(maps_of(&places, &filled, now(), 1) != NULL);
	places.kept[0].cost_ns = UINT64_C(1) << 40;
	/* the kernel may confirm it by itself */
	munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
	CHECK(maps_of(&places, (void *)16, now(), 2) == NULL);
	CHECK_EQUAL(places.kept[0].cost_ns, UINT64_C(1) << 40);
	memory_places_fini(&places);
}

/* ---- interrupts ------------------------------------------------------------------------------ */

static const char *interrupt(uint32_t number, const char *name)
{
	const struct kernel_interrupt_key key = {.tgid = 1, .number = number};
	struct kernel_interrupt one = {.spent_ns = 1};

	snprintf(one.name, sizeof(one.name), "%s", name);
	cpu_interrupt_name(&key, &one, words, sizeof(words));
	return words;
}

TEST(interrupts)
{
	CHECK_TEXT(interrupt(25, "virtio0-input.0"), "virtio0-input.0 (irq 25)");
	CHECK_TEXT(interrupt(9, ""), "? (irq 9)");
	CHECK_TEXT(interrupt(KERNEL_SOFT_INTERRUPT | 3, ""), "softirq NET_RX");
	CHECK_TEXT(interrupt(KERNEL_SOFT_INTERRUPT | 9, ""), "softirq RCU");
	CHECK_TEXT(interrupt(KERNEL_SOFT_INTERRUPT | 12, ""), "softirq 12");
}

int main(void)
{
	RUN(pipes_and_sockets);
	RUN(devices);
	RUN(files_without_a_file_system);
	RUN(descriptors);
	RUN(pipe_with_a_path);
	RUN(paths);
	RUN(requests);
	RUN(keys);
	RUN(variables);
	RUN(files);
	RUN(new_mappings);
	RUN(mappings_that_change_often);
	RUN(interrupts);
	return harness_end();
}
