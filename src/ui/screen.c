/* SPDX-License-Identifier: MIT
 *
 * ui/screen.c - the terminal, through ncurses
 *
 * Runs in:  our own process, in duet top
 * Gets:     canvases; keys and signals
 * Gives:    the terminal's picture
 * Owns:     the terminal from open to close, and the handlers of signals; one global, because a
 *           signal handler has no arguments
 * Fails:    -ENOTTY, -EOPNOTSUPP with the error chain
 * Why handlers for crashes: a terminal in raw mode without echo is useless for its user. The
 *           handler makes system calls only: it restores the modes and writes the sequences that
 *           were prepared at the start, then the signal ends the process as usual
 */
#include "ui/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#define NCURSES_NOMACROS
#define NCURSES_WIDECHAR 1
#include <curses.h>

#include "base/array.h"
#include "base/error.h"
#include "ui/state.h"
#include "ui/tty.h"

enum { RESTORE_BYTES = 256, ESCAPE_MS = 50 };

static const int end_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGXCPU};

struct ui_screen {
	SCREEN *screen;
	bool has_colours;
	attr_t attributes[STYLE_COUNT];
	short pairs[STYLE_COUNT];
	sigset_t old_mask; /* the end's signals arrive only while a key is awaited */
	struct sigaction old_ends[ARRAY_COUNT(end_signals)];
	struct sigaction old_crashes[ARRAY_COUNT(crash_signals)];
	bool is_gone;
};

/* Data for handlers. */
static struct {
	struct termios modes; /* those before the start */
	char restore[RESTORE_BYTES];
	size_t restore_length;
	volatile sig_atomic_t signal;
} terminal;

/* ---- signals --------------------------------------------------------------------------------- */

static void on_end(int number)
{
	terminal.signal = number;
}

static void on_crash(int number)
{
	if (write(STDOUT_FILENO, terminal.restore, terminal.restore_length) >= 0)
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal.modes);
	signal(number, SIG_DFL);
	raise(number);
}

static void catch_signals(struct ui_screen *screen)
{
	struct sigaction end = {.sa_handler = on_end};
	struct sigaction crash = {.sa_handler = on_crash, .sa_flags = SA_RESETHAND | SA_NODEFER};

	sigset_t mask;

	sigemptyset(&mask);
	for (size_t i = 0; i < ARRAY_COUNT(end_signals); i++) {
		sigaddset(&mask, end_signals[i]);
		sigaction(end_signals[i], &end, &screen->old_ends[i]);
	}
	sigprocmask(SIG_BLOCK, &mask, &screen->old_mask);
	for (size_t i = 0; i < ARRAY_COUNT(crash_signals); i++)
		sigaction(crash_signals[i], &crash, &screen->old_crashes[i]);
}

static void release_signals(const struct ui_screen *screen)
{
	for (size_t i = 0; i < ARRAY_COUNT(end_signals); i++)
		sigaction(end_signals[i], &screen->old_ends[i], NULL);
	for (size_t i = 0; i < ARRAY_COUNT(crash_signals); i++)
		sigaction(crash_signals[i], &screen->old_crashes[i], NULL);
	sigprocmask(SIG_SETMASK, &screen->old_mask, NULL);
}

/* ---- restoring ------------------------------------------------------------------------- */

static void prepare_restore(void)
{
	terminal.signal = 0;
	tcgetattr(STDIN_FILENO, &terminal.modes);
	terminal.restore_length = tty_restore(terminal.restore, RESTORE_BYTES);
}

/* ---- styles ---------------------------------------------------------------------------------- */

static const struct style {
	attr_t plain, coloured;
	short colour; /* -1: the terminal's own */
} styles[STYLE_COUNT] = {
	[STYLE_PLAIN] = {A_NORMAL, A_NORMAL, -1},
	[STYLE_TITLE] = {A_REVERSE, A_REVERSE, -1},
	[STYLE_HEADING] = {A_BOLD, A_BOLD, COLOR_CYAN},
	[STYLE_FAINT] = {A_NORMAL, A_NORMAL, -1},
	[STYLE_KEY] = {A_BOLD, A_BOLD, -1},
	[STYLE_SELECTED] = {A_REVERSE, A_REVERSE, COLOR_CYAN},
	[STYLE_KERNEL] = {A_NORMAL, A_NORMAL, COLOR_GREEN},
	[STYLE_COPY] = {A_NORMAL, A_NORMAL, COLOR_BLUE},
	[STYLE_OTHER] = {A_NORMAL, A_NORMAL, COLOR_MAGENTA},
	[STYLE_EMPTY] = {A_NORMAL, A_DIM, -1},
	[STYLE_CAUSE] = {A_NORMAL, A_NORMAL, COLOR_YELLOW},
	[STYLE_WARNING] = {A_BOLD, A_BOLD, COLOR_RED},
};

static void choose_styles(struct ui_screen *screen)
{
	const char *no_colour = getenv("NO_COLOR");

	screen->has_colours = has_colors() && !(no_colour && *no_colour);
	if (screen->has_colours) {
		start_color();
		use_default_colors();
	}
	for (short i = 0; i < STYLE_COUNT; i++) {
		screen->attributes[i] = screen->has_colours ? styles[i].coloured : styles[i].plain;
		if (!screen->has_colours || styles[i].colour < 0)
			continue;
		screen->pairs[i] = (short)(i + 1);
		init_pair(screen->pairs[i], styles[i].colour, -1);
	}
}

/* ---- open and close -------------------------------------------------------------------------- */

int ui_screen_open(struct ui_screen **ret_screen)
{
	struct ui_screen *screen;
	int error = tty_check();

	if (error)
		return error;
	screen = calloc(1, sizeof(*screen));
	if (!screen)
		return error_set(-ENOMEM, "out of memory");
	prepare_restore();
	set_escdelay(ESCAPE_MS);
	screen->screen = newterm(NULL, stdout, stdin);
	if (!screen->screen) {
		free(screen);
		return error_set(-EOPNOTSUPP,
				 "the terminal '%s' (TERM) is not known; print lines "
				 "with --batch",
				 tty_name());
	}
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	choose_styles(screen);
	catch_signals(screen);
	*ret_screen = screen;
	return 0;
}

void ui_screen_close(struct ui_screen *screen)
{
	if (!screen)
		return;
	/* A terminal without a second screen keeps the picture; the shell's prompt needs a line. */
	move(getmaxy(stdscr) - 1, 0);
	clrtoeol();
	refresh();
	endwin();
	delscreen(screen->screen);
	release_signals(screen);
	free(screen);
}

/* ---- the picture ----------------------------------------------------------------------------- */

void ui_screen_size(const struct ui_screen *screen, int *ret_rows, int *ret_columns)
{
	*ret_rows = getmaxy(stdscr);
	*ret_columns = getmaxx(stdscr);
}

static void show_cell(const struct ui_screen *screen, int row, int column,
		      const struct canvas_cell *cell)
{
	const wchar_t text[2] = {(wchar_t)cell->character, 0};
	cchar_t character;

	if (cell->character && setcchar(&character, text, screen->attributes[cell->style],
					screen->pairs[cell->style], NULL) == OK)
		mvadd_wch(row, column, &character);
}

void ui_screen_show(struct ui_screen *screen, const struct canvas *canvas)
{
	erase();
	for (int row = 0; row < canvas->rows; row++)
		for (int column = 0; column < canvas->columns; column++)
			show_cell(screen, row, column,
				  &canvas->cells[row * canvas->columns + column]);
	refresh();
}

/* ---- keys ------------------------------------------------------------------------------------ */

static uint32_t function_key(wint_t key)
{
	static const struct {
		wint_t curses;
		uint32_t key;
	} keys[] = {
		{KEY_UP, UI_KEY_UP},         {KEY_DOWN, UI_KEY_DOWN},
		{KEY_PPAGE, UI_KEY_PAGE_UP}, {KEY_NPAGE, UI_KEY_PAGE_DOWN},
		{KEY_HOME, UI_KEY_HOME},     {KEY_END, UI_KEY_END},
		{KEY_LEFT, UI_KEY_LEFT},     {KEY_RIGHT, UI_KEY_RIGHT},
		{KEY_ENTER, UI_KEY_ENTER},   {KEY_BTAB, UI_KEY_BACK_TAB},
		{KEY_RESIZE, UI_KEY_RESIZE}, {KEY_BACKSPACE, UI_KEY_BACKSPACE},
	};

	for (size_t i = 0; i < ARRAY_COUNT(keys); i++)
		if (keys[i].curses == key)
			return keys[i].key;
	return UI_KEY_NONE;
}

static uint32_t character_key(wint_t key)
{
	switch (key) {
	case '\r':
	case '\n':
		return UI_KEY_ENTER;
	case '\t':
		return UI_KEY_TAB;
	case 27:
		return UI_KEY_ESCAPE;
	case 8:
	case 127:
		return UI_KEY_BACKSPACE;
	default:
		return key;
	}
}

static uint32_t next_key(void)
{
	wint_t key;
	const int result = get_wch(&key);

	if (result == KEY_CODE_YES)
		return function_key(key);
	return result == OK ? character_key(key) : (uint32_t)UI_KEY_NONE;
}

uint32_t ui_screen_key(struct ui_screen *screen, uint64_t timeout_ns)
{
	const struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000),
					 .tv_nsec = (long)(timeout_ns % 1000000000)};
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	const uint32_t key = next_key();

	if (key != UI_KEY_NONE || terminal.signal)
		return key;
	if (ppoll(&input, 1, &timeout, &screen->old_mask) > 0 &&
	    (input.revents & (POLLHUP | POLLERR)))
		screen->is_gone = true;
	return next_key();
}

int ui_screen_signal(const struct ui_screen *screen)
{
	if (terminal.signal)
		return terminal.signal;
	return screen->is_gone ? SIGHUP : 0;
}
