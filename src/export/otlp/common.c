/* SPDX-License-Identifier: MIT
 *
 * export/otlp/common.c - the messages that OpenTelemetry's profiles and metrics have in common
 *
 * Runs in:  our own process
 * Gets:     an analysis
 * Gives:    a Resource and an InstrumentationScope
 * Owns:     nothing
 * Fails:    like the message
 * Why the ledger is in the scope: the ledger states how many launches duet recorded completely, so
 *           it must accompany the data
 */
#include "export/otlp/common.h"

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "analyze/output_options.h"
#include "analyze/text/incomplete.h"
#include "base/array.h"
#include "export/common/protobuf.h"
#include "otlp.numbers.h"

/* The field numbers of profiles are used for metrics too. */
_Static_assert(OTLP_RESOURCE_PROFILES_RESOURCE == OTLP_RESOURCE_METRICS_RESOURCE, "Resource");
_Static_assert(OTLP_SCOPE_PROFILES_SCOPE == OTLP_SCOPE_METRICS_SCOPE, "InstrumentationScope");

static size_t begin_value(struct protobuf *message, unsigned int field, const char *key,
			  size_t *ret_value)
{
	size_t begin = protobuf_begin(message, field);

	protobuf_text(message, OTLP_KEY_VALUE_KEY, key);
	*ret_value = protobuf_begin(message, OTLP_KEY_VALUE_VALUE);
	return begin;
}

static void end_value(struct protobuf *message, size_t begin, size_t value)
{
	protobuf_end(message, value);
	protobuf_end(message, begin);
}

void otlp_put_text(struct protobuf *message, unsigned int field, const char *key, const char *text)
{
	size_t begin, value;

	if (!*text)
		return;
	begin = begin_value(message, field, key, &value);
	protobuf_text(message, OTLP_ANY_VALUE_STRING_VALUE, text);
	end_value(message, begin, value);
}

void otlp_put_int(struct protobuf *message, unsigned int field, const char *key, int64_t number)
{
	size_t value, begin = begin_value(message, field, key, &value);

	protobuf_i64(message, OTLP_ANY_VALUE_INT_VALUE, number);
	end_value(message, begin, value);
}

void otlp_put_resource(struct protobuf *message, const struct analysis *analysis)
{
	const struct event_host *host = analysis->host;
	size_t begin = protobuf_begin(message, OTLP_RESOURCE_PROFILES_RESOURCE);

	if (host) {
		otlp_put_text(message, OTLP_RESOURCE_ATTRIBUTES, "host.name",
			      model_text(analysis->model, host->name_string, ""));
		otlp_put_text(message, OTLP_RESOURCE_ATTRIBUTES, "os.version",
			      model_text(analysis->model, host->kernel_string, ""));
	}
	otlp_put_text(message, OTLP_RESOURCE_ATTRIBUTES, "os.type", "linux");
	protobuf_end(message, begin);
}

static void put_ledger(struct protobuf *message, const struct analysis_ledger *ledger)
{
	const struct {
		const char *key;
		uint64_t count;
	} counts[] = {{"duet.ledger.launched", ledger->launched},
		      {"duet.ledger.matched", ledger->matched},
		      {"duet.ledger.not_executed", ledger->not_executed},
		      {"duet.ledger.in_flight_at_exit", ledger->in_flight_at_exit},
		      {"duet.ledger.dropped", ledger->dropped},
		      {"duet.ledger.rejected", ledger->rejected},
		      {"duet.ledger.contradictions", ledger->contradictions}};

	for (size_t i = 0; i < ARRAY_COUNT(counts); i++)
		otlp_put_int(message, OTLP_INSTRUMENTATION_SCOPE_ATTRIBUTES, counts[i].key,
			     (int64_t)counts[i].count);
}

static uint64_t violations_of(const struct clocks *clocks)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < clocks_count(clocks); i++)
		sum += clocks_at(clocks, i)->certificate.violations;
	return sum;
}

void otlp_put_scope(struct protobuf *message, const struct analysis *analysis,
		    const struct output_options *options)
{
	size_t begin = protobuf_begin(message, OTLP_SCOPE_PROFILES_SCOPE), complete, value;

	protobuf_text(message, OTLP_INSTRUMENTATION_SCOPE_NAME, "duet");
	protobuf_text(message, OTLP_INSTRUMENTATION_SCOPE_VERSION, options->version);
	otlp_put_text(message, OTLP_INSTRUMENTATION_SCOPE_ATTRIBUTES, "duet.otlp.version",
		      OTLP_VERSION);
	otlp_put_text(message, OTLP_INSTRUMENTATION_SCOPE_ATTRIBUTES, "duet.command",
		      model_command(analysis->model));
	complete = begin_value(message, OTLP_INSTRUMENTATION_SCOPE_ATTRIBUTES, "duet.complete",
			       &value);
	protobuf_u64(message, OTLP_ANY_VALUE_BOOL_VALUE, analysis_is_complete(analysis));
	end_value(message, complete, value);
	otlp_put_text(message, OTLP_INSTRUMENTATION_SCOPE_ATTRIBUTES, "duet.incomplete",
		      incomplete_analysis(analysis).text);
	put_ledger(message, &analysis->ledger);
	otlp_put_int(message, OTLP_INSTRUMENTATION_SCOPE_ATTRIBUTES, "duet.clock.violations",
		     (int64_t)violations_of(analysis->model->clocks));
	protobuf_end(message, begin);
}
