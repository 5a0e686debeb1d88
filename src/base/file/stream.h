/* SPDX-License-Identifier: MIT
 *
 * base/file/stream.h - check that everything written to a FILE was written to the disk or pipe
 */
#pragma once

#include <stdio.h>

/* 0 if everything written to `file` so far has arrived, otherwise -errno of the failed write, with
 * a message. */
int stream_flush(FILE *file);
