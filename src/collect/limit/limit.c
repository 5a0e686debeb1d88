/* SPDX-License-Identifier: MIT
 *
 * collect/limit/limit.c - holds the cost of recording a process below a limit (--max-overhead)
 *
 * Runs in:  the recorder
 * Gets:     the number of launches, and duet's own time, at the end of each window
 * Gives:    the level of the next window; the measured cost of each interval
 * Owns:     nothing
 * Fails:    never. Without enough launches it uses duet's own time, and the result says so.
 * Why:      A cost is the difference of two rates, and rates of programs drift by more than 1 %
 *           within a second. So windows with and without recording alternate within 10 to 200 ms,
 *           in the order on, off, off, on, which cancels a linear drift.
 */
#include "collect/limit/limit.h"

#include <math.h>

#include "base/array.h"

#define MS UINT64_C(1000000)

/* Sizes of windows: a block is one window, two windows without a pause, and one window. */
#define WINDOW_FIRST_NS (5 * MS / 2) /* the recorder looks each 1 to 5 ms */
#define WINDOW_NS       (10 * MS)    /* later: 20 ms without recording in each second */
#define WINDOW_MAX_NS   (50 * MS)
#define PERIOD_FIRST_NS (100 * MS)
#define PERIOD_NS       (1000 * MS)
#define PERIOD_MAX_NS   (60000 * MS)
#define TICK_NS         (20 * MS)  /* between readings without a block */
#define QUICK_NS        (20 * MS)  /* after this, guest's time of QUICK_SHARE counts */
#define SOON_NS         (100 * MS) /* … after this, its time above the limit */
#define RATE_NS         (200 * MS) /* this long it waits for them */
#define OWN_NS          (1000 * MS)
#define HOLD_NS         (5000 * MS)
#define HOLD_MAX_NS     (600000 * MS)
#define PROVEN_NS       (60000 * MS) /* a level that lasted this long was right */
#define EARLY_NS        (30000 * MS) /* a level that lasted less was a mistake */

enum {
	WINDOW_LAUNCHES = 16, /* fewer make the count itself too coarse */
	BLOCK_LAUNCHES = 16,
	RATE_LAUNCHES = 8, /* fewer do not give the rate */
	FIRST_BLOCKS = 20, /* measured one after the other */
	THIN_BLOCKS = 4,
	SURE_BLOCKS = 24 /* from here on an interval that is still wide stays wide */
};

/* A level is left upwards only if the next one costs less than this part of the limit. The gap
 * keeps a cost near the limit from changing the level again and again. */
#define UP_SHARE    0.8
/* A look at the next level may cost this part of the limit. */
#define LOOK_SHARE  0.1
/* The guest's own time is used at once only if it is above this part of the limit: a thread that
 * would wait for its device anyway is not slowed down by it, and windows may soon show that. */
#define QUICK_SHARE 2
/* A margin for a cost that duet's own time does not contain: it evicts the program's data from
 * caches. */
#define OWN_FACTOR  1.25
/* The same if it is not known how long the program waited for a processor: 1.8 covers a program
 * that gets 55 % of one. */
#define WALL_FACTOR 1.8
#define KNOWN_NS    (1000 * MS) /* the part of the time that is waited is that of this time */
#define LEAST_RUN   0.02        /* a thread that waits for longer is not measured any more */
/* A wider interval does not show whether the limit is held. */
#define WIDE_SHARE  0.5

uint32_t limit_every(enum limit_level level)
{
	static const uint32_t every[LIMIT_LEVELS] = {
		[LIMIT_STACKS] = 1, [LIMIT_SOME_STACKS] = 8, [LIMIT_FEW_STACKS] = 64};

	return every[level];
}

const char *limit_level_name(enum limit_level level)
{
	static const char *const names[LIMIT_LEVELS] = {
		[LIMIT_STACKS] = "everything",
		[LIMIT_SOME_STACKS] = "stacks of every 8th launch",
		[LIMIT_FEW_STACKS] = "stacks of every 64th launch",
		[LIMIT_SPANS] = "no stacks",
		[LIMIT_COUNTERS] = "counts of launches only",
	};

	return array_text(names, ARRAY_COUNT(names), level, "");
}

static enum limit_level top_of(const struct limit *limit)
{
	return limit->options.has_stacks ? LIMIT_STACKS : LIMIT_SPANS;
}

static enum limit_level bottom_of(const struct limit *limit)
{
	return limit->options.can_leave_out ? LIMIT_COUNTERS : LIMIT_SPANS;
}

void limit_init(struct limit *limit, const struct limit_options *options, uint64_t now_ns)
{
	*limit = (struct limit){
		.options = *options,
		.last = {.now_ns = now_ns},
		.due_ns = now_ns + WINDOW_FIRST_NS,
		.period_ns = PERIOD_FIRST_NS,
		.hold_ns = HOLD_NS,
		.above_after_ns = now_ns,
		.begin_ns = now_ns,
		.changed_ns = now_ns,
		.random = options->seed | 1,
	};
	limit->level = top_of(limit);
}

static uint32_t next_random(struct limit *limit)
{
	limit->random ^= limit->random << 13;
	limit->random ^= limit->random >> 17;
	limit->random ^= limit->random << 5;
	return limit->random;
}

/* ---- windows --------------------------------------------------------------------------------- */

bool limit_is_off(const struct limit *limit)
{
	if (limit->phase == LIMIT_REST)
		return limit->level == LIMIT_COUNTERS;
	return (limit->phase == LIMIT_MIDDLE) != limit->is_inverse;
}

enum limit_level limit_now(const struct limit *limit)
{
	if (limit_is_off(limit))
		return LIMIT_COUNTERS;
	return limit->phase != LIMIT_REST && limit->is_above ? limit->level - 1 : limit->level;
}

/* The part of the time in which the program does not wait for a processor. */
static double run_share(const struct limit *limit)
{
	const double share = limit->known_ns > 0 ? 1 - limit->waited_ns / limit->known_ns : 1;

	return share > LEAST_RUN ? share : LEAST_RUN;
}

/* The kernel adds a wait at its end, which may be in another window. So all windows share one
 * value. */
static void count_waits(struct limit *limit, const struct limit_reading *reading)
{
	limit->known_ns += (double)(reading->known_ns - limit->last.known_ns);
	limit->waited_ns += (double)(reading->waited_ns - limit->last.waited_ns);
	if (limit->known_ns > KNOWN_NS) {
		limit->known_ns /= 2;
		limit->waited_ns /= 2;
	}
}

/* Adds the time since the last reading to the window that ends now. */
static void count_window(struct limit *limit, const struct limit_reading *reading)
{
	const uint64_t ns = reading->now_ns - limit->last.now_ns;
	const uint64_t launches = reading->launches - limit->last.launches;
	struct limit_arm *arm =
		limit->is_above && limit->phase != LIMIT_REST ? &limit->above : &limit->here;

	if (limit->phase == LIMIT_REST) {
		limit->rest_launches += launches;
		limit->rest_ns += ns;
	} else if (limit_is_off(limit)) {
		limit->off_launches += launches;
		limit->off_ns += ns;
	} else {
		limit->on_launches += launches;
		limit->on_ns += ns;
	}
	if (limit_is_off(limit))
		return;
	arm->on_ns += ns;
	arm->run_ns += (double)ns * run_share(limit);
	arm->guest_ns += reading->guest_ns - limit->last.guest_ns;
	arm->long_ns += reading->long_ns - limit->last.long_ns;
	arm->recorder_ns += reading->recorder_ns - limit->last.recorder_ns;
	if (arm == &limit->above)
		limit->above_ns += ns;
}

/* ---- measured costs ------------------------------------------------------------------------- */

/* Short pieces are a part of the time in which the program could run: other processes that have its
 * processor make its cost no smaller. Long pieces contain their part of the waits. */
static double guest_cost(const struct limit_arm *arm)
{
	return arm->on_ns ? (double)arm->guest_ns / arm->run_ns +
				    (double)arm->long_ns / (double)arm->on_ns
			  : 0;
}

/* The recorder takes a part of all processors, at any load. */
static double own_cost(const struct limit_arm *arm)
{
	return arm->on_ns ? guest_cost(arm) + (double)arm->recorder_ns / (double)arm->on_ns : 0;
}

static double own_factor(const struct limit *limit)
{
	return limit->known_ns > 0 ? OWN_FACTOR : WALL_FACTOR;
}

/* False: the windows do not show the cost yet, or never will. An interval far below 0 comes from
 * noise, not from a low cost. */
static bool is_measured(const struct limit *limit, const struct limit_arm *arm,
			struct estimate_interval *ret_interval)
{
	const double max = limit->options.max;
	struct estimate_interval cost;

	if (!estimate_get(&arm->costs, &cost))
		return false;
	*ret_interval = cost;
	return cost.half_width <= max * WIDE_SHARE || cost.mean - cost.half_width > max ||
	       (cost.mean + cost.half_width < max && cost.mean - cost.half_width > -max);
}

static bool is_hopeless(const struct limit_arm *arm)
{
	return arm->costs.count >= SURE_BLOCKS;
}

/* Number of levels to go down; 0: none. */
static int levels_down(const struct limit *limit)
{
	const struct limit_arm *arm = &limit->here;
	const double max = limit->options.max;
	struct estimate_interval cost;

	if (limit->level >= bottom_of(limit))
		return 0;
	if (is_measured(limit, arm, &cost)) {
		if (cost.mean - cost.half_width > max)
			return cost.mean - cost.half_width > 4 * max ? 2 : 1;
		return is_hopeless(arm) && cost.mean > max;
	}
	/* On a busy machine windows need seconds. */
	if (arm->on_ns >= QUICK_NS && guest_cost(arm) > QUICK_SHARE * max)
		return guest_cost(arm) > 4 * QUICK_SHARE * max ? 2 : 1;
	if (arm->on_ns >= SOON_NS && guest_cost(arm) * own_factor(limit) > max)
		return 1;
	if (limit->options.can_leave_out && limit->thin < THIN_BLOCKS && !is_hopeless(arm))
		return 0;
	return arm->on_ns >= OWN_NS && own_cost(arm) * own_factor(limit) > max;
}

static bool can_go_up(const struct limit *limit, uint64_t now_ns)
{
	return limit->level > top_of(limit) && now_ns >= limit->above_after_ns;
}

static bool goes_up(const struct limit *limit, uint64_t now_ns)
{
	const double most = limit->options.max * UP_SHARE;
	struct estimate_interval cost;

	if (!can_go_up(limit, now_ns))
		return false;
	if (is_measured(limit, &limit->above, &cost))
		return cost.mean + cost.half_width < most ||
		       (is_hopeless(&limit->above) && cost.mean < most / 2);
	if (is_hopeless(&limit->above))
		return own_cost(&limit->above) < most / 2;
	/* Nothing is measured: try it. A step back doubles the time until the next try. */
	return (!limit->options.can_leave_out || limit->thin >= THIN_BLOCKS) &&
	       limit->level < LIMIT_COUNTERS && limit->here.on_ns >= OWN_NS &&
	       own_cost(&limit->here) < most / 2;
}

/* ---- results --------------------------------------------------------------------------------- */

static void put_result(struct limit *limit, uint64_t now_ns)
{
	const double all = (double)(now_ns - limit->begin_ns);
	const double above = all > 0 ? (double)limit->above_ns / all : 0;
	const double here = limit->level == LIMIT_COUNTERS ? 0 : 1 - above;
	struct estimate_interval cost = {0}, more = {0};
	const bool has_cost =
		limit->level == LIMIT_COUNTERS || estimate_get(&limit->here.costs, &cost);
	struct limit_result result = {
		.begin_ns = limit->begin_ns,
		.end_ns = now_ns,
		.level = limit->level,
		.pairs = limit->pairs,
	};

	if (has_cost && limit->options.can_leave_out && limit->pairs) {
		estimate_get(&limit->above.costs, &more);
		result.cost = here * cost.mean + above * more.mean;
		result.half_width = hypot(here * cost.half_width, above * more.half_width);
	} else if (limit->here.on_ns) {
		result.method = LIMIT_BY_OWN_TIME;
		result.cost = own_cost(&limit->here);
	} else {
		result.method = LIMIT_BY_NOTHING;
	}
	if (now_ns > limit->begin_ns) {
		limit->result = result;
		limit->has_result = true;
	}
	limit->begin_ns = now_ns;
	limit->above_ns = 0;
	limit->pairs = 0;
}

void limit_end(struct limit *limit, uint64_t now_ns)
{
	put_result(limit, now_ns);
}

bool limit_take(struct limit *limit, struct limit_result *ret_result)
{
	if (!limit->has_result)
		return false;
	*ret_result = limit->result;
	limit->has_result = false;
	return true;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void change_level(struct limit *limit, int levels, uint64_t now_ns)
{
	const bool is_early = now_ns - limit->changed_ns < EARLY_NS;
	int level = (int)limit->level + levels;

	put_result(limit, now_ns);
	if (level > (int)bottom_of(limit))
		level = (int)bottom_of(limit);
	if (levels > 0 && is_early && limit->hold_ns < HOLD_MAX_NS)
		limit->hold_ns *= 2;
	else if (now_ns - limit->changed_ns > PROVEN_NS)
		limit->hold_ns = HOLD_NS;
	limit->above_after_ns = now_ns + (levels > 0 ? limit->hold_ns : 0);
	/* The looks at the level above are its first measurements. */
	limit->here = levels < 0 ? limit->above : (struct limit_arm){0};
	limit->above = (struct limit_arm){0};
	limit->level = (enum limit_level)level;
	limit->changed_ns = now_ns;
	limit->blocks = 0;
	limit->thin = 0;
	limit->period_ns = PERIOD_FIRST_NS;
}

static void decide(struct limit *limit, uint64_t now_ns)
{
	int down = levels_down(limit);

	if (down)
		change_level(limit, down, now_ns);
	else if (goes_up(limit, now_ns))
		change_level(limit, -1, now_ns);
	else if (limit->pairs >= ESTIMATE_VALUES)
		put_result(limit, now_ns);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Chooses windows that hold WINDOW_LAUNCHES. False: they would be too long. */
static bool choose_window(struct limit *limit)
{
	const double per_ns = limit->rest_launches >= RATE_LAUNCHES
				      ? (double)limit->rest_launches / (double)limit->rest_ns
				      : 0;
	const uint64_t usual_ns = limit->blocks < FIRST_BLOCKS ? WINDOW_FIRST_NS : WINDOW_NS;
	const double needed_ns = per_ns > 0 ? WINDOW_LAUNCHES / per_ns : 2.0 * WINDOW_MAX_NS;

	if (!limit->options.can_leave_out || needed_ns > WINDOW_MAX_NS)
		return false;
	limit->window_ns = needed_ns > (double)usual_ns ? (uint64_t)needed_ns : usual_ns;
	return true;
}

static void begin_block(struct limit *limit, uint64_t now_ns)
{
	const bool may_look = can_go_up(limit, now_ns);

	limit->is_above = may_look && (limit->level == LIMIT_COUNTERS || limit->blocks % 2);
	limit->is_inverse = next_random(limit) >> 16 & 1;
	limit->on_launches = limit->on_ns = limit->off_launches = limit->off_ns = 0;
	limit->phase = LIMIT_FIRST;
	limit->due_ns = now_ns + limit->window_ns;
}

/* The next block begins after a random time, so that no rhythm of the program is preferred. */
static void rest(struct limit *limit, uint64_t now_ns)
{
	uint64_t rest_ns =
		limit->period_ns / 2 + limit->period_ns / 1024 * (next_random(limit) % 1024);
	struct estimate_interval cost;
	double look_ns;

	if (limit->blocks < FIRST_BLOCKS)
		rest_ns = limit->window_ns / 1024 * (next_random(limit) % 1024);
	else if (limit->period_ns < PERIOD_NS)
		limit->period_ns += limit->period_ns / 2;
	if (limit->is_above && estimate_get(&limit->above.costs, &cost) && cost.mean > 0) {
		look_ns = (double)limit->on_ns * cost.mean / (limit->options.max * LOOK_SHARE);
		if (look_ns > (double)rest_ns)
			rest_ns =
				look_ns < (double)PERIOD_MAX_NS ? (uint64_t)look_ns : PERIOD_MAX_NS;
	}
	limit->rest_launches = limit->rest_ns = 0;
	limit->phase = LIMIT_REST;
	limit->is_above = false;
	limit->due_ns = now_ns + (rest_ns > MS ? rest_ns : MS);
}

/* The extra time per launch with recording, as a part of the time without. */
static void end_block(struct limit *limit, uint64_t now_ns)
{
	struct limit_arm *arm = limit->is_above ? &limit->above : &limit->here;
	double on, off;

	limit->blocks++;
	if (limit->on_launches < BLOCK_LAUNCHES || limit->off_launches < BLOCK_LAUNCHES) {
		limit->thin++;
	} else {
		on = (double)limit->on_launches / (double)limit->on_ns;
		off = (double)limit->off_launches / (double)limit->off_ns;
		estimate_add(&arm->costs, off / on - 1);
		limit->pairs++;
		limit->thin = 0;
	}
	rest(limit, now_ns);
	decide(limit, now_ns);
}

static void end_rest(struct limit *limit, uint64_t now_ns)
{
	/* At COUNTERS there is nothing to compare before the next level may be looked at. */
	const bool has_block = limit->level != LIMIT_COUNTERS || can_go_up(limit, now_ns);
	int down;

	limit->due_ns = now_ns + TICK_NS;
	if (has_block && limit->rest_launches < RATE_LAUNCHES && limit->rest_ns < RATE_NS)
		return;
	if (has_block && choose_window(limit)) {
		limit->idle_ns = 0;
		begin_block(limit, now_ns);
		return;
	}
	limit->idle_ns += limit->rest_ns;
	limit->rest_launches = limit->rest_ns = 0;
	down = levels_down(limit);
	if (down)
		change_level(limit, down, now_ns);
	if (down || !has_block || limit->idle_ns < OWN_NS)
		return;
	limit->idle_ns = 0;
	limit->thin = THIN_BLOCKS;
	decide(limit, now_ns);
}

uint64_t limit_step(struct limit *limit, const struct limit_reading *reading)
{
	const uint64_t now_ns = reading->now_ns;

	if (now_ns < limit->due_ns)
		return limit->due_ns;
	count_waits(limit, reading);
	count_window(limit, reading);
	limit->last = *reading;
	switch (limit->phase) {
	case LIMIT_REST:
		end_rest(limit, now_ns);
		break;
	case LIMIT_FIRST:
		limit->phase = LIMIT_MIDDLE;
		limit->due_ns = now_ns + 2 * limit->window_ns;
		break;
	case LIMIT_MIDDLE:
		limit->phase = LIMIT_LAST;
		limit->due_ns = now_ns + limit->window_ns;
		break;
	case LIMIT_LAST:
		end_block(limit, now_ns);
		break;
	}
	return limit->due_ns;
}
