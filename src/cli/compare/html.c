/* SPDX-License-Identifier: MIT
 *
 * cli/compare/html.c - writes the pages of duet diff
 *
 * Runs in:  our own process
 * Gets:     a comparison or a history
 * Gives:    an HTML file
 * Owns:     the document during the call
 * Fails:    with a message and status 1
 * Why the JSON document is the data of the page: the page and a script then read the same numbers
 */
#include "cli/compare/html.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/string.h"
#include "cli/command.h"
#include "cli/output.h"
#include "page/diff/document.h"
#include "report/diff/diff.h"
#include "report/series/series.h"

struct page_job {
	enum document_page page;
	struct document_about about;
	struct string_builder json;
};

static int write_page(void *context, FILE *out)
{
	const struct page_job *job = context;

	return document_page_write(job->page, &job->about, string_builder_text(&job->json),
				   job->json.length, out);
}

static int write_job(const struct cli_command *command, struct page_job *job, const char *path,
		     int json_failure)
{
	int error = json_failure ? error_set(json_failure, "write '%s': %s", path,
					     strerror(-json_failure))
				 : output_write(path, write_page, job);

	string_builder_fini(&job->json);
	if (error)
		return print_failure(command);
	output_announce(path, "open it in a browser");
	return STATUS_DONE;
}

int diff_html_write(const struct cli_command *command, const struct diff_report *report,
		    const char *path)
{
	const struct comparison *comparison = report->comparison;
	struct page_job job = {
		.page = PAGE_DIFF,
		.about = {.version = DUET_VERSION,
			  .per = comparison->options.is_per_iteration ? "iteration" : "run",
			  .base_units = comparison->base.units,
			  .changed_units = comparison->changed.units}};
	struct json_writer json;

	json_init_text(&json, &job.json);
	diff_write_json(report, &json);
	return write_job(command, &job, path, json_error(&json));
}

int series_html_write(const struct cli_command *command, const struct series_report *report,
		      const char *path)
{
	struct page_job job = {.page = PAGE_SERIES, .about = {.version = DUET_VERSION}};
	struct json_writer json;

	json_init_text(&json, &job.json);
	series_write_json(report, &json);
	return write_job(command, &job, path, json_error(&json));
}
