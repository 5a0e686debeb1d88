/* SPDX-License-Identifier: MIT
 *
 * inject/opencl/layers.c - restore the list of OpenCL layers for the program's children
 *
 * Runs in:  the profiled process, while the loader loads its layers
 * Gets:     OPENCL_LAYERS as the loader leaves it
 * Gives:    OPENCL_LAYERS as the process was started with
 * Owns:     nothing
 * Fails:    never; a list that the program has changed stays as it is
 * Why:      ocl-icd 2.3 parses the list in place and writes a NUL over each colon. The program's
 *           children would inherit only the first layer: if the user has a layer in front of
 *           duet's, the children would no longer be recorded.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "inject/opencl/opencl.h"

/* True if the text is one of those that the kernel stores above the stack: arguments, environment
 * and, last, the path of the program. They follow each other without gaps. */
static bool is_initial(const char *text, const char *end)
{
	const char *begin = (const char *)getauxval(AT_RANDOM);

	return begin && text > begin && text < end;
}

void opencl_join_layers(const char *own)
{
	const char *const end = (const char *)getauxval(AT_EXECFN);
	char *const list = getenv("OPENCL_LAYERS");
	char *piece = list;

	if (!list || !is_initial(list, end))
		return;
	while (piece < end && strcmp(piece, own) != 0) {
		piece += strlen(piece) + 1;
		/* the next variable: the list is intact, or does not name this library */
		if (strchr(piece, '='))
			return;
	}
	for (char *at = list; piece < end && at < piece; at++)
		if (!*at)
			*at = ':';
}
