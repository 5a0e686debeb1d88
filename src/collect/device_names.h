/* SPDX-License-Identifier: MIT
 *
 * collect/device_names.h - what lies behind a number of a device: a disk, a file system
 */
#ifndef COLLECT_DEVICE_NAMES_H
#define COLLECT_DEVICE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* "disk sda1"; "fuse.sshfs at /mnt/far", as process `pid` has it mounted. False: nobody knows (a pipe, a socket). */
bool device_name(uint32_t pid, unsigned int major, unsigned int minor, char *ret_text, size_t size);
/* "device dri/renderD128", of one that is no disk. */
bool device_name_character(unsigned int major, unsigned int minor, char *ret_text, size_t size);

#endif
