/* SPDX-License-Identifier: MIT
 *
 * cli/remote/unpack.h - unpack an archive of another machine
 */
#pragma once

/* Unpacks the compressed tar archive that arrives at `fd` into the open folder: only regular files
 * and the folders that contain them. Files of the same names are replaced. -errno without a
 * message; then other files of the archive may be in the folder. */
int unpack_files(int fd, int folder);
