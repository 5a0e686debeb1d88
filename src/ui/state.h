/* SPDX-License-Identifier: MIT
 *
 * ui/state.h - what duet top shows: the view, its order and filter, and the chosen process
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ui_view {
	VIEW_PROCESSES,
	VIEW_KERNELS,
	VIEW_QUEUES,
	VIEW_COPIES,
	VIEW_COUNTERS,
	VIEW_IDLE,   /* the causes of idle time */
	VIEW_STACKS, /* after the others: only inside of a process or kernel */
	VIEW_COUNT
};

enum { UI_TEXT = 160 };

/* Keys of the keyboard other than characters. */
enum ui_key {
	UI_KEY_NONE,
	UI_KEY_UP = 0x110000,
	UI_KEY_DOWN,
	UI_KEY_PAGE_UP,
	UI_KEY_PAGE_DOWN,
	UI_KEY_HOME,
	UI_KEY_END,
	UI_KEY_LEFT,
	UI_KEY_RIGHT,
	UI_KEY_ENTER,
	UI_KEY_ESCAPE,
	UI_KEY_TAB,
	UI_KEY_BACK_TAB,
	UI_KEY_BACKSPACE,
	UI_KEY_RESIZE
};

/* The order of one view's rows and the chosen row. */
struct ui_rows {
	unsigned int column; /* sorted by this one */
	bool is_reversed;    /* against the column's usual direction */
	size_t first;        /* the row at the top */
	size_t selected;
	uint64_t selected_key; /* key of the chosen row, which is followed when the order changes;
				  0: none */
	size_t count;          /* rows, after the filter; set by drawing */
	size_t shown;          /* rows that fit; set by drawing */
};

struct ui_state {
	enum ui_view view;
	struct ui_rows rows[VIEW_COUNT];
	char filter[64];
	bool is_typing; /* the filter */
	bool is_frozen;
	bool shows_help;
	/* The process and the kernel that are looked into. Esc leaves the kernel first. */
	int32_t pid; /* 0: none */
	char process[UI_TEXT];
	char kernel[UI_TEXT]; /* "": none */
	/* Set by drawing: the target of Enter. */
	int32_t selected_pid;
	char selected_name[UI_TEXT];
	uint64_t interval_ns;
	int steps_back;         /* intervals before the newest one, while frozen or after the end */
	bool has_ended;         /* the recording */
	bool is_recording;      /* duet record runs as a child */
	char title[UI_TEXT];    /* the watched file or processes */
	char note[4 * UI_TEXT]; /* why no device is known; "": not known */
	char message[2 * UI_TEXT]; /* shown above the hints; "": none */
	bool is_warning;           /* the message reports a failure */
	uint64_t silent_ns;        /* the recorder is late by this time; 0: it is not */
};

/* The caller's next step after a key. */
enum ui_action {
	UI_NOTHING,
	UI_REDRAW,  /* with the same snapshot */
	UI_REFRESH, /* with a new snapshot, because what it contains has changed */
	UI_RECORD,
	UI_QUIT
};

void ui_state_init(struct ui_state *state, uint64_t interval_ns);
/* Takes a key: a Unicode character, or an enum ui_key. */
enum ui_action ui_state_key(struct ui_state *state, uint32_t key);
