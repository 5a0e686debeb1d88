/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_report.c - where the time went, for a person or as JSON
 *
 * Runs in:  our own process
 * Gets:     a trace file   Gives: text of at most 100 columns, or "duet.report/1"
 * Owns:     the model and its analysis
 * Fails:    a file that is no trace is status 1; a damaged or incomplete one is reported and says so
 *           first; a device that is not there is wrong usage with the list of those that are
 * Why:      what is missing comes before what is there: a total over 80 % of the launches, read as
 *           if it were one over all, is worse than none
 */
#include "cli/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json.h"

#define DEFAULT_FILE "duet.duet"
#define DEFAULT_TOP  10
#define ALL_DEVICES  SIZE_MAX

struct report_values {
	bool json;
	const char *by, *device;
	uint64_t top, from_ns, to_ns;
};

static const struct option_row report_options[] = {
	{"json", 0, OPTION_FLAG, NULL, "print one JSON document (schema duet.report/1)",
	 offsetof(struct report_values, json)},
	{"by", 0, OPTION_TEXT, "WHAT", "busy time by kernel, queue or process; kernel by default",
	 offsetof(struct report_values, by)},
	{"top", 0, OPTION_NUMBER, "N",
	 "lines of each table, text or JSON; 0: all; default 10, JSON all",
	 offsetof(struct report_values, top)},
	{"from", 0, OPTION_DURATION, "T", "from T after the begin of the recording",
	 offsetof(struct report_values, from_ns)},
	{"to", 0, OPTION_DURATION, "T", "up to T after the begin of the recording",
	 offsetof(struct report_values, to_ns)},
	{"device", 0, OPTION_TEXT, "D", "one device: its UUID, PCI address, name or index",
	 offsetof(struct report_values, device)},
	{NULL},
};

struct report {
	const struct report_values *values;
	const struct model *model;
	const struct analysis *analysis;
	const char *path;
	size_t device; /* index or ALL_DEVICES */
	uint64_t top;
};

static bool is_shown(const struct report *report, size_t device)
{
	return report->device == ALL_DEVICES || report->device == device;
}

static const char *device_key(const struct analysis_device *device)
{
	return *device->key ? device->key : device->name;
}

/* ---- numbers for people ---- */

struct number {
	char text[32];
};

static struct number duration(uint64_t ns)
{
	static const struct {
		uint64_t limit;
		double unit;
		const char *name;
	} units[] = {{1000, 1, "ns"}, {1000000, 1e3, "µs"}, {1000000000, 1e6, "ms"}, {0, 1e9, "s"}};
	struct number number;
	unsigned int i = 0;
	double value;

	while (units[i].limit && ns >= units[i].limit)
		i++;
	value = (double)ns / units[i].unit;
	snprintf(number.text, sizeof(number.text), "%.*f %s",
		 i == 0 ? 0 : (value < 9.9995 ? 3 : (value < 99.995 ? 2 : 1)), value,
		 units[i].name);
	return number;
}

static struct number size(double bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	struct number number;
	unsigned int i = 0;

	for (; bytes >= 1024 && i + 1 < ARRAY_COUNT(units); i++)
		bytes /= 1024;
	snprintf(number.text, sizeof(number.text), "%.*f %s", i == 0 ? 0 : 1, bytes, units[i]);
	return number;
}

static struct number percent(uint64_t part, uint64_t whole)
{
	struct number number;

	if (!whole)
		snprintf(number.text, sizeof(number.text), "-");
	else
		snprintf(number.text, sizeof(number.text), "%.1f %%",
			 100.0 * (double)part / (double)whole);
	return number;
}

static struct number count(uint64_t value)
{
	struct number number;

	snprintf(number.text, sizeof(number.text), "%" PRIu64, value);
	return number;
}

/* ---- text ---- */

/* Columns that a text takes: its code points. */
static size_t width_of(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static void put_text(const char *text, size_t limit)
{
	size_t width = width_of(text), shown = 0;

	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if ((byte & 0xc0) != 0x80 && ++shown == limit && width > limit) {
			fputs("…", stdout);
			return;
		}
		putchar(byte < 0x20 || byte == 0x7f ? '?' : byte);
	}
}

/* Left-aligned and cut to width. */
static void put_left(const char *text, size_t width)
{
	size_t used = width_of(text);

	put_text(text, width);
	for (; used < width; used++)
		putchar(' ');
}

static void put_right(const char *text, size_t width)
{
	for (size_t used = width_of(text); used < width; used++)
		putchar(' ');
	fputs(text, stdout);
}

static void put_title(const char *title, size_t width, const char *const *columns)
{
	putchar('\n');
	put_left(title, width);
	for (; *columns; columns++)
		put_right(*columns, 11);
	putchar('\n');
}

static void put_row_name(const char *name, size_t width)
{
	fputs("  ", stdout);
	put_left(name, width - 2);
}

static void put_cell(struct number number)
{
	put_right(number.text, 11);
}

/* What a number of things is called. */
static const char *noun(uint64_t value, const char *one, const char *many)
{
	return value == 1 ? one : many;
}

static void put_rest(size_t shown, size_t all, const char *one, const char *many)
{
	if (shown < all)
		printf("  … %zu more %s (--top 0 shows all)\n", all - shown,
		       noun(all - shown, one, many));
}

static bool is_over_top(const struct report *report, size_t shown)
{
	return report->top && shown >= report->top;
}

__attribute__((format(printf, 1, 2))) static void put_warning(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("! ", stdout);
	vprintf(format, arguments);
	putchar('\n');
	va_end(arguments);
}

static void put_incomplete(const struct report *report)
{
	const struct analysis_ledger *ledger = &report->analysis->ledger;

	if (ledger->is_complete)
		return;
	put_warning("INCOMPLETE: of %" PRIu64 " %s launched %" PRIu64 " (%s) %s in the trace;",
		    ledger->launched, noun(ledger->launched, "command", "commands"),
		    ledger->matched, percent(ledger->matched, ledger->launched).text,
		    noun(ledger->matched, "has its execution", "have their execution"));
	put_warning("  in flight at exit: %" PRIu64 ", dropped: %" PRIu64 ", rejected: %" PRIu64
		    ". Totals below are over the rest.",
		    ledger->in_flight_at_exit, ledger->dropped, ledger->rejected);
}

static void put_losses(const struct report *report)
{
	const struct analysis *analysis = report->analysis;

	for (size_t i = 0; i < analysis->losses_count; i++) {
		const struct analysis_loss *loss = &analysis->losses[i];

		put_warning("lost: %" PRIu64 " %s of kind %s (%s)", loss->count,
			    noun(loss->count, "row", "rows"), analysis_kind_name(loss->kind),
			    loss->reason ? analysis_loss_name(loss->reason) : "damaged chunk");
	}
}

static void put_damage(const struct trace_damage *damage)
{
	if (damage->chunks || damage->bytes)
		put_warning("INCOMPLETE: the file is damaged: %" PRIu64 " %s with %" PRIu64
			    " %s left out, %" PRIu64 " %s skipped",
			    damage->chunks, noun(damage->chunks, "chunk", "chunks"), damage->rows,
			    noun(damage->rows, "row", "rows"), damage->bytes,
			    noun(damage->bytes, "byte", "bytes"));
	if (damage->truncated)
		put_warning("INCOMPLETE: the file ends before its recording was closed; "
			    "what came later is in no total");
}

/* Whether an execution has a start time of this clock. */
static bool is_used(const struct report *report, uint32_t clock)
{
	const struct trace_reader *reader = report->model->reader;
	size_t all = trace_reader_chunk_count(reader);

	for (size_t i = 0; i < all; i++) {
		const struct trace_chunk *chunk = trace_reader_chunk(reader, i);

		if (chunk->kind == EVENT_EXECUTION && chunk->clock == clock && !chunk->by_seen)
			return true;
	}
	return false;
}

static void put_clock_warnings(const struct report *report)
{
	const struct clocks *clocks = report->model->clocks;

	for (size_t i = 0; i < clocks_count(clocks); i++) {
		const struct clocks_domain *domain = clocks_at(clocks, i);
		const char *name = clocks_name(clocks, report->model->reader, domain);

		if (domain->clock.type == CLOCK_TYPE_DEVICE && !is_used(report, domain->id))
			continue;
		if (domain->certificate.violations)
			put_warning("clock %s: %" PRIu64 " %s before %s cause", name,
				    domain->certificate.violations,
				    noun(domain->certificate.violations, "effect comes",
					 "effects come"),
				    noun(domain->certificate.violations, "its", "their"));
		if (domain->certificate.method == CLOCK_METHOD_NONE &&
		    domain->clock.type == CLOCK_TYPE_DEVICE)
			put_warning("clock of %s: no place in host time; its commands are not in "
				    "the account",
				    name);
	}
}

static void put_collectors(const struct report *report)
{
	const struct event_collector *rows;
	const void *things = NULL;
	size_t rows_count = model_things(report->model, EVENT_COLLECTOR, &things);

	rows = things;
	for (size_t i = 0; i < rows_count; i++) {
		if (rows[i].state != COLLECTOR_PARTIAL && rows[i].state != COLLECTOR_REFUSED)
			continue;
		put_warning("%s was recorded %s: %s",
			    model_text(report->model, rows[i].name_string, "a collector"),
			    rows[i].state == COLLECTOR_PARTIAL ? "in part" : "not at all",
			    model_text(report->model, rows[i].reason_string, "no reason given"));
	}
}

/* What --keep and --max-size dropped was asked for: no problem, but good to know first. */
static void put_kept(const struct report *report)
{
	const struct analysis *analysis = report->analysis;

	if (trace_reader_begin_ns(report->model->reader))
		printf("kept: the last %s; what came before was dropped as asked (--keep, "
		       "--max-size)\n",
		       duration(analysis->end_ns - analysis->begin_ns).text);
}

static void put_problems(const struct report *report)
{
	const struct analysis_ledger *ledger = &report->analysis->ledger;

	put_incomplete(report);
	put_losses(report);
	if (ledger->orphaned)
		put_warning("%" PRIu64 " %s no launch in the trace", ledger->orphaned,
			    noun(ledger->orphaned, "execution has", "executions have"));
	put_damage(&report->analysis->damage);
	put_clock_warnings(report);
	put_collectors(report);
	if (!report->analysis->is_exact)
		put_warning("the account does not add up: this is a bug in duet");
}

static const struct analysis_process *main_process(const struct analysis *analysis)
{
	return analysis->processes_count ? &analysis->processes[0] : NULL;
}

static const char *command_of(const struct report *report)
{
	const struct analysis_process *process = main_process(report->analysis);

	if (!process)
		return "";
	return model_text(report->model, process->process->command_string, process->name);
}

static void put_head(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	uint64_t wall = analysis->to_ns - analysis->from_ns;
	bool is_part =
		analysis->from_ns != analysis->begin_ns || analysis->to_ns != analysis->end_ns;

	if (!analysis->processes_count && !analysis->rows)
		fputs("no OpenCL call was recorded (duet doctor says what is missing)", stdout);
	else
		put_text(*command_of(report) ? command_of(report) : report->path, 100);
	printf("\nrecorded %s", duration(analysis->end_ns - analysis->begin_ns).text);
	if (analysis->host)
		printf(" on %s", model_text(report->model, analysis->host->name_string, "a host"));
	if (is_part)
		printf(", shown: %s, beginning at %s", duration(wall).text,
		       duration(analysis->from_ns - analysis->begin_ns).text);
	printf(", %zu %s, %zu %s, %zu %s\n", analysis->processes_count,
	       noun(analysis->processes_count, "process", "processes"), analysis->devices_count,
	       noun(analysis->devices_count, "device", "devices"), analysis->queues_count,
	       noun(analysis->queues_count, "queue", "queues"));
}

static const char *cause_text(enum account_cause cause)
{
	static const char *const texts[CAUSE_COUNT] = {
		[CAUSE_API_WAIT] = "launching thread waiting in a call",
		[CAUSE_API_CALL] = "launching thread in another call",
		[CAUSE_RUNTIME] = "launching call",
		[CAUSE_SUBMISSION] = "submission to the device",
		[CAUSE_DEPENDENCY] = "waiting for another command",
		[CAUSE_LATENCY] = "driver and queue latency",
		[CAUSE_NOTHING_TO_DO] = "nothing to do",
		[CAUSE_UNKNOWN] = "unknown",
	};

	return texts[cause];
}

static void put_account_line(const char *name, uint64_t part, uint64_t wall)
{
	fputs("    ", stdout);
	put_left(name, 40);
	put_cell(duration(part));
	put_cell(percent(part, wall));
	putchar('\n');
}

/* Why a device that got commands has no account. */
static const char *unmeasured_text(const struct analysis_device *device)
{
	if (!device->all_executions)
		return "no execution was recorded, its commands are in flight or lost";
	if (!device->all_timed)
		return "no device times were recorded (opencl:host, or queues without profiling)";
	return "no command that worked has times with a place in host time";
}

static void put_device(const struct analysis_device *device)
{
	const struct account *account = &device->account;
	uint64_t wall = account->wall_ns;

	fputs("  ", stdout);
	put_left(device->name, 42);
	put_cell(duration(wall));
	put_cell(percent(wall, wall));
	printf("%11" PRIu64 " %s\n", device->executions,
	       noun(device->executions, "execution", "executions"));
	if (!device->is_measured) {
		printf("    not measured: %s\n", unmeasured_text(device));
		return;
	}
	if (account->busy_ns)
		put_account_line("busy", account->busy_ns, wall);
	if (account->classes[ACCOUNT_KERNEL])
		put_account_line("  kernels", account->classes[ACCOUNT_KERNEL], wall);
	if (account->classes[ACCOUNT_COPY])
		put_account_line("  copies", account->classes[ACCOUNT_COPY], wall);
	if (account->classes[ACCOUNT_OTHER])
		put_account_line("  other commands", account->classes[ACCOUNT_OTHER], wall);
	put_account_line("idle", account->idle_ns, wall);
	for (unsigned int cause = 0; cause < CAUSE_COUNT; cause++) {
		char name[64];

		if (!account->causes[cause])
			continue;
		snprintf(name, sizeof(name), "  %s", cause_text(cause));
		put_account_line(name, account->causes[cause], wall);
	}
}

static void put_devices(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	static const char *const columns[] = {"time", "of wall", NULL};
	size_t shown = analysis_devices_shown(analysis);

	put_title("DEVICES", 44, columns);
	for (size_t i = 0; i < shown; i++) {
		if (is_shown(report, i))
			put_device(&analysis->devices[i]);
	}
	if (!shown)
		printf("  none was seen\n");
}

static void put_kernel_name(const struct report *report, const struct analysis_kernel *kernel)
{
	const struct analysis *analysis = report->analysis;
	char text[256];

	if (report->device != ALL_DEVICES || analysis_devices_shown(analysis) < 2) {
		put_row_name(kernel->name, 34);
		return;
	}
	snprintf(text, sizeof(text), "%s on %s", kernel->name,
		 analysis->devices[kernel->device].name);
	put_row_name(text, 34);
}

static void put_kernels(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	static const char *const columns[] = {"count", "total", "of busy", "mean",
					      "min",   "max",   NULL};
	size_t shown = 0, all = 0;

	for (size_t i = 0; i < analysis->kernels_count; i++) {
		const struct analysis_kernel *kernel = &analysis->kernels[i];

		if (!is_shown(report, kernel->device) || (all++, is_over_top(report, shown)))
			continue;
		if (!shown++)
			put_title("KERNELS", 34, columns);
		put_kernel_name(report, kernel);
		put_cell(count(kernel->count));
		if (kernel->timed) {
			put_cell(duration(kernel->total_ns));
			put_cell(percent(kernel->share_ns,
					 analysis->devices[kernel->device].account.busy_ns));
			put_cell(duration(kernel->total_ns / kernel->timed));
			put_cell(duration(kernel->min_ns));
			put_cell(duration(kernel->max_ns));
		} else {
			put_right("not timed", 11);
		}
		putchar('\n');
	}
	put_rest(shown, all, "kernel", "kernels");
}

static void put_processes(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	static const char *const columns[] = {"pid",   "launches", "executions", "busy",
					      "calls", "in calls", NULL};
	size_t shown = 0;

	put_title("PROCESSES", 34, columns);
	for (size_t i = 0; i < analysis->processes_count && !is_over_top(report, shown); i++) {
		const struct analysis_process *process = &analysis->processes[i];

		put_row_name(process->name, 34);
		put_cell(count(process->process->pid));
		put_cell(count(process->launches));
		put_cell(count(process->executions));
		put_cell(duration(process->share_ns));
		put_cell(count(process->calls));
		put_cell(duration(process->calls_ns));
		putchar('\n');
		shown++;
	}
	put_rest(shown, analysis->processes_count, "process", "processes");
}

static void queue_name(const struct report *report, const struct analysis_queue *queue,
		       char *ret_name, size_t size_of_name)
{
	const struct analysis_device *device = &report->analysis->devices[queue->device];

	if (!queue->queue)
		snprintf(ret_name, size_of_name, "[unknown queue]");
	else
		snprintf(ret_name, size_of_name, "queue %" PRIu32 "%s of %s", queue->queue->id,
			 queue->queue->flags & QUEUE_OUT_OF_ORDER ? " (out of order)" : "",
			 device->name);
}

static void put_queue_accounts(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	static const char *const columns[] = {"executions", "busy", "of wall", "idle", NULL};
	size_t all = analysis_queues_shown(analysis), shown = 0, wanted = 0;

	for (size_t i = 0; i < all; i++) {
		const struct analysis_queue *queue = &analysis->queues[i];
		char name[96];

		if (!is_shown(report, queue->device) || (wanted++, is_over_top(report, shown)))
			continue;
		if (!shown++)
			put_title("QUEUES", 50, columns);
		queue_name(report, queue, name, sizeof(name));
		put_row_name(name, 50);
		put_cell(count(queue->executions));
		if (queue->executions && !queue->account.commands) {
			put_right("not timed", 11);
		} else {
			put_cell(duration(queue->account.busy_ns));
			put_cell(percent(queue->account.busy_ns, queue->account.wall_ns));
			put_cell(duration(queue->account.idle_ns));
		}
		putchar('\n');
	}
	put_rest(shown, wanted, "queue", "queues");
}

/* One direction over all devices shown. */
static bool sum_copies(const struct report *report, uint32_t command, struct analysis_copy *ret_sum)
{
	const struct analysis *analysis = report->analysis;
	struct analysis_copy sum = {.command = command};

	for (size_t i = 0; i < analysis->copies_count; i++) {
		const struct analysis_copy *copy = &analysis->copies[i];

		if (copy->command != command || !is_shown(report, copy->device))
			continue;
		sum.count += copy->count;
		sum.timed += copy->timed;
		sum.bytes += copy->bytes;
		sum.timed_bytes += copy->timed_bytes;
		sum.total_ns += copy->total_ns;
		sum.share_ns += copy->share_ns;
	}
	*ret_sum = sum;
	return sum.count > 0;
}

static double bytes_per_s(const struct analysis_copy *copy)
{
	return copy->total_ns ? (double)copy->timed_bytes * 1e9 / (double)copy->total_ns : 0;
}

static int compare_sums(const void *left, const void *right)
{
	const struct analysis_copy *a = left, *b = right;

	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	return (a->command > b->command) - (a->command < b->command);
}

/* The commands of a class over all devices shown, largest total first. */
static size_t list_copies(const struct report *report, enum account_class class,
			  struct analysis_copy *ret_copies)
{
	size_t all = 0;

	for (uint32_t command = 0; command < COMMAND_COUNT; command++) {
		if (analysis_class(command) == class &&
		    sum_copies(report, command, &ret_copies[all]))
			all++;
	}
	qsort(ret_copies, all, sizeof(*ret_copies), compare_sums);
	return all;
}

static void put_copy(const struct analysis_copy *copy)
{
	put_row_name(analysis_command_name(copy->command), 34);
	put_cell(count(copy->count));
	if (copy->timed) {
		put_cell(duration(copy->total_ns));
		put_cell(duration(copy->total_ns / copy->timed));
	} else {
		put_right("not timed", 11);
		put_right("-", 11);
	}
	put_cell(size((double)copy->bytes));
	if (copy->total_ns && copy->timed_bytes)
		put_cell(size(bytes_per_s(copy)));
	else
		put_right("-", 11);
	putchar('\n');
}

static void put_copies(const struct report *report, enum account_class class, const char *title)
{
	static const char *const columns[] = {"count", "total", "mean", "bytes", "bytes/s", NULL};
	struct analysis_copy copies[COMMAND_COUNT];
	size_t all = list_copies(report, class, copies), shown = 0;

	if (all)
		put_title(title, 34, columns);
	for (; shown < all && !is_over_top(report, shown); shown++)
		put_copy(&copies[shown]);
	put_rest(shown, all, "kind", "kinds");
}

static void put_calls(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	static const char *const columns[] = {"count", "total", "mean", "failed", NULL};
	size_t shown = 0;

	if (analysis->calls_count)
		put_title("API CALLS", 40, columns);
	for (; shown < analysis->calls_count && !is_over_top(report, shown); shown++) {
		const struct analysis_call *call = &analysis->calls[shown];

		put_row_name(call->name, 40);
		put_cell(count(call->count));
		put_cell(duration(call->total_ns));
		put_cell(duration(call->total_ns / call->count));
		if (call->failed)
			put_cell(count(call->failed));
		else
			put_right("-", 11);
		if (call->is_wait)
			fputs("  waits", stdout);
		putchar('\n');
	}
	put_rest(shown, analysis->calls_count, "function", "functions");
}

static void put_zone(const struct quantile *zone, unsigned int numerator)
{
	/* Quantiles sort what they hold; that is no change anyone can see. */
	struct quantile *writable = (struct quantile *)zone;

	if (zone->count)
		put_cell(duration(quantile_get(writable, numerator, 100)));
	else
		put_right("-", 11);
}

static void put_zones(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	static const char *const columns[] = {"to submit", "p99", "to start", "p99",
					      "to end",    "p99", NULL};
	size_t all = analysis_queues_shown(analysis), shown = 0, wanted = 0;

	for (size_t i = 0; i < all; i++) {
		const struct analysis_queue *queue = &analysis->queues[i];
		char name[96];

		if (!is_shown(report, queue->device) || !queue->executions ||
		    (wanted++, is_over_top(report, shown)))
			continue;
		if (!shown++)
			put_title("WAITING TIMES (p50 and p99)", 34, columns);
		queue_name(report, queue, name, sizeof(name));
		put_row_name(name, 34);
		for (unsigned int zone = 0; zone < ZONE_COUNT; zone++) {
			put_zone(&queue->zones[zone], 50);
			put_zone(&queue->zones[zone], 99);
		}
		putchar('\n');
	}
	put_rest(shown, wanted, "queue", "queues");
}

static void put_clock(const struct report *report, const struct clocks_domain *domain)
{
	const struct clock_certificate *certificate = &domain->certificate;
	const struct clocks *clocks = report->model->clocks;
	const char *method = clocks_method_name(certificate->method);
	char text[64];

	if (certificate->candidate >= 0) {
		const struct clocks_domain *host =
			clocks_at(clocks, (size_t)certificate->candidate);

		snprintf(text, sizeof(text), "is %s",
			 clocks_name(clocks, report->model->reader, host));
		method = text;
	}
	put_row_name(clocks_name(clocks, report->model->reader, domain), 40);
	put_right(method, 16);
	if (certificate->method == CLOCK_METHOD_NONE) {
		put_right("not placed", 12);
		putchar('\n');
		return;
	}
	put_right(certificate->error_ns == UINT64_MAX ? "unknown"
						      : duration(certificate->error_ns).text,
		  12);
	printf("%12.3f ppm", (double)certificate->drift_ppb / 1000);
	printf("%12" PRIu64 "\n", certificate->violations);
}

static void put_clocks(const struct report *report)
{
	const struct clocks *clocks = report->model->clocks;

	putchar('\n');
	put_left("CLOCKS", 40);
	put_right("method", 16);
	put_right("error below", 12);
	put_right("drift", 16);
	put_right("violations", 12);
	putchar('\n');
	for (size_t i = 0; i < clocks_count(clocks); i++) {
		if (clocks_at(clocks, i)->clock.type != CLOCK_TYPE_MONOTONIC)
			put_clock(report, clocks_at(clocks, i));
	}
	printf("  times are CLOCK_MONOTONIC\n");
}

static void put_ledger(const struct report *report)
{
	const struct analysis_ledger *ledger = &report->analysis->ledger;

	printf("\nLEDGER  %" PRIu64 " launched = %" PRIu64 " matched + %" PRIu64
	       " in flight at exit + %" PRIu64 " dropped + %" PRIu64 " rejected\n",
	       ledger->launched, ledger->matched, ledger->in_flight_at_exit, ledger->dropped,
	       ledger->rejected);
	if (ledger->in_flight_at_exit && analysis_ends_early(report->analysis))
		printf("        the file ends early: some of these may have been lost with it\n");
	printf("        %" PRIu64 " executed", ledger->executed);
	if (ledger->untimed)
		printf(", %" PRIu64 " of the matched without device times", ledger->untimed);
	printf("; every account adds up to its wall%s\n",
	       report->analysis->is_exact ? ", to the nanosecond" : ": NO");
}

static void print_text(const struct report *report)
{
	const char *by = report->values->by;

	put_kept(report);
	put_problems(report);
	put_head(report);
	put_devices(report);
	if (by && strcmp(by, "queue") == 0)
		put_queue_accounts(report);
	else if (by && strcmp(by, "process") == 0)
		put_processes(report);
	else
		put_kernels(report);
	put_copies(report, ACCOUNT_COPY, "COPIES");
	put_copies(report, ACCOUNT_OTHER, "OTHER COMMANDS");
	put_calls(report);
	put_zones(report);
	put_clocks(report);
	put_ledger(report);
}

/* ---- JSON ---- */

static void json_pair_u64(struct json_writer *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

static void json_pair_text(struct json_writer *json, const char *key, const char *text)
{
	json_key(json, key);
	json_string(json, text);
}

static void json_pair_bool(struct json_writer *json, const char *key, bool value)
{
	json_key(json, key);
	json_bool(json, value);
}

static void json_list(struct json_writer *json, const char *key)
{
	json_newline(json);
	json_key(json, key);
	json_array_begin(json);
}

static void json_item(struct json_writer *json)
{
	json_newline(json);
	json_object_begin(json);
}

static void json_empty_list(struct json_writer *json, const char *key)
{
	json_list(json, key);
	json_array_end(json);
}

static void write_processes(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;

	json_list(json, "processes");
	for (size_t i = 0; i < analysis->processes_count && !is_over_top(report, i); i++) {
		const struct analysis_process *process = &analysis->processes[i];

		json_item(json);
		json_pair_u64(json, "pid", process->process->pid);
		json_pair_text(json, "name", process->name);
		json_pair_text(json, "command",
			       model_text(report->model, process->process->command_string, ""));
		json_pair_u64(json, "launches", process->launches);
		json_pair_u64(json, "executions", process->executions);
		json_pair_u64(json, "device_ns", process->share_ns);
		json_pair_u64(json, "calls", process->calls);
		json_pair_u64(json, "calls_ns", process->calls_ns);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_device(struct json_writer *json, const struct analysis_device *device,
			 size_t index)
{
	const struct account *account = &device->account;

	json_item(json);
	json_pair_u64(json, "index", index);
	json_pair_text(json, "key", device_key(device));
	json_pair_text(json, "name", device->name);
	json_pair_text(json, "vendor", device->vendor);
	json_pair_u64(json, "wall_ns", account->wall_ns);
	json_pair_u64(json, "busy_ns", account->busy_ns);
	json_pair_u64(json, "kernels_ns", account->classes[ACCOUNT_KERNEL]);
	json_pair_u64(json, "copies_ns", account->classes[ACCOUNT_COPY]);
	json_pair_u64(json, "other_ns", account->classes[ACCOUNT_OTHER]);
	json_pair_u64(json, "idle_ns", account->idle_ns);
	json_key(json, "idle_causes");
	json_object_begin(json);
	for (unsigned int cause = 0; cause < CAUSE_COUNT; cause++)
		json_pair_u64(json, account_cause_name(cause), account->causes[cause]);
	json_object_end(json);
	json_pair_u64(json, "launches", device->launches);
	json_pair_u64(json, "executions", device->executions);
	json_pair_bool(json, "measured", device->is_measured);
	json_object_end(json);
}

static void write_devices(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;
	size_t shown = analysis_devices_shown(analysis);

	json_list(json, "devices");
	for (size_t i = 0; i < shown; i++) {
		if (is_shown(report, i))
			write_device(json, &analysis->devices[i], i);
	}
	json_array_end(json);
}

static void write_kernels(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;
	size_t shown = 0;

	json_list(json, "kernels");
	for (size_t i = 0; i < analysis->kernels_count; i++) {
		const struct analysis_kernel *kernel = &analysis->kernels[i];
		const struct analysis_device *device = &analysis->devices[kernel->device];

		if (!is_shown(report, kernel->device) || is_over_top(report, shown))
			continue;
		shown++;
		json_item(json);
		json_pair_text(json, "name", kernel->name);
		json_pair_text(json, "device", device_key(device));
		json_pair_u64(json, "count", kernel->count);
		json_pair_u64(json, "timed", kernel->timed);
		json_pair_u64(json, "total_ns", kernel->total_ns);
		if (kernel->timed) {
			json_pair_u64(json, "min_ns", kernel->min_ns);
			json_pair_u64(json, "max_ns", kernel->max_ns);
		} else {
			json_pair_text(json, "min_ns", NULL);
			json_pair_text(json, "max_ns", NULL);
		}
		json_pair_u64(json, "share_ns", kernel->share_ns);
		json_key(json, "percent");
		json_double(json, device->account.busy_ns ? 100.0 * (double)kernel->share_ns /
								    (double)device->account.busy_ns
							  : 0);
		json_key(json, "stacks");
		json_array_begin(json);
		json_array_end(json);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_copies(const struct report *report, struct json_writer *json,
			 enum account_class class)
{
	bool is_copy = class == ACCOUNT_COPY;
	struct analysis_copy copies[COMMAND_COUNT];
	size_t all = list_copies(report, class, copies);

	json_list(json, is_copy ? "copies" : "other_commands");
	for (size_t i = 0; i < all && !is_over_top(report, i); i++) {
		const struct analysis_copy *copy = &copies[i];

		json_item(json);
		json_pair_text(json, is_copy ? "direction" : "command",
			       analysis_command_name(copy->command));
		json_pair_u64(json, "count", copy->count);
		json_pair_u64(json, "timed", copy->timed);
		json_pair_u64(json, "bytes", copy->bytes);
		json_pair_u64(json, "total_ns", copy->total_ns);
		json_pair_u64(json, "share_ns", copy->share_ns);
		json_key(json, "bytes_per_s");
		if (copy->total_ns)
			json_double(json, bytes_per_s(copy));
		else
			json_null(json);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_zones(const struct analysis_queue *queue, struct json_writer *json)
{
	json_key(json, "zones");
	json_object_begin(json);
	for (unsigned int i = 0; i < ZONE_COUNT; i++) {
		struct quantile *zone = (struct quantile *)&queue->zones[i];

		json_key(json, analysis_zone_name(i));
		json_object_begin(json);
		json_pair_u64(json, "count", zone->count);
		json_pair_u64(json, "sum", zone->sum);
		json_pair_u64(json, "p50", quantile_get(zone, 50, 100));
		json_pair_u64(json, "p99", quantile_get(zone, 99, 100));
		json_object_end(json);
	}
	json_object_end(json);
}

static void write_queue(const struct report *report, const struct analysis_queue *queue,
			struct json_writer *json)
{
	const struct event_queue *row = queue->queue;

	json_item(json);
	json_pair_text(json, "device", device_key(&report->analysis->devices[queue->device]));
	json_pair_u64(json, "context", row ? row->context : 0);
	json_pair_u64(json, "id", row ? row->id : 0);
	json_pair_u64(json, "process", row ? row->process : 0);
	json_pair_bool(json, "out_of_order", row && (row->flags & QUEUE_OUT_OF_ORDER));
	json_pair_bool(json, "timed", row && (row->flags & QUEUE_TIMED));
	json_pair_bool(json, "timing_forced", row && (row->flags & QUEUE_TIMING_FORCED));
	json_pair_u64(json, "launches", queue->launches);
	json_pair_u64(json, "executions", queue->executions);
	json_pair_u64(json, "wall_ns", queue->account.wall_ns);
	json_pair_u64(json, "busy_ns", queue->account.busy_ns);
	json_pair_u64(json, "idle_ns", queue->account.idle_ns);
	write_zones(queue, json);
	json_object_end(json);
}

static void write_queues(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;
	size_t all = analysis_queues_shown(analysis), shown = 0;

	json_list(json, "queues");
	for (size_t i = 0; i < all && !is_over_top(report, shown); i++) {
		if (!is_shown(report, analysis->queues[i].device))
			continue;
		write_queue(report, &analysis->queues[i], json);
		shown++;
	}
	json_array_end(json);
	json_list(json, "contexts");
	for (size_t i = 0; i < analysis->contexts_count && !is_over_top(report, i); i++) {
		const struct analysis_context *context = &analysis->contexts[i];

		json_item(json);
		json_pair_u64(json, "id", context->context->id);
		json_pair_u64(json, "process", context->context->process);
		json_pair_u64(json, "wall_ns", context->account.wall_ns);
		json_pair_u64(json, "busy_ns", context->account.busy_ns);
		json_pair_u64(json, "idle_ns", context->account.idle_ns);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_calls(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;

	json_list(json, "api");
	for (size_t i = 0; i < analysis->calls_count && !is_over_top(report, i); i++) {
		const struct analysis_call *call = &analysis->calls[i];

		json_item(json);
		json_pair_text(json, "name", call->name);
		json_pair_u64(json, "count", call->count);
		json_pair_u64(json, "failed", call->failed);
		json_pair_u64(json, "total_ns", call->total_ns);
		json_pair_bool(json, "launches", call->is_launch);
		json_pair_bool(json, "waits", call->is_wait);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_clock(const struct report *report, const struct clocks_domain *domain,
			struct json_writer *json)
{
	const struct clock_certificate *certificate = &domain->certificate;
	const struct clocks *clocks = report->model->clocks;

	json_item(json);
	json_pair_text(json, "domain", clocks_name(clocks, report->model->reader, domain));
	json_pair_u64(json, "id", domain->id);
	json_pair_text(json, "method", clocks_method_name(certificate->method));
	if (certificate->candidate >= 0)
		json_pair_text(json, "is",
			       clocks_name(clocks, report->model->reader,
					   clocks_at(clocks, (size_t)certificate->candidate)));
	json_key(json, "offset_ns");
	json_i64(json, certificate->offset_ns);
	json_key(json, "drift_ppb");
	json_i64(json, certificate->drift_ppb);
	json_key(json, "error_ns");
	if (certificate->error_ns == UINT64_MAX)
		json_null(json);
	else
		json_u64(json, certificate->error_ns);
	json_pair_u64(json, "bounds", certificate->bounds);
	json_pair_u64(json, "violations", certificate->violations);
	json_object_end(json);
}

static void write_clocks(const struct report *report, struct json_writer *json)
{
	const struct clocks *clocks = report->model->clocks;

	json_list(json, "clocks");
	for (size_t i = 0; i < clocks_count(clocks); i++)
		write_clock(report, clocks_at(clocks, i), json);
	json_array_end(json);
}

static void write_ledger(const struct report *report, struct json_writer *json)
{
	const struct analysis_ledger *ledger = &report->analysis->ledger;

	json_newline(json);
	json_key(json, "ledger");
	json_object_begin(json);
	json_pair_u64(json, "launched", ledger->launched);
	json_pair_u64(json, "executed", ledger->executed);
	json_pair_u64(json, "matched", ledger->matched);
	json_pair_u64(json, "dropped", ledger->dropped);
	json_pair_u64(json, "rejected", ledger->rejected);
	json_pair_u64(json, "in_flight_at_exit", ledger->in_flight_at_exit);
	json_pair_u64(json, "untimed", ledger->untimed);
	json_pair_u64(json, "unplaced", ledger->unplaced);
	json_pair_u64(json, "orphaned", ledger->orphaned);
	json_pair_u64(json, "samples", 0);
	json_pair_u64(json, "samples_estimated", 0);
	json_pair_u64(json, "samples_unknown", 0);
	json_object_end(json);
}

static void write_losses(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;

	json_list(json, "losses");
	for (size_t i = 0; i < analysis->losses_count; i++) {
		const struct analysis_loss *loss = &analysis->losses[i];

		json_item(json);
		json_pair_text(json, "kind", analysis_kind_name(loss->kind));
		json_pair_text(json, "reason",
			       loss->reason ? analysis_loss_name(loss->reason) : "damage");
		json_pair_u64(json, "count", loss->count);
		json_object_end(json);
	}
	json_array_end(json);
	json_newline(json);
	json_key(json, "damage");
	json_object_begin(json);
	json_pair_u64(json, "chunks", analysis->damage.chunks);
	json_pair_u64(json, "rows", analysis->damage.rows);
	json_pair_u64(json, "bytes", analysis->damage.bytes);
	json_pair_bool(json, "truncated", analysis->damage.truncated);
	json_object_end(json);
}

static void write_code(const struct report *report, struct json_writer *json)
{
	const struct analysis_code *code = &report->analysis->code;

	json_newline(json);
	json_key(json, "code_objects");
	json_object_begin(json);
	json_pair_u64(json, "sources", code->sources);
	json_pair_u64(json, "binaries", code->binaries);
	json_pair_u64(json, "il", code->il);
	json_pair_u64(json, "build_logs", code->build_logs);
	json_pair_u64(json, "kernels", code->kernels);
	json_object_end(json);
}

static void write_cost(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;
	uint64_t forced = 0;

	for (size_t i = 0; i < analysis->queues_count; i++)
		forced += (analysis->queues[i].queue->flags & QUEUE_TIMING_FORCED) != 0;
	json_newline(json);
	json_key(json, "cost");
	json_object_begin(json);
	json_pair_u64(json, "rows", analysis->rows);
	json_pair_u64(json, "file_bytes", trace_reader_size_bytes(report->model->reader));
	json_pair_u64(json, "queues_timing_forced", forced);
	json_object_end(json);
}

static void write_document(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;

	json_object_begin(json);
	json_pair_text(json, "schema", "duet.report/1");
	json_pair_bool(json, "complete", analysis_is_complete(analysis));
	json_pair_text(json, "command", command_of(report));
	json_pair_u64(json, "start_ns", analysis->from_ns);
	json_pair_u64(json, "wall_ns", analysis->to_ns - analysis->from_ns);
	json_pair_bool(json, "exact", analysis->is_exact);
	if (analysis->dropped_before_ns)
		json_pair_u64(json, "dropped_before_ns", analysis->dropped_before_ns);
	write_processes(report, json);
	write_devices(report, json);
	write_kernels(report, json);
	write_copies(report, json, ACCOUNT_COPY);
	write_copies(report, json, ACCOUNT_OTHER);
	write_queues(report, json);
	write_calls(report, json);
	json_empty_list(json, "instructions");
	json_empty_list(json, "metrics");
	json_empty_list(json, "ranges");
	json_empty_list(json, "findings");
	write_clocks(report, json);
	write_ledger(report, json);
	write_losses(report, json);
	write_code(report, json);
	write_cost(report, json);
	json_newline(json);
	json_object_end(json);
}

static int print_json(const struct report *report)
{
	struct json_writer json;

	json_init_file(&json, stdout);
	write_document(report, &json);
	putchar('\n');
	if (json_error(&json) == -EIO)
		return 0; /* finish_output says what became of stdout */
	return json_error(&json);
}

/* ---- the command ---- */

static bool is_device(const struct analysis_device *device, size_t index, const char *wanted)
{
	char *end;
	unsigned long long number;

	if (strcmp(device->key, wanted) == 0 || strcasecmp(device->name, wanted) == 0)
		return true;
	number = strtoull(wanted, &end, 10);
	return *wanted >= '0' && *wanted <= '9' && !*end && number == index;
}

static int find_device(const struct command *command, struct report *report)
{
	const struct analysis *analysis = report->analysis;
	const char *wanted = report->values->device;
	int status;

	report->device = ALL_DEVICES;
	if (!wanted)
		return STATUS_DONE;
	for (size_t i = 0; i < analysis->devices_count; i++) {
		if (is_device(&analysis->devices[i], i, wanted)) {
			report->device = i;
			return STATUS_DONE;
		}
	}
	status = usage_error(command, "there is no device '%s' in %s", wanted, report->path);
	fprintf(stderr, "Devices:\n");
	for (size_t i = 0; i < analysis->devices_count; i++)
		fprintf(stderr, "  %zu  %s  %s\n", i, analysis->devices[i].name,
			analysis->devices[i].key);
	return status;
}

/* --from behind the end: an account of no time at all is no answer. */
static int check_window(const struct command *command, const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	uint64_t length = analysis->end_ns - analysis->begin_ns;
	uint64_t from = report->values->from_ns;
	char text[128];

	if (!from || from < length)
		return STATUS_DONE;
	snprintf(text, sizeof(text), "--from %s is not inside the recording, which is %s long",
		 duration(from).text, duration(length).text);
	print_error(command->name, text);
	return STATUS_FAILED;
}

static int print_report(const struct command *command, struct report *report)
{
	int status = check_window(command, report);
	int error = 0;

	if (status == STATUS_DONE)
		status = find_device(command, report);
	if (status != STATUS_DONE)
		return status;
	if (report->values->json)
		error = print_json(report);
	else
		print_text(report);
	if (error || !report->analysis->is_exact) {
		print_error(command->name,
			    error ? "out of memory"
				  : "the account does not add up: please report this");
		status = STATUS_FAILED;
	}
	return finish_output(command->name, status);
}

static int report_file(const struct command *command, const struct report_values *values,
		       const char *path)
{
	struct analysis_options options = {.has_from = values->from_ns > 0,
					   .from_ns = values->from_ns,
					   .has_to = values->to_ns != UINT64_MAX,
					   .to_ns = values->to_ns};
	struct analysis *analysis = NULL;
	struct model *model = NULL;
	int error = model_open(path, &model), status = STATUS_FAILED;

	if (!error)
		error = analysis_new(model, &options, &analysis);
	if (error) {
		if (!*error_text())
			error_set(error, "report '%s': %s", path, strerror(-error));
		print_error(command->name, NULL);
	} else {
		struct report report = {.values = values,
					.model = model,
					.analysis = analysis,
					.path = path,
					.top = values->top};

		if (report.top == UINT64_MAX)
			report.top = values->json ? 0 : DEFAULT_TOP;
		status = print_report(command, &report);
	}
	analysis_free(analysis);
	model_close(model);
	return status;
}

static bool is_known(const char *by)
{
	return !by || strcmp(by, "kernel") == 0 || strcmp(by, "queue") == 0 ||
	       strcmp(by, "process") == 0;
}

static int run_report(const struct command *command, int argc, char **argv)
{
	struct report_values values = {.top = UINT64_MAX, .to_ns = UINT64_MAX};
	int first = options_parse(command, argc, argv, false, &values);

	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	if (argc - first > 1)
		return usage_error(command, "one FILE at a time");
	if (!is_known(values.by))
		return usage_error(command, "--by takes kernel, queue or process, not '%s'",
				   values.by);
	if (values.to_ns < values.from_ns)
		return usage_error(command, "--to is before --from");
	return report_file(command, &values, first < argc ? argv[first] : DEFAULT_FILE);
}

const struct command command_report = {
	.name = "report",
	.arguments = "[options] [FILE]",
	.summary = "where the time went: devices, kernels, copies, calls, queues",
	.run = run_report,
	.options = report_options,
};
