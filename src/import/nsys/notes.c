/* SPDX-License-Identifier: MIT
 *
 * import/nsys/notes.c - when the session began, ranks of processes, messages of the recorder
 *
 * Runs in:  our own process
 * Gets:     TARGET_INFO_SESSION_START_TIME, MPI_RANKS, DIAGNOSTIC_EVENT
 * Gives:    the wall clock, ranks, notes
 * Owns:     nothing
 * Fails:    -ENOMEM; -EBADMSG of SQLite, or with the table and the row
 * Why only warnings: a file has some 20 messages, of which two or three name something that was not
 *           recorded
 */
#include <ctype.h>
#include <stdint.h>

#include "event/event.h"
#include "import/nsys/nsys.h"
#include "import/target.h"

static int on_start(void *context, const struct sqlite_cursor *row)
{
	struct nsys *nsys = context;
	int64_t utc_ns;
	int error = sqlite_cursor_take_number(row, 0, "ns since 1970", 1, INT64_MAX, &utc_ns);

	if (error || nsys->has_start)
		return error;
	nsys->has_start = true;
	error = import_target_clock(nsys->target, IMPORT_CLOCK_UTC, utc_ns);
	return error ? error : import_target_wall_clock(nsys->target, 0, (uint64_t)utc_ns);
}

/* The time 0 of a file is the start of the session. */
int nsys_read_start(struct nsys *nsys)
{
	static const char *const columns[] = {"utcEpochNs"};
	static const struct sqlite_query query = {"TARGET_INFO_SESSION_START_TIME",
						  SQLITE_COLUMNS(columns, 1)};

	return nsys_each_row(nsys, &query, on_start, nsys);
}

/* MPI ranks of processes. */
static int on_rank(void *context, const struct sqlite_cursor *row)
{
	struct nsys *nsys = context;
	struct event_process process;
	uint32_t id;
	int64_t rank;
	int error = sqlite_cursor_take_number(row, 1, "a rank", 0, UINT32_MAX - 1, &rank);

	if (!error)
		error = nsys_machine_process(nsys, (uint64_t)sqlite_cursor_number(row, 0), &id);
	if (!error)
		error = import_target_get(nsys->target, EVENT_PROCESS, id, &process);
	if (error)
		return error;
	process.rank = (uint32_t)rank + 1;
	return import_target_update(nsys->target, EVENT_PROCESS, &process);
}

static int read_ranks(struct nsys *nsys)
{
	static const char *const columns[] = {"globalPid", "rank"};
	static const struct sqlite_query query = {"MPI_RANKS", SQLITE_COLUMNS(columns, 2)};

	return nsys_each_row(nsys, &query, on_rank, nsys);
}

/* ---- messages of the recorder ---- */

enum { MESSAGE_TEXT, MESSAGE_SEVERITY };
static const char *const message_columns[] = {"text", "severity"};

/* Warnings and errors; more of them are not repeated. */
enum { SEVERITY_WARNING = 2, MESSAGES_MAX = 8 };

struct messages {
	struct nsys *nsys;
	unsigned int count;
};

static int on_message(void *context, const struct sqlite_cursor *row)
{
	struct messages *messages = context;
	char line[200];
	size_t length = 0;
	const char *text = sqlite_cursor_text(row, MESSAGE_TEXT);

	if (sqlite_cursor_number(row, MESSAGE_SEVERITY) < SEVERITY_WARNING ||
	    messages->count++ >= MESSAGES_MAX)
		return 0;
	for (; *text && *text != '\n' && length + 1 < sizeof(line); text++)
		line[length++] = iscntrl((unsigned char)*text) ? ' ' : *text;
	line[length] = '\0';
	import_target_note(messages->nsys->target, "nsys: %s", line);
	return 0;
}

int nsys_read_notes(struct nsys *nsys)
{
	static const struct sqlite_query query = {"DIAGNOSTIC_EVENT",
						  SQLITE_COLUMNS(message_columns, 2)};
	struct messages messages = {.nsys = nsys};
	int error = read_ranks(nsys);

	if (!error)
		error = nsys_each_row(nsys, &query, on_message, &messages);
	if (messages.count > MESSAGES_MAX)
		import_target_note(nsys->target, "nsys: %u more messages",
				   messages.count - MESSAGES_MAX);
	return error;
}
