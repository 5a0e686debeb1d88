/* SPDX-License-Identifier: MIT
 *
 * tests/unit/symbol/unattended.h - pages that a userfaultfd has to bring, which nobody reads: who
 * touches one waits for ever
 */
#pragma once

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline void unattended_end(int fd, uint8_t *pages, size_t size)
{
	close(fd);
	munmap(pages, size);
}

/* The descriptor; -1: nobody may have one here that holds the kernel up too. */
static inline int unattended_pages(size_t size, uint8_t **ret_pages)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register part = {.range = {.len = size},
				       .mode = UFFDIO_REGISTER_MODE_MISSING};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	uint8_t *pages;

	if (fd < 0)
		return -1;
	pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	part.range.start = (uintptr_t)pages;
	if (pages == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &part)) {
		unattended_end(fd, pages, size);
		return -1;
	}
	*ret_pages = pages;
	return fd;
}
