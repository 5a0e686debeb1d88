/* SPDX-License-Identifier: MIT
 *
 * cli/agent/folders.c - find the folders of an agent, also with a configuration that has mistakes
 *
 * Runs in:  our own process
 * Gets:     the path of a configuration
 * Gives:    the folders of status and recordings
 * Owns:     nothing
 * Fails:    NULL with the error chain, after printing the mistakes of the file
 * Why:      an agent goes on with its previous configuration when the new one has mistakes. The
 *           default folder may be that of another agent, or of none
 */
#include "cli/agent/folders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/status.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/agent/setup.h"
#include "config/config.h"

/* NULL: the file cannot be read, or the value is not there before the mistakes. */
static char *read_value(const char *path, const char *field)
{
	struct config_report report = {.count = 0};
	struct config *config = NULL;
	const struct config_value *value;
	char *text = NULL;

	if (!config_open_partly(path, &report, &config)) {
		value = config_next(config, field, NULL);
		text = value && *value->text ? strdup(value->text) : NULL;
	}
	error_clear();
	config_close(config);
	return text;
}

/* The agent that has this file, in the folder that an agent takes if the file names none. */
static char *find_usual_runtime(const char *config)
{
	auto_free char *spool = read_value(config, "agent.spool");
	auto_free char *runtime = agent_usual_runtime(spool);
	auto_free struct agent_status *status = malloc(sizeof(*status));
	bool is_running;

	if (runtime && status && !agent_status_read(runtime, status, &is_running) &&
	    strcmp(status->config, config) == 0)
		return take_ptr(runtime);
	error_set(-EINVAL,
		  "'%s': it has mistakes, and no 'runtime' could be read from it; name the folder "
		  "of the agent's status: duet agent status --runtime DIR",
		  config);
	return NULL;
}

char *agent_find_runtime(const struct cli_command *command, const char *config)
{
	struct agent_loaded *loaded;
	char *runtime;

	if (!agent_loaded_new(command, config, &loaded)) {
		runtime = strdup(loaded->setup.settings.runtime);
		agent_loaded_free(loaded);
		return runtime;
	}
	if (!config)
		return agent_usual_runtime(NULL);
	runtime = read_value(config, "agent.runtime");
	return runtime ? runtime : find_usual_runtime(config);
}

char *agent_find_spool(const struct cli_command *command, const char *config)
{
	struct agent_loaded *loaded;
	char *spool;

	if (!agent_loaded_new(command, config, &loaded)) {
		spool = strdup(loaded->setup.settings.spool);
		agent_loaded_free(loaded);
		return spool;
	}
	spool = config ? read_value(config, "agent.spool") : NULL;
	if (!spool)
		error_set(-EINVAL,
			  "'%s': it has mistakes, and no 'spool' could be read from it; name the "
			  "folder: duet agent files --spool DIR",
			  config ? config : "defaults");
	return spool;
}
