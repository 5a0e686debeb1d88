/* SPDX-License-Identifier: MIT
 *
 * clock/domain.c - collect readings and bounds of one clock, and choose the best map for them
 *
 * Runs in:  our own process
 * Gets:     candidate maps, pairs of readings, causality bounds
 * Gives:    a map to CLOCK_MONOTONIC and its certificate (offset, drift, error bound, violations)
 * Owns:     the pairs, and bounds in at most BANDS bands of time
 * Fails:    -ENOMEM
 * Why host clocks are tried first, then pairs, then bounds: if the clock is one of the host's, that
 *           clock's map is exact. Pairs are exact to the width of their windows. Causality bounds
 *           (a command starts after its launch) are only as tight as the shortest latencies, so
 *           they decide last
 */
#include "clock/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "clock/hull.h"
#include "clock/map.h"
#include "clock/pairs.h"

#define BANDS             64
#define NANOSECONDS       1000000000
#define HIGHEST_FREQUENCY ((uint64_t)1000000000000) /* above: treated as unknown */
/* With bounds of one kind only, a candidate must at least be near them, otherwise every clock that
 * is behind (or ahead) would fit: REALTIME is 50 years after any enqueue. */
#define PLAUSIBLE_NS      10000000

struct candidate {
	const struct clock_map *map;
	uint64_t error_ns;
	bool out;
	uint64_t slack_ns[2]; /* least room left, by enum clock_side; UINT64_MAX: no bound */
};

struct clock_domain {
	uint64_t frequency_hz; /* 0: not known */
	struct candidate *candidates;
	size_t candidate_count;
	struct clock_pairs pairs;
	struct clock_prior prior;
	struct clock_band bands[BANDS]; /* by time; each begins at its start */
	uint64_t starts[BANDS];
	size_t band_count;
	uint64_t bounds;
	uint64_t unreachable; /* bounds too far from all others to be kept */
};

/* Nominal slope and the range of plausible slopes around it. */
static struct clock_prior make_prior(uint64_t frequency_hz, uint32_t parts_per_million)
{
	const int64_t million = 1000000;
	int64_t run = (int64_t)(frequency_hz ? frequency_hz : NANOSECONDS) * million;

	return (struct clock_prior){
		.least = {NANOSECONDS * (million - parts_per_million), run},
		.nominal = {NANOSECONDS * million, run},
		.greatest = {NANOSECONDS * (million + parts_per_million), run},
	};
}

/* Crystals are within 100 ppm and NTP slews the host by at most 500; a rounded nominal frequency
 * (52 ns for 1 / 19.2 MHz) is wrong by less than 1 %. */
enum { DRIFT_PPM = 600, ROUNDED_PPM = 10000, UNKNOWN_PPM = 500000 };

int clock_domain_new(uint64_t frequency_hz, struct clock_domain **ret_domain)
{
	struct clock_domain *domain = calloc(1, sizeof(*domain));

	if (!domain)
		return error_set(-ENOMEM, "clock domain: out of memory");
	domain->frequency_hz = frequency_hz > HIGHEST_FREQUENCY ? 0 : frequency_hz;
	domain->prior =
		make_prior(domain->frequency_hz, domain->frequency_hz ? DRIFT_PPM : UNKNOWN_PPM);
	*ret_domain = domain;
	return 0;
}

void clock_domain_free(struct clock_domain *domain)
{
	if (!domain)
		return;
	for (size_t i = 0; i < domain->band_count; i++)
		clock_band_fini(&domain->bands[i]);
	clock_pairs_fini(&domain->pairs);
	free(domain->candidates);
	free(domain);
}

/* ---- candidates ---- */

static void test_candidate(struct candidate *candidate, enum clock_side side, uint64_t time,
			   uint64_t host_ns)
{
	uint64_t shown, low, high, room;

	if (candidate->out)
		return;
	shown = clock_map_to_host(candidate->map, time);
	low = side == CLOCK_FLOOR ? host_ns : shown;
	high = side == CLOCK_FLOOR ? shown : host_ns;
	if (low > high && low - high > candidate->error_ns) {
		candidate->out = true;
		return;
	}
	room = low > high ? 0 : high - low;
	if (room < candidate->slack_ns[side])
		candidate->slack_ns[side] = room;
}

/* A late candidate is tested against the kept bounds before it. Any bound that could break it is
 * there, except corners dropped by thinning. */
static void test_kept(const struct clock_domain *domain, struct candidate *candidate)
{
	for (size_t i = 0; i < 2 * domain->band_count; i++) {
		const struct clock_band *band = &domain->bands[i / 2];
		const struct clock_hull *hull = &band->hulls[i % 2];

		for (uint32_t j = 0; j < hull->count; j++) {
			int64_t host = hull->points[j].host;

			if (i % 2 == CLOCK_CEILING)
				host = -host;
			test_candidate(candidate, i % 2,
				       band->origin_time + (uint64_t)hull->points[j].time,
				       band->origin_host + (uint64_t)host);
		}
	}
	for (size_t i = 0; i < domain->pairs.count; i++) {
		const struct clock_pair *pair = &domain->pairs.pairs[i];

		test_candidate(candidate, CLOCK_FLOOR, pair->time, pair->lower);
		test_candidate(candidate, CLOCK_CEILING, pair->time, pair->upper);
	}
}

int clock_domain_candidate(struct clock_domain *domain, const struct clock_map *map,
			   uint64_t error_ns)
{
	size_t size = (domain->candidate_count + 1) * sizeof(*domain->candidates);
	struct candidate *grown = realloc(domain->candidates, size);

	if (!grown)
		return error_set(-ENOMEM, "clock candidates: out of memory");
	domain->candidates = grown;
	grown[domain->candidate_count] = (struct candidate){
		.map = map, .error_ns = error_ns, .slack_ns = {UINT64_MAX, UINT64_MAX}};
	test_kept(domain, &grown[domain->candidate_count++]);
	return 0;
}

static bool is_plausible(const struct candidate *candidate)
{
	uint64_t least = candidate->slack_ns[CLOCK_FLOOR];

	if (candidate->out)
		return false;
	if (candidate->slack_ns[0] != UINT64_MAX && candidate->slack_ns[1] != UINT64_MAX)
		return true;
	if (candidate->slack_ns[CLOCK_CEILING] < least)
		least = candidate->slack_ns[CLOCK_CEILING];
	return least <= PLAUSIBLE_NS;
}

/* By more than the error of both. */
static bool is_tighter(const struct candidate *candidate, const struct candidate *other,
		       enum clock_side side)
{
	uint64_t slack_ns = candidate->slack_ns[side], other_ns = other->slack_ns[side];
	uint64_t error_ns =
		candidate->error_ns > other->error_ns ? candidate->error_ns : other->error_ns;

	return slack_ns < other_ns && other_ns - slack_ns > error_ns;
}

/* The tightest candidate, and the first of equals: on a host that never slept, BOOTTIME is
 * MONOTONIC but for its error. The room above an enqueue decides before the room below a
 * completion: QUEUED is taken within a microsecond, but a completion may be detected much later. */
static int choose_candidate(const struct clock_domain *domain)
{
	int best = -1;

	for (size_t i = 0; i < domain->candidate_count; i++) {
		const struct candidate *candidate = &domain->candidates[i];
		const struct candidate *other = &domain->candidates[best < 0 ? 0 : best];

		if (!is_plausible(candidate))
			continue;
		if (best < 0 || is_tighter(candidate, other, CLOCK_FLOOR) ||
		    (!is_tighter(other, candidate, CLOCK_FLOOR) &&
		     is_tighter(candidate, other, CLOCK_CEILING)))
			best = (int)i;
	}
	return best;
}

/* ---- feeding ---- */

static size_t find_band(const struct clock_domain *domain, uint64_t time)
{
	size_t index = domain->band_count - 1;

	while (index > 0 && time < domain->starts[index])
		index--;
	return index;
}

static int add_to_new_band(struct clock_domain *domain, enum clock_side side, uint64_t time,
			   uint64_t host_ns)
{
	size_t index = domain->band_count;

	while (index > 0 && time < domain->starts[index - 1])
		index--;
	memmove(&domain->bands[index + 1], &domain->bands[index],
		(domain->band_count - index) * sizeof(domain->bands[0]));
	memmove(&domain->starts[index + 1], &domain->starts[index],
		(domain->band_count - index) * sizeof(domain->starts[0]));
	domain->bands[index] = (struct clock_band){0};
	/* the first band also takes earlier bounds that arrive late */
	domain->starts[index] = index ? time : 0;
	domain->band_count++;
	return clock_band_add(&domain->bands[index], side, time, host_ns);
}

static int add_bound(struct clock_domain *domain, enum clock_side side, uint64_t time,
		     uint64_t host_ns)
{
	struct clock_band *band;
	bool reaches;

	domain->bounds++;
	for (size_t i = 0; i < domain->candidate_count; i++)
		test_candidate(&domain->candidates[i], side, time, host_ns);
	if (!domain->band_count)
		return add_to_new_band(domain, side, time, host_ns);
	band = &domain->bands[find_band(domain, time)];
	reaches = clock_band_reaches(band, time, host_ns);
	if (reaches &&
	    (band->contradictory || clock_band_admits(band, &domain->prior, side, time, host_ns)))
		return clock_band_add(band, side, time, host_ns);
	if (domain->band_count < BANDS && time > band->first)
		return add_to_new_band(domain, side, time, host_ns);
	if (!reaches) {
		domain->unreachable++;
		return 0;
	}
	band->contradictory = true;
	return clock_band_add(band, side, time, host_ns);
}

int clock_domain_after(struct clock_domain *domain, uint64_t time, uint64_t host_ns)
{
	return add_bound(domain, CLOCK_FLOOR, time, host_ns);
}

int clock_domain_before(struct clock_domain *domain, uint64_t time, uint64_t host_ns)
{
	return add_bound(domain, CLOCK_CEILING, time, host_ns);
}

int clock_domain_pair(struct clock_domain *domain, uint64_t time, uint64_t host_lower_ns,
		      uint64_t host_upper_ns)
{
	struct clock_pair pair = {time, host_lower_ns, host_upper_ns};

	if (host_lower_ns > host_upper_ns)
		pair = (struct clock_pair){time, host_upper_ns, host_lower_ns};
	for (size_t i = 0; i < domain->candidate_count; i++) {
		test_candidate(&domain->candidates[i], CLOCK_FLOOR, time, pair.lower);
		test_candidate(&domain->candidates[i], CLOCK_CEILING, time, pair.upper);
	}
	return clock_pairs_add(&domain->pairs, &pair);
}

/* ---- solving ---- */

/* The part of the domain that a solution needs. */
struct range {
	uint64_t first, last; /* times of everything fed */
};

static struct range observed(const struct clock_domain *domain)
{
	struct range range = {UINT64_MAX, 0};

	for (size_t i = 0; i < domain->band_count; i++) {
		const struct clock_band *band = &domain->bands[i];

		range.first = band->first < range.first ? band->first : range.first;
		range.last = band->last > range.last ? band->last : range.last;
	}
	if (domain->pairs.count) {
		uint64_t first = domain->pairs.pairs[0].time;
		uint64_t last = domain->pairs.pairs[domain->pairs.count - 1].time;

		range.first = first < range.first ? first : range.first;
		range.last = last > range.last ? last : range.last;
	}
	return range;
}

static void append_line(struct clock_map *map, const struct clock_line *line,
			const struct clock_prior *prior)
{
	__int128 rise = line->host_last - line->host_first;
	uint64_t run = line->last - line->first;

	if (!run) {
		rise = (__int128)prior->nominal.rise_ns << CLOCK_FRACTION_BITS;
		run = (uint64_t)prior->nominal.run_ticks;
	}
	clock_map_append(map, line->first, line->host_first, rise, run);
}

static int map_of_line(const struct clock_line *line, const struct clock_prior *prior,
		       struct clock_map **ret_map)
{
	int rc = clock_map_new(1, ret_map);

	if (!rc)
		append_line(*ret_map, line, prior);
	return rc;
}

/* All bands [from, to) in one. */
static int unite(const struct clock_domain *domain, size_t from, size_t to,
		 struct clock_band *ret_union)
{
	for (size_t i = from; i < to; i++) {
		int rc = clock_band_add_band(ret_union, &domain->bands[i]);

		if (rc)
			return rc;
	}
	return 0;
}

/* One line for everything; -EDOM if no line fits. */
static int solve_line(const struct clock_domain *domain, const struct clock_band *band,
		      struct range range, struct clock_line *ret_line)
{
	struct clock_prior wide = make_prior(domain->frequency_hz, ROUNDED_PPM);
	int rc = clock_band_solve(band, &domain->prior, range.first, range.last, ret_line);

	if (rc && domain->frequency_hz)
		rc = clock_band_solve(band, &wide, range.first, range.last, ret_line);
	return rc;
}

/* ---- several lines, where the rate changed ---- */

struct pieces {
	struct clock_line lines[BANDS];
	size_t count;
	uint64_t error_ns;
};

/* A single wrong bound cuts twice: at its own time and right after it. A band of a few bounds that
 * breaks the line through both its neighbours is such an outlier. */
static bool is_outlier(const struct clock_domain *domain, size_t from, size_t index)
{
	uint64_t before = 0;

	if (index + 1 >= domain->band_count)
		return false;
	for (size_t i = from; i < index; i++)
		before += domain->bands[i].bounds;
	return domain->bands[index].bounds <= before / 16 &&
	       domain->bands[index].bounds <= domain->bands[index + 1].bounds / 16;
}

static bool joins(const struct clock_domain *domain, const struct clock_band *group,
		  const struct clock_band *band)
{
	struct clock_band both = {0};
	struct clock_line line;
	bool fits = !clock_band_add_band(&both, group) && !clock_band_add_band(&both, band) &&
		    !clock_band_solve(&both, &domain->prior, both.first, both.last, &line);

	clock_band_fini(&both);
	return fits;
}

static void add_error(struct pieces *pieces, uint64_t error_ns, uint64_t more_ns)
{
	error_ns = error_ns > UINT64_MAX - more_ns ? UINT64_MAX : error_ns + more_ns;
	if (error_ns > pieces->error_ns)
		pieces->error_ns = error_ns;
}

/* The longest run of bands from `from` that one line fits. */
static int solve_group(const struct clock_domain *domain, size_t from, struct pieces *pieces,
		       size_t *ret_next)
{
	struct clock_band group = {0};
	struct clock_line *line = &pieces->lines[pieces->count];
	size_t next = from + 1;
	int rc = clock_band_add_band(&group, &domain->bands[from]);

	while (!rc && next < domain->band_count) {
		bool skip = false;

		if (!joins(domain, &group, &domain->bands[next])) {
			if (!is_outlier(domain, from, next) ||
			    !joins(domain, &group, &domain->bands[next + 1]))
				break;
			skip = true;
		}
		next += skip;
		rc = clock_band_add_band(&group, &domain->bands[next++]);
	}
	if (!rc) {
		clock_band_solve_relaxed(&group, &domain->prior, group.first, group.last, line);
		pieces->count++;
		add_error(pieces, line->error_ns, line->relaxed_ns);
		*ret_next = next;
	}
	clock_band_fini(&group);
	return rc;
}

static __int128 line_at(const struct clock_line *line, uint64_t time)
{
	uint64_t run = line->last - line->first;

	if (!run || time <= line->first)
		return line->host_first;
	if (time >= line->last)
		return line->host_last;
	return line->host_first + (__int128)((long double)(line->host_last - line->host_first) *
					     (time - line->first) / run);
}

/* A line that ends after its successor starts is cut back until the whole successor remains, in
 * time and in host time. */
static void cut_back(struct clock_line *line, const struct clock_line *next)
{
	__int128 rise = line->host_last - line->host_first;
	uint64_t run = line->last - line->first;

	if (line->last >= next->first) {
		line->host_last = line_at(line, next->first - 1);
		line->last = next->first - 1;
	}
	if (line->host_last <= next->host_first || rise <= 0)
		return;
	if (next->host_first <= line->host_first) {
		line->last = line->first;
		line->host_last = line->host_first;
		return;
	}
	line->last = line->first +
		     (uint64_t)((long double)(next->host_first - line->host_first) * run / rise);
	line->host_last = next->host_first;
}

/* Difference of two lines at their junction. If the clock's rate changed, times converted just
 * before the change was noticed are wrong by this much. If the clock stepped, the step may have
 * happened at any time between the two lines. */
static uint64_t disagreement(const struct clock_line *line, const struct clock_line *next)
{
	uint64_t run = line->last - line->first, ahead = next->first - line->first;
	long double host = line->host_first;

	if (run)
		host += (long double)(line->host_last - line->host_first) / run * ahead;
	host = (host - next->host_first) / ((uint64_t)1 << CLOCK_FRACTION_BITS);
	host = host < 0 ? -host : host;
	return !run || host > 9e18L ? 0 : (uint64_t)host + 1;
}

/* Lines, connected by bridges because there was no bound between the last one of a line and the
 * first one of the next. Bridges never go down: a line that starts too low is lifted there. */
static int map_of_pieces(const struct clock_domain *domain, const struct pieces *pieces,
			 struct clock_map **ret_map)
{
	struct clock_map *map;
	__int128 top = 0; /* host time reached */
	int rc = clock_map_new(2 * pieces->count, &map);

	for (size_t i = 0; !rc && i < pieces->count; i++) {
		struct clock_line line = pieces->lines[i];
		bool is_last = i + 1 == pieces->count;

		if (!is_last)
			cut_back(&line, &pieces->lines[i + 1]);
		line.host_first = line.host_first > top ? line.host_first : top;
		line.host_last =
			line.host_last > line.host_first ? line.host_last : line.host_first;
		if (is_last || line.last > line.first)
			append_line(map, &line, &domain->prior);
		if (!is_last)
			clock_map_append(map, line.last, line.host_last,
					 pieces->lines[i + 1].host_first - line.host_last,
					 pieces->lines[i + 1].first - line.last);
		top = line.host_last;
	}
	*ret_map = rc ? NULL : map;
	return rc;
}

static int solve_pieces(const struct clock_domain *domain, struct clock_certificate *certificate,
			struct clock_map **ret_map)
{
	struct pieces *pieces = calloc(1, sizeof(*pieces));
	int rc = 0;

	if (!pieces)
		return error_set(-ENOMEM, "clock pieces: out of memory");
	for (size_t next = 0; !rc && next < domain->band_count;)
		rc = solve_group(domain, next, pieces, &next);
	for (size_t i = 0; !rc && i + 1 < pieces->count; i++)
		add_error(pieces, pieces->lines[i].error_ns,
			  disagreement(&pieces->lines[i], &pieces->lines[i + 1]));
	if (!rc)
		rc = map_of_pieces(domain, pieces, ret_map);
	certificate->error_ns = pieces->error_ns;
	free(pieces);
	return rc;
}

static int solve_hull(const struct clock_domain *domain, struct range range,
		      struct clock_certificate *certificate, struct clock_map **ret_map)
{
	struct clock_band all = {0};
	struct clock_line line;
	int rc = unite(domain, 0, domain->band_count, &all);

	certificate->method = CLOCK_METHOD_HULL;
	if (!rc)
		rc = solve_line(domain, &all, range, &line);
	if (!rc) {
		certificate->error_ns = line.error_ns;
		rc = map_of_line(&line, &domain->prior, ret_map);
	} else if (rc == -EDOM || rc == -ERANGE) {
		rc = solve_pieces(domain, certificate, ret_map);
	}
	clock_band_fini(&all);
	return rc;
}

/* ---- pairs ---- */

/* Too few pairs, or too close together, to give a rate: they are used as bounds beside the
 * causality bounds if a line fits both. */
static int solve_few_pairs(const struct clock_domain *domain, struct range range,
			   const struct clock_prior *prior, bool with_bounds,
			   struct clock_line *ret_line)
{
	struct clock_band band = {0};
	int rc = with_bounds ? unite(domain, 0, domain->band_count, &band) : 0;

	for (size_t i = 0; (!rc || !with_bounds) && i < domain->pairs.count; i++) {
		const struct clock_pair *pair = &domain->pairs.pairs[i];

		rc = clock_band_add(&band, CLOCK_FLOOR, pair->time, pair->lower);
		if (!rc)
			rc = clock_band_add(&band, CLOCK_CEILING, pair->time, pair->upper);
		if (rc == -ENOMEM)
			break;
	}
	if (!rc || (rc != -ENOMEM && !with_bounds)) {
		rc = clock_band_solve(&band, prior, range.first, range.last, ret_line);
		if (rc && !with_bounds) {
			clock_band_solve_relaxed(&band, prior, range.first, range.last, ret_line);
			rc = 0;
		}
	}
	clock_band_fini(&band);
	return rc;
}

static int solve_pairs(const struct clock_domain *domain, struct range range,
		       struct clock_certificate *certificate, struct clock_map **ret_map)
{
	uint64_t frequency_hz = domain->frequency_hz;
	struct clock_prior prior = domain->prior;
	struct clock_line line;
	int rc;

	certificate->method = CLOCK_METHOD_PAIRS;
	rc = clock_pairs_solve(&domain->pairs, range.first, range.last, ret_map,
			       &certificate->error_ns);
	if (rc || *ret_map)
		return rc;
	if (!frequency_hz) {
		frequency_hz = clock_pairs_frequency(&domain->pairs);
		if (frequency_hz && frequency_hz <= HIGHEST_FREQUENCY)
			prior = make_prior(frequency_hz, UNKNOWN_PPM);
	}
	rc = solve_few_pairs(domain, range, &prior, true, &line);
	/* A 19.2 MHz counter whose driver reports 52 ns is 1600 ppm off, and is still one line. */
	if (rc && rc != -ENOMEM && frequency_hz && domain->frequency_hz) {
		prior = make_prior(frequency_hz, ROUNDED_PPM);
		rc = solve_few_pairs(domain, range, &prior, true, &line);
	}
	if (rc && rc != -ENOMEM)
		rc = solve_few_pairs(domain, range, &prior, false, &line);
	if (rc)
		return rc;
	certificate->error_ns = line.error_ns;
	return map_of_line(&line, &prior, ret_map);
}

/* ---- the certificate ---- */

static int64_t clamp_signed(__int128 value)
{
	return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

/* Ticks of 1 / (frequency_hz * 10^9) s by which a clock is behind the host's after elapsed_ns.
 * ticks: its own, times 10^9. Saturates, because a damaged trace may name any frequency. */
static __int128 drift_ticks(uint64_t elapsed_ns, uint64_t frequency_hz, unsigned __int128 ticks)
{
	const __int128 limit = (__int128)(~(unsigned __int128)0 >> 1);
	__int128 expected;

	if (__builtin_mul_overflow((__int128)elapsed_ns, (__int128)frequency_hz, &expected))
		expected = limit;
	return expected - (__int128)ticks;
}

static int64_t clamp_real(long double value)
{
	return value >= 0x1p63L ? INT64_MAX : value <= -0x1p63L ? INT64_MIN : (int64_t)value;
}

/* Both ends of a line may be off by its error: a drift smaller than both errors over the whole span
 * may be none. */
static bool is_beyond(__int128 drift_ns, uint64_t error_ns)
{
	return !error_ns || (drift_ns < 0 ? -drift_ns : drift_ns) > (__int128)error_ns * 2;
}

static void fill_certificate(const struct clock_domain *domain, struct range range,
			     const struct clock_map *map, struct clock_certificate *certificate)
{
	uint64_t frequency_hz = domain->frequency_hz;
	uint64_t first = clock_map_to_host(map, range.first);
	uint64_t last = clock_map_to_host(map, range.last);
	unsigned __int128 ticks, nominal;
	__int128 drift, drift_ns;

	if (!frequency_hz)
		frequency_hz = clock_pairs_frequency(&domain->pairs);
	if (!frequency_hz)
		frequency_hz = NANOSECONDS;
	ticks = (unsigned __int128)(range.last - range.first) * NANOSECONDS;
	nominal = (unsigned __int128)range.first * NANOSECONDS / frequency_hz;
	drift = drift_ticks(last - first, frequency_hz, ticks);
	drift_ns = drift / frequency_hz;
	certificate->reference_time = range.first;
	certificate->offset_ns = clamp_signed((__int128)first - (__int128)nominal);
	certificate->has_drift = certificate->method == CLOCK_METHOD_SAME ||
				 (ticks && is_beyond(drift_ns, certificate->error_ns));
	if (certificate->has_drift && ticks)
		certificate->drift_ppb = clamp_real(drift / (long double)ticks * NANOSECONDS);
}

static int solve_candidate(const struct clock_domain *domain, int index,
			   struct clock_certificate *certificate, struct clock_map **ret_map)
{
	const struct candidate *candidate = &domain->candidates[index];

	certificate->method = CLOCK_METHOD_HOST;
	if (!candidate->error_ns && clock_map_is_identity(candidate->map))
		certificate->method = CLOCK_METHOD_SAME;
	certificate->candidate = index;
	certificate->error_ns = candidate->error_ns;
	return clock_map_copy(candidate->map, ret_map);
}

static void count_violations(const struct clock_domain *domain, const struct clock_map *map,
			     struct clock_certificate *certificate)
{
	/* a line from causality alone must not break any bound, not even by its error */
	uint64_t tolerance_ns =
		certificate->method == CLOCK_METHOD_HULL ? 0 : certificate->error_ns;

	certificate->violations = domain->unreachable;
	for (size_t i = 0; i < domain->band_count; i++)
		certificate->violations +=
			clock_band_violations(&domain->bands[i], map, tolerance_ns);
	certificate->violations +=
		clock_pairs_violations(&domain->pairs, map, certificate->error_ns);
}

/* Pairs are readings and follow a changing rate, so they come first. But a driver may read its
 * timer seconds away from the host's. The bounds decide if they are tighter by WORTHLESS and break
 * neither themselves nor a pair; a smaller difference is chance. */
#define WORTHLESS 16

static int prefer_bounds(const struct clock_domain *domain, struct range range,
			 struct clock_certificate *certificate, struct clock_map **map)
{
	struct clock_certificate causal = {.candidate = -1, .bounds = domain->bounds};
	struct clock_map *other = NULL;
	int rc;

	if (!domain->band_count)
		return 0;
	rc = solve_hull(domain, range, &causal, &other);
	if (rc)
		return rc;
	count_violations(domain, other, &causal);
	if (!causal.violations && causal.error_ns < certificate->error_ns / WORTHLESS) {
		struct clock_map *pairs = *map;

		*certificate = causal;
		*map = other;
		other = pairs;
	}
	clock_map_free(other);
	return 0;
}

int clock_domain_solve(struct clock_domain *domain, struct clock_certificate *ret_certificate,
		       struct clock_map **ret_map)
{
	struct clock_certificate certificate = {.candidate = -1, .bounds = domain->bounds};
	struct range range = observed(domain);
	struct clock_map *map = NULL;
	int candidate = -1, rc;

	if (!domain->band_count && !domain->pairs.count) {
		certificate.error_ns = UINT64_MAX;
		rc = clock_map_identity(&map);
	} else if ((candidate = choose_candidate(domain)) >= 0) {
		rc = solve_candidate(domain, candidate, &certificate, &map);
	} else if (domain->pairs.count) {
		rc = solve_pairs(domain, range, &certificate, &map);
		if (!rc)
			rc = prefer_bounds(domain, range, &certificate, &map);
	} else {
		rc = solve_hull(domain, range, &certificate, &map);
	}
	if (rc) {
		clock_map_free(map);
		return rc;
	}
	if (certificate.method != CLOCK_METHOD_NONE) {
		fill_certificate(domain, range, map, &certificate);
		count_violations(domain, map, &certificate);
	}
	*ret_certificate = certificate;
	*ret_map = map;
	return 0;
}
