/* SPDX-License-Identifier: MIT
 *
 * tests/unit/agent/test_endpoints.c - sums of made-up snapshots, their rows, and both encodings
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/endpoints/gauges.h"
#include "agent/endpoints/label_table.h"
#include "agent/endpoints/otlp_metrics.h"
#include "agent/endpoints/own.h"
#include "agent/endpoints/prometheus.h"
#include "agent/endpoints/totals.h"
#include "base/array.h"
#include "base/clock_ns.h"
#include "base/string.h"
#include "event/event.h"
#include "harness.h"
#include "live/snapshot.h"

#define S UINT64_C(1000000000)

/* ---- a made-up machine ---- */

struct world {
	struct live_device devices[2];
	struct live_kernel kernels[400];
	struct live_process processes[3];
	struct live_copy copies[2];
	struct live_metric metrics[3];
	char names[400][32];
	struct live_snapshot snapshot;
};

static void world_init(struct world *world, size_t kernels)
{
	*world = (struct world){
		.devices = {{.name = "GPU \"a\\b\"\n",
			     .key = "GPU-1",
			     .vendor = "V",
			     .busy_ns = 600000001,
			     .kernel_ns = 500000001,
			     .copy_ns = 100000000,
			     .idle_ns = 399999999,
			     .causes = {[CAUSE_BLOCKED] = 399999999},
			     .launches = 7,
			     .executions = 6,
			     .in_flight = 3,
			     .is_measured = true},
			    {.name = "other device", .launches = 2}},
		.processes = {{.pid = 12,
			       .name = "python3",
			       .cgroup = "/a/b",
			       .busy_ns = 600000001,
			       .launches = 9,
			       .calls = 20,
			       .calls_ns = 5,
			       .has_times = true,
			       .on_cpu_ns = 4},
			      {.pid = 13, .name = "sh", .has_times = true, .on_cpu_ns = 1}},
		.copies = {{.name = "read", .device = 0, .count = 2, .bytes = 1024, .total_ns = 9}},
		.metrics = {{.name = "nvidia.memory_used",
			     .unit = "MiB",
			     .device = 0,
			     .process = LIVE_NO_INDEX,
			     .mean = 1.5},
			    {.name = "system.cpu_total",
			     .unit = "%",
			     .instance = "x",
			     .device = LIVE_NO_INDEX,
			     .process = LIVE_NO_INDEX,
			     .cpu = 3,
			     .mean = 25},
			    {.name = "odd",
			     .unit = "frogs/s",
			     .device = LIVE_NO_INDEX,
			     .process = 0,
			     .mean = NAN}},
		.snapshot = {.end_ns = S,
			     .real_ns = 1000 * S,
			     .devices_count = 2,
			     .processes_count = 2,
			     .copies_count = 1,
			     .metrics_count = 3,
			     .kernels_count = kernels}};
	for (size_t i = 0; i < kernels; i++) {
		snprintf(world->names[i], sizeof(world->names[i]), "kernel%zu", i);
		world->kernels[i] = (struct live_kernel){.name = world->names[i],
							 .device = i % 2,
							 .count = i + 1,
							 .share_ns = 1000 + i,
							 .total_ns = 2000 + i};
	}
	world->snapshot.devices = world->devices;
	world->snapshot.processes = world->processes;
	world->snapshot.copies = world->copies;
	world->snapshot.metrics = world->metrics;
	world->snapshot.kernels = world->kernels;
}

static struct totals *new_totals(size_t max_kernels)
{
	const struct totals_options options = {.max_kernels = max_kernels,
					       .max_processes = 2,
					       .start_real_ns = 999 * S,
					       .version = "9"};
	struct totals *totals = NULL;

	CHECK_EQUAL(totals_new(&options, &totals), 0);
	return totals;
}

/* Adds the snapshot as the next second. */
static void add_second(struct totals *totals, struct world *world)
{
	CHECK_EQUAL(totals_add(totals, &world->snapshot), 0);
	world->snapshot.begin_ns += S;
	world->snapshot.end_ns += S;
	world->snapshot.real_ns += S;
}

/* ---- what a visitor sees ---- */

struct seen {
	const char *name;
	uint64_t sum, rows, largest;
	bool has_other;
};

static void skip_family(void *context, const struct metric_family *family)
{
	(void)context;
	(void)family;
}

static void see_point(void *context, const struct metric_family *family,
		      const struct metric_point *point)
{
	struct seen *seen = context;

	if (strcmp(family->name, seen->name) != 0)
		return;
	seen->sum += point->value;
	seen->rows++;
	if (point->value > seen->largest)
		seen->largest = point->value;
	for (size_t i = 0; i < point->labels_count; i++)
		seen->has_other |= strcmp(point->labels[i].value, "other") == 0;
}

static struct seen see(const struct totals *totals, const char *name)
{
	struct seen seen = {.name = name};
	const struct metric_visitor visitor = {skip_family, see_point, &seen};

	totals_visit(totals, &visitor);
	return seen;
}

TEST(parts_add_up_and_only_grow)
{
	struct totals *totals = new_totals(100);
	struct world world;

	world_init(&world, 5);
	for (int i = 0; i < 3; i++)
		add_second(totals, &world);
	CHECK_EQUAL(see(totals, "duet_device_busy_seconds").sum, 3 * 600000001);
	CHECK_EQUAL(see(totals, "duet_device_idle_seconds").sum, 3 * 399999999);
	CHECK_EQUAL(see(totals, "duet_device_unmeasured_seconds").sum, 3 * S);
	CHECK_EQUAL(see(totals, "duet_device_launches").sum, 27);
	CHECK_EQUAL(see(totals, "duet_device_in_flight").sum, 3);
	CHECK_EQUAL(see(totals, "duet_kernel_busy_seconds").sum, 3 * (5 * 1000 + 10));
	CHECK_EQUAL(see(totals, "duet_kernel_executions").sum, 3 * 15);
	CHECK_EQUAL(see(totals, "duet_copy_transferred_bytes").sum, 3 * 1024);
	/* Process 13 uses no device and gets no row of its own. */
	CHECK_EQUAL(see(totals, "duet_process_cpu_seconds").sum, 15);
	CHECK_EQUAL(see(totals, "duet_process_cpu_seconds").rows, 2);
	CHECK(see(totals, "duet_process_cpu_seconds").has_other);
	totals_pass(totals, TOTALS_EMPTY, 4 * S, 1007 * S);
	totals_pass(totals, TOTALS_SKIPPED, 5 * S, 1012 * S);
	CHECK_EQUAL(see(totals, "duet_recording_seconds").sum, 12 * S);
	CHECK_EQUAL(see(totals, "duet_recording_seconds").largest, 5 * S);
	totals_free(totals);
}

TEST(losses_are_counted_by_kind)
{
	struct totals *totals = new_totals(100);
	struct event_loss loss = {.kind = EVENT_LAUNCH, .count = 4};

	totals_add_loss(totals, &loss);
	totals_add_loss(totals, &loss);
	loss.kind = 12345;
	totals_add_loss(totals, &loss);
	loss.count = LOSS_COUNT_UNKNOWN;
	totals_add_loss(totals, &loss);
	CHECK_EQUAL(see(totals, "duet_lost_rows").sum, 12);
	CHECK_EQUAL(see(totals, "duet_lost_rows").largest, 8);
	CHECK_EQUAL(see(totals, "duet_losses_of_unknown_size").sum, 1);
	totals_free(totals);
}

TEST(rows_are_bounded_and_sums_stay_exact)
{
	struct totals *totals = new_totals(10);
	struct world world;
	uint64_t want = 0;

	world_init(&world, 400);
	for (int i = 0; i < 5; i++)
		add_second(totals, &world);
	for (size_t i = 0; i < 400; i++)
		want += 5 * (1000 + i);
	CHECK_EQUAL(see(totals, "duet_kernel_busy_seconds").sum, want);
	/* Ten kernels, and one row "other" for each device. */
	CHECK_EQUAL(see(totals, "duet_kernel_busy_seconds").rows, 12);
	CHECK(see(totals, "duet_kernel_busy_seconds").has_other);
	/* A kernel that is really called "other" shares that row. */
	snprintf(world.names[0], sizeof(world.names[0]), "other");
	add_second(totals, &world);
	CHECK_EQUAL(see(totals, "duet_kernel_busy_seconds").rows, 12);
	totals_free(totals);
}

TEST(forgotten_rows_leave_their_sum)
{
	struct totals *totals = new_totals(10);
	struct world world;
	uint64_t all = 0, kept;

	world_init(&world, 10);
	add_second(totals, &world);
	all = see(totals, "duet_kernel_busy_seconds").sum;
	/* Nine kernels are gone; without a new one they stay for an hour. */
	world.snapshot.kernels_count = 1;
	for (int i = 0; i < 1800; i++, all += 1000)
		add_second(totals, &world);
	CHECK_EQUAL(see(totals, "duet_kernel_busy_seconds").rows, 10);
	CHECK_EQUAL(see(totals, "duet_forgotten_seconds").sum, 0);
	/* One that needs a row takes the place of one that was not used for five minutes. */
	snprintf(world.names[0], sizeof(world.names[0]), "new");
	add_second(totals, &world);
	add_second(totals, &world);
	all += 2000;
	kept = see(totals, "duet_kernel_busy_seconds").sum;
	CHECK(see(totals, "duet_kernel_busy_seconds").rows < 10);
	CHECK_EQUAL(see(totals, "duet_forgotten_rows").sum, 9);
	CHECK(kept < all);
	/* busy and execution times of nine kernels: 1001 … 1009 and 2001 … 2009 */
	CHECK_EQUAL(see(totals, "duet_forgotten_seconds").sum, all - kept + 9 * 2000 + 45);
	CHECK_EQUAL(see(totals, "duet_forgotten_seconds").largest, 9 * 2000 + 45);
	totals_free(totals);
}

TEST(labels_are_utf8_and_bounded)
{
	char text[1000], first[LABEL_SIZE_MAX + 1], second[LABEL_SIZE_MAX + 1];

	label_copy("a\xff\xe2\x82", first);
	CHECK_TEXT(first, "a\xEF\xBF\xBD\xEF\xBF\xBD");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	label_copy(text, first);
	CHECK_EQUAL(strlen(first), LABEL_SIZE_MAX);
	text[sizeof(text) - 2] = 'y';
	label_copy(text, second);
	CHECK_EQUAL(strlen(second), LABEL_SIZE_MAX);
	CHECK(strcmp(first, second) != 0);
	/* A character is not cut: 191 bytes of text fit before the hash. */
	for (size_t i = 0; i < 999; i += 3)
		memcpy(text + i, "\xe2\x82\xac", 3);
	label_copy(text, first);
	CHECK_EQUAL(strlen(first), 189 + 9);
}

/* ---- encodings ---- */

static char *prometheus_text(const struct totals *totals, const struct own *own,
			     enum prometheus_format format)
{
	struct prometheus text = {.format = format};
	struct metric_visitor visitor = prometheus_visitor(&text);

	totals_visit(totals, &visitor);
	own_visit(own, &visitor);
	prometheus_end(&text);
	return string_builder_take(&text.text);
}

static const struct own some_own = {
	.processes = {{.role = "endpoints", .cpu_ns = 1500000000, .resident_bytes = 4096}},
	.has_spool = true,
	.spool = {.files = 3, .bytes = 10, .skipped_ns = 1},
	.streams = {{.name = "pprof", .is_on = true, .counts = {.sent = 2, .dropped_full = 1}}},
	.streams_count = 1};

/* The lines of a text, each of which must be in it. */
static void check_lines(const char *text, const char *const *lines, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char line[512];

		snprintf(line, sizeof(line), "%s\n", lines[i]);
		if (!strstr(text, line))
			CHECK_TEXT("(missing)", line);
	}
}

TEST(time_of_a_replaced_process_stays)
{
	struct own_process process = {.cpu_ns = 5 * S, .pid = 1};
	struct real_clock clock;
	uint64_t now_ns;

	real_clock_init(&clock);
	REQUIRE(own_read_process(getpid(), &clock, &process));
	CHECK_EQUAL(process.ended_ns, 5 * S);
	CHECK(process.cpu_ns >= 5 * S);
	REQUIRE(own_read_process(getpid(), &clock, &process));
	CHECK_EQUAL(process.ended_ns, 5 * S);
	CHECK(process.cpu_ns < 9 * S);
	/* Its counter starts with the process, not with the endpoints. */
	now_ns = real_clock_at(&clock, clock_ns(CLOCK_MONOTONIC));
	CHECK(process.start_ns < now_ns && process.start_ns + 600 * S > now_ns);
}

TEST(times_do_not_go_back_with_the_clock)
{
	struct real_clock clock;
	int64_t ahead_ns, present_ns = real_clock_difference_ns();

	real_clock_init(&clock);
	CHECK(!real_clock_follow(&clock, clock.offset_ns - (int64_t)S / 2, &ahead_ns));
	CHECK_EQUAL(ahead_ns, S / 2);
	CHECK(real_clock_at(&clock, 5) + S > (uint64_t)present_ns);
	/* set forwards by an hour: at once; then back by two: no further */
	CHECK(!real_clock_follow(&clock, present_ns + 3600 * (int64_t)S, &ahead_ns));
	CHECK_EQUAL(real_clock_at(&clock, 5), (uint64_t)present_ns + 3600 * S + 5);
	CHECK(real_clock_follow(&clock, present_ns - 3600 * (int64_t)S, &ahead_ns));
	CHECK_EQUAL(ahead_ns, 7200 * S);
	CHECK(!real_clock_follow(&clock, present_ns - 3600 * (int64_t)S, &ahead_ns));
	CHECK_EQUAL(real_clock_at(&clock, 5), (uint64_t)present_ns + 3600 * S + 5);
	CHECK(!real_clock_follow(&clock, present_ns + 3600 * (int64_t)S, &ahead_ns));
	CHECK(real_clock_follow(&clock, present_ns, &ahead_ns));
}

TEST(a_clock_that_is_set_forwards_makes_no_row_old)
{
	struct seen seen = {.name = "duet_kernel_executions"},
		    gauges = {.name = "duet_metric_nvidia_memory_used_bytes"};
	const struct metric_visitor visitor = {skip_family, see_point, &seen};
	const struct metric_visitor of_gauges = {skip_family, see_point, &gauges};
	struct totals *totals = new_totals(10);
	struct world world;

	world_init(&world, 3);
	add_second(totals, &world);
	totals_shift(totals, 7200 * S);
	totals_pass(totals, TOTALS_EMPTY, S, world.snapshot.real_ns + 7200 * S);
	totals_visit(totals, &visitor);
	totals_visit(totals, &of_gauges);
	CHECK_EQUAL(seen.sum, 1 + 2 + 3);
	CHECK_EQUAL(gauges.rows, 1);
	totals_free(totals);
}

static void see_birth(void *context, const struct metric_family *family,
		      const struct metric_point *point)
{
	const char *const *name = ((void **)context)[0];
	uint64_t *born_ns = ((void **)context)[1];

	if (strcmp(family->name, *name) == 0)
		*born_ns = point->born_ns;
}

TEST(counters_of_the_spool_start_with_the_spool)
{
	const struct own own = {.start_ns = 50,
				.processes = {{.role = "endpoints", .start_ns = 40},
					      {.role = "recorder", .start_ns = 30}},
				.has_spool = true,
				.spool = {.start_ns = 7, .added = 3}};
	static const struct {
		const char *name;
		uint64_t born_ns;
	} cases[] = {{"duet_spool_files_added", 7},
		     {"duet_own_cpu_seconds", 30},
		     {"duet_own_analysis_seconds", 50}};

	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		const char *name = cases[i].name;
		uint64_t born_ns = 0;
		void *context[] = {&name, &born_ns};
		const struct metric_visitor visitor = {skip_family, see_birth, context};

		own_visit(&own, &visitor);
		CHECK_EQUAL(born_ns, cases[i].born_ns);
	}
}

TEST(a_family_without_gauges_gives_way)
{
	struct gauges gauges = {.families = NULL};
	char names[GAUGE_FAMILIES_MAX + 2][40];
	struct gauge_key key = {.unit = "W", .labels = {"", "", "", "", "", ""}};

	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		snprintf(names[i], sizeof(names[i]), "name%zu", i);
		key.name = names[i];
		CHECK_EQUAL(gauges_set(&gauges, &key, 1, (i + 1) * S), 0);
	}
	CHECK_EQUAL(gauges.refused, 2);
	/* all but the last ones are forgotten; they have room for others */
	gauges_forget(&gauges, (GAUGE_FAMILIES_MAX + 50) * S);
	CHECK(gauges.count > 0 && gauges.count < 20);
	for (size_t i = 0; i < 100; i++) {
		snprintf(names[0], sizeof(names[0]), "other%zu", i);
		key.name = names[0];
		CHECK_EQUAL(gauges_set(&gauges, &key, (double)i, 400 * S), 0);
	}
	CHECK_EQUAL(gauges.refused, 2);
	CHECK_EQUAL(gauges.families_count, GAUGE_FAMILIES_MAX);
	for (size_t i = 0; i < gauges.count; i++)
		if (gauges.all[i].set_ns == 400 * S) {
			snprintf(names[0], sizeof(names[0]), "duet_metric_other%d_watts",
				 (int)gauges.all[i].value);
			CHECK_TEXT(gauges.families[gauges.all[i].family].family.name, names[0]);
		}
	gauges_fini(&gauges);
}

TEST(prometheus_text)
{
	static const char *const lines[] = {
		"# TYPE duet_device_busy_seconds_total counter",
		"# HELP duet_device_busy_seconds_total Time in which the device executed a command",
		"duet_device_busy_seconds_total{device=\"GPU-1\",device_name=\"GPU "
		"\\\"a\\\\b\\\"\\n"
		"\"} 0.600000001",
		"duet_device_unmeasured_seconds_total{device=\"other device\",device_name=\"other "
		"device\"} 1",
		"duet_device_idle_seconds_total{device=\"GPU-1\",device_name=\"GPU "
		"\\\"a\\\\b\\\"\\n"
		"\",cause=\"blocked\"} 0.399999999",
		"# TYPE duet_device_info gauge",
		"duet_device_info{device=\"GPU-1\",device_name=\"GPU \\\"a\\\\b\\\"\\n\",vendor=\"V"
		"\"} 1",
		"duet_process_busy_seconds_total{pid=\"12\",cgroup=\"/a/b\",command=\"python3\"} "
		"0.600000001",
		"duet_process_busy_seconds_total{command=\"other\"} 0",
		"# TYPE duet_metric_nvidia_memory_used_bytes gauge",
		"duet_metric_nvidia_memory_used_bytes{device=\"GPU-1\",device_name=\"GPU "
		"\\\"a\\\\b\\\"\\n\"} 1572864",
		"duet_metric_system_cpu_total_ratio{instance=\"x\",cpu=\"2\"} 0.25",
		"duet_copy_transferred_bytes_total{device=\"GPU-1\",device_name=\"GPU "
		"\\\"a\\\\b\\\"\\n\",direction=\"read\"} 1024",
		"duet_build_info{version=\"9\"} 1",
		"duet_own_cpu_seconds_total{role=\"endpoints\"} 1.5",
		"duet_spool_files 3",
		"duet_spool_skipped_seconds_total 0.000000001",
		"duet_pushes_total{stream=\"pprof\",result=\"dropped_full\"} 1",
	};
	struct totals *totals = new_totals(100);
	struct world world;
	char *text;

	world_init(&world, 1);
	add_second(totals, &world);
	text = prometheus_text(totals, &some_own, PROMETHEUS_TEXT);
	check_lines(text, lines, ARRAY_COUNT(lines));
	CHECK(!strstr(text, "frogs")); /* NAN was not measured */
	CHECK(!strstr(text, "# EOF"));
	free(text);
	totals_free(totals);
}

TEST(openmetrics_text)
{
	static const char *const lines[] = {
		"# TYPE duet_device_busy_seconds counter",
		"# UNIT duet_device_busy_seconds seconds",
		"# HELP duet_device_busy_seconds Time in which the device executed a command",
		"# TYPE duet_device info",
		"# TYPE duet_build info",
		"duet_build_info{version=\"9\"} 1",
		"# UNIT duet_metric_nvidia_memory_used_bytes bytes",
	};
	struct totals *totals = new_totals(100);
	struct world world;
	char *text;

	world_init(&world, 1);
	add_second(totals, &world);
	text = prometheus_text(totals, &some_own, PROMETHEUS_OPENMETRICS);
	check_lines(text, lines, ARRAY_COUNT(lines));
	CHECK_TEXT(text + strlen(text) - 7, "\n# EOF\n");
	free(text);
	totals_free(totals);
}

TEST(accept_chooses_the_format)
{
	static const struct {
		const char *accept;
		enum prometheus_format format;
	} cases[] = {
		{"", PROMETHEUS_TEXT},
		{"*/*", PROMETHEUS_TEXT},
		{"application/openmetrics-text", PROMETHEUS_OPENMETRICS},
		{"application/openmetrics-text; version=1.0.0; charset=utf-8",
		 PROMETHEUS_OPENMETRICS},
		{"application/openmetrics-text;version=\"1.0.0\"", PROMETHEUS_OPENMETRICS},
		{"application/openmetrics-text;version=0.0.1", PROMETHEUS_TEXT},
		{"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version="
		 "0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		 PROMETHEUS_OPENMETRICS},
		{"text/plain;version=0.0.4, application/openmetrics-text;version=1.0.0;q=0.3",
		 PROMETHEUS_TEXT},
		{"application/openmetrics-text;q=0", PROMETHEUS_TEXT},
		{"application/openmetrics-textual", PROMETHEUS_TEXT},
		{";;;,,=;q=", PROMETHEUS_TEXT},
	};

	for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
		CHECK_EQUAL(prometheus_choose(cases[i].accept), cases[i].format);
}

TEST(otlp_bytes)
{
	static const struct metric_family counter = {.name = "n_seconds",
						     .otlp_name = "n",
						     .otlp_unit = "ns",
						     .help = "h",
						     .is_ns = true};
	static const struct metric_family empty = {
		.name = "e", .otlp_name = "e", .otlp_unit = "", .help = "", .type = METRIC_GAUGE};
	const struct metric_point point = {.labels = {{"device", "d"}, {"cause", ""}},
					   .labels_count = 2,
					   .value = 5,
					   .born_ns = 1};
	struct otlp_metrics metrics = {
		.host = "h", .os_version = "6", .version = "1", .time_ns = 2};
	struct metric_visitor visitor = otlp_metrics_visitor(&metrics);
	static const char want[] =
		/* ResourceMetrics, Resource: service.name, host.name, os.type, os.version */
		"0a9d01"
		"0a510a160a0c736572766963652e6e616d6512060a0464756574"
		"0a100a09686f73742e6e616d6512030a0168"
		"0a120a076f732e7479706512070a056c696e7578"
		"0a110a0a6f732e76657273696f6e12030a0136"
		/* ScopeMetrics, InstrumentationScope */
		"12480a090a0464756574120131"
		/* Metric: name, description, unit; Sum: a point of start, time, as_int, attribute
		 */
		"123b0a016e1201681a026e733a2f0a29"
		"110100000000000000190200000000000000310500000000000000"
		"3a0c0a0568772e696412030a0164"
		/* cumulative, monotonic */
		"10021801";
	struct string_builder got = {0};

	otlp_metrics_begin(&metrics);
	visitor.on_family(visitor.context, &empty);
	visitor.on_family(visitor.context, &counter);
	visitor.on_point(visitor.context, &counter, &point);
	visitor.on_family(visitor.context, &empty);
	otlp_metrics_end(&metrics);
	CHECK_EQUAL(metrics.message.error, 0);
	for (size_t i = 0; i < metrics.message.size; i++)
		string_builder_appendf(&got, "%02x", metrics.message.bytes[i]);
	CHECK_TEXT(string_builder_text(&got), want);
	string_builder_fini(&got);
	otlp_metrics_fini(&metrics);
}

int main(void)
{
	RUN(parts_add_up_and_only_grow);
	RUN(losses_are_counted_by_kind);
	RUN(rows_are_bounded_and_sums_stay_exact);
	RUN(forgotten_rows_leave_their_sum);
	RUN(labels_are_utf8_and_bounded);
	RUN(time_of_a_replaced_process_stays);
	RUN(times_do_not_go_back_with_the_clock);
	RUN(a_clock_that_is_set_forwards_makes_no_row_old);
	RUN(counters_of_the_spool_start_with_the_spool);
	RUN(a_family_without_gauges_gives_way);
	RUN(prometheus_text);
	RUN(openmetrics_text);
	RUN(accept_chooses_the_format);
	RUN(otlp_bytes);
	return harness_end();
}
