/* SPDX-License-Identifier: MIT
 *
 * config/lexer.h - split protobuf's text format into tokens
 *
 *	struct lexer lexer;
 *	struct token token;
 *	lexer_init(&lexer, text, length);
 *	while (!lexer_next(&lexer, &token, &report) && token.type != TOKEN_END)
 *		...
 */
#pragma once

#include <stddef.h>

#include "base/string.h"
#include "config/report.h"

enum token_type {
	TOKEN_END,
	TOKEN_NAME,
	TOKEN_INTEGER, /* decimal, octal or hexadecimal; no sign */
	TOKEN_FLOAT,
	TOKEN_STRING, /* with its quotes and escapes */
	TOKEN_MARK    /* one of : { } < > [ ] , ; - . / */
};

struct token {
	enum token_type type;
	const char *text; /* length bytes, not terminated */
	size_t length;
	struct config_place place;
};

struct lexer {
	const char *at, *end;
	struct config_place place; /* place of `at` */
};

void lexer_init(struct lexer *lexer, const char *text, size_t length);

/* Reads the next token after blanks and comments. Errors: -EINVAL with a problem in the report; the
 * caller must stop then. */
int lexer_next(struct lexer *lexer, struct token *ret_token, struct config_report *report);

/* Appends the text of a TOKEN_STRING, with escapes replaced. Errors: -EINVAL with a problem in the
 * report for each invalid escape. The builder keeps -ENOMEM. */
int token_unescape(const struct token *token, struct string_builder *text,
		   struct config_report *report);
