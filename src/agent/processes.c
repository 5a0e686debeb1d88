/* SPDX-License-Identifier: MIT
 *
 * agent/processes.c - which processes the recorder records, and what it adds to their rows
 *
 * Runs in:  the agent's recorder
 * Gets:     processes whose guests say hello
 * Gives:    whether they are recorded; labels and sampled times of their rows
 * Owns:     the labels' cache, the policy, names of users
 * Fails:    never; a process that cannot be read has empty texts
 * Why:      the program stands still until its guest is answered, so a filter reads only the files
 *           that its patterns need
 */
#include "agent/processes.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/text/cgroup.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "collect/host_clocks.h"
#include "collect/proc.h"
#include "event/event.h"
#include "trace/writer.h"

enum { MAX_PROC_BYTES = 1 << 16 };

/* A part of less than a second is not worth a mark. */
#define MARKED_NS UINT64_C(1000000000)
/* Between two looks for ended processes while the policy is full. */
#define FULL_NS   UINT64_C(10000000000)

int agent_processes_init(struct agent_processes *processes, const struct agent_settings *settings,
			 struct agent_status *status, struct agent_seen *seen)
{
	const struct policy_options policy = {settings->sample_ns, settings->sample_interval_ns};

	*processes = (struct agent_processes){.settings = settings, .status = status, .seen = seen};
	policy_init(&processes->policy, &policy);
	return label_cache_new("", &processes->labels);
}

void agent_processes_fini(struct agent_processes *processes)
{
	label_cache_free(processes->labels);
	policy_fini(&processes->policy);
}

/* ---- texts of a process ---------------------------------------------------------------------- */

/* Reads /proc/PID/NAME; "" if it cannot be read. The caller frees it. ret_size may be NULL. */
static char *read_proc(uint32_t pid, const char *name, size_t *ret_size)
{
	char path[64], *text = NULL;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	if (read_file(path, MAX_PROC_BYTES, &text, ret_size)) {
		error_clear();
		if (ret_size)
			*ret_size = 0;
		return strdup("");
	}
	return text;
}

/* The arguments, with a blank between two of them. */
static char *read_arguments(uint32_t pid)
{
	size_t size;
	char *text = read_proc(pid, "cmdline", &size);

	/* The last argument ends with a null byte too. */
	for (size_t i = 0; text && i + 1 < size; i++)
		if (!text[i])
			text[i] = ' ';
	return text;
}

static char *read_command(uint32_t pid)
{
	char *text = read_proc(pid, "comm", NULL);

	if (text)
		text[strcspn(text, "\n")] = '\0';
	return text;
}

static char *read_cgroup(uint32_t pid)
{
	char *text = read_proc(pid, "cgroup", NULL);

	if (text) {
		proc_keep_group(text);
		text[strcspn(text, "\n")] = '\0';
	}
	return text;
}

/* The user's name, or the number where there is no name. */
static const char *name_user(struct agent_processes *processes, uint32_t uid)
{
	struct agent_user_name *user = &processes->users[uid % AGENT_USERS];
	const struct passwd *entry;

	if (user->name[0] && user->uid == uid)
		return user->name;
	entry = getpwuid(uid);
	user->uid = uid;
	if (entry)
		snprintf(user->name, sizeof(user->name), "%s", entry->pw_name);
	else
		snprintf(user->name, sizeof(user->name), "%u", uid);
	return user->name;
}

static bool is_accepted(struct agent_processes *processes, uint32_t pid, uint32_t uid)
{
	const struct agent_filter *filter = &processes->settings->filter;
	const bool needs_command = agent_filter_needs(filter, AGENT_COMMAND);
	const bool needs_cgroup = agent_filter_needs(filter, AGENT_CGROUP);
	const bool needs_arguments = agent_filter_needs(filter, AGENT_ARGUMENTS);
	auto_free char *arguments = needs_arguments ? read_arguments(pid) : NULL;
	auto_free char *command = needs_command ? read_command(pid) : NULL;
	auto_free char *cgroup = needs_cgroup ? read_cgroup(pid) : NULL;
	const struct agent_subject subject = {
		{[AGENT_COMMAND] = command ? command : "",
		 [AGENT_ARGUMENTS] = arguments ? arguments : "",
		 [AGENT_CGROUP] = cgroup ? cgroup_path_of(cgroup) : "",
		 [AGENT_USER] =
			 agent_filter_needs(filter, AGENT_USER) ? name_user(processes, uid) : ""}};

	return !filter->rules_count || agent_filter_accepts(filter, &subject);
}

/* A full policy looks for ended processes at once, but seldom: it reads a file for each. */
static bool is_sampled(struct agent_processes *processes, uint32_t pid, bool is_recorded)
{
	struct policy *policy = &processes->policy;
	const uint64_t now_ns = host_clocks_now_ns(), refused = policy->refused;
	bool is_wanted;

	if (policy_is_full(policy) && now_ns >= processes->next_forget_ns) {
		processes->next_forget_ns = now_ns + FULL_NS;
		agent_processes_forget(processes);
	}
	is_wanted = policy_wants(policy, pid, proc_start_ticks(pid), is_recorded, now_ns);
	STATUS_ADD(processes->status->counts.refused_full, policy->refused - refused);
	return is_wanted;
}

/* ---- counts of processes --------------------------------------------------------------------- */

/* Whether this is the first time. A process that is attached again, after a reload or by a new
 * recorder, counts once. */
static bool is_first(struct agent_processes *processes, uint32_t pid, uint64_t start_ticks,
		     enum agent_seen_as how)
{
	struct agent_seen_process *slot = &processes->seen->all[pid % AGENT_SEEN];

	if (slot->pid != pid || slot->start_ticks != start_ticks)
		*slot = (struct agent_seen_process){.pid = pid, .start_ticks = start_ticks};
	if (slot->seen_as & how)
		return false;
	slot->seen_as |= how;
	return true;
}

/* ---- callbacks ------------------------------------------------------------------------------- */

bool agent_processes_want(void *context, pid_t pid, uid_t uid, bool is_recorded)
{
	struct agent_processes *processes = context;
	const uint32_t number = (uint32_t)pid;
	/* A recorded process was accepted; an exec says hello again. */
	bool is_wanted = is_recorded || is_accepted(processes, number, uid);

	if (is_wanted && processes->settings->sample_ns)
		is_wanted = is_sampled(processes, number, is_recorded);
	if (!is_wanted && !is_recorded &&
	    is_first(processes, number, proc_start_ticks(number), SEEN_REFUSED))
		STATUS_ADD(processes->status->counts.refused, 1);
	return is_wanted;
}

static void set_labels(struct agent_processes *processes, struct trace_writer *writer,
		       struct event_process *row)
{
	auto_free char *cgroup = read_cgroup(row->pid);
	struct labels labels;
	char text[LABELS_TEXT];

	if (!cgroup)
		return;
	labels_find(processes->labels, cgroup_path_of(cgroup), &labels);
	labels_format(&labels, text, sizeof(text));
	row->labels_string = trace_writer_string(writer, text, strlen(text));
}

void agent_processes_describe(void *context, struct trace_writer *writer, struct event_process *row,
			      bool is_new)
{
	struct agent_processes *processes = context;
	struct policy_times times;

	if (is_new) {
		if (is_first(processes, row->pid, row->start_ticks, SEEN_RECORDED))
			STATUS_ADD(processes->status->counts.processes, 1);
		set_labels(processes, writer, row);
	}
	if (!policy_find_times(&processes->policy, row->pid, row->start_ticks, host_clocks_now_ns(),
			       &times) ||
	    !times.recorded_ns || times.observed_ns < times.recorded_ns + MARKED_NS)
		return;
	row->observed_ns = times.observed_ns;
	row->sampled_ns = times.recorded_ns;
}

static bool is_alive(uint32_t pid, uint64_t start_ticks)
{
	return proc_start_ticks(pid) == start_ticks;
}

void agent_processes_forget(struct agent_processes *processes)
{
	policy_forget(&processes->policy, is_alive);
}
