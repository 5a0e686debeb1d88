/* SPDX-License-Identifier: MIT
 *
 * export/ctf/metadata.c - describe the streams of a CTF trace: events, fields, clocks
 *
 * Runs in:  our own process
 * Gets:     a model, the clocks of the streams
 * Gives:    TSDL, the description language of CTF 1.8
 * Owns:     nothing
 * Fails:    -errno of the file, with a text
 * Why device times are converted to the host's clock: CTF has one offset and one frequency per
 *           clock for the whole trace, so a drifting clock would be wrong by microseconds. Each
 *           device clock is described nevertheless, with the method of its conversion, its offset
 * and its drift, and with its error bound as precision.
 */
#include "export/ctf/metadata.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/filter.h"
#include "analyze/model.h"
#include "analyze/output_options.h"
#include "analyze/text/row_names.h"
#include "base/error.h"
#include "base/file/output_file.h"
#include "base/file/stream.h"
#include "base/string.h"
#include "export/common/fields.h"
#include "export/ctf/stream.h"

#define SECOND_NS 1000000000

/* Computed events, with their fields in the order in which ctf.c writes them. The fields of the
 * other events are in field_ctf_lists. */
static const struct {
	const char *name, *fields;
} events[] = {
	[CTF_COMMAND_COMPLETE] = {"command_complete",
				  "uint64_t correlation; uint32_t queue; string command; "
				  "string name; int32_t status;"},
#define COMMAND_FIELDS                                                                         \
	"uint64_t correlation; uint32_t queue; uint32_t device; string command; string name; " \
	"uint8_t follows; uint8_t precedes; int32_t status; uint8_t impossible; "              \
	"string device_name; string activity;"
	/* fields of LTTng's kernel tracer, then duet's own */
	[CTF_SCHED_WAKEUP] = {"sched_wakeup", "string comm; int32_t tid; int32_t prio; "
					      "int32_t target_cpu;"},
	[CTF_SCHED_SWITCH] = {"sched_switch",
			      "string prev_comm; int32_t prev_tid; int32_t prev_prio; "
			      "int64_t prev_state; string next_comm; int32_t next_tid; "
			      "int32_t next_prio; string reason; string wait;"},
	[CTF_COMMAND_QUEUED] = {"command_queued", COMMAND_FIELDS},
	[CTF_COMMAND_SUBMITTED] = {"command_submitted", COMMAND_FIELDS},
	[CTF_COMMAND_STARTED] = {"command_started", COMMAND_FIELDS},
	[CTF_COMMAND_ENDED] = {"command_ended", COMMAND_FIELDS},
};

/* TSDL types of the values that ctf.c writes. */
static const char *const types[] = {
	[FIELD_VALUE_U32] = "uint32_t",       [FIELD_VALUE_I32] = "int32_t",
	[FIELD_VALUE_U64] = "uint64_t",       [FIELD_VALUE_I64] = "int64_t",
	[FIELD_VALUE_TEXT] = "string",        [FIELD_VALUE_NEXT] = "int32_t",
	[FIELD_VALUE_SIZES] = "uint64_t",     [FIELD_VALUE_BIT] = "uint8_t",
	[FIELD_VALUE_NAME] = "string",        [FIELD_VALUE_TEXT_OF] = "string",
	[FIELD_VALUE_NUMBER_OF] = "uint64_t", [FIELD_VALUE_COUNT_OF] = "uint8_t",
};

/* ---- texts ---- */

/* Writes a text quoted as in C; control characters are escaped. */
static void put_quoted(FILE *file, const char *text)
{
	char shown[1024];

	putc('"', file);
	for (const char *at = string_make_printable(text, shown, sizeof(shown)); *at; at++) {
		if (*at == '"' || *at == '\\')
			putc('\\', file);
		putc(*at, file);
	}
	putc('"', file);
}

static void put_uuid(FILE *file, const uint8_t *uuid)
{
	putc('"', file);
	for (size_t i = 0; i < CTF_UUID_BYTES; i++)
		fprintf(file, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
	putc('"', file);
}

static void put_pair(FILE *file, const char *key, const char *text)
{
	fprintf(file, "\t%s = ", key);
	put_quoted(file, text);
	fprintf(file, ";\n");
}

/* ---- the trace ---- */

static void put_trace(FILE *file, const uint8_t *uuid)
{
	static const struct {
		const char *name;
		unsigned int bits;
		const char *sign;
	} integers[] = {{"uint8_t", 8, "false"},   {"uint16_t", 16, "false"},
			{"uint32_t", 32, "false"}, {"int32_t", 32, "true"},
			{"uint64_t", 64, "false"}, {"int64_t", 64, "true"}};

	fputs("/* CTF 1.8 */\n", file); /* readers identify the format by this line */
	for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); i++)
		fprintf(file,
			"typealias integer { size = %u; align = 8; signed = %s; byte_order = le; } "
			":= "
			"%s;\n",
			integers[i].bits, integers[i].sign, integers[i].name);
	fputs("trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = ", file);
	put_uuid(file, uuid);
	fputs(";\n\tbyte_order = le;\n"
	      "\tpacket.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; "
	      "uint64_t stream_instance_id; };\n};\n",
	      file);
}

static void put_devices(FILE *file, const struct model *model)
{
	const struct event_device *devices;
	const struct event_queue *queues;
	const void *entities = NULL;
	struct string_builder name = {0};
	char key[32];
	size_t count = model_entities(model, EVENT_DEVICE, &entities);

	devices = entities;
	for (size_t i = 0; i < count; i++) {
		string_builder_clear(&name);
		row_name_device(model, &devices[i], &name);
		snprintf(key, sizeof(key), "device_%" PRIu32, devices[i].id);
		put_pair(file, key, string_builder_text(&name));
	}
	count = model_entities(model, EVENT_QUEUE, &entities);
	queues = entities;
	for (size_t i = 0; i < count; i++) {
		string_builder_clear(&name);
		row_name_queue(model, &queues[i], &name);
		string_builder_appendf(&name, ", device %" PRIu32, queues[i].device);
		snprintf(key, sizeof(key), "queue_%" PRIu32, queues[i].id);
		put_pair(file, key, string_builder_text(&name));
	}
	string_builder_fini(&name);
}

/* Trace Compass offers its kernel analyses for a trace of this domain. */
static void put_environment(FILE *file, const struct filter *filter, bool has_cpus)
{
	const struct model *model = filter->model;
	const struct event_host *hosts;
	const void *entities = NULL;
	size_t count = model_entities(model, EVENT_HOST, &entities);

	hosts = entities;
	fputs("env {\n", file);
	if (has_cpus)
		put_pair(file, "domain", "kernel");
	put_pair(file, "tracer_name", "duet");
	put_pair(file, "tracer_version", filter->options->version);
	put_pair(file, "hostname", count ? model_text(model, hosts[0].name_string, "") : "");
	put_pair(file, "command", model_command(model));
	put_devices(file, model);
	fputs("};\n", file);
}

/* ---- clocks ---- */

/* In CTF offset_s may be negative, offset may not. */
static void put_offset(FILE *file, const struct filter *filter, uint64_t realtime_ns)
{
	int64_t offset = (int64_t)(realtime_ns - filter->begin_ns);
	int64_t seconds = offset / SECOND_NS;

	if (offset % SECOND_NS < 0)
		seconds--;
	fprintf(file, "\toffset_s = %" PRId64 ";\n\toffset = %" PRId64 ";\n\tabsolute = TRUE;\n",
		seconds, offset - seconds * SECOND_NS);
}

/* All clocks have the same uuid: without a time of day, readers otherwise take them for unrelated
 * clocks. */
static void put_clock(FILE *file, const struct filter *filter, const uint8_t *uuid,
		      const char *name, const char *description, uint64_t error_ns)
{
	uint64_t realtime_ns;

	fprintf(file, "clock {\n\tname = %s;\n\tuuid = ", name);
	put_uuid(file, uuid);
	fputs(";\n", file);
	put_pair(file, "description", description);
	fprintf(file, "\tfreq = %d;\n", SECOND_NS);
	if (error_ns != UINT64_MAX)
		fprintf(file, "\tprecision = %" PRIu64 ";\n", error_ns);
	if (model_wall_clock(filter->model, filter->begin_ns, &realtime_ns))
		put_offset(file, filter, realtime_ns);
	fprintf(file,
		"};\ntypealias integer { size = 64; align = 8; signed = false; byte_order = le; "
		"map = clock.%s.value; } := %s_t;\n",
		name, name);
}

static void format_clock(char *text, size_t size, uint32_t clock)
{
	snprintf(text, size, "device_clock_%" PRIu32, clock);
}

static void put_device_clock(FILE *file, const struct filter *filter, const uint8_t *uuid,
			     uint32_t id)
{
	const struct clocks *clocks = filter->model->clocks;
	const struct clocks_domain *domain = clocks_find(clocks, id);
	struct string_builder text = {0};
	char name[32], drift[64] = "";

	format_clock(name, sizeof(name), id);
	if (domain && domain->certificate.has_drift)
		snprintf(drift, sizeof(drift), ", drift %" PRId64 " ppb",
			 domain->certificate.drift_ppb);
	if (domain)
		string_builder_appendf(&text,
				       "%s, on CLOCK_MONOTONIC by %s: offset %" PRId64
				       " ns%s, %" PRIu64 " effects before their cause",
				       clocks_name(clocks, filter->model->reader, domain),
				       clocks_method_name(domain->certificate.method),
				       domain->certificate.offset_ns, drift,
				       domain->certificate.violations);
	else
		string_builder_append(&text, "not described in the trace");
	put_clock(file, filter, uuid, name, string_builder_text(&text),
		  domain ? domain->certificate.error_ns : UINT64_MAX);
	string_builder_fini(&text);
}

/* ---- streams ---- */

static void put_fields(FILE *file, const struct field_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct field_column *column = &list->columns[i];

		fprintf(file, "%s%s %s%s;", i ? " " : "", types[column->value], column->name,
			column->value == FIELD_VALUE_SIZES ? "[dimensions]" : "");
	}
}

static void put_event(FILE *file, uint32_t stream, enum ctf_event event)
{
	const struct field_list *list = !events[event].name ? &field_ctf_lists[event] : NULL;
	bool is_kernel = event == CTF_SCHED_WAKEUP || event == CTF_SCHED_SWITCH;

	fprintf(file,
		"event {\n\tname = \"%s%s\";\n\tid = %d;\n\tstream_id = %" PRIu32
		";\n\tfields := struct { ",
		is_kernel ? "" : "duet:", list ? list->name : events[event].name, (int)event,
		stream);
	if (list)
		put_fields(file, list);
	else
		fputs(events[event].fields, file);
	fputs(" };\n};\n", file);
}

static void put_stream(FILE *file, uint32_t stream, const char *clock, const char *context,
		       enum ctf_event first, enum ctf_event end)
{
	fprintf(file,
		"stream {\n\tid = %" PRIu32 ";\n"
		"\tevent.header := struct { uint16_t id; %s_t timestamp; };\n"
		"\tpacket.context := struct { %s_t timestamp_begin; %s_t timestamp_end; "
		"uint64_t content_size; uint64_t packet_size; uint64_t packet_seq_num; "
		"uint64_t events_discarded; %s};\n"
		"\tevent.context := struct { %s };\n};\n",
		stream, clock, clock, clock, stream == CTF_STREAM_CPUS ? "uint32_t cpu_id; " : "",
		context);
	for (enum ctf_event event = first; event < end; event++)
		put_event(file, stream, event);
}

static void put_all(FILE *file, const struct filter *filter, const uint8_t *uuid, bool has_cpus,
		    const uint32_t *clocks, size_t clocks_count)
{
	char name[32];

	put_trace(file, uuid);
	put_environment(file, filter, has_cpus);
	put_clock(file, filter, uuid, "monotonic", "CLOCK_MONOTONIC of the host", 0);
	put_stream(file, CTF_STREAM_HOST, "monotonic",
		   "uint32_t pid; uint32_t tid; string procname;", CTF_CALL_BEGIN,
		   CTF_SCHED_WAKEUP);
	if (has_cpus)
		put_stream(file, CTF_STREAM_CPUS, "monotonic",
			   "uint32_t pid; uint32_t tid; string procname;", CTF_SCHED_WAKEUP,
			   CTF_COMMAND_QUEUED);
	for (size_t i = 0; i < clocks_count; i++) {
		put_device_clock(file, filter, uuid, clocks[i]);
		format_clock(name, sizeof(name), clocks[i]);
		put_stream(file, (uint32_t)i + CTF_STREAM_DEVICES, name, "uint32_t pid;",
			   CTF_COMMAND_QUEUED, CTF_EVENT_COUNT);
	}
}

int ctf_metadata_write(struct output_folder *folder, const struct filter *filter,
		       const uint8_t *uuid, bool has_cpus, const uint32_t *clocks,
		       size_t clocks_count)
{
	int error;
	FILE *file = output_folder_stream(folder, "metadata", &error);

	if (!file)
		return error;
	put_all(file, filter, uuid, has_cpus, clocks, clocks_count);
	error = stream_flush(file);
	if (fclose(file) != 0 && !error)
		error = error_set(-errno, "write '%s/metadata': %s", folder->path, strerror(errno));
	return error;
}
