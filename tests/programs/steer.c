/* SPDX-License-Identifier: MIT
 *
 * tests/programs/steer.c - processes that change, or do not answer, while a recorder brings a guest
 * into them
 *
 * Runs in:  a process of its own, in a folder with files named libcuda.so.1 and libcupti.so.12
 * Gets:     steer WHAT … target              waits; SIGTERM ends it with status 42. It never calls
 *           steered() itself where               prints the address of steered() hostile ADDRESS P
 *            directs the C library's mmap to ADDRESS and executes P when it is traced launcher P
 *                 executes P when it is traced renamed P           the same from a thread that is
 *           not the first one sibling P           a second thread executes P when the first one is
 *           traced, which can be borrowed mapped              waits, with the two files mapped
 *           spins               the same; its mmap never returns silent FILE         the same; its
 *           mapping of FILE does not answer reads of its memory
 * Gives:    "ready"; a file named "steered" where steered() ran
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, STATUS_UNHARMED = 42, STATUS_SKIPPED = 77 };

static const char *program; /* to execute */

__attribute__((used, noinline)) static void steered(void)
{
	int fd = open("steered", O_CREAT | O_WRONLY, 0600);

	dprintf(fd, "uid %d euid %d\n", (int)getuid(), (int)geteuid());
	close(fd);
	for (;;)
		pause();
}

static void spin(void)
{
	for (;;)
		__asm__ volatile("pause");
}

static void on_end(int signal)
{
	(void)signal;
	_exit(STATUS_UNHARMED);
}

static void ready(void)
{
	printf("ready\n");
	fflush(stdout);
}

static void wait_for_ever(void)
{
	for (;;)
		poll(NULL, 0, 1000);
}

static int be_target(void)
{
	sigset_t none;

	sigemptyset(&none);
	signal(SIGTERM, on_end);
	sigprocmask(SIG_SETMASK, &none, NULL);
	wait_for_ever();
	return 0;
}

/* The recorder takes a process that has these two for one that uses CUDA. */
static void *map_file(const char *name, int protection, int flags)
{
	int fd = open(name, O_RDWR);
	void *at;

	if (fd < 0)
		fd = open(name, O_RDONLY);
	at = mmap(NULL, PAGE, protection, flags, fd, 0);
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

static void map_cuda(void)
{
	map_file("libcuda.so.1", PROT_READ, MAP_PRIVATE);
	map_file("libcupti.so.12", PROT_READ, MAP_PRIVATE);
}

static int on_library(struct dl_phdr_info *info, size_t size, void *found)
{
	(void)size;
	if (!strstr(info->dlpi_name, "libc.so.6"))
		return 0;
	*(struct dl_phdr_info *)found = *info;
	return 1;
}

/* In the C library's own table of symbols, from which a recorder reads addresses. */
static void direct_mmap(uint64_t address)
{
	struct dl_phdr_info libc = {0};
	const Elf64_Sym *symbols = NULL;
	const char *texts = NULL;

	dl_iterate_phdr(on_library, &libc);
	for (int i = 0; i < libc.dlpi_phnum; i++) {
		const Elf64_Dyn *entry =
			(const Elf64_Dyn *)(libc.dlpi_addr + libc.dlpi_phdr[i].p_vaddr);

		for (; libc.dlpi_phdr[i].p_type == PT_DYNAMIC && entry->d_tag; entry++)
			if (entry->d_tag == DT_SYMTAB)
				symbols = (const Elf64_Sym *)entry->d_un.d_ptr;
			else if (entry->d_tag == DT_STRTAB)
				texts = (const char *)entry->d_un.d_ptr;
	}
	for (const Elf64_Sym *symbol = symbols; (const char *)symbol < texts; symbol++) {
		uintptr_t page = (uintptr_t)symbol & ~(uintptr_t)(PAGE - 1);

		if (strcmp(texts + symbol->st_name, "mmap") != 0)
			continue;
		mprotect((void *)page, 2 * PAGE, PROT_READ | PROT_WRITE);
		((Elf64_Sym *)(uintptr_t)symbol)->st_value = address - libc.dlpi_addr;
	}
}

static void ignore_signal(int signal)
{
	(void)signal;
}

/* No signal is left by which a thread could stop for a recorder: it tries again and again, and
 * borrows the first thread that has one. After an exec there are no handlers. */
static void handle_signals(void)
{
	signal(SIGURG, ignore_signal);
	signal(SIGWINCH, ignore_signal);
	signal(SIGCHLD, ignore_signal);
}

static int is_traced(const char *status)
{
	char text[4096] = "", *line;
	int fd = open(status, O_RDONLY | O_CLOEXEC);
	ssize_t got = read(fd, text, sizeof(text) - 1);

	close(fd);
	line = got > 0 ? strstr(text, "\nTracerPid:") : NULL;
	return line && atoi(line + 11) > 0;
}

/* status: of the thread that is to be traced. */
static void *execute_when_traced(void *status)
{
	while (!is_traced(status))
		;
	execl(program, program, "target", NULL);
	perror(program);
	_exit(1);
	return status;
}

/* The kernel asks a user of its own for the page, who never answers. */
static int be_silent(const char *name)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	void *at = map_file(name, PROT_READ | PROT_WRITE, MAP_SHARED);

	range.range.start = (uintptr_t)at;
	range.range.len = PAGE;
	if (!at || fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0 ||
	    ioctl(fd, UFFDIO_REGISTER, &range) < 0) {
		fprintf(stderr, "userfaultfd: %s\n", strerror(errno));
		return STATUS_SKIPPED;
	}
	ready();
	return be_target();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	static char own_status[] = "/proc/thread-self/status", first_status[] = "/proc/self/status";
	pthread_t thread;
	int is_sibling;

	if (strcmp(what, "target") == 0)
		return be_target();
	if (strcmp(what, "where") == 0)
		return printf("%lx\n", (unsigned long)(uintptr_t)steered) < 0;
	map_cuda();
	if (strcmp(what, "silent") == 0)
		return be_silent(argv[2]);
	if (strcmp(what, "hostile") == 0)
		direct_mmap(strtoull(argv[2], NULL, 16));
	if (strcmp(what, "spins") == 0)
		direct_mmap((uintptr_t)spin);
	program = argc > 2 ? argv[argc - 1] : NULL;
	is_sibling = strcmp(what, "sibling") == 0;
	if (program && !is_sibling)
		handle_signals();
	ready();
	if (strcmp(what, "mapped") == 0 || strcmp(what, "spins") == 0)
		return be_target();
	if (is_sibling || strcmp(what, "renamed") == 0) {
		if (pthread_create(&thread, NULL, execute_when_traced,
				   is_sibling ? first_status : own_status))
			return 1;
		wait_for_ever();
	}
	execute_when_traced(own_status);
	return 1;
}
