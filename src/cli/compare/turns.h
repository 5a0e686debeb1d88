/* SPDX-License-Identifier: MIT
 *
 * cli/compare/turns.h - record base and new in turns, so that drift of the machine cancels
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"

struct cli_command;

struct turns_request {
	uint64_t runs, warm_up; /* a side; pairs that are thrown away */
	char **program;         /* with its arguments, NULL-terminated */
	const char *base_cmd;   /* a command of the shell; NULL: the program */
	const struct option_texts *base_env, *new_env; /* NAME=VALUE */
	const char *config;                            /* passed to duet record; NULL: none */
	const char *folder; /* keeps the recordings; NULL: they are removed at the end. A file of
			       a recording's name is refused */
	bool has_base;      /* false: only new runs */
};

/* The recordings, in the order of time; paths[side] are owned. */
struct turns {
	char *folder; /* owned: temporary; the program's output, and recordings that are not kept */
	int folder_fd;
	char **paths[2]; /* base, new */
	size_t count[2];
};

/* Records all. Returns a status; messages are printed. STATUS_USAGE: a program failed, or duet
 * could not record. turns_close is needed in any case. */
int turns_record(const struct cli_command *command, const struct turns_request *request,
		 struct turns *ret_turns);
void turns_close(struct turns *turns); /* removes recordings that are not kept */
