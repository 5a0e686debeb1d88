/* SPDX-License-Identifier: MIT
 *
 * cli/agent/setup.c - read the configuration of `duet agent`
 *
 * Runs in:  our own process
 * Gets:     a configuration file, as of `duet record -c`, with a group `agent`
 * Gives:    the settings of an agent and the options of its sessions
 * Owns:     the texts of the file
 * Fails:    -EINVAL after printing every mistake with its place
 * Why:      the file is read as `duet record -a -c FILE` reads it, so each collector and option
 * works in an agent as in a recording
 */
#include "cli/agent/setup.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/user.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/string.h"

#define DEFAULT_CONFIG "/etc/duet/agent.textproto"

enum { PATH_TEXT = 64 };

struct agent_values {
	const char *spool, *runtime, *user;
	uint64_t max_disk_bytes, max_age_ns, segment_ns, segment_bytes, sample_ns,
		sample_interval_ns;
};

/* Fields of the group, with _ instead of -. */
static const struct option_row agent_rows[] = {
	{"spool", 0, OPTION_OUTPUT, "DIR", NULL, offsetof(struct agent_values, spool)},
	{"runtime", 0, OPTION_OUTPUT, "DIR", NULL, offsetof(struct agent_values, runtime)},
	{"user", 0, OPTION_TEXT, "NAME", NULL, offsetof(struct agent_values, user)},
	{"max-disk", 0, OPTION_SIZE, "N", NULL, offsetof(struct agent_values, max_disk_bytes)},
	{"max-age", 0, OPTION_SPAN, "T", NULL, offsetof(struct agent_values, max_age_ns)},
	{"segment-time", 0, OPTION_SPAN, "T", NULL, offsetof(struct agent_values, segment_ns)},
	{"segment-size", 0, OPTION_SIZE, "N", NULL, offsetof(struct agent_values, segment_bytes)},
	{"sample", 0, OPTION_SPAN, "T", NULL, offsetof(struct agent_values, sample_ns)},
	{"sample-interval", 0, OPTION_SPAN, "T", NULL,
	 offsetof(struct agent_values, sample_interval_ns)},
	{NULL},
};

/* Limits of a value, and its default. */
static const struct agent_limit {
	const char *field;
	size_t offset;
	uint64_t usual, least;
	const char *why;
} limits[] = {
	{"agent.max_disk", offsetof(struct agent_values, max_disk_bytes), UINT64_C(1) << 30,
	 AGENT_MIN_DISK, "at least 16M, for the ring and a few recordings"},
	{"agent.max_age", offsetof(struct agent_values, max_age_ns), 0, 0, NULL},
	{"agent.segment_time", offsetof(struct agent_values, segment_ns),
	 UINT64_C(300) * 1000000000, AGENT_MIN_SEGMENT_NS, "at least 1s"},
	{"agent.segment_size", offsetof(struct agent_values, segment_bytes), UINT64_C(64) << 20,
	 AGENT_MIN_SEGMENT, "at least 1M"},
	{"agent.sample", offsetof(struct agent_values, sample_ns), 0, 1000000000, "at least 1s"},
	{"agent.sample_interval", offsetof(struct agent_values, sample_interval_ns),
	 UINT64_C(3600) * 1000000000, 1000000000, "at least 1s"},
};

#define USUAL_MEMORY (UINT64_C(128) << 20)

const char *agent_default_config(void)
{
	return access(DEFAULT_CONFIG, R_OK) == 0 ? DEFAULT_CONFIG : NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

static int refuse(const struct agent_loaded *loaded, const struct config_value *value,
		  const char *text)
{
	const struct request *request = &loaded->request;
	char line[sizeof(struct shown) + 1200];

	snprintf(line, sizeof(line), "%s: '%s' %s", option_file_place(&request->file, value).text,
		 value->path, text);
	error_clear();
	print_error(request->command->name, line);
	return -EINVAL;
}

static int apply_row(struct agent_loaded *loaded, const struct option_row *row,
		     struct agent_values *values)
{
	const struct config_value *value;
	char path[PATH_TEXT];

	snprintf(path, sizeof(path), "agent.%s", row->name);
	for (char *at = path; *at; at++)
		if (*at == '-')
			*at = '_';
	value = option_file_next(&loaded->request.file, path, NULL);
	return value && option_set(row, value->text, values) ? refuse(loaded, value, error_text())
							     : 0;
}

static int check_limit(struct agent_loaded *loaded, const struct agent_limit *limit,
		       struct agent_values *values)
{
	uint64_t *number = (uint64_t *)((char *)values + limit->offset);
	char text[256];

	if (*number == OPTION_UNSET) {
		*number = limit->usual;
		return 0;
	}
	if (*number >= limit->least)
		return 0;
	snprintf(text, sizeof(text), "must be %s", limit->why);
	return refuse(loaded, option_file_next(&loaded->request.file, limit->field, NULL), text);
}

/* Refuses a value that another one makes senseless. The place is that of the first field that the
 * file has. */
static int refuse_pair(const struct agent_loaded *loaded, const char *field, const char *other,
		       const char *text)
{
	const struct option_file *file = &loaded->request.file;
	const struct config_value *value = option_file_next(file, field, NULL);

	return refuse(loaded, value ? value : option_file_next(file, other, NULL), text);
}

static int check_pairs(const struct agent_loaded *loaded, const struct agent_values *values)
{
	const struct config_value *user =
		option_file_next(&loaded->request.file, "agent.user", NULL);
	const bool has_size = option_file_next(&loaded->request.file, "agent.segment_size", NULL);
	struct agent_user found;

	if (values->sample_ns > values->sample_interval_ns)
		return refuse_pair(
			loaded, "agent.sample", "agent.sample_interval",
			"must be at most 'agent.sample_interval', which is 1h by default");
	/* A small max_disk makes the default size smaller. */
	if (has_size && values->max_disk_bytes && values->segment_bytes > values->max_disk_bytes)
		return refuse_pair(loaded, "agent.segment_size", "agent.max_disk",
				   "must be at most 'agent.max_disk', which is 1G by default");
	if (user && agent_user_find(values->user, &found))
		return refuse(loaded, user, error_text());
	return 0;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static int add_pattern(struct agent_loaded *loaded, const struct config_value *value)
{
	const char *name = strrchr(value->path, '.') + 1;

	for (enum agent_field field = 0; field < AGENT_FIELDS; field++)
		if (strcmp(name, agent_field_name(field)) == 0)
			return agent_filter_add_pattern(&loaded->setup.settings.filter, field,
							value->text);
	return 0;
}

/* A value for the group itself begins a rule; its fields follow. */
static int read_rules(struct agent_loaded *loaded, const char *group, bool excludes)
{
	const struct config_value *value = NULL;
	int error = 0;

	while (!error && (value = option_file_next(&loaded->request.file, group, value)))
		error = strcmp(value->path, group) == 0
				? agent_filter_add_rule(&loaded->setup.settings.filter, excludes)
				: add_pattern(loaded, value);
	return error;
}

/* ---- folders --------------------------------------------------------------------------------- */

static char *join(const char *folder, const char *name)
{
	struct string_builder path = {0};

	string_builder_appendf(&path, "%s/%s", folder, name);
	return string_builder_take(&path);
}

static char *usual_spool(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (geteuid() == 0)
		return strdup("/var/lib/duet/spool");
	if (state && *state == '/')
		return join(state, "duet/spool");
	return join(home && *home ? home : ".", ".local/state/duet/spool");
}

static char *usual_runtime(const char *spool)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (geteuid() == 0)
		return strdup("/run/duet-agent");
	return runtime && *runtime == '/' ? join(runtime, "duet-agent") : strdup(spool);
}

char *agent_usual_runtime(const char *spool)
{
	auto_free char *usual = spool ? NULL : usual_spool();

	spool = spool ? spool : usual;
	return spool ? usual_runtime(spool) : NULL;
}

/* A folder that is there already must be one. */
static int check_folder(const struct agent_loaded *loaded, const char *field, const char *path)
{
	const struct config_value *value = option_file_next(&loaded->request.file, field, NULL);
	struct stat status;
	char text[256];
	const bool is_there = stat(path, &status) == 0;

	if (is_there ? S_ISDIR(status.st_mode) : errno != ENOTDIR)
		return 0;
	snprintf(text, sizeof(text), "must be a folder, and '%.150s' is %s", path,
		 is_there ? "a file" : "below a file");
	if (value)
		return refuse(loaded, value, text);
	error_set(-ENOTDIR, "'%s' %s", field, text);
	print_error(loaded->request.command->name, NULL);
	return -EINVAL;
}

static int set_folders(struct agent_loaded *loaded, const struct agent_values *values)
{
	struct agent_settings *settings = &loaded->setup.settings;

	loaded->spool = values->spool ? NULL : usual_spool();
	settings->spool = values->spool ? values->spool : loaded->spool;
	if (!values->runtime && settings->spool)
		loaded->runtime = usual_runtime(settings->spool);
	settings->runtime = values->runtime ? values->runtime : loaded->runtime;
	if (!settings->runtime)
		return error_no_memory();
	return check_folder(loaded, "agent.spool", settings->spool) ||
			       check_folder(loaded, "agent.runtime", settings->runtime)
		       ? -EINVAL
		       : 0;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int fill_settings(struct agent_loaded *loaded)
{
	struct agent_settings *settings = &loaded->setup.settings;
	struct agent_values values = {0};
	int error = 0;

	options_clear(agent_rows, &values);
	for (const struct option_row *row = agent_rows; row->name && !error; row++)
		error = apply_row(loaded, row, &values);
	for (size_t i = 0; i < ARRAY_COUNT(limits) && !error; i++)
		error = check_limit(loaded, &limits[i], &values);
	if (!error)
		error = check_pairs(loaded, &values);
	if (!error)
		error = read_rules(loaded, "agent.include", false);
	if (!error)
		error = read_rules(loaded, "agent.exclude", true);
	if (!error)
		error = set_folders(loaded, &values);
	settings->user = values.user;
	settings->max_disk_bytes = values.max_disk_bytes;
	settings->max_age_ns = values.max_age_ns;
	settings->segment_ns = values.segment_ns;
	settings->segment_bytes = values.segment_bytes;
	settings->sample_ns = values.sample_ns;
	settings->sample_interval_ns = values.sample_interval_ns;
	settings->max_memory_bytes = loaded->setup.session.memory_bytes
					     ? loaded->setup.session.memory_bytes
					     : USUAL_MEMORY;
	return error;
}

static int read_endpoints(struct agent_loaded *loaded)
{
	const struct option_file *file = &loaded->request.file;
	int error = endpoints_options_init(&loaded->endpoints);

	if (!error && file->config)
		error = endpoints_options_read(&loaded->endpoints, file->config, file->path);
	if (error)
		print_error(loaded->request.command->name, NULL);
	loaded->setup.endpoints = &loaded->endpoints;
	return error;
}

/* An agent without them would wait for nothing. */
static int refuse_triggers(const struct agent_loaded *loaded)
{
	const struct config_value *value = option_file_next(&loaded->request.file, "trigger", NULL);

	return value ? refuse(loaded, value,
			      "does not work in duet agent, which keeps all of the time; remove "
			      "it, or use duet record --trigger")
		     : 0;
}

/* Fields of the file that the agent decides itself. */
static const struct agent_ignored {
	const char *field, *why;
} ignored_fields[] = {
	{"output", "the files of an agent are in 'agent.spool'"},
	{"command", "an agent starts no program"},
	{"pid", "an agent records all processes; choose them with 'agent.include'"},
	{"user", "an agent starts no program; the recorder's user is 'agent.user'"},
	{"preload", "an agent starts no program"},
	{"duration", "an agent records until it is ended"},
	{"keep", "the age of files is limited by 'agent.max_age'"},
	{"max_size", "the size of the spool is limited by 'agent.max_disk'"},
	{"archive", "an agent copies no symbol files; see duet-archive(1)"},
	{"verbose", "duet agent status prints what an agent does"},
};

static void print_ignored(const struct cli_command *command, const char *path,
			  const struct config_value *value, const char *why)
{
	struct option_file file = {.path = path};
	char line[sizeof(struct shown) + 512];

	snprintf(line, sizeof(line), "%s: '%s' is ignored: %s",
		 option_file_place(&file, value).text, value->path, why);
	print_error(command->name, line);
}

/* The file is read once more: the values of a loaded one were replaced by an agent's. */
void agent_print_ignored(const struct cli_command *command, const char *path)
{
	struct config_report report = {.count = 0};
	struct config *config = NULL;
	const struct config_value *value;

	if (!path || config_open(path, &report, &config)) {
		error_clear();
		return;
	}
	for (size_t i = 0; i < ARRAY_COUNT(ignored_fields); i++) {
		value = config_next(config, ignored_fields[i].field, NULL);
		if (value)
			print_ignored(command, path, value, ignored_fields[i].why);
	}
	value = config_next(config, "all", NULL);
	if (value && strcmp(value->text, "true") != 0)
		print_ignored(command, path, value, "an agent records all processes");
	config_close(config);
}

/* Opening a FIFO waits for a writer, perhaps for ever, and a reload could not read it again. */
static int refuse_fifo(const struct cli_command *command, const char *config)
{
	struct stat status;

	if (!config || stat(config, &status) || !S_ISFIFO(status.st_mode))
		return 0;
	error_set(-EINVAL,
		  "'%s': is a FIFO; the configuration must be a file, because a reload "
		  "reads it again",
		  config);
	print_error(command->name, NULL);
	return -EINVAL;
}

static int load(struct agent_loaded *loaded, const struct cli_command *command, const char *config)
{
	char name[] = "agent", all[] = "--all", option[] = "--config";
	char *words[] = {name, all, option, (char *)(uintptr_t)config, NULL};
	int status;

	if (refuse_fifo(command, config))
		return -EINVAL;
	if (!request_read(&loaded->request, command, config ? 4 : 2, words, &status) ||
	    request_fill(&loaded->request, loaded->pids, &loaded->setup.session))
		return -EINVAL;
	if (refuse_triggers(loaded) || fill_settings(loaded) || read_endpoints(loaded))
		return -EINVAL;
	request_find_guests(&loaded->setup.session, loaded->guests);
	if (session_check(&loaded->setup.session)) {
		print_error(command->name, NULL);
		return -EINVAL;
	}
	return 0;
}

int agent_loaded_new(const struct cli_command *command, const char *config,
		     struct agent_loaded **ret_loaded)
{
	struct agent_loaded *loaded = calloc(1, sizeof(*loaded));
	int error = loaded ? load(loaded, command, config) : error_no_memory();

	if (error) {
		agent_loaded_free(loaded);
		return error;
	}
	*ret_loaded = loaded;
	return 0;
}

void agent_loaded_free(struct agent_loaded *loaded)
{
	if (!loaded)
		return;
	agent_filter_fini(&loaded->setup.settings.filter);
	for (size_t i = 0; i < MAX_COLLECTORS; i++)
		free(loaded->guests[i]);
	free(loaded->spool);
	free(loaded->runtime);
	endpoints_options_fini(&loaded->endpoints);
	request_fini(&loaded->request);
	free(loaded);
}
