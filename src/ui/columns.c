/* SPDX-License-Identifier: MIT
 *
 * ui/columns.c - the views of duet top and their columns
 *
 * Runs in:  our own process, in duet top
 * Gets:     a view
 * Gives:    constant descriptions
 * Owns:     nothing
 * Fails:    never
 * Why help is here: the help screen explains the columns that the user sees, in their order
 */
#include "ui/table.h"

#define TIME_HELP "share of the time in which its work ran on a device"

static const struct ui_column processes[] = {
	{"PROCESS", COLUMN_NAME, 12, 0, "name of the program"},
	{"DEVICE TIME", COLUMN_BAR, 13, 0, TIME_HELP},
	{"PID", COLUMN_RIGHT, 7, 0, "number of the process"},
	{"LAUNCHES/s", COLUMN_RIGHT, 10, 0, "commands that it gave to devices, per second"},
	{"IN CALLS", COLUMN_RIGHT, 8, 0, "time of its threads in calls of OpenCL, CUDA, …"},
	{"ON CPU", COLUMN_RIGHT, 8, 0, "time of its threads on processors; 100 % is one core"},
	{"BLOCKED", COLUMN_RIGHT, 8, 0, "time in which its threads waited for something"},
	{"COMMAND", COLUMN_LEFT, 26, 104, "its command line, without folders"},
	{0},
};

static const struct ui_column kernels[] = {
	{"KERNEL", COLUMN_NAME, 16, 0, "program that runs on a device"},
	{"DEVICE TIME", COLUMN_BAR, 18, 0, "share of the time in which it ran"},
	{"RUNS/s", COLUMN_RIGHT, 8, 0, "runs per second"},
	{"MEAN", COLUMN_RIGHT, 10, 0, "mean time of one run"},
	{"LONGEST", COLUMN_RIGHT, 10, 0, "time of the longest run"},
	{"DEVICE", COLUMN_LEFT, 26, 104, "the device that ran it"},
	{0},
};

static const struct ui_column queues[] = {
	{"QUEUE", COLUMN_NAME, 20, 0, "queue of commands (stream) and its process"},
	{"IN FLIGHT", COLUMN_RIGHT, 9, 0, "commands launched and not ended, on average"},
	{"MAX", COLUMN_RIGHT, 7, 0, "the same, at most"},
	{"LAUNCHES/s", COLUMN_RIGHT, 10, 0, "commands put into the queue, per second"},
	{"ENDED/s", COLUMN_RIGHT, 9, 0, "commands that ended, per second"},
	{"DEVICE", COLUMN_LEFT, 26, 90, "device that takes them"},
	{0},
};

static const struct ui_column copies[] = {
	{"COPY", COLUMN_NAME, 20, 0, "kind of transfer, or of another command beside kernels"},
	{"BYTES/s", COLUMN_RIGHT, 10, 0, "bytes moved per second"},
	{"COPIES/s", COLUMN_RIGHT, 9, 0, "transfers per second"},
	{"MEAN SIZE", COLUMN_RIGHT, 10, 0, "bytes of one, on average"},
	{"DEVICE TIME", COLUMN_BAR, 13, 0, "sum of their times; those at one time count twice"},
	{"DEVICE", COLUMN_LEFT, 10, 86, "device that made them"},
	{0},
};

static const struct ui_column counters[] = {
	{"COUNTER", COLUMN_NAME, 26, 0, "as in duet list metrics"},
	{"MEAN", COLUMN_RIGHT, 12, 0, "mean of the interval"},
	{"MAX", COLUMN_RIGHT, 12, 0, "largest reading of the interval"},
	{"UNIT", COLUMN_LEFT, 12, 0, ""},
	{"LIMIT", COLUMN_RIGHT, 12, 104, "largest possible value; -: not known"},
	{"BELONGS TO", COLUMN_LEFT, 26, 92, "device or process; empty: the machine"},
	{0},
};

static const struct ui_column idle[] = {
	{"IDLE BECAUSE", COLUMN_NAME, 26, 0, "function and cause; (its meaning)"},
	{"TIME", COLUMN_BAR, 18, 0, "share of the time"},
	{"DEVICE", COLUMN_LEFT, 18, 0, "the idle device"},
	{0},
};

static const struct ui_column stacks[] = {
	{"LAUNCHED FROM", COLUMN_NAME, 26, 0, "function of the program that led to the launch"},
	{"DEVICE TIME", COLUMN_BAR, 18, 0, "share of the time in which these commands ran"},
	{"IDLE BEFORE", COLUMN_RIGHT, 11, 0, "device idle until these commands started"},
	{"RUNS/s", COLUMN_RIGHT, 8, 0, "commands per second"},
	{"KERNEL", COLUMN_LEFT, 30, 104, "the launched kernel or command"},
	{0},
};

static const struct view {
	const char *name, *empty;
	const struct ui_column *columns;
} views[VIEW_COUNT] = {
	[VIEW_PROCESSES] = {"Processes", "no process used a device or a processor", processes},
	[VIEW_KERNELS] = {"Kernels", "no kernel ran", kernels},
	[VIEW_QUEUES] = {"Queues", "no command was in a queue", queues},
	[VIEW_COPIES] = {"Copies", "nothing was copied", copies},
	[VIEW_COUNTERS] = {"Counters", "no counter above 0 was recorded", counters},
	[VIEW_IDLE] = {"Idle", "no device was idle", idle},
	[VIEW_STACKS] = {"Stacks", "no launch has a call stack", stacks},
};

const struct ui_column *ui_columns(enum ui_view view)
{
	return views[view].columns;
}

size_t ui_columns_count(enum ui_view view)
{
	size_t count = 0;

	while (views[view].columns[count].title)
		count++;
	return count;
}

const char *ui_view_name(enum ui_view view)
{
	return (size_t)view < VIEW_COUNT ? views[view].name : "unknown";
}

const char *ui_view_empty(enum ui_view view)
{
	return (size_t)view < VIEW_COUNT ? views[view].empty : "";
}
