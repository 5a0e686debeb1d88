// SPDX-License-Identifier: MIT
/* Made-up traces through writer, reader, clocks and analysis: every sum must be the known one. */
#include <stdlib.h>
#include <unistd.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "harness.h"
#include "world.h"

#define EVENTS 200000

static void check_ledger(const struct analysis *analysis, const struct answers *answers)
{
	const struct analysis_ledger *ledger = &analysis->ledger;

	CHECK_EQUAL(ledger->launched, answers->launched);
	CHECK_EQUAL(ledger->executed, answers->rows[EVENT_EXECUTION]);
	CHECK_EQUAL(ledger->matched, answers->matched);
	CHECK_EQUAL(ledger->dropped, answers->dropped);
	CHECK_EQUAL(ledger->rejected, answers->rejected);
	CHECK_EQUAL(ledger->untimed, answers->untimed);
	CHECK_EQUAL(ledger->orphaned, 0);
	CHECK_EQUAL(ledger->launched, ledger->matched + ledger->not_executed + ledger->dropped +
					      ledger->rejected + ledger->in_flight_at_exit);
}

static void check_calls(const struct analysis *analysis, const struct answers *answers)
{
	uint64_t found = 0, wanted = 0;

	for (size_t i = 0; i < answers->function_count; i++) {
		const struct count_total *want = &answers->functions[i];

		wanted += want->count;
		for (size_t j = 0; j < analysis->program.calls_count; j++) {
			const struct analysis_call *call = &analysis->program.calls[j];

			if (strcmp(call->name, answers->function_names[i]) != 0)
				continue;
			CHECK_EQUAL(call->count, want->count);
			CHECK_EQUAL(call->failed, want->failures);
			CHECK_EQUAL(call->total_ns, want->total_ns);
			found += call->count;
		}
	}
	CHECK_EQUAL(found, wanted);
}

/* The second device's durations are converted at an estimated rate: 1 ppm, and a rounding at both
 * ends of each. */
static void check_time(uint32_t device, uint64_t got, uint64_t want, uint64_t count)
{
	uint64_t converted = (uint64_t)((double)want / (1 + DRIFT_PPM * 1e-6));
	uint64_t allowed = 2 * count + want / 1000000 + want / 1000000 * DRIFT_PPM;

	if (device == 1)
		CHECK_EQUAL(got, want);
	else
		CHECK((got > converted ? got - converted : converted - got) <= allowed);
}

static void check_kernels(const struct analysis *analysis, const struct answers *answers)
{
	uint64_t found = 0;

	for (size_t i = 0; i < answers->kernel_count; i++) {
		for (size_t j = 0; j < analysis->kernels_count; j++) {
			const struct analysis_kernel *kernel = &analysis->kernels[j];
			const struct count_total *want = &answers->kernels[i];

			if (strcmp(kernel->name, answers->kernel_names[i]) != 0)
				continue;
			CHECK_EQUAL(kernel->count, answers->kernel_matched[i]);
			CHECK_EQUAL(kernel->timed, want->count);
			check_time(answers->kernel_devices[i], kernel->total_ns, want->total_ns,
				   want->count);
			if (answers->kernel_devices[i] == 1) {
				CHECK_EQUAL(kernel->min_ns, want->minimum_ns);
				CHECK_EQUAL(kernel->max_ns, want->maximum_ns);
			}
			found++;
		}
	}
	CHECK_EQUAL(found, analysis->kernels_count);
}

static void check_copies(const struct analysis *analysis, const struct answers *answers)
{
	for (size_t i = 0; i < analysis->copies_count; i++) {
		const struct analysis_copy *copy = &analysis->copies[i];
		uint32_t device = analysis->devices[copy->device].device->id;
		const struct copy_answer *want = &answers->commands[device - 1][copy->command];

		CHECK_EQUAL(copy->count, want->matched);
		CHECK_EQUAL(copy->bytes, want->matched_bytes);
		CHECK_EQUAL(copy->timed, want->timed);
		/* device 1 is a CPU: mapping moves nothing there */
		if (device != 1 ||
		    (copy->command != COMMAND_MAP && copy->command != COMMAND_UNMAP)) {
			CHECK_EQUAL(copy->moved_bytes, want->timed_bytes);
		} else {
			CHECK_EQUAL(copy->moved_bytes, 0);
		}
		check_time(device, copy->total_ns, want->total_ns, want->timed);
	}
}

static void check_devices(const struct analysis *analysis, const struct answers *answers)
{
	for (size_t i = 0; i < analysis->devices_count; i++) {
		const struct analysis_device *device = &analysis->devices[i];
		const struct busy *busy = &answers->devices[device->device->id - 1].busy;

		CHECK_EQUAL(device->account.wall_ns, answers->end_ns - answers->begin_ns);
		check_time(device->device->id, device->account.busy_ns, busy->total, busy->pieces);
	}
	CHECK(analysis->checks.is_exact);
}

static void check_clocks(const struct model *model, bool is_empty)
{
	for (size_t i = 0; i < clocks_count(model->clocks); i++) {
		const struct clocks_domain *domain = clocks_at(model->clocks, i);
		const struct clock_certificate *certificate = &domain->certificate;

		CHECK_EQUAL(certificate->violations, 0);
		if (is_empty || domain->clock.type != CLOCK_TYPE_DEVICE)
			continue;
		CHECK_EQUAL(certificate->method,
			    domain->clock.device == 1 ? CLOCK_METHOD_HOST : CLOCK_METHOD_HULL);
		/* the truth, at the hull's own reference */
		for (uint64_t ns = BEGIN_NS + 2000000; ns < BEGIN_NS + 100000000; ns += 1000003) {
			uint64_t got =
				clock_map_to_host(domain->map, device_at(domain->clock.device, ns));

			CHECK((got > ns ? got - ns : ns - got) <= certificate->error_ns + 1);
		}
	}
}

static void check_shape(const char *name, uint64_t events, uint64_t seed)
{
	const struct analysis_options options = {0};
	char path[] = "/tmp/duet-known-XXXXXX";
	struct answers answers = {0};
	struct analysis *analysis;
	struct model *model;
	int fd = mkstemp(path);

	REQUIRE(fd >= 0);
	close(fd);
	REQUIRE(!world_write(path, shape_find(name), events, seed, &answers));
	REQUIRE(!model_open(path, &model));
	unlink(path);
	check_clocks(model, strcmp(name, "empty") == 0);
	REQUIRE(!analysis_new(model, &options, &analysis));
	check_ledger(analysis, &answers);
	check_calls(analysis, &answers);
	check_kernels(analysis, &answers);
	check_copies(analysis, &answers);
	check_devices(analysis, &answers);
	analysis_free(analysis);
	model_close(model);
	answers_fini(&answers);
}

TEST(mixed)
{
	for (uint64_t seed = 1; seed <= 3; seed++)
		check_shape("mixed", EVENTS, seed);
}

TEST(single)
{
	check_shape("single", EVENTS, 1);
}

TEST(empty)
{
	check_shape("empty", EVENTS, 1);
}

TEST(late)
{
	check_shape("late", EVENTS, 1);
}

TEST(deep)
{
	check_shape("deep", 4 * EVENTS, 1);
}

int main(void)
{
	RUN(mixed);
	RUN(single);
	RUN(empty);
	RUN(late);
	RUN(deep);
	return harness_end();
}
