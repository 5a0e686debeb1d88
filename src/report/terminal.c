/* SPDX-License-Identifier: MIT
 *
 * report/terminal.c - width and colours of the terminal, and a line that shows progress
 *
 * Runs in:  our own process
 * Gets:     the environment, the terminal, the lines of the report
 * Gives:    a width, coloured lines
 * Owns:     the stream that replaces stdout while a report is printed; SIGALRM and the real-time
 *           timer while progress is shown
 * Fails:    -ENOMEM; a failed write is an error of stdout, which finish_output reports
 * Why by line: a heading begins with capital letters, a problem with "!", and names of the program
 *           never begin a line. So the parts of the report need not know about colours.
 * Why a signal for progress: reading, sorting and writing take a second in different places. None
 *           of them has to call this file.
 */
#include "report/terminal.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/number.h"
#include "base/string.h"

enum { MIN_COLUMNS = 60, MAX_COLUMNS = 250, MIN_HEADING = 3 };

static size_t ask_columns(void)
{
	const char *variable = getenv("COLUMNS");
	const unsigned long named = variable ? strtoul(variable, NULL, 10) : 0;
	struct winsize size;

	if (named)
		return named;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

size_t terminal_columns(void)
{
	const size_t columns = isatty(STDOUT_FILENO) ? ask_columns() : 0;

	if (!columns)
		return 0;
	return columns < MIN_COLUMNS ? MIN_COLUMNS : columns > MAX_COLUMNS ? MAX_COLUMNS : columns;
}

static bool has_escapes(int file)
{
	const char *terminal = getenv("TERM");

	return isatty(file) && terminal && strcmp(terminal, "dumb") != 0;
}

bool terminal_has_colours(const char *when)
{
	const char *no = getenv("NO_COLOR");

	if (when && strcmp(when, "auto") != 0)
		return strcmp(when, "always") == 0;
	return !(no && *no) && has_escapes(STDOUT_FILENO);
}

/* ---- progress -------------------------------------------------------------------------------- */

/* Only the handler changes `seconds` while the timer runs. */
static struct progress {
	const char *verb; /* NULL: stopped */
	volatile sig_atomic_t seconds;
} progress;

static void write_text(const char *text, size_t size)
{
	/* a terminal that is gone is not a failure */
	if (write(STDERR_FILENO, text, size) < 0)
		return;
}

static void on_second(int signal)
{
	char line[64], digits[20], *end = digits + sizeof(digits), *first;
	size_t length = 0;

	(void)signal;
	progress.seconds++;
	first = number_digits(end, (uint64_t)progress.seconds);
	memcpy(line, "\rduet ", 6);
	length = 6 + strnlen(progress.verb, 32);
	memcpy(line + 6, progress.verb, length - 6);
	memcpy(line + length, ": ", 2);
	length += 2;
	memcpy(line + length, first, (size_t)(end - first));
	length += (size_t)(end - first);
	memcpy(line + length, " s", 2);
	write_text(line, length + 2);
}

static void set_timer(time_t second)
{
	const struct itimerval timer = {{second, 0}, {second, 0}};

	setitimer(ITIMER_REAL, &timer, NULL);
}

void progress_start(const char *verb)
{
	const struct sigaction action = {.sa_handler = on_second, .sa_flags = SA_RESTART};

	if (!has_escapes(STDERR_FILENO) || sigaction(SIGALRM, &action, NULL))
		return;
	progress = (struct progress){.verb = verb};
	set_timer(1);
}

void progress_stop(void)
{
	if (!progress.verb)
		return;
	set_timer(0);
	signal(SIGALRM, SIG_DFL);
	progress.verb = NULL;
	if (progress.seconds)
		write_text("\r\033[K", 4);
}

/* ---- lines ----------------------------------------------------------------------------------- */

struct painter {
	FILE *plain;
	struct string_builder line;
};

/* "KERNELS", "QUEUE DEPTH": at least MIN_HEADING capital letters. */
static bool is_heading(const char *line)
{
	size_t length = 0;

	while (isupper((unsigned char)line[length]))
		length++;
	return length >= MIN_HEADING && (line[length] == ' ' || line[length] == '\0');
}

/* The colour of a line as parameters of SGR; NULL: none. */
static const char *colour_of(const char *line)
{
	static const struct {
		const char *begin, *colour;
	} begins[] = {
		{"! CONTRADICTION", "1;31"}, {"! INCOMPLETE", "1;31"}, {"! ", "33"},
		{"    busy ", "32"},         {"    idle ", "33"},
	};

	for (size_t i = 0; i < ARRAY_COUNT(begins); i++)
		if (strncmp(line, begins[i].begin, strlen(begins[i].begin)) == 0)
			return begins[i].colour;
	return is_heading(line) ? "1" : NULL;
}

static int put_line(struct painter *painter, const char *end)
{
	const char *line = string_builder_text(&painter->line), *colour = colour_of(line);
	const int written =
		colour ? fprintf(painter->plain, "\033[%sm%s\033[0m%s", colour, line, end)
		       : fprintf(painter->plain, "%s%s", line, end);

	string_builder_clear(&painter->line);
	return written < 0 || painter->line.error ? -1 : 0;
}

static ssize_t on_write(void *cookie, const char *bytes, size_t size)
{
	struct painter *painter = cookie;
	size_t from = 0;

	for (size_t i = 0; i < size; i++) {
		if (bytes[i] != '\n')
			continue;
		string_builder_append_bytes(&painter->line, bytes + from, i - from);
		if (put_line(painter, "\n"))
			return 0;
		from = i + 1;
	}
	string_builder_append_bytes(&painter->line, bytes + from, size - from);
	return (ssize_t)size;
}

static int on_close(void *cookie)
{
	struct painter *painter = cookie;
	const int failed = painter->line.length ? put_line(painter, "") : 0;

	string_builder_fini(&painter->line);
	free(painter);
	return failed;
}

int paint_start(FILE **ret_plain)
{
	static const cookie_io_functions_t functions = {.write = on_write, .close = on_close};
	struct painter *painter = calloc(1, sizeof(*painter));
	FILE *stream;

	if (!painter)
		return -ENOMEM;
	painter->plain = stdout;
	stream = fopencookie(painter, "w", functions);
	if (!stream) {
		free(painter);
		return -ENOMEM;
	}
	*ret_plain = stdout;
	stdout = stream;
	return 0;
}

void paint_stop(FILE *plain)
{
	FILE *stream = stdout;

	stdout = plain;
	fclose(stream);
}
