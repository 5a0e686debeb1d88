/* SPDX-License-Identifier: MIT
 *
 * analyze/text/about_json.c - writes the description of a recording into JSON formats
 *
 * Runs in:  our own process
 * Gets:     an analysis, a model
 * Gives:    JSON keys and values
 * Owns:     nothing
 * Fails:    with the errors of the JSON writer
 * Why in every JSON format: an exported file that is passed on without the report still lists its
 *           losses and the error bounds of its clocks
 */
#include "analyze/text/about_json.h"

#include "analyze/analysis.h"
#include "analyze/collectors.h"
#include "analyze/frames.h"
#include "analyze/model.h"
#include "base/json.h"

void json_about_recording(struct json_writer *json, const struct analysis *analysis,
			  const char *version)
{
	uint64_t realtime_ns;

	json_pair_text(json, "version", version);
	json_pair_text(json, "command", model_command(analysis->model));
	json_pair_bool(json, "complete", analysis_is_complete(analysis));
	json_pair_u64(json, "begin_ns", analysis->begin_ns);
	if (model_wall_clock(analysis->model, analysis->begin_ns, &realtime_ns))
		json_pair_u64(json, "realtime_ns", realtime_ns);
	json_pair_u64(json, "wall_ns", analysis->to_ns - analysis->from_ns);
}

static void write_clock(struct json_writer *json, const struct model *model,
			const struct clocks_domain *domain)
{
	const struct clock_certificate *certificate = &domain->certificate;

	json_line_begin(json);
	json_pair_u64(json, "id", domain->id);
	json_pair_text(json, "domain", clocks_name(model->clocks, model->reader, domain));
	json_pair_text(json, "method", clocks_method_name(certificate->method));
	json_pair_i64(json, "offset_ns", certificate->offset_ns);
	if (certificate->has_drift)
		json_pair_i64(json, "drift_ppb", certificate->drift_ppb);
	if (certificate->error_ns != UINT64_MAX)
		json_pair_u64(json, "error_ns", certificate->error_ns);
	json_pair_u64(json, "violations", certificate->violations);
	json_object_end(json);
}

void json_about_clocks(struct json_writer *json, const struct model *model)
{
	json_array_begin(json);
	for (size_t i = 0; i < clocks_count(model->clocks); i++)
		write_clock(json, model, clocks_at(model->clocks, i));
	json_array_end(json);
}

void json_about_collectors(struct json_writer *json, const struct model *model)
{
	const struct event_collector *rows;
	size_t count = model_entities(model, EVENT_COLLECTOR, &rows);

	json_array_begin(json);
	for (size_t i = 0; i < count; i++) {
		json_line_begin(json);
		json_pair_text(json, "name", model_text(model, rows[i].name_string, ""));
		json_pair_text(json, "state", collectors_state_name(rows[i].state));
		if (rows[i].reason_string)
			json_pair_text(json, "reason",
				       model_text(model, rows[i].reason_string, ""));
		if (rows[i].unverified)
			json_pair_bool(json, "unverified", true);
		json_object_end(json);
	}
	json_array_end(json);
}

void json_about_account(struct json_writer *json, const struct account *account)
{
	json_pair_u64(json, "wall_ns", account->wall_ns);
	json_pair_u64(json, "busy_ns", account->busy_ns);
	json_pair_u64(json, "kernels_ns", account->classes[ACCOUNT_KERNEL]);
	json_pair_u64(json, "copies_ns", account->classes[ACCOUNT_COPY]);
	json_pair_u64(json, "other_ns", account->classes[ACCOUNT_OTHER]);
	json_pair_u64(json, "idle_ns", account->idle_ns);
	json_pair_object(json, "idle_causes");
	for (unsigned int cause = 0; cause < CAUSE_COUNT; cause++)
		json_pair_u64(json, account_cause_name(cause), account->causes[cause]);
	json_object_end(json);
}

void json_about_ledger(struct json_writer *json, const struct analysis_ledger *ledger)
{
	json_pair_u64(json, "launched", ledger->launched);
	json_pair_u64(json, "executed", ledger->executed);
	json_pair_u64(json, "matched", ledger->matched);
	json_pair_u64(json, "not_executed", ledger->not_executed);
	json_pair_u64(json, "dropped", ledger->dropped);
	json_pair_u64(json, "rejected", ledger->rejected);
	json_pair_u64(json, "left_out", ledger->left_out);
	json_pair_u64(json, "in_flight_at_exit", ledger->in_flight_at_exit);
	json_pair_u64(json, "contradictions", ledger->contradictions);
	json_pair_u64(json, "untimed", ledger->untimed);
	json_pair_u64(json, "unplaced", ledger->unplaced);
	json_pair_u64(json, "orphaned", ledger->orphaned);
}

void json_about_frame(struct json_writer *json, const struct frame_name *name)
{
	json_object_begin(json);
	json_pair_text(json, "function", name->function);
	if (name->file)
		json_pair_text(json, "file", name->file);
	if (name->line)
		json_pair_u64(json, "line", name->line);
	json_object_end(json);
}
