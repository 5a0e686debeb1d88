/* SPDX-License-Identifier: MIT
 *
 * base/error.c - a chain of causes per thread
 *
 * Runs in:  the recorder, and all commands that read a trace, any thread; never inside a guest
 * Gets:     a code and a printf format
 * Gives:    the same code, so that one line, `return error_set(...)`, sets the message and returns
 *           the error
 * Owns:     one fixed buffer per thread: messages must work when memory has run out
 * Fails:    never; a text longer than the buffer loses its innermost end. The outer parts are kept
 *           because they name the command and the file
 * Why 1024 bytes: room for two long paths and a remedy; a path may have 4096 bytes, but a readable
 *           line is shorter
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define ERROR_SIZE 1024

static __thread char chain[ERROR_SIZE];
static atomic_bool had_no_memory; /* set by any thread */

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
	/* The arguments may point into the chain itself, so it is replaced last. */
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
