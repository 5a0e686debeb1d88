/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_golden.c - the frozen account: descriptions and what must come of them
 *
 * Usage: test_golden [--print] FILE… - each file of tests/golden/account is a description, "---"
 * and the expected text; --print writes the text that came out instead of comparing.
 */
#include <unistd.h>

#include "../../checker/description.h"
#include "analyze/model.h"
#include "base/error.h"
#include "base/string.h"
#include "harness.h"

static void add_account(struct string_builder *text, const char *what, uint32_t id,
			const struct account *account)
{
	string_builder_appendf(text, "%s %u busy %" PRIu64 " idle %" PRIu64 "\n", what, id,
			       account->busy_ns, account->idle_ns);
}

static void add_devices(struct string_builder *text, const struct analysis *analysis)
{
	size_t count = analysis_devices_shown(analysis);

	for (size_t i = 0; i < count; i++) {
		const struct account *account = &analysis->devices[i].account;
		uint32_t id = analysis->devices[i].device ? analysis->devices[i].device->id : 0;

		add_account(text, "device", id, account);
		string_builder_appendf(
			text,
			"device %u kernels %" PRIu64 " copies %" PRIu64 " other %" PRIu64 "\n", id,
			account->classes[ACCOUNT_KERNEL], account->classes[ACCOUNT_COPY],
			account->classes[ACCOUNT_OTHER]);
		for (unsigned int cause = 0; cause < CAUSE_COUNT; cause++) {
			if (account->causes[cause])
				string_builder_appendf(text, "device %u %s %" PRIu64 "\n", id,
						       account_cause_name(cause),
						       account->causes[cause]);
		}
	}
}

static void add_wakers(struct string_builder *text, const struct analysis *analysis, uint32_t waker)
{
	for (; waker; waker = analysis->cpu.wakers[waker - 1].before) {
		const struct analysis_waker *link = &analysis->cpu.wakers[waker - 1];

		if (link->thread)
			string_builder_appendf(text, ", woken by thread %u", link->thread);
		else
			string_builder_appendf(text, ", woken by %s",
					       model_text(analysis->model, link->name_string, ""));
	}
}

static void add_waits(struct string_builder *text, const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->cpu.states_count; i++) {
		const struct analysis_state *state = &analysis->cpu.states[i];

		if (state->wait_string && state->cause == CAUSE_BLOCKED)
			string_builder_appendf(text, "waited for %s, thread %u has it: %" PRIu64,
					       model_text(analysis->model, state->wait_string, ""),
					       state->holder, state->idle_ns);
		else if (state->wait_string && state->cause == CAUSE_PREEMPTED)
			string_builder_appendf(text, "preempted by %s, thread %u: %" PRIu64,
					       model_text(analysis->model, state->wait_string, ""),
					       state->holder, state->idle_ns);
		else
			continue;
		add_wakers(text, analysis, state->waker);
		string_builder_append(text, "\n");
	}
	for (size_t i = 0; i < analysis->cpu.holdings_count; i++) {
		const struct analysis_holding *holding = &analysis->cpu.holdings[i];

		string_builder_appendf(text, "thread %u had %s in stack %u, weight %" PRIu64 "\n",
				       holding->holder,
				       model_text(analysis->model, holding->wait_string, ""),
				       holding->stack, holding->weight);
	}
}

static void add_depth(struct string_builder *text, const struct analysis_queue *queue)
{
	const struct depth *depth = &queue->depth;

	if (queue->has_depth)
		string_builder_appendf(text,
				       "queue %u in flight: most %" PRIu64 " none %" PRIu64
				       " ns sum %" PRIu64 "\n",
				       queue->queue->id, depth->max, depth->empty_ns,
				       (uint64_t)depth->sum);
}

static void add_queues(struct string_builder *text, const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->queues_count; i++) {
		const struct analysis_queue *queue = &analysis->queues[i];

		add_account(text, "queue", queue->queue->id, &queue->account);
		add_depth(text, queue);
		for (unsigned int zone = 0; zone < ZONE_COUNT; zone++) {
			struct quantile *quantile = (struct quantile *)&queue->zones[zone];

			if (quantile->count)
				string_builder_appendf(text,
						       "queue %u %s sum %" PRIu64 " p50 %" PRIu64
						       " p99 %" PRIu64 "\n",
						       queue->queue->id, analysis_zone_name(zone),
						       quantile->sum,
						       quantile_get(quantile, 50, 100),
						       quantile_get(quantile, 99, 100));
		}
	}
	for (size_t i = 0; i < analysis->contexts_count; i++)
		add_account(text, "context", analysis->contexts[i].context->id,
			    &analysis->contexts[i].account);
}

static void add_tables(struct string_builder *text, const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->kernels_count; i++) {
		const struct analysis_kernel *kernel = &analysis->kernels[i];

		string_builder_appendf(
			text, "kernel %s count %" PRIu64 " total %" PRIu64 " share %" PRIu64 "\n",
			kernel->name, kernel->count, kernel->total_ns, kernel->share_ns);
	}
	for (size_t i = 0; i < analysis->copies_count; i++) {
		const struct analysis_copy *copy = &analysis->copies[i];

		string_builder_appendf(text,
				       "%s count %" PRIu64 " bytes %" PRIu64 " total %" PRIu64
				       " share %" PRIu64 "\n",
				       analysis_command_name(copy->command), copy->count,
				       copy->bytes, copy->total_ns, copy->share_ns);
	}
	for (size_t i = 0; i < analysis->program.calls_count; i++) {
		const struct analysis_call *call = &analysis->program.calls[i];

		string_builder_appendf(
			text, "call %s count %" PRIu64 " failed %" PRIu64 " total %" PRIu64 "\n",
			call->name, call->count, call->failed, call->total_ns);
	}
}

/* path 0: nobody's */
static void add_instructions(struct string_builder *text, const struct analysis *analysis)
{
	const struct analysis_ledger *ledger = &analysis->ledger;

	for (size_t i = 0; i < analysis->instructions_count; i++) {
		const struct analysis_instruction *row = &analysis->instructions[i];

		string_builder_appendf(text,
				       "instruction %s 0x%" PRIx64 "%s%s path %u samples %" PRIu64
				       " weight %" PRIu64 " estimated %" PRIu64 "\n",
				       row->kernel, row->offset, *row->stall ? " " : "", row->stall,
				       row->path + 1, row->samples, row->weight, row->estimated);
	}
	if (ledger->instructions)
		string_builder_appendf(text,
				       "samples %" PRIu64 " estimated %" PRIu64 " unknown %" PRIu64
				       " lost %" PRIu64 "\n",
				       ledger->instructions, ledger->instructions_estimated,
				       ledger->instructions_unknown, ledger->instructions_lost);
	if (ledger->instructions_unknown_code || ledger->instructions_late)
		string_builder_appendf(
			text, "samples of unknown code %" PRIu64 " late %" PRIu64 "\n",
			ledger->instructions_unknown_code, ledger->instructions_late);
}

static void add_ledger(struct string_builder *text, const struct analysis *analysis)
{
	const struct analysis_ledger *ledger = &analysis->ledger;

	string_builder_appendf(text,
			       "launched %" PRIu64 " = matched %" PRIu64 " + not_executed %" PRIu64
			       " + in_flight %" PRIu64 " + dropped %" PRIu64 " + rejected %" PRIu64
			       "\n",
			       ledger->launched, ledger->matched, ledger->not_executed,
			       ledger->in_flight_at_exit, ledger->dropped, ledger->rejected);
	if (ledger->contradictions)
		string_builder_appendf(text, "contradictions %" PRIu64 "\n",
				       ledger->contradictions);
	string_builder_appendf(
		text, "executed %" PRIu64 " untimed %" PRIu64 " orphaned %" PRIu64 " complete %d\n",
		ledger->executed, ledger->untimed, ledger->orphaned, ledger->is_complete);
}

static void describe(struct string_builder *text, const struct analysis *analysis)
{
	string_builder_appendf(text, "wall %" PRIu64 "\n", analysis->to_ns - analysis->from_ns);
	add_devices(text, analysis);
	add_waits(text, analysis);
	add_queues(text, analysis);
	add_tables(text, analysis);
	add_instructions(text, analysis);
	add_ledger(text, analysis);
}

/* A first line "# options FROM TO" is a window, relative to the begin. */
static void read_options(FILE *file, struct analysis_options *ret_options)
{
	char line[128] = "";

	*ret_options = (struct analysis_options){0};
	if (fgets(line, sizeof(line), file) &&
	    sscanf(line, "# options %" SCNu64 " %" SCNu64, &ret_options->from_ns,
		   &ret_options->to_ns) == 2)
		ret_options->has_from = ret_options->has_to = true;
	rewind(file);
}

static int analyze_file(const char *path, struct string_builder *text)
{
	char trace[] = "/tmp/duet-golden-XXXXXX";
	FILE *file = fopen(path, "re");
	struct analysis *analysis = NULL;
	struct analysis_options options;
	struct model *model = NULL;
	int fd, error;

	if (!file)
		return -2;
	read_options(file, &options);
	fd = mkstemp(trace);
	close(fd);
	error = description_write(file, trace);
	fclose(file);
	if (!error)
		error = model_open(trace, &model);
	if (!error)
		error = analysis_new(model, &options, &analysis);
	if (!error) {
		CHECK(analysis->checks.is_exact);
		describe(text, analysis);
	} else {
		printf("# %s: %s\n", path, error_text());
	}
	analysis_free(analysis);
	model_close(model);
	unlink(trace);
	return error;
}

static void read_expected(const char *path, struct string_builder *text)
{
	FILE *file = fopen(path, "re");
	bool is_expected = false;
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		if (is_expected)
			string_builder_append(text, line);
		is_expected |= strncmp(line, "---", 3) == 0;
	}
	if (file)
		fclose(file);
}

static const char *golden_path;

TEST(golden)
{
	struct string_builder got, want;

	string_builder_init(&got);
	string_builder_init(&want);
	CHECK_EQUAL(analyze_file(golden_path, &got), 0);
	read_expected(golden_path, &want);
	CHECK_TEXT(string_builder_text(&got), string_builder_text(&want));
	string_builder_fini(&got);
	string_builder_fini(&want);
}

static void print(const char *path)
{
	struct string_builder text;

	string_builder_init(&text);
	analyze_file(path, &text);
	printf("%s", string_builder_text(&text));
	string_builder_fini(&text);
}

int main(int argc, char **argv)
{
	bool only_print = argc > 1 && strcmp(argv[1], "--print") == 0;

	for (int i = 1 + only_print; i < argc; i++) {
		const char *name = strrchr(argv[i], '/');

		golden_path = argv[i];
		if (only_print)
			print(argv[i]);
		else
			harness_run(name ? name + 1 : argv[i], test_golden);
	}
	return only_print ? 0 : harness_end();
}
