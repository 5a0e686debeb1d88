/* SPDX-License-Identifier: MIT
 *
 * analyze/join/commands.h - visits all commands of a trace, each with its launch and its execution
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/order.h"
#include "event/event.h"

struct analysis_ledger;
struct model;

enum command_state {
	STATE_MATCHED,
	STATE_REJECTED,  /* it failed, or its times are impossible */
	STATE_IN_FLIGHT, /* no execution in the trace: in flight at the end, or its row is lost */
	STATE_NOT_EXECUTED, /* no execution, but a later command of its queue ran: join/unexecuted.h
			     */
	STATE_NO_LAUNCH,    /* no launch in the trace */
	STATE_COUNT
};
const char *commands_state_name(enum command_state state);

struct command {
	const struct event_launch *launch;       /* NULL: STATE_NO_LAUNCH */
	const struct event_execution *execution; /* NULL: STATE_IN_FLIGHT, STATE_NOT_EXECUTED */
	uint64_t launch_number;  /* number among all launches, from 1; 0: no launch */
	uint64_t tag;            /* the value that on_launch returned; 0 without on_launch */
	uint32_t process, queue; /* ids */
	enum command_state state;
	bool is_early;    /* matched: the execution came before the launch */
	bool is_replaced; /* in flight: a later launch uses its correlation id */
};

struct commands_visitor {
	/* Called for every launching call, including failed ones. *ret_tag becomes the tag of its
	 * command. May be NULL. */
	int (*on_launch)(void *context, const struct event_launch *launch, uint64_t number,
			 uint64_t *ret_tag);
	/* Called once for every command that was launched, executed or both. */
	int (*on_command)(void *context, const struct command *command);
	/* Other kinds of rows (bits), passed to on_row in the order of time. on_row may be NULL if
	 * more_kinds is 0. */
	uint32_t more_kinds;
	int (*on_row)(void *context, const struct order_item *item);
	/* An execution can come before its launch by more than the clocks' error. true: it is
	 * passed at once without a launch, so that executions stay in the order of their start, as
	 * in the account. false: it waits for its launch, as in the ledger. */
	bool in_order;
	uint64_t delay_ns; /* how long executions are delayed to come after their launch; 0: the
			      clocks' error */
	struct analysis_ledger *ret_ledger; /* the outcome of all launches; may be NULL */
};

/* Reads the trace once, in the order of time. Launches without an execution come at the end, in
 * their own order. A callback that returns non-zero ends the pass, and that value is returned.
 * Errors: -ENOMEM and those of the reader. */
int commands_each(const struct model *model, const struct commands_visitor *visitor, void *context);

/* Whether start and end are known, aligned with host time, and in order. */
bool execution_has_span(const struct event_execution *row);
bool command_has_span(const struct command *command);

/* Whether the command is in its device's account: it has a span and is not rejected. */
bool command_is_in_account(const struct command *command);

/* Whether `point` is the last known moment of the execution. */
bool command_is_over(const struct event_execution *row, enum order_point point);

/* Whether the execution's clock is aligned only by causality (launch before execution). Its times
 * are then the middle of the possible interval. */
bool command_is_estimated(const struct model *model, const struct event_execution *row);

/* The duration of a successful command, which does not need an aligned clock; false if it is not
 * known. */
bool command_duration(const struct command *command, uint64_t *ret_ns);

/* Host ns of its start, otherwise of the moment when its end was seen, otherwise of its launch. */
uint64_t command_time(const struct command *command);

/* The kernel's name, otherwise the kind of command; "[no launch]". */
const char *command_name(const struct model *model, const struct command *command);
