/* SPDX-License-Identifier: MIT
 *
 * tests/unit/cli/test_info.c - a trace with a known number of everything, whole and cut
 */
#include "cli/cmd_info.c"

#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "capture.h"
#include "harness.h"
#include "trace/writer.h"

#define CALLS    23
#define BEGIN_NS 1000000000u
#define END_NS   3500000000u

static char folder[] = "/tmp/test_info.XXXXXX";
static char path[64], cut_path[64];
static struct capture capture;

static uint32_t string(struct trace_writer *writer, const char *text)
{
	return trace_writer_string(writer, text, strlen(text));
}

static bool write_entities(struct trace_writer *writer)
{
	struct event_host host = {.id = 1, .begin_ns = BEGIN_NS, .end_ns = END_NS};
	struct event_process process = {.id = 1, .host = 1, .pid = 4242, .begin_ns = BEGIN_NS};
	struct event_device device = {.id = 1, .type = DEVICE_GPU, .begin_ns = BEGIN_NS};
	struct event_clock clock = {.id = CLOCK_ID_MONOTONIC,
				    .type = CLOCK_TYPE_MONOTONIC,
				    .frequency_hz = 1000000000,
				    .begin_ns = BEGIN_NS};
	struct event_collector collector = {
		.id = 1, .state = COLLECTOR_REFUSED, .begin_ns = BEGIN_NS};

	process.name_string = string(writer, "train");
	process.command_string = string(writer, "train --steps 7");
	device.name_string = string(writer, "Abacus 3000");
	device.vendor_string = string(writer, "Napier \"& Sons\"");
	collector.name_string = string(writer, "opencl");
	collector.reason_string = string(writer, "no loader");
	return trace_writer_entity(writer, EVENT_HOST, &host) == 0 &&
	       trace_writer_entity(writer, EVENT_CLOCK, &clock) == 0 &&
	       trace_writer_entity(writer, EVENT_PROCESS, &process) == 0 &&
	       trace_writer_entity(writer, EVENT_DEVICE, &device) == 0 &&
	       trace_writer_entity(writer, EVENT_COLLECTOR, &collector) == 0;
}

static bool write_trace(void)
{
	struct trace_writer_options options = {0};
	struct trace_source source = {.source = 1, .clock = CLOCK_ID_MONOTONIC};
	struct trace_writer *writer;
	bool ok;

	if (trace_writer_open(path, &options, &writer))
		return false;
	ok = write_entities(writer);
	for (uint64_t i = 0; i < CALLS; i++) {
		struct event_api call = {.begin = BEGIN_NS + i * 1000,
					 .end = BEGIN_NS + i * 1000 + 500};

		ok = trace_writer_row(writer, EVENT_API, &source, &call) == 0 && ok;
	}
	return trace_writer_close(writer, END_NS) == 0 && ok;
}

/* Runs `duet info [option] file`; what it printed is in capture. */
static int run_on(const char *option, const char *file)
{
	char words[3][64] = {"info"};
	char *arguments[] = {words[0], words[1], words[2], NULL};
	int status;

	snprintf(words[1], sizeof(words[1]), "%s", option ? option : file);
	snprintf(words[2], sizeof(words[2]), "%s", file);
	if (!option)
		arguments[2] = NULL;
	capture_start(&capture, STDOUT_FILENO);
	status = command_info.run(&command_info, option ? 3 : 2, arguments);
	capture_stop(&capture);
	return status;
}

static bool said(const char *text)
{
	if (strstr(capture.text, text))
		return true;
	printf("#   no '%s' in:\n#   %s\n", text, capture.text);
	return false;
}

TEST(a_whole_trace_as_text)
{
	REQUIRE(write_trace());
	CHECK_EQUAL(run_on(NULL, path), STATUS_DONE);
	CHECK(said("segments 1, chunks "));
	CHECK(said("recorded  2.500000000 s (CLOCK_MONOTONIC 1000000000 to 3500000000 ns)"));
	CHECK(said("  4242     train --steps 7\n"));
	CHECK(said("  gpu      Abacus 3000 (Napier \"& Sons\")\n"));
	CHECK(said("  opencl   refused: no loader\n"));
	CHECK(said("api                           1           23\n"));
	CHECK(said("damage    none\n"));
}

TEST(a_whole_trace_as_json)
{
	REQUIRE(write_trace());
	CHECK_EQUAL(run_on("--json", path), STATUS_DONE);
	CHECK(strncmp(capture.text, "{\"schema\":\"duet.info/1\",", 24) == 0);
	CHECK(said("\"begin_ns\":1000000000,\"end_ns\":3500000000"));
	CHECK(said("\"vendor\":\"Napier \\\"& Sons\\\"\""));
	CHECK(said("{\"kind\":\"api\",\"chunks\":1,\"rows\":23}"));
	CHECK(said("\"state\":\"refused\",\"reason\":\"no loader\""));
	CHECK(said("\"damage\":{\"damaged\":false,"));
}

TEST(a_cut_trace_is_described)
{
	char command[200];

	REQUIRE(write_trace());
	snprintf(command, sizeof(command), "head -c -40 %s >%s", path, cut_path);
	REQUIRE(system(command) == 0);
	CHECK_EQUAL(run_on("--json", cut_path), STATUS_DONE);
	CHECK(said("\"damage\":{\"damaged\":true,"));
	CHECK_EQUAL(run_on(NULL, cut_path), STATUS_DONE);
	CHECK(said("damage    "));
	CHECK(!strstr(capture.text, "damage    none"));
}

TEST(what_is_no_trace_is_a_failure)
{
	struct capture errors;
	int status;

	capture_start(&errors, STDERR_FILENO);
	status = run_on(NULL, "/etc/passwd");
	CHECK(strstr(capture_stop(&errors), "duet info: '/etc/passwd'") != NULL);
	CHECK_EQUAL(status, STATUS_FAILED);
	CHECK_TEXT(capture.text, "");
	CHECK_TEXT(error_text(), "");
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/whole.duet", folder);
	snprintf(cut_path, sizeof(cut_path), "%s/cut.duet", folder);
	RUN(a_whole_trace_as_text);
	RUN(a_whole_trace_as_json);
	RUN(a_cut_trace_is_described);
	RUN(what_is_no_trace_is_a_failure);
	unlink(path);
	unlink(cut_path);
	rmdir(folder);
	return harness_end();
}
