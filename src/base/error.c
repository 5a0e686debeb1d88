/* SPDX-License-Identifier: MIT
 *
 * base/error.c - a chain of causes per thread
 *
 * Runs in:   the recorder and the readers, any thread; never inside a guest
 * Gets:      a code and a printf format; gives the code back, so that one line fails and explains
 * Owns:      one fixed buffer per thread: saying why must work when memory has run out
 * Fails:     never; a text longer than the buffer loses its innermost end, because what the layers
 *            above add (which command, which file) is what the user can act on
 * Why 1024:  room for two long paths and a remedy; a path may have 4096 bytes, a readable line not
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define ERROR_SIZE 1024

static __thread char chain[ERROR_SIZE];
static atomic_bool had_no_memory; /* of any thread */

int error_no_memory(void)
{
	atomic_store_explicit(&had_no_memory, true, memory_order_relaxed);
	return -ENOMEM;
}

bool error_had_no_memory(void)
{
	return atomic_load_explicit(&had_no_memory, memory_order_relaxed);
}

void error_forget_memory(void)
{
	atomic_store_explicit(&had_no_memory, false, memory_order_relaxed);
}

int error_set(int code, const char *format, ...)
{
	/* the arguments may point into the chain itself, so it is replaced only afterwards */
	char text[ERROR_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	memcpy(chain, text, strlen(text) + 1);
	return code == -ENOMEM ? error_no_memory() : code;
}

int error_note(int code, const char *format, ...)
{
	char text[2 * ERROR_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, ERROR_SIZE, format, arguments);
	va_end(arguments);
	if (chain[0]) {
		strcat(text, ": ");
		strncat(text, chain, sizeof(text) - strlen(text) - 1);
	}
	text[ERROR_SIZE - 1] = '\0';
	memcpy(chain, text, strlen(text) + 1);
	return code;
}

const char *error_text(void)
{
	return chain;
}

void error_clear(void)
{
	chain[0] = '\0';
}
