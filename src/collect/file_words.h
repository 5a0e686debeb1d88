/* SPDX-License-Identifier: MIT
 *
 * collect/file_words.h - what a system call waits at: a disk, a pipe, a connection, a device
 */
#ifndef COLLECT_FILE_WORDS_H
#define COLLECT_FILE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/kernel_record.h"

/* What file_words depend on: equal ones have equal words. */
uint64_t file_words_key(const struct kernel_out *out);

/* "disk sda1", "ext4 at /home", "pipe", "unix socket", "TCP, port 443 of the peer", "device dri/renderD128". pid: whose mounts
 * they are. False: there is nothing to say. */
bool file_words(uint32_t pid, const struct kernel_out *out, char *ret_text, size_t size);

#endif
