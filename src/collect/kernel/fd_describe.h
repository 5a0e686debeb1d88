/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/fd_describe.h - text for the object that a system call waits for: a disk, pipe,
 * connection or device
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/kernel_record.h"

/* Returns a key of 64 mixed bits: records with equal keys have the same call and the same text. */
uint64_t file_words_key(const struct kernel_out *out);

/* Writes the path of the regular file that a call of process `pid` waits for, if its descriptor
 * still is that file. Only /proc is read, so a file system that does not answer cannot block. */
bool file_path(uint32_t pid, const struct kernel_out *out, char *ret_text, size_t size);

/* Writes "disk sda1", "ext4 at /home", "pipe", "unix socket", "TCP, port 443 of 10.0.0.5",
 * "eventfd", "terminal" or "device dri/renderD128". pid: the process whose mounts are used. False:
 * no text. */
bool file_words(uint32_t pid, const struct kernel_out *out, char *ret_text, size_t size);

/* The same for a descriptor of a thread that waits, from /proc alone: "pipe", "socket", "eventfd",
 * "terminal", "device dri/renderD128" or the path of a file. False: not known, or it may not be
 * inspected. */
bool descriptor_words(uint32_t pid, uint32_t tid, uint32_t descriptor, char *ret_text, size_t size);
