/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_agent.c - duet agent: record continuously, print how an agent is doing, list files
 *
 * Runs in:  our own process, as the agent
 * Gets:     the command line, a configuration file
 * Gives:    a spool of recordings; the status, or a list of recordings, on stdout
 * Owns:     nothing
 * Fails:    with status 1 if the agent cannot start, or if none runs; with status 2 for wrong usage
 *           and mistakes in the configuration
 * Why:      messages go to stderr as they are: a service manager adds the time
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/status.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/format.h"
#include "cli/agent/files.h"
#include "cli/agent/folders.h"
#include "cli/agent/print.h"
#include "cli/agent/setup.h"
#include "cli/command.h"

struct agent_command_values {
	const char *config, *runtime, *spool;
	uint64_t since_ns;
	bool check, json;
};

static const struct option_row agent_options[] = {
	{"config", 'c', OPTION_TEXT, "FILE",
	 "configuration (default /etc/duet/agent.textproto; man duet-config)",
	 offsetof(struct agent_command_values, config)},
	{"check", 0, OPTION_FLAG, NULL, "check the configuration and record nothing",
	 offsetof(struct agent_command_values, check)},
	{"json", 0, OPTION_FLAG, NULL, "status: print one JSON document (schema duet.agent/1)",
	 offsetof(struct agent_command_values, json)},
	{"runtime", 0, OPTION_TEXT, "DIR",
	 "status: folder of the agent's status (default: that of the configuration)",
	 offsetof(struct agent_command_values, runtime)},
	{"spool", 0, OPTION_TEXT, "DIR",
	 "files: folder of the recordings (default: that of the configuration)",
	 offsetof(struct agent_command_values, spool)},
	{"since", 0, OPTION_SPAN, "T", "files: only those that ended in this time before now",
	 offsetof(struct agent_command_values, since_ns)},
	{NULL},
};

/* The options of a recording under the name of this verb, for request_read. */
static const struct cli_command recording_command = {.name = "agent", .options = request_options};

static int load(void *context, struct agent_setup **ret_setup)
{
	struct agent_loaded *loaded;
	int error = agent_loaded_new(&recording_command, context, &loaded);

	if (error)
		return error;
	agent_print_ignored(&recording_command, context);
	*ret_setup = &loaded->setup;
	return 0;
}

static void unload(void *context, struct agent_setup *setup)
{
	/* the setup is the first member */
	agent_loaded_free((struct agent_loaded *)setup);
}

static void print_message(void *context, const char *text)
{
	fprintf(stderr, "duet agent: %s\n", format_text(text).text);
}

static int check_config(const char *config)
{
	struct agent_loaded *loaded;

	if (agent_loaded_new(&recording_command, config, &loaded))
		return STATUS_USAGE;
	agent_print_ignored(&recording_command, config);
	printf("%s: the configuration is valid\n", config ? config : "defaults");
	agent_loaded_free(loaded);
	return STATUS_DONE;
}

static int run_agent_process(const struct cli_command *command, const char *config)
{
	const struct agent_options options = {.version = DUET_VERSION,
					      .config = config ? config : "",
					      .load = load,
					      .unload = unload,
					      .on_message = print_message,
					      .context = (void *)(uintptr_t)config};
	struct agent_loaded *loaded;

	/* A mistake in the file is wrong usage; it is printed here. */
	if (agent_loaded_new(&recording_command, config, &loaded))
		return STATUS_USAGE;
	agent_loaded_free(loaded);
	return agent_run(&options) ? print_failure(command) : STATUS_DONE;
}

static int print_status(const struct cli_command *command,
			const struct agent_command_values *values)
{
	auto_free char *runtime = values->runtime
					  ? strdup(values->runtime)
					  : agent_find_runtime(&recording_command, values->config);
	struct agent_status status;
	bool is_running;

	if (!runtime || agent_status_read(runtime, &status, &is_running))
		return print_failure(command);
	if (!values->json)
		agent_print_text(&status, is_running);
	else if (agent_print_json(&status, is_running))
		return print_failure(command);
	return is_running ? STATUS_DONE : STATUS_FAILED;
}

static int print_files(const struct cli_command *command, const struct agent_command_values *values)
{
	auto_free char *spool = values->spool
					? strdup(values->spool)
					: agent_find_spool(&recording_command, values->config);

	if (!spool || agent_print_files(spool, values->since_ns))
		return print_failure(command);
	return STATUS_DONE;
}

/* The arguments after the options. */
static const struct agent_action {
	const char *name;
	int (*run)(const struct cli_command *command, const struct agent_command_values *values);
	bool takes_status, takes_files; /* its options */
} actions[] = {{"status", print_status, true, false}, {"files", print_files, false, true}};

static int run_action(const struct cli_command *command, const char *name,
		      const struct agent_command_values *values)
{
	const bool has_status = values->json || values->runtime;
	const bool has_files = values->spool || values->since_ns;

	for (size_t i = 0; i < ARRAY_COUNT(actions); i++) {
		const struct agent_action *action = &actions[i];

		if (strcmp(action->name, name) != 0)
			continue;
		if (values->check)
			return usage_error(command, "--check does not go with %s", name);
		if (has_status && !action->takes_status)
			return usage_error(command,
					   "--json and --runtime are for 'duet agent status'");
		if (has_files && !action->takes_files)
			return usage_error(command,
					   "--spool and --since are for 'duet agent files'");
		return action->run(command, values);
	}
	return usage_error(command, "unknown argument '%s'; there are: status, files", name);
}

static int run_agent(const struct cli_command *command, int argc, char **argv)
{
	struct agent_command_values values;
	int first;

	options_clear(agent_options, &values);
	first = options_parse(command, argc, argv, false, &values);
	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	if (!values.config)
		values.config = agent_default_config();
	if (values.since_ns == OPTION_UNSET)
		values.since_ns = 0;
	if (first + 1 < argc)
		return usage_error(command, "unknown argument '%s'; there are: status, files",
				   argv[argc - 1]);
	if (first < argc)
		return run_action(command, argv[first], &values);
	if (values.json || values.runtime)
		return usage_error(command, "--json and --runtime are for 'duet agent status'");
	if (values.spool || values.since_ns)
		return usage_error(command, "--spool and --since are for 'duet agent files'");
	return values.check ? check_config(values.config)
			    : run_agent_process(command, values.config);
}

const struct cli_command command_agent = {
	.name = "agent",
	.arguments = "[-c FILE] [--check] | status [-c FILE | --runtime DIR] [--json] | "
		     "files [-c FILE | --spool DIR] [--since T]",
	.summary = "record continuously into a bounded folder",
	.run = run_agent,
	.options = agent_options,
};
