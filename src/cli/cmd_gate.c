/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_gate.c - duet gate: whether new recordings stay within limits, as an exit status for CI
 *
 * Runs in:  our own process
 * Gets:     recordings of two sides, a folder of accepted ones, or a program to record
 * Gives:    status 0 pass, 1 regression, 3 inconclusive or not comparable
 * Owns:     the limits, the summaries of the recordings, the comparison
 * Fails:    status 2, also if memory or a disk is full: status 1 means a regression alone
 * Why:      docs/design/gate.md
 */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/gate/gate.h"
#include "analyze/compare/match/map.h"
#include "base/error.h"
#include "base/format.h"
#include "cli/compare/gate_job.h"

#define DEFAULT_LIMIT   "wall +2 %"
#define DEFAULT_KEEP    20
#define DEFAULT_WARM_UP 1

static const struct option_row gate_options[] = {
	{"limit", 0, OPTION_TEXTS, "EXPR",
	 "largest allowed change, such as 'wall +2 %', 'kernel:gemm* mean +5 %', "
	 "'idle +1 %' or 'iteration +300us'; may be repeated",
	 offsetof(struct gate_values, limits)},
	{"confidence", 0, OPTION_TEXT, "PERCENT", "confidence of intervals (default 98)",
	 offsetof(struct gate_values, confidence)},
	{"range", 0, OPTION_TEXT, "NAME[:N]",
	 "compare only the N-th range of this name, or iteration:N",
	 offsetof(struct gate_values, range)},
	{"device", 0, OPTION_TEXT, "D", "only this device: its key, name or number",
	 offsetof(struct gate_values, device)},
	{"map", 0, OPTION_TEXT, "FILE", "file of 'OLD => NEW' lines that correct the matching",
	 offsetof(struct gate_values, map)},
	{"force", 0, OPTION_FLAG, NULL, "judge recordings that are not comparable",
	 offsetof(struct gate_values, force)},
	{"config", 'c', OPTION_TEXT, "FILE",
	 "read the group 'gate' of FILE (man duet-config); the command line wins",
	 offsetof(struct gate_values, config)},
	{"json", 0, OPTION_FLAG, NULL, "print one JSON document (schema duet.gate/1)",
	 offsetof(struct gate_values, outputs.json)},
	{"junit", 0, OPTION_TEXT, "FILE", "write a JUnit report; - is stdout",
	 offsetof(struct gate_values, outputs.junit)},
	{"markdown", 0, OPTION_TEXT, "FILE", "write a comment for a pull request; - is stdout",
	 offsetof(struct gate_values, outputs.markdown)},
	{"annotations", 0, OPTION_TEXT, "KIND",
	 "github: workflow commands on stdout; gitlab:FILE: a Code Quality report",
	 offsetof(struct gate_values, outputs.annotations)},
	{"bisect", 0, OPTION_FLAG, NULL, "for git bisect run: status 125 in place of 2 and 3",
	 offsetof(struct gate_values, bisect)},
	{"baseline", 0, OPTION_TEXT, "DIR",
	 "compare with the accepted recordings of the same device and command in DIR",
	 offsetof(struct gate_values, baseline)},
	{"accept", 0, OPTION_FLAG, NULL,
	 "add the new recordings to DIR if they pass, or if it has none",
	 offsetof(struct gate_values, accept)},
	{"keep", 0, OPTION_NUMBER, "N", "accepted recordings per device and command (default 20)",
	 offsetof(struct gate_values, keep)},
	{"run", 0, OPTION_NUMBER, "N",
	 "record N runs a side, base and new in turns, of the program after --",
	 offsetof(struct gate_values, run)},
	{"base-cmd", 0, OPTION_TEXT, "CMD", "command of the shell for base (default: the program)",
	 offsetof(struct gate_values, base_cmd)},
	{"base-env", 0, OPTION_TEXTS, "NAME=VALUE", "environment of base only; may be repeated",
	 offsetof(struct gate_values, base_env)},
	{"new-env", 0, OPTION_TEXTS, "NAME=VALUE", "environment of new only; may be repeated",
	 offsetof(struct gate_values, new_env)},
	{"warm-up", 0, OPTION_NUMBER, "N", "pairs that are recorded first and ignored (default 1)",
	 offsetof(struct gate_values, warm_up)},
	{"keep-runs", 0, OPTION_TEXT, "DIR", "keep the recordings of --run in DIR",
	 offsetof(struct gate_values, keep_runs)},
	{NULL},
};

/* ---- options --------------------------------------------------------------------------------- */

static void field_path(const struct option_row *row, char *path, size_t size)
{
	snprintf(path, size, "gate.%s", row->name);
	for (char *at = path; *at; at++)
		if (*at == '-')
			*at = '_';
}

/* Options of the command line win over the file. */
static int apply_row(struct gate_job *job, const struct option_row *row)
{
	const struct config_value *value = NULL;
	const bool is_set = option_is_set(row, &job->values);
	char path[64], text[1200];

	field_path(row, path, sizeof(path));
	while (!is_set && (value = option_file_next(&job->file, path, value)))
		if (option_set(row, value->text, &job->values)) {
			snprintf(text, sizeof(text), "%s: '%s' %s",
				 option_file_place(&job->file, value).text, path, error_text());
			error_clear();
			print_error(job->command->name, text);
			return STATUS_USAGE;
		}
	return STATUS_DONE;
}

static int apply_file(struct gate_job *job)
{
	int status = STATUS_DONE;

	if (!job->values.config)
		return STATUS_DONE;
	if (option_file_open(&job->file, job->command->name, job->values.config))
		return STATUS_USAGE;
	for (const struct option_row *row = gate_options; row->name && status == STATUS_DONE; row++)
		status = apply_row(job, row);
	return status;
}

static int parse_limits(struct gate_job *job)
{
	struct option_texts *texts = &job->values.limits;

	job->has_default = !texts->count;
	if (!texts->count)
		texts->texts[texts->count++] = DEFAULT_LIMIT;
	job->limits = calloc(texts->count + 1, sizeof(*job->limits)); /* 1: LOOP_LIMIT */
	if (!job->limits)
		return gate_job_no_memory(job);
	for (size_t i = 0; i < texts->count; i++) {
		if (gate_limit_parse(texts->texts[i], &job->limits[i]))
			return gate_job_print_reason(job);
		job->limits_count++;
	}
	return STATUS_DONE;
}

static int check_environment(const struct gate_job *job, const struct option_texts *texts,
			     const char *option)
{
	for (size_t i = 0; i < texts->count; i++) {
		const char *equals = strchr(texts->texts[i], '=');

		if (!equals || equals == texts->texts[i])
			return usage_error(job->command, "%s takes NAME=VALUE, not '%s'", option,
					   texts->texts[i]);
	}
	return STATUS_DONE;
}

static int check_run(const struct gate_job *job)
{
	const struct gate_values *values = &job->values;

	if (values->run != OPTION_UNSET && !job->program)
		return usage_error(job->command, "--run needs a program: gate --run N -- PROGRAM");
	if (values->run == OPTION_UNSET && job->program)
		return usage_error(job->command, "a program needs --run N");
	if (values->run == OPTION_UNSET && (gate_job_has_own_base(values) || values->keep_runs))
		return usage_error(job->command, "--base-cmd, --base-env, --new-env and "
						 "--keep-runs belong to --run");
	if (values->run == 0 || (values->run > 1000 && values->run != OPTION_UNSET))
		return usage_error(job->command, "--run takes 1 to 1000 runs");
	if (values->run != OPTION_UNSET && values->baseline && gate_job_has_own_base(values))
		return usage_error(job->command, "base is either --baseline or --base-cmd, "
						 "--base-env and --new-env");
	if (check_environment(job, &values->base_env, "--base-env") != STATUS_DONE)
		return STATUS_USAGE;
	return check_environment(job, &values->new_env, "--new-env");
}

static int check_options(struct gate_job *job)
{
	struct gate_values *values = &job->values;
	int status;

	if (values->accept && !values->baseline)
		return usage_error(job->command, "--accept needs --baseline DIR");
	if (values->keep == 0)
		return usage_error(job->command, "--keep takes 1 or more recordings");
	if (values->keep == OPTION_UNSET)
		values->keep = DEFAULT_KEEP;
	if (values->warm_up == OPTION_UNSET)
		values->warm_up = DEFAULT_WARM_UP;
	status = check_run(job);
	if (status == STATUS_DONE)
		status = gate_outputs_check(job->command, &values->outputs);
	job->confidence = GATE_CONFIDENCE;
	if (status == STATUS_DONE)
		status = compare_confidence_parse(job->command, values->confidence,
						  &job->confidence);
	if (status == STATUS_DONE)
		status = parse_limits(job);
	if (status == STATUS_DONE && values->map && match_map_read(values->map, &job->map))
		status = gate_job_print_reason(job);
	return status;
}

/* ---- recordings ------------------------------------------------------------------------------ */

/* With --baseline all files are new; with --run there are none. */
static int take_files(struct gate_job *job, int argc, char **argv, int first)
{
	struct compare_files *files = &job->files;

	if (job->values.run != OPTION_UNSET) {
		if (first < argc || files->changed_count)
			return usage_error(job->command,
					   "--run records both sides itself; it takes no files");
		return STATUS_DONE;
	}
	if (!job->values.baseline)
		return compare_files_take(job->command, files, argc, argv, first);
	if (first < argc && files->changed_count)
		return usage_error(job->command, "base is either --baseline DIR or files");
	for (int i = first; i < argc; i++)
		files->changed[files->changed_count++] = argv[i];
	if (!files->changed_count)
		return usage_error(job->command, "no new recording: gate --baseline DIR NEW…");
	return STATUS_DONE;
}

static int record_runs(struct gate_job *job)
{
	const struct gate_values *values = &job->values;
	const struct turns_request request = {.runs = values->run,
					      .warm_up = values->warm_up,
					      .program = job->program,
					      .base_cmd = values->base_cmd,
					      .base_env = &values->base_env,
					      .new_env = &values->new_env,
					      .config = values->config,
					      .folder = values->keep_runs,
					      .has_base = !values->baseline};

	return values->run == OPTION_UNSET ? STATUS_DONE
					   : turns_record(job->command, &request, &job->turns);
}

static struct sides_request request_of(const struct gate_job *job)
{
	return (struct sides_request){.device = job->values.device,
				      .range = job->values.range,
				      .tables = gate_tables(job->limits, job->limits_count)};
}

/* Memory that is full must not look like a regression. */
static int read_sides(const struct gate_job *job, const char *const *paths, size_t count,
		      struct compare_sides *ret_sides)
{
	const struct sides_request request = request_of(job);
	const int status = compare_sides_read(job->command, paths, count, &request, ret_sides);

	return status == STATUS_FAILED ? STATUS_USAGE : status;
}

static int read_new(struct gate_job *job)
{
	const bool is_run = job->values.run != OPTION_UNSET;

	return read_sides(job,
			  is_run ? (const char *const *)job->turns.paths[1] : job->files.changed,
			  is_run ? job->turns.count[1] : job->files.changed_count, &job->changed);
}

static int read_base(struct gate_job *job)
{
	const char *const *paths = job->files.base;
	size_t count = job->files.base_count;

	if (job->values.baseline) {
		paths = (const char *const *)job->baseline.paths;
		count = job->baseline.count;
	} else if (job->values.run != OPTION_UNSET) {
		paths = (const char *const *)job->turns.paths[0];
		count = job->turns.count[0];
	}
	return read_sides(job, paths, count, &job->base);
}

static int find_baseline(struct gate_job *job)
{
	if (!job->values.baseline)
		return STATUS_DONE;
	if (!baseline_is_one_key(&job->changed))
		return STATUS_DONE; /* report_no_base says it */
	if (baseline_open(job->values.baseline, job->changed.runs[0], &job->baseline))
		return gate_job_print_reason(job);
	if (job->baseline.damaged) {
		char text[1200];

		snprintf(text, sizeof(text),
			 "%zu damaged %s in '%.1000s' %s ignored: the content does not agree with "
			 "the name",
			 job->baseline.damaged,
			 format_noun(job->baseline.damaged, "recording", "recordings"),
			 job->baseline.folder, job->baseline.damaged == 1 ? "is" : "are");
		print_error(job->command->name, text);
	}
	return STATUS_DONE;
}

static bool is_new_run(const struct gate_job *job, const struct compare_side *side)
{
	for (size_t i = 0; i < job->changed.count; i++)
		if (strcmp(job->changed.runs[i]->facts.content, side->facts.content) == 0)
			return true;
	return false;
}

/* A job that is repeated finds its own recordings among the accepted ones: they must not be their
 * own base. If no others are there, the gate says so. */
static void leave_out_new(struct gate_job *job)
{
	struct compare_sides *base = &job->base;
	size_t others = 0, kept = 0;

	for (size_t i = 0; i < base->count; i++)
		others += !is_new_run(job, base->runs[i]);
	for (size_t i = 0; others && i < base->count; i++) {
		if (is_new_run(job, base->runs[i]))
			side_free(base->runs[i]);
		else
			base->runs[kept++] = base->runs[i];
	}
	if (others)
		base->count = kept;
}

static int check_inputs(const struct gate_job *job, const char *const *paths, size_t count)
{
	int status = STATUS_DONE;

	for (size_t i = 0; i < count && status == STATUS_DONE; i++)
		status = gate_outputs_check_input(job->command, &job->values.outputs, paths[i]);
	return status;
}

/* No output may replace a recording. */
static int check_outputs(const struct gate_job *job)
{
	const struct compare_files *files = &job->files;
	const struct turns *turns = &job->turns;
	int status = check_inputs(job, files->base, files->base_count);

	if (status == STATUS_DONE)
		status = check_inputs(job, files->changed, files->changed_count);
	for (size_t side = 0; side < 2 && status == STATUS_DONE; side++)
		status = check_inputs(job, (const char *const *)turns->paths[side],
				      turns->count[side]);
	if (status == STATUS_DONE)
		status = check_inputs(job, (const char *const *)job->baseline.paths,
				      job->baseline.count);
	return status;
}

static int compare_runs(struct gate_job *job)
{
	int status = record_runs(job);

	if (status == STATUS_DONE)
		status = read_new(job);
	if (status == STATUS_DONE)
		status = find_baseline(job);
	if (status == STATUS_DONE)
		status = check_outputs(job);
	if (status != STATUS_DONE)
		return status;
	if (job->values.baseline && !job->baseline.count)
		return gate_job_report_no_base(job);
	status = read_base(job);
	if (job->values.baseline) {
		baseline_unlock(&job->baseline);
		leave_out_new(job);
	}
	if (status == STATUS_DONE)
		status = gate_job_add_default(job);
	return status == STATUS_DONE ? gate_job_judge(job) : status;
}

/* ---- the command ----------------------------------------------------------------------------- */

static void close_job(struct gate_job *job)
{
	compare_sides_fini(&job->base);
	compare_sides_fini(&job->changed);
	baseline_close(&job->baseline);
	turns_close(&job->turns);
	match_map_free(job->map);
	for (size_t i = 0; i < job->limits_count; i++)
		gate_limit_fini(&job->limits[i]);
	free(job->limits);
	compare_files_fini(&job->files);
	option_file_fini(&job->file);
}

static int run_job(struct gate_job *job, int argc, char **argv)
{
	int first = options_parse(job->command, argc, argv, false, &job->values), status;

	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	status = apply_file(job);
	if (status == STATUS_DONE)
		status = check_options(job);
	if (status == STATUS_DONE)
		status = take_files(job, argc, argv, first);
	return status == STATUS_DONE ? compare_runs(job) : status;
}

/* Takes the program and its arguments off the end of argv. */
static int split_program(int argc, char **argv, char ***ret_program)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0) {
			if (i + 1 < argc)
				*ret_program = argv + i + 1;
			argv[i] = NULL;
			return i;
		}
	return argc;
}

static bool has_word(int argc, char **argv, const char *word)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], word) == 0)
			return true;
	return false;
}

static int run_gate(const struct cli_command *command, int argc, char **argv)
{
	struct gate_job job = {
		.command = command, .turns = {.folder_fd = -1}, .baseline = {.lock_fd = -1}};
	int status = STATUS_USAGE, kept;
	bool is_bisect;

	options_clear(gate_options, &job.values);
	option_file_init(&job.file, gate_options);
	argc = split_program(argc, argv, &job.program);
	is_bisect = has_word(argc, argv, "--bisect");
	kept = compare_files_split(&job.files, argc, argv);
	if (kept < 0)
		gate_job_no_memory(&job);
	else
		status = run_job(&job, kept, argv);
	close_job(&job);
	if (finish_output(command->name, STATUS_DONE) != STATUS_DONE)
		status = STATUS_USAGE; /* a failed write has status 1 otherwise */
	return is_bisect && (status == STATUS_USAGE || status == STATUS_INCONCLUSIVE) ? STATUS_SKIP
										      : status;
}

const struct cli_command command_gate = {
	.name = "gate",
	.arguments = "[options] BASE… --new NEW… | --baseline DIR NEW… | --run N -- PROGRAM "
		     "[ARGUMENT ...]",
	.summary = "judge new recordings by limits, with an exit status for CI",
	.writes_files = true,
	.reads_trace = true,
	.run = run_gate,
	.options = gate_options,
};
