/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/device_names.h - names of devices and mounts, found by their number
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Writes "disk sda1", or "fuse.sshfs at /mnt/far" as process `pid` has it mounted. False: not
 * found, as for pipes and sockets. */
bool device_name(uint32_t pid, unsigned int major, unsigned int minor, char *ret_text, size_t size);
/* Writes "device dri/renderD128" for a character device. */
bool device_name_character(unsigned int major, unsigned int minor, char *ret_text, size_t size);
