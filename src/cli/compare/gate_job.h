/* SPDX-License-Identifier: MIT
 *
 * cli/compare/gate_job.h - one run of duet gate: its options, recordings and result
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/compare/gate/gate.h"
#include "cli/compare/baseline.h"
#include "cli/compare/gate_output.h"
#include "cli/compare/sides.h"
#include "cli/compare/turns.h"
#include "cli/record/option_file.h"
#include "cli/options.h"

struct cli_command;
struct match_map;

enum {
	STATUS_REGRESSION = 1,
	STATUS_SKIP = 125 /* git bisect run: this commit cannot be judged */
};

struct gate_values {
	struct option_texts limits, base_env, new_env;
	const char *confidence, *range, *device, *map, *config;
	struct gate_outputs outputs;
	const char *baseline, *base_cmd, *keep_runs;
	uint64_t keep, run, warm_up;
	bool force, accept, bisect;
};

/* One call of duet gate. */
struct gate_job {
	const struct cli_command *command;
	struct gate_values values;
	struct option_file file;
	double confidence;
	struct gate_limit *limits; /* owned */
	size_t limits_count;
	char **program; /* after "--"; NULL: none */
	struct match_map *map;
	struct compare_files files;
	struct turns turns;
	struct baseline baseline;
	struct compare_sides base, changed;
	bool has_default; /* no limit was given */
};

/* Whether base differs from new by its command or environment. */
static inline bool gate_job_has_own_base(const struct gate_values *values)
{
	return values->base_cmd || values->base_env.count || values->new_env.count;
}

/* Print the reason. Return the status of a failure. */
int gate_job_no_memory(const struct gate_job *job);
int gate_job_print_reason(const struct gate_job *job);

/* Adds the limit of the main loop, if no limit was given and all runs have a loop. A status. */
int gate_job_add_default(struct gate_job *job);
/* Compares the recordings, applies the limits and writes the result. A status. */
int gate_job_judge(struct gate_job *job);
/* Writes the result without an accepted recording, and accepts the first ones. A status. */
int gate_job_report_no_base(struct gate_job *job);
