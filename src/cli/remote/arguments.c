/* SPDX-License-Identifier: MIT
 *
 * cli/remote/arguments.c - a command line with --host, split into its two sides
 *
 * Runs in:  our own process
 * Gets:     argv, and the rows of the verb's options
 * Gives:    the options of this side, and the words of the other
 * Owns:     the words
 * Fails:    with a message for an option of this side; all other mistakes are left to the verb,
 *           here if the option is unknown, otherwise there
 * Why:      the rows show which option takes the next word. So "--host" is recognised as an option
 *           and not as an argument, and a short option in a group such as -vo is found
 */
#include "cli/remote/arguments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

/* The state of a walk over argv. */
struct walk {
	const struct cli_command *command;
	struct remote_arguments *arguments;
	char **refused;
	int status;
};

static int add_word(struct remote_arguments *arguments, char *word)
{
	if (word && array_append(arguments->words, arguments->capacity, arguments->count, word)) {
		free(word);
		word = NULL;
	}
	return word ? 0 : error_set(-ENOMEM, "out of memory");
}

static int add_copy(struct remote_arguments *arguments, const char *word)
{
	return add_word(arguments, strdup(word));
}

/* The verb explains the word: an unknown option, a missing argument, or --help. */
static int refuse(struct walk *walk, char *word)
{
	*walk->refused = word;
	return -EINVAL;
}

static bool is_named(const struct option_row *row, const char *name)
{
	return strcmp(row->name, name) == 0;
}

/* Notes an option of record that says what is recorded or copied. */
static void note_option(struct remote_arguments *arguments, const struct option_row *row)
{
	arguments->has_archive |= is_named(row, "archive");
	arguments->has_target |= is_named(row, "pid") || is_named(row, "all") ||
				 is_named(row, "config") || is_named(row, "print-config");
}

/* One option of the verb. denied: written as --no-NAME. text NULL: it takes none. */
static int take_own(struct walk *walk, const struct option_row *row, bool denied, const char *text)
{
	struct remote_arguments *arguments = walk->arguments;
	const char *prints = walk->command->remote->printing_option;
	char *word;

	note_option(arguments, row);
	arguments->prints |= prints && is_named(row, prints);
	if (is_named(row, "output")) {
		arguments->output = text;
		return 0;
	}
	if (is_named(row, "config")) {
		arguments->config = text;
		return 0;
	}
	if (asprintf(&word, "--%s%s%s%s", denied ? "no-" : "", row->name, text ? "=" : "",
		     text ? text : "") < 0)
		word = NULL;
	return add_word(arguments, word);
}

static int take_remote(struct walk *walk, const struct option_row *row, const char *text)
{
	if (option_set(row, text ? text : "true", &walk->arguments->values) == 0)
		return 0;
	walk->status = usage_error(walk->command, "--%s %s", row->name, error_text());
	error_clear();
	return -EINVAL;
}

static bool is_flag(const struct option_row *row)
{
	return row->type == OPTION_FLAG || row->type == OPTION_SWITCH;
}

static const struct option_row *find_long(const struct option_row *rows, const char *name)
{
	char copy[64];

	snprintf(copy, sizeof(copy), "%.*s", (int)strcspn(name, "="), name);
	return rows ? option_find(rows, copy) : NULL;
}

/* Takes a word that begins with "--". Returns the number of words used, or -EINVAL. */
static int take_long(struct walk *walk, char **argv)
{
	const char *name = argv[0] + 2, *text = strchr(name, '=');
	const struct option_row *own = find_long(walk->command->options, name), *remote = NULL;
	bool denied = !own && strncmp(name, "no-", 3) == 0;
	int used = 1, error;

	if (denied)
		own = find_long(walk->command->options, name + 3);
	if (!own)
		remote = find_long(remote_rows, name);
	if ((!own && !remote) || (denied && (!own || own->type != OPTION_SWITCH)))
		return refuse(walk, argv[0]);
	if (is_flag(own ? own : remote)) {
		if (text)
			return refuse(walk, argv[0]);
	} else if (text) {
		text++;
	} else if (argv[1]) {
		text = argv[1];
		used = 2;
	} else {
		return refuse(walk, argv[0]);
	}
	error = own ? take_own(walk, own, denied, text) : take_remote(walk, remote, text);
	return error ? error : used;
}

/* Takes a word of single letters. Returns the number of words used, or -EINVAL. */
static int take_letters(struct walk *walk, char **argv)
{
	for (const char *letter = argv[0] + 1; *letter; letter++) {
		const struct option_row *row = walk->command->options;
		const char *text = NULL;
		int error;

		while (row && row->name && row->letter != *letter)
			row++;
		if (!row || !row->name)
			return refuse(walk, argv[0]);
		if (!is_flag(row)) {
			text = letter[1] ? letter + 1 : argv[1];
			if (!text)
				return refuse(walk, argv[0]);
		}
		error = take_own(walk, row, false, text);
		if (error || text)
			return error ? error : letter[1] ? 1 : 2;
	}
	return 1;
}

static int add_operands(struct remote_arguments *arguments, char **operands)
{
	int error = 0;

	arguments->options_count = arguments->count;
	arguments->trace = *operands;
	arguments->has_target |= *operands != NULL;
	for (; *operands && !error; operands++)
		error = add_copy(arguments, *operands);
	return error;
}

/* Takes the options; as options_parse, it moves the operands, and ends at "--" or, with a program,
 * at the first operand. ret_operands: room for all words and NULL. */
static int take_options(struct walk *walk, char **argv, char **ret_operands)
{
	while (*argv) {
		bool is_operand = argv[0][0] != '-' || !argv[0][1];
		int used = 1;

		if (strcmp(*argv, "--") == 0 ||
		    (is_operand && walk->command->remote->stops_at_operand)) {
			argv += !is_operand;
			walk->arguments->has_separator = !is_operand;
			while (*argv)
				*ret_operands++ = *argv++;
			return 0;
		}
		if (is_operand)
			*ret_operands++ = *argv;
		else
			used = argv[0][1] == '-' ? take_long(walk, argv) : take_letters(walk, argv);
		if (used < 0)
			return used;
		argv += used;
	}
	return 0;
}

static int walk_words(struct walk *walk, int argc, char **argv)
{
	char **operands = calloc((size_t)argc + 1, sizeof(*operands));
	int error = operands ? take_options(walk, argv + 1, operands)
			     : error_set(-ENOMEM, "out of memory");

	if (!error)
		error = add_operands(walk->arguments, operands);
	free(operands);
	return error;
}

bool remote_arguments_read(struct remote_arguments *arguments, const struct cli_command *command,
			   int argc, char **argv, char **ret_refused, int *ret_status)
{
	struct walk walk = {.command = command,
			    .arguments = arguments,
			    .refused = ret_refused,
			    .status = STATUS_USAGE};
	int error;

	*arguments = (struct remote_arguments){0};
	*ret_refused = NULL;
	error = walk_words(&walk, argc, argv);
	if (!error)
		return true;
	if (error == -ENOMEM)
		walk.status = print_failure(command);
	*ret_status = walk.status;
	remote_arguments_fini(arguments);
	return false;
}

void remote_arguments_fini(struct remote_arguments *arguments)
{
	for (size_t i = 0; i < arguments->count; i++)
		free(arguments->words[i]);
	free(arguments->words);
	arguments->words = NULL;
	arguments->count = 0;
}
