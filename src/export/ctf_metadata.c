/* SPDX-License-Identifier: MIT
 *
 * export/ctf_metadata.c - what is in the streams of a CTF trace: events, fields, clocks
 *
 * Runs in:  our own process
 * Gets:     a model, the clocks of the streams   Gives: TSDL, the language of CTF 1.8
 * Owns:     nothing
 * Fails:    -errno of the file, with a text
 * Why times of devices are those of the host's clock, and not the devices' own with an offset: CTF knows one offset
 *           and one frequency for a whole trace, and a clock that drifts would be wrong by microseconds. Each device
 *           clock is described nevertheless, with its certificate and its error as precision.
 */
#include "export/ctf_metadata.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/model.h"
#include "base/error.h"
#include "base/string.h"
#include "export/ctf_stream.h"
#include "export/filter.h"
#include "export/row_names.h"

#define SECOND_NS 1000000000

/* Fields in the order in which ctf.c writes them. */
static const struct {
	const char *name, *fields;
} events[] = {
	[CTF_CALL_BEGIN] = {"call_begin", "string name; uint64_t argument;"},
	[CTF_CALL_END] = {"call_end", "string name; int32_t result;"},
	[CTF_LAUNCH_BEGIN] =
		{"launch_begin",
		 "string name; uint64_t correlation; uint32_t queue; string command; "
		 "string kernel; uint64_t bytes; uint8_t blocking; uint8_t dimensions; "
		 "uint64_t global_size[dimensions]; uint64_t local_size[dimensions];"},
	[CTF_LAUNCH_END] = {"launch_end", "string name; uint64_t correlation; int32_t result;"},
	[CTF_COMMAND_COMPLETE] = {"command_complete",
				  "uint64_t correlation; uint32_t queue; string command; "
				  "string name; int32_t status;"},
	[CTF_CPU_SAMPLE] = {"cpu_sample",
			    "string source; uint64_t weight; uint32_t cpu; string mode;"},
	[CTF_SWITCH] = {"switch", "uint32_t prev_tid; uint32_t next_tid; uint32_t cpu; "
				  "string reason; string wait;"},
	[CTF_LOST] = {"lost", "string kind; string reason; uint64_t count; uint64_t duration_ns;"},
#define RANGE_FIELDS "string domain; string name; string type;"
	[CTF_RANGE_BEGIN] = {"range_begin", RANGE_FIELDS},
	[CTF_RANGE_END] = {"range_end", RANGE_FIELDS " uint8_t open; uint8_t unbegun;"},
	[CTF_MARK] = {"mark", RANGE_FIELDS},
	[CTF_COUNTER] = {"counter", "string metric; string instance; int32_t cpu; uint32_t device; "
				    "string type; string unit; uint64_t duration_ns; "
				    "int64_t value; uint64_t of;"},
#define COMMAND_FIELDS                                                                         \
	"uint64_t correlation; uint32_t queue; uint32_t device; string command; string name; " \
	"uint8_t follows; uint8_t precedes; int32_t status; uint8_t impossible;"
	[CTF_COMMAND_QUEUED] = {"command_queued", COMMAND_FIELDS},
	[CTF_COMMAND_SUBMITTED] = {"command_submitted", COMMAND_FIELDS},
	[CTF_COMMAND_STARTED] = {"command_started", COMMAND_FIELDS},
	[CTF_COMMAND_ENDED] = {"command_ended", COMMAND_FIELDS},
};

/* ---- texts ---- */

/* Quoted as in C; a control character has no place in a description. */
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

	fputs("/* CTF 1.8 */\n", file); /* what readers know it by */
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
	const void *things = NULL;
	struct string_builder name;
	char key[32];
	size_t count = model_things(model, EVENT_DEVICE, &things);

	devices = things;
	string_builder_init(&name);
	for (size_t i = 0; i < count; i++) {
		string_builder_clear(&name);
		row_name_device(model, &devices[i], &name);
		snprintf(key, sizeof(key), "device_%" PRIu32, devices[i].id);
		put_pair(file, key, string_builder_text(&name));
	}
	count = model_things(model, EVENT_QUEUE, &things);
	queues = things;
	for (size_t i = 0; i < count; i++) {
		string_builder_clear(&name);
		row_name_queue(model, &queues[i], &name);
		string_builder_appendf(&name, ", device %" PRIu32, queues[i].device);
		snprintf(key, sizeof(key), "queue_%" PRIu32, queues[i].id);
		put_pair(file, key, string_builder_text(&name));
	}
	string_builder_fini(&name);
}

static void put_environment(FILE *file, const struct filter *filter)
{
	const struct model *model = filter->model;
	const struct event_host *hosts;
	const void *things = NULL;
	size_t count = model_things(model, EVENT_HOST, &things);

	hosts = things;
	fputs("env {\n", file);
	put_pair(file, "tracer_name", "duet");
	put_pair(file, "tracer_version", filter->options->version);
	put_pair(file, "hostname", count ? model_text(model, hosts[0].name_string, "") : "");
	put_pair(file, "command", model_command(model));
	put_devices(file, model);
	fputs("};\n", file);
}

/* ---- clocks ---- */

/* CTF's seconds may be negative, its cycles not. */
static void put_offset(FILE *file, const struct filter *filter, uint64_t realtime_ns)
{
	int64_t offset = (int64_t)(realtime_ns - filter->begin_ns);
	int64_t seconds = offset / SECOND_NS;

	if (offset % SECOND_NS < 0)
		seconds--;
	fprintf(file, "\toffset_s = %" PRId64 ";\n\toffset = %" PRId64 ";\n\tabsolute = TRUE;\n",
		seconds, offset - seconds * SECOND_NS);
}

/* Where nobody knows the time of day all clocks have one uuid, so that readers know them to be related. */
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
	struct string_builder text;
	char name[32], drift[64] = "";

	format_clock(name, sizeof(name), id);
	string_builder_init(&text);
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

static void put_event(FILE *file, uint32_t stream, enum ctf_event event)
{
	fprintf(file,
		"event {\n\tname = \"duet:%s\";\n\tid = %d;\n\tstream_id = %" PRIu32
		";\n\tfields := struct { %s };\n};\n",
		events[event].name, (int)event, stream, events[event].fields);
}

static void put_stream(FILE *file, uint32_t stream, const char *clock, const char *context,
		       enum ctf_event first, enum ctf_event end)
{
	fprintf(file,
		"stream {\n\tid = %" PRIu32 ";\n"
		"\tevent.header := struct { uint16_t id; %s_t timestamp; };\n"
		"\tpacket.context := struct { %s_t timestamp_begin; %s_t timestamp_end; "
		"uint64_t content_size; uint64_t packet_size; uint64_t packet_seq_num; "
		"uint64_t events_discarded; };\n"
		"\tevent.context := struct { %s };\n};\n",
		stream, clock, clock, clock, context);
	for (enum ctf_event event = first; event < end; event++)
		put_event(file, stream, event);
}

static void put_all(FILE *file, const struct filter *filter, const uint8_t *uuid,
		    const uint32_t *clocks, size_t clocks_count)
{
	char name[32];

	put_trace(file, uuid);
	put_environment(file, filter);
	put_clock(file, filter, uuid, "monotonic", "CLOCK_MONOTONIC of the host", 0);
	put_stream(file, CTF_STREAM_HOST, "monotonic",
		   "uint32_t pid; uint32_t tid; string procname;", CTF_CALL_BEGIN,
		   CTF_COMMAND_QUEUED);
	for (size_t i = 0; i < clocks_count; i++) {
		put_device_clock(file, filter, uuid, clocks[i]);
		format_clock(name, sizeof(name), clocks[i]);
		put_stream(file, (uint32_t)i + 1, name, "uint32_t pid;", CTF_COMMAND_QUEUED,
			   CTF_EVENT_COUNT);
	}
}

int ctf_metadata_write(const char *folder, const struct filter *filter, const uint8_t *uuid,
		       const uint32_t *clocks, size_t clocks_count)
{
	struct string_builder path;
	FILE *file;
	int error = 0;

	string_builder_init(&path);
	string_builder_appendf(&path, "%s/metadata", folder);
	file = fopen(string_builder_text(&path), "wxe");
	if (file) {
		put_all(file, filter, uuid, clocks, clocks_count);
		error = export_flush(file);
		if (fclose(file) != 0 && !error)
			error = error_set(-errno, "write '%s': %s", string_builder_text(&path),
					  strerror(errno));
	} else {
		error = error_set(-errno, "write '%s': %s", string_builder_text(&path),
				  strerror(errno));
	}
	string_builder_fini(&path);
	return error;
}
