/* SPDX-License-Identifier: MIT
 *
 * analyze/clocks.c - aligns every clock domain of a trace with host time
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     clock pairs; launches and executions, whose order bounds the device clocks
 * Gives:    for each domain a map to host time and a certificate (offset, drift, error bound,
 *           violations)
 * Owns:     the maps; during the pass, launches whose execution, and executions whose launch, has
 *           not been read yet
 * Fails:    -ENOMEM; a damaged chunk only reduces the number of bounds
 * Why host clocks first: a device clock may be one of the host clocks. Each host clock is therefore
 *           a candidate map for each device clock, and must be aligned before the pass over
 *           launches and executions. A trace without a device clock (a CPU device, whose timestamps
 *           are host time) needs no pass, which saves half the time of a report.
 */
#include "analyze/clocks.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/entity_index.h"
#include "base/array.h"
#include "base/pair_map.h"
#include "trace/ahead.h"
#include "trace/reader.h"

#define ERROR_LIMIT_NS 10000000u

struct clocks {
	struct clocks_domain *domains; /* sorted by id */
	size_t count;
};

/* A launch that waits for its execution, or an execution that waits for its launch. */
struct half {
	bool is_execution;
	size_t domain; /* execution */
	uint64_t time; /* launch: enter in host ns; execution: its first timestamp in device time */
};

struct pass {
	struct trace_reader *reader;
	struct clocks *clocks;
	struct clock_domain **solvers; /* by domain index; NULL for host clocks */
	struct entity_index threads, queues;
	struct pair_map open; /* (process, correlation) -> half */
	struct half *halves;
	size_t halves_count, halves_capacity;
	uint32_t *free_halves;
	size_t free_count, free_capacity;
};

static size_t find_index(const struct clocks *clocks, uint32_t id)
{
	size_t low;

	if (id && id <= clocks->count && clocks->domains[id - 1].id == id)
		return id - 1;
	low = LOWER_BOUND(clocks->count, i, clocks->domains[i].id < id);
	return low < clocks->count && clocks->domains[low].id == id ? low : clocks->count;
}

const struct clocks_domain *clocks_find(const struct clocks *clocks, uint32_t id)
{
	size_t index = find_index(clocks, id);

	return index < clocks->count ? &clocks->domains[index] : NULL;
}

static int list_domains(struct clocks *clocks, const struct trace_reader *reader)
{
	const struct event_clock *rows;
	size_t count = trace_reader_entities(reader, EVENT_CLOCK, &rows);

	clocks->domains = calloc(count + 1, sizeof(*clocks->domains));
	if (!clocks->domains)
		return -ENOMEM;
	if (!count || rows[0].id > CLOCK_ID_MONOTONIC) {
		clocks->domains[0].id = CLOCK_ID_MONOTONIC;
		clocks->domains[0].clock = (struct event_clock){.id = CLOCK_ID_MONOTONIC,
								.type = CLOCK_TYPE_MONOTONIC,
								.frequency_hz = 1000000000};
		clocks->count = 1;
	}
	for (size_t i = 0; i < count; i++) {
		clocks->domains[clocks->count].id = rows[i].id;
		clocks->domains[clocks->count++].clock = rows[i];
	}
	return 0;
}

static int feed_pairs(struct clock_domain *solver, const struct trace_reader *reader, uint32_t id)
{
	const struct event_clock_pair *pairs = NULL;
	size_t count = trace_reader_clock_pairs(reader, id, &pairs);

	for (size_t i = 0; i < count; i++) {
		int error = clock_domain_pair(solver, pairs[i].time, pairs[i].host_lower_ns,
					      pairs[i].host_upper_ns);
		if (error)
			return error;
	}
	return 0;
}

static int solve_identity(struct clocks_domain *domain)
{
	domain->certificate = (struct clock_certificate){
		.method = CLOCK_METHOD_SAME, .candidate = -1, .has_drift = true};
	return clock_map_identity(&domain->map);
}

static int solve_host(struct clocks_domain *domain, const struct trace_reader *reader)
{
	struct clock_domain *solver;
	int error;

	if (domain->clock.type == CLOCK_TYPE_MONOTONIC)
		return solve_identity(domain);
	error = clock_domain_new(domain->clock.frequency_hz, &solver);
	if (error)
		return error;
	error = feed_pairs(solver, reader, domain->id);
	if (!error)
		error = clock_domain_solve(solver, &domain->certificate, &domain->map);
	clock_domain_free(solver);
	return error;
}

static bool is_device(const struct clocks_domain *domain)
{
	return domain->clock.type == CLOCK_TYPE_DEVICE;
}

/* Adds every aligned host clock as a candidate, in the order of their domains. */
static int offer_candidates(const struct clocks *clocks, struct clock_domain *solver)
{
	for (size_t i = 0; i < clocks->count; i++) {
		const struct clocks_domain *host = &clocks->domains[i];
		int error;

		if (is_device(host) || host->certificate.method == CLOCK_METHOD_NONE)
			continue;
		error = clock_domain_candidate(solver, host->map, host->certificate.error_ns);
		if (error)
			return error;
	}
	return 0;
}

static int start_solvers(struct pass *pass, bool *ret_any)
{
	struct clocks *clocks = pass->clocks;

	*ret_any = false;
	pass->solvers = calloc(clocks->count, sizeof(*pass->solvers));
	if (!pass->solvers)
		return -ENOMEM;
	for (size_t i = 0; i < clocks->count; i++) {
		struct clocks_domain *domain = &clocks->domains[i];
		int error;

		if (!is_device(domain))
			continue;
		*ret_any = true;
		error = clock_domain_new(domain->clock.frequency_hz, &pass->solvers[i]);
		if (!error)
			error = offer_candidates(clocks, pass->solvers[i]);
		if (!error)
			error = feed_pairs(pass->solvers[i], pass->reader, domain->id);
		if (error)
			return error;
	}
	return 0;
}

static int store_half(struct pass *pass, uint64_t process, uint64_t correlation,
		      const struct half *half)
{
	uint32_t place;
	int error;

	if (pass->free_count) {
		place = pass->free_halves[--pass->free_count];
	} else {
		if (pass->halves_count >= PAIR_MAP_NONE - 1 ||
		    array_grow(pass->halves, pass->halves_capacity, pass->halves_count + 1))
			return -ENOMEM;
		place = (uint32_t)pass->halves_count++;
	}
	pass->halves[place] = *half;
	error = pair_map_put(&pass->open, process, correlation, place);
	return error;
}

/* If the other half is already there, adds the bound "launch's enter <= execution's first
 * timestamp". Otherwise stores this half. */
static int join_half(struct pass *pass, uint64_t process, uint64_t correlation,
		     const struct half *half)
{
	uint32_t place = pair_map_find(&pass->open, process, correlation);
	const struct half *launch, *execution;
	int error;

	if (place == PAIR_MAP_NONE)
		return store_half(pass, process, correlation, half);
	if (pass->halves[place].is_execution == half->is_execution) {
		pass->halves[place] = *half;
		return 0;
	}
	launch = half->is_execution ? &pass->halves[place] : half;
	execution = half->is_execution ? half : &pass->halves[place];
	error = clock_domain_after(pass->solvers[execution->domain], execution->time, launch->time);
	pair_map_remove(&pass->open, process, correlation);
	if (error || array_grow(pass->free_halves, pass->free_capacity, pass->free_count + 1))
		return error ? error : -ENOMEM;
	pass->free_halves[pass->free_count++] = place;
	return 0;
}

/* Drops a stored launch whose execution has no timestamps that bound the clock. */
static int forget_half(struct pass *pass, uint64_t process, uint64_t correlation)
{
	uint32_t place = pair_map_remove(&pass->open, process, correlation);

	if (place == PAIR_MAP_NONE)
		return 0;
	return array_append(pass->free_halves, pass->free_capacity, pass->free_count, place);
}

/* Whether the launch's execution can have timestamps of a device clock. */
static bool is_of_use(const struct pass *pass, const struct event_launch *row)
{
	const struct event_queue *queue = entity_index_get(&pass->queues, row->queue);
	size_t domain = queue && queue->clock ? find_index(pass->clocks, queue->clock)
					      : pass->clocks->count;

	if (row->result != 0 || !row->correlation || (row->flags & LAUNCH_UNTIMED))
		return false;
	return domain == pass->clocks->count || pass->solvers[domain];
}

static int pass_launches(struct pass *pass, const struct trace_chunk *chunk,
			 const struct event_launch *rows, size_t count)
{
	const struct event_thread *thread;
	struct half half = {0};
	int error;

	for (size_t i = 0; i < count; i++) {
		if (!is_of_use(pass, &rows[i]))
			continue;
		thread = entity_index_get(&pass->threads, rows[i].thread);
		half.time = clocks_to_host(pass->clocks, chunk->clock, rows[i].enter);
		error = join_half(pass, thread ? thread->process : 0, rows[i].correlation, &half);
		if (error)
			return error;
	}
	return 0;
}

static uint64_t first_stamp(const struct event_execution *row)
{
	if (row->valid & EXECUTION_QUEUED)
		return row->queued;
	return row->valid & EXECUTION_SUBMITTED ? row->submitted : row->started;
}

static int pass_executions(struct pass *pass, const struct trace_chunk *chunk,
			   const struct event_execution *rows, size_t count)
{
	size_t domain = find_index(pass->clocks, chunk->clock);
	bool has_seen = clocks_is_placed(pass->clocks, chunk->seen_clock);
	bool is_solved = domain < pass->clocks->count && pass->solvers[domain];
	struct half half = {.is_execution = true, .domain = domain};
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		const struct event_execution *row = &rows[i];

		if (!is_solved || !(row->valid & EXECUTION_TIMED) || row->status < 0) {
			error = forget_half(pass, row->process, row->correlation);
			continue;
		}
		if (has_seen && row->seen && (row->valid & EXECUTION_ENDED))
			error = clock_domain_before(
				pass->solvers[domain], row->ended,
				clocks_to_host(pass->clocks, chunk->seen_clock, row->seen));
		half.time = first_stamp(row);
		if (!error && (row->valid & (EXECUTION_TIMED & ~EXECUTION_ENDED)))
			error = join_half(pass, row->process, row->correlation, &half);
	}
	return error;
}

/* Launches whose clock is not aligned give no bounds. */
static bool has_bounds(const struct pass *pass, const struct trace_chunk *chunk)
{
	return chunk->kind == EVENT_EXECUTION ||
	       (chunk->kind == EVENT_LAUNCH && clocks_is_placed(pass->clocks, chunk->clock));
}

/* The analysis reads the same rows next. */
static int pass_chunk(struct pass *pass, struct trace_ahead *ahead, size_t index)
{
	const struct trace_chunk *chunk = trace_reader_chunk(pass->reader, index);
	void *rows = NULL;
	size_t count = 0;
	int error = trace_ahead_next(ahead, &rows, &count);

	if (error)
		return error == -EBADMSG ? 0 : error;
	if (chunk->kind == EVENT_LAUNCH)
		error = pass_launches(pass, chunk, rows, count);
	else
		error = pass_executions(pass, chunk, rows, count);
	trace_reader_keep_rows(pass->reader, index, rows, count);
	return error;
}

static int pass_chunks(struct pass *pass)
{
	size_t all = trace_reader_chunk_count(pass->reader), count = 0;
	size_t *chunks = calloc(all + 1, sizeof(*chunks));
	struct trace_ahead *ahead = NULL;
	int error = chunks ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < all; i++) {
		if (has_bounds(pass, trace_reader_chunk(pass->reader, i)))
			chunks[count++] = i;
	}
	if (!error)
		error = trace_ahead_new(pass->reader, chunks, count, NULL, NULL, &ahead);
	for (size_t i = 0; !error && i < count; i++)
		error = pass_chunk(pass, ahead, chunks[i]);
	trace_ahead_free(ahead);
	free(chunks);
	return error;
}

static void count_unjoined(struct pass *pass)
{
	for (size_t i = 0; i < pass->open.capacity; i++) {
		const struct pair_slot *slot = &pass->open.slots[i];
		const struct half *half;

		if (slot->value == PAIR_MAP_NONE)
			continue;
		half = &pass->halves[slot->value];
		if (half->is_execution)
			pass->clocks->domains[half->domain].bounds_without_launch++;
	}
}

/* Converts a candidate's number to its domain index, which the certificate contains. */
static int candidate_index(const struct clocks *clocks, int candidate)
{
	for (size_t i = 0; i < clocks->count; i++) {
		const struct clocks_domain *host = &clocks->domains[i];

		if (is_device(host) || host->certificate.method == CLOCK_METHOD_NONE)
			continue;
		if (candidate-- == 0)
			return (int)i;
	}
	return -1;
}

static int solve_devices(struct pass *pass)
{
	for (size_t i = 0; i < pass->clocks->count; i++) {
		struct clocks_domain *domain = &pass->clocks->domains[i];
		int error;

		if (!pass->solvers[i])
			continue;
		error = clock_domain_solve(pass->solvers[i], &domain->certificate, &domain->map);
		if (error)
			return error;
		if (domain->certificate.candidate >= 0)
			domain->certificate.candidate =
				candidate_index(pass->clocks, domain->certificate.candidate);
	}
	return 0;
}

static void pass_fini(struct pass *pass)
{
	for (size_t i = 0; pass->solvers && i < pass->clocks->count; i++)
		clock_domain_free(pass->solvers[i]);
	free(pass->solvers);
	pair_map_fini(&pass->open);
	free(pass->halves);
	free(pass->free_halves);
}

static int solve_all_devices(struct clocks *clocks, struct trace_reader *reader)
{
	struct pass pass = {.reader = reader, .clocks = clocks};
	bool any = false;
	int error;

	entity_index_init(&pass.threads, reader, EVENT_THREAD);
	entity_index_init(&pass.queues, reader, EVENT_QUEUE);
	error = start_solvers(&pass, &any);
	if (any && !error)
		error = pass_chunks(&pass);
	count_unjoined(&pass);
	if (!error)
		error = solve_devices(&pass);
	pass_fini(&pass);
	return error;
}

int clocks_new(struct trace_reader *reader, struct clocks **ret_clocks)
{
	struct clocks *clocks = calloc(1, sizeof(*clocks));
	int error;

	if (!clocks)
		return -ENOMEM;
	error = list_domains(clocks, reader);
	for (size_t i = 0; !error && i < clocks->count; i++) {
		if (!is_device(&clocks->domains[i]))
			error = solve_host(&clocks->domains[i], reader);
	}
	if (!error)
		error = solve_all_devices(clocks, reader);
	if (error) {
		clocks_free(clocks);
		return error;
	}
	*ret_clocks = clocks;
	return 0;
}

void clocks_free(struct clocks *clocks)
{
	if (!clocks)
		return;
	for (size_t i = 0; i < clocks->count; i++)
		clock_map_free(clocks->domains[i].map);
	free(clocks->domains);
	free(clocks);
}

size_t clocks_count(const struct clocks *clocks)
{
	return clocks->count;
}

const struct clocks_domain *clocks_at(const struct clocks *clocks, size_t index)
{
	return &clocks->domains[index];
}

bool clocks_is_placed(const struct clocks *clocks, uint32_t id)
{
	const struct clocks_domain *domain = clocks_find(clocks, id);

	return domain && domain->certificate.method != CLOCK_METHOD_NONE;
}

static uint64_t scale_to_ns(uint64_t time, uint64_t frequency_hz)
{
	if (!frequency_hz || frequency_hz == 1000000000)
		return time;
	return (uint64_t)((unsigned __int128)time * 1000000000 / frequency_hz);
}

uint64_t clocks_domain_to_host(const struct clocks_domain *domain, uint64_t time)
{
	if (!domain || domain->certificate.method == CLOCK_METHOD_SAME)
		return time;
	if (domain->certificate.method == CLOCK_METHOD_NONE)
		return scale_to_ns(time, domain->clock.frequency_hz);
	return clock_map_to_host(domain->map, time);
}

uint64_t clocks_to_host(const struct clocks *clocks, uint32_t id, uint64_t time)
{
	return clocks_domain_to_host(clocks_find(clocks, id), time);
}

uint64_t clocks_from_host(const struct clocks *clocks, uint32_t id, uint64_t host_ns)
{
	const struct clocks_domain *domain = clocks_find(clocks, id);

	if (!clocks_is_placed(clocks, id) || domain->certificate.method == CLOCK_METHOD_SAME)
		return host_ns;
	return clock_map_from_host(domain->map, host_ns);
}

uint64_t clocks_device_error_ns(const struct clocks *clocks)
{
	uint64_t error_ns = 0;

	for (size_t i = 0; i < clocks->count; i++) {
		const struct clocks_domain *domain = &clocks->domains[i];

		if (is_device(domain) && domain->certificate.method != CLOCK_METHOD_NONE &&
		    domain->certificate.error_ns > error_ns)
			error_ns = domain->certificate.error_ns;
	}
	return error_ns < ERROR_LIMIT_NS ? error_ns : ERROR_LIMIT_NS;
}

const char *clocks_name(const struct clocks *clocks, const struct trace_reader *reader,
			const struct clocks_domain *domain)
{
	static const char *const names[] = {
		[CLOCK_TYPE_MONOTONIC] = "MONOTONIC",
		[CLOCK_TYPE_MONOTONIC_RAW] = "MONOTONIC_RAW",
		[CLOCK_TYPE_BOOTTIME] = "BOOTTIME",
		[CLOCK_TYPE_REALTIME] = "REALTIME",
		[CLOCK_TYPE_TSC] = "TSC",
	};
	const struct event_device *device;

	if (domain->clock.type && domain->clock.type < ARRAY_COUNT(names))
		return names[domain->clock.type];
	device = trace_reader_entity(reader, EVENT_DEVICE, domain->clock.device);
	if (device && device->name_string)
		return trace_reader_string(reader, device->name_string, NULL);
	return "device";
}

const char *clocks_method_name(enum clock_method method)
{
	static const char *const names[] = {
		[CLOCK_METHOD_NONE] = "none", [CLOCK_METHOD_SAME] = "same",
		[CLOCK_METHOD_HOST] = "host", [CLOCK_METHOD_PAIRS] = "pairs",
		[CLOCK_METHOD_HULL] = "hull",
	};

	return array_text(names, ARRAY_COUNT(names), method, "none");
}
