/* SPDX-License-Identifier: MIT
 *
 * ui/tty.c - what the terminal can do, from terminfo
 *
 * Runs in:  our own process, in duet top
 * Gets:     $TERM, the locale
 * Gives:    whether a screen can be shown; control sequences
 * Owns:     nothing
 * Fails:    -ENOTTY, -EOPNOTSUPP with the error chain
 * Why a file for it: term.h defines names such as `columns` as macros
 */
#include "ui/tty.h"

#include <errno.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <curses.h>

#include <term.h>

#include "base/error.h"

const char *tty_name(void)
{
	const char *name = getenv("TERM");

	return name && *name ? name : "unknown";
}

bool tty_has_utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0 && strncmp(tty_name(), "vt", 2) != 0;
}

static const char *find_sequence(const char *capability)
{
	char name[16];
	const char *sequence;

	strncpy(name, capability, sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	sequence = tigetstr(name);
	return sequence == (const char *)-1 ? NULL : sequence;
}

int tty_check(void)
{
	int found = 0;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return error_set(-ENOTTY, "stdin and stdout are not a terminal; print numbers with "
					  "--batch");
	if (setupterm(NULL, STDOUT_FILENO, &found) != OK || !find_sequence("cup") ||
	    !find_sequence("clear"))
		return error_set(-EOPNOTSUPP,
				 "the terminal '%s' (TERM) cannot show a screen; print lines with "
				 "--batch, or set TERM, such as TERM=vt100",
				 tty_name());
	return 0;
}

/* Padding such as $<5> is for terminals of old and is left out. */
static size_t append_sequence(const char *capability, char *bytes, size_t used, size_t size)
{
	const char *at = find_sequence(capability);

	while (at && *at && used < size) {
		if (at[0] == '$' && at[1] == '<' && strchr(at, '>'))
			at = strchr(at, '>') + 1;
		else
			bytes[used++] = *at++;
	}
	return used;
}

size_t tty_restore(char *ret_bytes, size_t size)
{
	size_t used = append_sequence("sgr0", ret_bytes, 0, size);

	used = append_sequence("cnorm", ret_bytes, used, size);
	used = append_sequence("rmkx", ret_bytes, used, size);
	return append_sequence("rmcup", ret_bytes, used, size);
}
