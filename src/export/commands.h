/* SPDX-License-Identifier: MIT
 *
 * export/commands.h - launches and executions, joined as the report joins them
 */
#ifndef EXPORT_COMMANDS_H
#define EXPORT_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/order.h"
#include "event/event.h"

struct model;

enum command_state {
	STATE_MATCHED,
	STATE_REJECTED,     /* it failed, or its times are impossible */
	STATE_IN_FLIGHT,    /* no execution in the trace: in flight at the end, or lost */
	STATE_NOT_EXECUTED, /* no execution, and its queue was past it: analyze/unexecuted.h */
	STATE_NO_LAUNCH,    /* no launch in the trace */
	STATE_COUNT
};
const char *commands_state_name(enum command_state state);

struct command {
	const struct event_launch *launch;       /* NULL: STATE_NO_LAUNCH */
	const struct event_execution *execution; /* NULL: STATE_IN_FLIGHT, STATE_NOT_EXECUTED */
	uint64_t launch_number;                  /* of the trace's launches, from 1; 0: none */
	uint32_t process, queue;                 /* ids */
	enum command_state state;
};

struct commands_visitor {
	/* Every call that launches, failed ones too. May be NULL. */
	int (*on_launch)(void *context, const struct event_launch *launch, uint64_t number);
	/* Every command once: launched, executed or both. */
	int (*on_command)(void *context, const struct command *command);
	/* Rows of these kinds too, each at its time; may be NULL. */
	uint32_t more_kinds;
	int (*on_row)(void *context, const struct order_item *item);
	/* Executions come in the order of their start; one that comes before its launch by more than
	 * the clocks' error has none then, as in the account. Else it waits for it, as in the ledger. */
	bool in_order;
	uint64_t
		delay_ns; /* more than the clocks' error, where that is known to be needed; 0: the clocks' error */
};

/* One pass over the trace, in the order of time; what has no execution comes at the end, in the order of launches. Ends
 * with what a callback gives where that is not 0. Errors: -ENOMEM, what the reader fails with. */
int commands_each(const struct model *model, const struct commands_visitor *visitor, void *context);

/* Both times are there, have a place in host time and are in order. */
bool command_has_span(const struct command *command);

/* It is in the account of its device: it has a span and is not rejected. */
bool command_is_in_account(const struct command *command);

/* Nothing more is known of it behind this moment. */
bool command_is_over(const struct event_execution *row, enum order_point point);

/* Only causality places its clock: its times are the middle of where they can be. */
bool command_is_estimated(const struct model *model, const struct event_execution *row);

/* Of one that worked; false where it is not known. It needs no place in host time. */
bool command_duration(const struct command *command, uint64_t *ret_ns);

/* When it started, else when its end was seen, else when it was launched: host ns. */
uint64_t command_time(const struct command *command);

/* The kernel, else the kind of command; "[no launch]". */
const char *command_name(const struct model *model, const struct command *command);

#endif
