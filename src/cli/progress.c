/* SPDX-License-Identifier: MIT
 *
 * cli/progress.c - a line on stderr while a verb reads a trace for longer than a second
 *
 * Runs in:  our own process, in the verbs that read a trace
 * Gets:     a signal per second
 * Gives:    "duet view: 3 s", which is erased before other output
 * Owns:     SIGALRM and the real-time timer, from start to stop
 * Fails:    never; without a timer it prints nothing
 * Why a signal: reading, sorting and writing take a second in different places. None of them has
 *           to call this file.
 */
#include "cli/progress.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/number.h"

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

	if (!isatty(STDERR_FILENO) || sigaction(SIGALRM, &action, NULL))
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
