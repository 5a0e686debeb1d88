/* SPDX-License-Identifier: MIT
 *
 * analyze/text/failures.c - findings of calls and commands that failed
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     failures of a finished analysis
 * Gives:    a finding for each function and error
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why not all calls: some fail in correct programs, which query absent devices.
 */
#include <errno.h>
#include <string.h>

#include "analyze/text/findings_private.h"
#include "analyze/verdict/verdict.h"
#include "base/array.h"

/* Whether this HIP function launches. If it fails, the trace has no launch row for it, only a
 * call. */
static bool is_hip_launch(const char *function)
{
#define HIP_CALL(number, name, ...)
#define HIP_WAIT(number, name, ...)
#define HIP_LAUNCH(number, name, ...)   #name,
#define HIP_COPY(number, name, ...)     #name,
#define HIP_COPY_NOW(number, name, ...) #name,
#define HIP_OTHER_SYMBOL(name, symbol, version)
	static const char *const names[] = {
#include "abi/hip_calls.h"
	};

	for (size_t i = 0; i < ARRAY_COUNT(names); i++)
		if (strcmp(function, names[i]) == 0)
			return true;
	return false;
}

/* By the start of the function's name. All others are in the table of the verdict's kinds. */
static const struct {
	const char *begin;
	enum finding_kind kind;
} failing_calls[] = {
	{"clCreateKernel", FINDING_FAILED_BUILDS},
	{"zeKernelCreate", FINDING_FAILED_BUILDS},
	{"zeCommandListAppend", FINDING_FAILED_LAUNCHES},
	{"zeCommandQueueExecuteCommandLists", FINDING_FAILED_LAUNCHES},
};

/* FINDING_COUNT: none. Other calls fail in correct programs too, such as queries for absent devices
 * and for the size of a log. */
static enum finding_kind kind_of_call(const char *function)
{
	for (size_t i = 0; i < ARRAY_COUNT(failing_calls); i++)
		if (strncmp(function, failing_calls[i].begin, strlen(failing_calls[i].begin)) == 0)
			return failing_calls[i].kind;
	if (strstr(function, "Get"))
		return FINDING_COUNT;
	if (verdict_is_build(function))
		return FINDING_FAILED_BUILDS;
	return verdict_kind_of_call(function) == VERDICT_ALLOCATION ? FINDING_FAILED_ALLOCATIONS
								    : FINDING_COUNT;
}

/* The kind of finding for a failure; FINDING_COUNT: none. */
static enum finding_kind kind_of_failure(const struct analysis_failure *failure)
{
	if (failure->kind == FAILURE_COMMAND)
		return FINDING_FAILED_COMMANDS;
	if (failure->kind == FAILURE_LAUNCH || is_hip_launch(failure->name))
		return FINDING_FAILED_LAUNCHES;
	return kind_of_call(failure->name);
}

static bool find_failure(const struct analysis_failure *failure, struct finding *finding)
{
	finding->kind = kind_of_failure(failure);
	if (finding->kind == FINDING_COUNT)
		return false;
	finding->failure = failure;
	finding_add_number(finding, "count", failure->count);
	return true;
}

int findings_add_failures(const struct analysis *analysis, struct findings *findings)
{
	for (size_t i = 0; i < analysis->program.failures_count; i++) {
		struct finding found = {.device = FINDING_NO_DEVICE};

		if (find_failure(&analysis->program.failures[i], &found) &&
		    findings_append(findings, &found))
			return -ENOMEM;
	}
	return 0;
}
