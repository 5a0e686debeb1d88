/* SPDX-License-Identifier: MIT
 *
 * base/file/stream.c - check that everything written to a FILE was written to the disk or pipe
 *
 * Runs in:  our own process
 * Gets:     a stream
 * Gives:    0 or an error
 * Owns:     nothing
 * Fails:    -errno of the write that failed, also of an earlier one
 */
#include "base/file/stream.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

int stream_flush(FILE *file)
{
	int error;

	/* An earlier failure left no errno: writing one more byte repeats it. */
	if (ferror(file)) {
		clearerr(file);
		putc('\n', file);
	}
	errno = 0;
	if (fflush(file) == 0 && !ferror(file))
		return 0;
	error = errno ? errno : EIO;
	return error_set(-error, "write: %s", strerror(error));
}
