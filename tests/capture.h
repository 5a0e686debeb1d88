/* SPDX-License-Identifier: MIT
 *
 * tests/unit/cli/capture.h - what a function printed
 */
#pragma once

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct capture {
	int fd, saved;
	FILE *file;
	char text[8192];
};

static inline void capture_start(struct capture *capture, int fd)
{
	fflush(NULL);
	memset(capture, 0, sizeof(*capture));
	capture->fd = fd;
	capture->saved = dup(fd);
	capture->file = tmpfile();
	dup2(fileno(capture->file), fd);
}

static inline const char *capture_stop(struct capture *capture)
{
	size_t length;

	fflush(NULL);
	dup2(capture->saved, capture->fd);
	close(capture->saved);
	rewind(capture->file);
	length = fread(capture->text, 1, sizeof(capture->text) - 1, capture->file);
	capture->text[length] = '\0';
	fclose(capture->file);
	return capture->text;
}
