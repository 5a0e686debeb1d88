/* SPDX-License-Identifier: MIT
 *
 * cli/record/trigger_request.c - check the options of `duet record` about triggers
 *
 * Runs in:  our own process, before a recording
 * Gets:     the values of the command line and of the configuration file
 * Gives:    parsed expressions, with the defaults of the other options
 * Owns:     the expressions
 * Fails:    -EINVAL with the mistake in the error chain, and the name of its option
 * Why --keep has a default here: without it the recording would grow without a limit while it waits
 *           for something rare
 */
#include "cli/record/trigger_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/record/output_name.h"

enum { DEFAULT_FILES = 10, MAX_FILES = 10000 };
#define DEFAULT_KEEP_NS  UINT64_C(30000000000)
#define DEFAULT_AFTER_NS UINT64_C(1000000000)
#define MIN_KEEP_NS      UINT64_C(1000000000)

void trigger_request_fini(struct trigger_request *triggers)
{
	free(triggers->exprs);
	*triggers = (struct trigger_request){0};
}

static uint64_t value_or(uint64_t value, uint64_t otherwise)
{
	return value == OPTION_UNSET ? otherwise : value;
}

/* The first option that needs --trigger; NULL: none is given. */
static const char *find_orphan(const struct trigger_values *values)
{
	if (values->after_ns != OPTION_UNSET)
		return "trigger-after";
	if (values->interval_ns != OPTION_UNSET)
		return "trigger-interval";
	if (values->max_files != OPTION_UNSET)
		return "trigger-max";
	if (values->output)
		return "trigger-output";
	return values->command ? "trigger-run" : NULL;
}

static int parse_exprs(const struct option_texts *texts, struct trigger_request *triggers)
{
	int error = 0;

	triggers->exprs = calloc(texts->count, sizeof(*triggers->exprs));
	if (!triggers->exprs)
		return error_set(-ENOMEM, "out of memory");
	for (size_t i = 0; i < texts->count && !error; i++)
		error = trigger_expr_parse(texts->texts[i], &triggers->exprs[i]);
	return error;
}

static int check_output(const struct trigger_values *values)
{
	char *name;

	if (!values->output)
		return 0;
	if (!*values->output || (values->max_files != 1 && !strstr(values->output, "%n")))
		return error_set(-EINVAL,
				 "the name lacks %%n, so that one file would replace the other; "
				 "for example slow-%%n.duet");
	name = trigger_name_expand(values->output, "", 1);
	if (!name)
		return -EINVAL;
	free(name);
	return 0;
}

static int check_keep(uint64_t keep_ns)
{
	if (keep_ns >= MIN_KEEP_NS)
		return 0;
	return error_set(-EINVAL,
			 "at least 1 s with --trigger, whose files consist of half seconds");
}

static int check_max(uint64_t max_files)
{
	if (max_files == OPTION_UNSET || (max_files && max_files <= MAX_FILES))
		return 0;
	return error_set(-EINVAL, "from 1 to %d files", MAX_FILES);
}

static void fill_options(const struct trigger_values *values, uint64_t keep_ns,
			 struct trigger_request *triggers)
{
	struct triggers_options *options = &triggers->options;

	options->exprs = triggers->exprs;
	options->count = values->exprs.count;
	options->keep_ns = value_or(keep_ns, DEFAULT_KEEP_NS);
	options->after_ns = value_or(values->after_ns, DEFAULT_AFTER_NS);
	options->interval_ns = value_or(values->interval_ns, options->keep_ns + options->after_ns);
	options->max_files = (unsigned int)value_or(values->max_files, DEFAULT_FILES);
	options->pattern = values->output;
	options->command = values->command;
}

int trigger_request_read(const struct trigger_values *values, uint64_t keep_ns,
			 struct trigger_request *ret_triggers, const char **ret_option)
{
	int error;

	*ret_triggers = (struct trigger_request){0};
	*ret_option = find_orphan(values);
	if (!values->exprs.count && *ret_option)
		return error_set(-EINVAL,
				 "needs a --trigger, such as --trigger 'iteration > 3 x p99'");
	if (!values->exprs.count)
		return 0;
	*ret_option = "trigger";
	error = parse_exprs(&values->exprs, ret_triggers);
	if (!error) {
		*ret_option = "keep";
		error = check_keep(keep_ns);
	}
	if (!error) {
		*ret_option = "trigger-max";
		error = check_max(values->max_files);
	}
	if (!error) {
		*ret_option = "trigger-output";
		error = check_output(values);
	}
	fill_options(values, keep_ns, ret_triggers);
	return error;
}
