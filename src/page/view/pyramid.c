/* SPDX-License-Identifier: MIT
 *
 * page/view/pyramid.c - the items of one track and their sums in bins of time, from fine to coarse
 * levels
 *
 * Runs in:  our own process
 * Gets:     items, nearly in the order of their start
 * Gives:    chunks of columns in a store
 * Owns:     for each level, the current chunk and bin; spans that have not ended
 * Fails:    -ENOMEM, errors of the store
 * Why only the finest level reads items: a bin of the next level is the sum of eight bins, and so
 *           on, so 10^7 items cost little more than one level. A level is dropped during the
 *           recording if it has nearly as many bins as items, or if long spans cover too many of
 *           its bins. Then the next level becomes the finest one.
 */
#include "page/view/pyramid.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"
#include "base/order/heap.h"

enum {
	BIN_COLUMNS = 5,
	READING_BIN_COLUMNS = 6,
	FINEST_BITS = 9,
	LEVEL_BITS = 3,
	ROWS_FREE = 1024,  /* rows of a level before it may be dropped */
	WORK_FREE = 65536, /* steps over open spans before a level may be dropped */
	MAX_WORK = 8,      /* max steps over open spans per item */
	ITEMS_WORTH = 8,   /* min items per row of a level */
	READING_BINS = 64  /* max bins of the finest level for one reading */
};

static unsigned int bits_of(unsigned int level)
{
	return FINEST_BITS + LEVEL_BITS * (level - 1);
}

uint64_t pyramid_bin_ns(unsigned int level)
{
	return level ? UINT64_C(1) << bits_of(level) : 0;
}

static int64_t bin_of(unsigned int level, int64_t time_ns)
{
	return time_ns >> bits_of(level);
}

static int64_t begin_of(unsigned int level, int64_t bin)
{
	return (int64_t)((uint64_t)bin << bits_of(level));
}

void pyramid_init(struct pyramid *pyramid, enum pyramid_type type, unsigned int columns,
		  unsigned int hint, int64_t from_ns, int64_t to_ns, struct view_store *store)
{
	*pyramid = (struct pyramid){.type = type,
				    .columns = columns,
				    .hint = hint,
				    .from_ns = from_ns,
				    .to_ns = to_ns,
				    .store = store,
				    .finest = 1};
}

static void free_level(struct pyramid_level *level)
{
	view_rows_fini(&level->filling);
	free(level->chunks);
	level->chunks = NULL;
	level->chunks_count = level->chunks_capacity = 0;
	view_tally_fini(&level->tally);
}

void pyramid_fini(struct pyramid *pyramid)
{
	if (!pyramid)
		return;
	for (size_t i = 0; i < PYRAMID_LEVELS; i++)
		free_level(&pyramid->levels[i]);
	view_tally_fini(&pyramid->standing);
	free(pyramid->open);
	pyramid->open = NULL;
	pyramid->open_count = pyramid->open_capacity = 0;
}

/* ---- chunks ---- */

static unsigned int columns_of(const struct pyramid *pyramid, unsigned int index)
{
	if (!index)
		return pyramid->columns;
	return pyramid->type == PYRAMID_READINGS ? READING_BIN_COLUMNS : BIN_COLUMNS;
}

/* Column 1 of the first row is relative to the chunk's start; for bins it is relative to 0. */
static int flush_chunk(struct pyramid *pyramid, unsigned int index)
{
	struct pyramid_level *level = &pyramid->levels[index];
	int error;

	if (!level->filling.count || level->is_dropped)
		return 0;
	if (array_grow(level->chunks, level->chunks_capacity, level->chunks_count + 1))
		return -ENOMEM;
	error = view_rows_write(&level->filling, columns_of(pyramid, index),
				index ? 0 : level->filling.begin_ns, pyramid->hint + (index > 0),
				pyramid->store, &level->chunks[level->chunks_count]);
	level->chunks_count += !error;
	return error;
}

static int put_row(struct pyramid *pyramid, unsigned int index, const struct view_row *row)
{
	struct pyramid_level *level = &pyramid->levels[index];
	bool has_links = !index && pyramid->columns > VIEW_LINK_COLUMN;
	int error = 0;

	if (level->filling.count == VIEW_CHUNK_ROWS)
		error = flush_chunk(pyramid, index);
	level->rows++;
	return error ? error
		     : view_rows_add(&level->filling, columns_of(pyramid, index), has_links, row);
}

static int put_item(struct pyramid *pyramid, const struct pyramid_item *item, int64_t end_ns)
{
	bool is_from_end = pyramid->type == PYRAMID_SPANS || pyramid->type == PYRAMID_READINGS;

	return put_row(pyramid, 0,
		       &(struct view_row){.first = item->begin_ns,
					  .base = is_from_end ? end_ns : item->begin_ns,
					  .begin_ns = item->begin_ns,
					  .end_ns = end_ns,
					  .values = item->values});
}

static int put_bin(struct pyramid *pyramid, unsigned int index, int64_t bin, const uint64_t *values)
{
	if (pyramid->levels[index].is_dropped)
		return 0;
	return put_row(pyramid, index,
		       &(struct view_row){.first = bin,
					  .base = bin,
					  .begin_ns = begin_of(index, bin),
					  .end_ns = begin_of(index, bin + 1),
					  .values = values});
}

/* ---- bins ---- */

static void start_bin(struct pyramid_level *level, int64_t bin)
{
	level->has_bin = true;
	level->bin = bin;
	level->begun = level->covered = 0;
	level->area = 0;
	view_tally_clear(&level->tally);
}

/* The mean value of a bin; without covered time, its last value. */
static int64_t mean_of(const struct pyramid_level *level)
{
	double mean = level->covered ? level->area / (double)level->covered : (double)level->value;

	/* the sum of the parts may be rounded beyond the bin's range */
	if (mean <= (double)level->least)
		return level->least;
	return mean >= (double)level->largest ? level->largest : llround(mean);
}

static int write_bin(struct pyramid *pyramid, unsigned int index)
{
	const struct pyramid_level *level = &pyramid->levels[index];
	struct view_tally_entry most = max_view_tally(&level->tally);

	if (pyramid->type == PYRAMID_VALUES)
		return put_bin(pyramid, index, level->bin,
			       (uint64_t[]){level->begun, view_zigzag(level->value),
					    view_zigzag(level->least),
					    view_zigzag(level->largest)});
	if (pyramid->type == PYRAMID_READINGS)
		return put_bin(pyramid, index, level->bin,
			       (uint64_t[]){level->begun, level->covered,
					    view_zigzag(mean_of(level)), view_zigzag(level->least),
					    view_zigzag(level->largest)});
	if (!level->begun && !level->tally.count)
		return 0;
	return put_bin(pyramid, index, level->bin,
		       (uint64_t[]){level->begun, level->covered, most.what, most.amount});
}

static int flush_bin(struct pyramid *pyramid, unsigned int index);

static int merge_up(struct pyramid *pyramid, unsigned int index)
{
	const struct pyramid_level *level = &pyramid->levels[index];
	struct pyramid_level *above = &pyramid->levels[index + 1];
	int64_t bin = level->bin >> LEVEL_BITS;
	bool is_new = !above->has_bin || above->bin != bin;
	int error = 0;

	if (is_new && above->has_bin)
		error = flush_bin(pyramid, index + 1);
	if (error)
		return error;
	if (is_new) {
		start_bin(above, bin);
		above->least = level->least;
		above->largest = level->largest;
	}
	above->begun += level->begun;
	above->covered = add_saturated(above->covered, level->covered);
	above->area += level->area;
	above->value = level->value;
	above->least = level->least < above->least ? level->least : above->least;
	above->largest = level->largest > above->largest ? level->largest : above->largest;
	return view_tally_merge(&above->tally, &level->tally);
}

/* Ends the current bin: writes it and adds it to the bin of the next coarser level. */
static int flush_bin(struct pyramid *pyramid, unsigned int index)
{
	struct pyramid_level *level = &pyramid->levels[index];
	int error;

	if (!level->has_bin)
		return 0;
	error = write_bin(pyramid, index);
	if (!error && index + 1 < PYRAMID_LEVELS)
		error = merge_up(pyramid, index);
	level->has_bin = false;
	return error;
}

static uint64_t part_until(int64_t begin_ns, int64_t end_ns, int64_t until_ns)
{
	int64_t end = end_ns < until_ns ? end_ns : until_ns;

	return end > begin_ns ? (uint64_t)(end - begin_ns) : 0;
}

static int cover_bin(struct pyramid_level *level, uint64_t what, bool is_uncovered, uint64_t amount)
{
	if (!is_uncovered)
		level->covered = add_saturated(level->covered, amount);
	return view_tally_add(&level->tally, what, amount);
}

/* ---- open spans ---- */

static uint64_t kind_of(const struct pyramid_item *item)
{
	return item->what << 1 | item->is_uncovered;
}

static int cover_kind(struct pyramid_level *level, uint64_t kind, uint64_t amount)
{
	return cover_bin(level, kind >> 1, kind & 1, amount);
}

static int hold_span(struct pyramid *pyramid, int64_t end_ns, uint64_t kind)
{
	if (array_append(pyramid->open, pyramid->open_capacity, pyramid->open_count,
			 (struct pyramid_open){end_ns, kind}) ||
	    view_tally_add(&pyramid->standing, kind, 1))
		return -ENOMEM;
	HEAP_LIFT(pyramid->open, pyramid->open_count, a->end_ns < b->end_ns);
	return 0;
}

/* Removes and returns the open span that ends first. */
static struct pyramid_open release_span(struct pyramid *pyramid)
{
	const struct pyramid_open first =
		HEAP_POP(pyramid->open, pyramid->open_count, a->end_ns < b->end_ns);

	view_tally_take(&pyramid->standing, first.kind, 1);
	if (!pyramid->open_count)
		view_tally_clear(&pyramid->standing);
	return first;
}

/* Adds the open spans, from `begin_ns` on, to the finest level's bin. Spans that end in the bin are
 * added one by one, the others as one sum per kind. */
static int cover_open(struct pyramid *pyramid, int64_t begin_ns)
{
	struct pyramid_level *level = &pyramid->levels[pyramid->finest];
	int64_t until = begin_of(pyramid->finest, level->bin + 1);
	const struct view_tally *standing = &pyramid->standing;
	int error = 0;

	while (!error && pyramid->open_count && pyramid->open[0].end_ns <= until) {
		struct pyramid_open open = release_span(pyramid);

		if (open.end_ns > begin_ns)
			error = cover_kind(level, open.kind, (uint64_t)(open.end_ns - begin_ns));
		pyramid->work++;
	}
	for (size_t i = 0; i < standing->count && begin_ns < until && !error; i++) {
		const struct view_tally_entry *entry = &standing->entries[i];

		if (entry->amount)
			error = cover_kind(level, entry->what,
					   entry->amount * (uint64_t)(until - begin_ns));
	}
	pyramid->work += standing->count;
	return error;
}

/* ---- sequence of bins ---- */

static bool is_worth(const struct pyramid *pyramid, unsigned int index, uint64_t free_rows)
{
	return pyramid->levels[index].rows <= free_rows + pyramid->items / ITEMS_WORTH;
}

static void drop_level(struct pyramid_level *level)
{
	free_level(level);
	level->is_dropped = true;
}

/* Drops the finest level; the next coarser one continues at the end of its current bin. */
static int drop_finest(struct pyramid *pyramid)
{
	struct pyramid_level *level = &pyramid->levels[pyramid->finest];
	int64_t end_ns = begin_of(pyramid->finest, level->bin + 1);
	int error = flush_bin(pyramid, pyramid->finest);

	if (error)
		return error;
	drop_level(level);
	pyramid->finest++;
	return cover_open(pyramid, end_ns);
}

static int judge_finest(struct pyramid *pyramid)
{
	int error = 0;

	while (!error && pyramid->finest + 1 < PYRAMID_LEVELS &&
	       (!is_worth(pyramid, pyramid->finest, ROWS_FREE) ||
		pyramid->work > WORK_FREE + MAX_WORK * pyramid->items)) {
		pyramid->work = 0;
		error = drop_finest(pyramid);
	}
	return error;
}

/* Moves the finest level to its next bin with content, at most to that of `time_ns`. */
static int step_to_bin(struct pyramid *pyramid, int64_t time_ns)
{
	unsigned int finest = pyramid->finest;
	struct pyramid_level *level = &pyramid->levels[finest];
	int64_t next = level->bin + 1;
	int error = flush_bin(pyramid, finest);

	if (!error)
		error = judge_finest(pyramid);
	if (error || pyramid->finest != finest)
		return error;
	if (!pyramid->open_count)
		next = bin_of(finest, time_ns);
	start_bin(level, next);
	return cover_open(pyramid, begin_of(finest, next));
}

static int advance(struct pyramid *pyramid, int64_t time_ns)
{
	int error = 0;

	if (!pyramid->levels[pyramid->finest].has_bin)
		start_bin(&pyramid->levels[pyramid->finest], bin_of(pyramid->finest, time_ns));
	while (!error && pyramid->levels[pyramid->finest].bin < bin_of(pyramid->finest, time_ns))
		error = step_to_bin(pyramid, time_ns);
	return error;
}

/* ---- late items ---- */

/* Writes additional rows for bins that are written already: [begin_ns, end_ns) of an item. */
static int put_late(struct pyramid *pyramid, unsigned int index, const struct pyramid_item *item,
		    int64_t begin_ns, int64_t end_ns)
{
	int64_t last = bin_of(index, end_ns > begin_ns ? end_ns - 1 : begin_ns);
	uint64_t begun = 1;
	int error = 0;

	for (int64_t bin = bin_of(index, begin_ns); bin <= last && !error; bin++) {
		int64_t begin = begin_of(index, bin);
		uint64_t part = pyramid->type == PYRAMID_MOMENTS
					? item->weight
					: part_until(begin > begin_ns ? begin : begin_ns, end_ns,
						     begin_of(index, bin + 1));

		error = put_bin(
			pyramid, index, bin,
			(uint64_t[]){begun, item->is_uncovered ? 0 : part, item->what, part});
		begun = 0;
	}
	return error;
}

/* Adds [begin_ns, end_ns), which precedes the current bin of the next finer level. The part before
 * this level's current bin gets additional rows; the rest is added to the bin. */
static int add_late(struct pyramid *pyramid, unsigned int index, const struct pyramid_item *item,
		    int64_t begin_ns, int64_t end_ns)
{
	struct pyramid_level *level = &pyramid->levels[index];
	bool is_moment = pyramid->type == PYRAMID_MOMENTS;
	int64_t open_ns;
	int error = 0;

	if (!level->has_bin)
		start_bin(level, bin_of(index, end_ns > begin_ns ? end_ns - 1 : begin_ns));
	open_ns = begin_of(index, level->bin);
	if (begin_ns >= open_ns) {
		level->begun++;
		return cover_bin(level, item->what, item->is_uncovered,
				 is_moment ? item->weight : (uint64_t)(end_ns - begin_ns));
	}
	if (end_ns > open_ns && !is_moment)
		error = cover_bin(level, item->what, item->is_uncovered,
				  (uint64_t)(end_ns - open_ns));
	end_ns = end_ns < open_ns ? end_ns : open_ns;
	if (!error)
		error = put_late(pyramid, index, item, begin_ns, end_ns);
	if (error || index + 1 == PYRAMID_LEVELS)
		return error;
	return add_late(pyramid, index + 1, item, begin_ns, end_ns);
}

/* Drops finest levels in which late items would need too many additional rows. */
static int drop_for_late(struct pyramid *pyramid, int64_t length_ns)
{
	int error = 0;

	while (!error && pyramid->finest + 1 < PYRAMID_LEVELS &&
	       (bin_of(pyramid->finest, length_ns) > ROWS_FREE ||
		!is_worth(pyramid, pyramid->finest, ROWS_FREE)))
		error = drop_finest(pyramid);
	return error;
}

/* ---- items ---- */

static int add_to_bins(struct pyramid *pyramid, const struct pyramid_item *item, int64_t begin_ns,
		       int64_t end_ns)
{
	bool is_moment = pyramid->type == PYRAMID_MOMENTS;
	struct pyramid_level *level;
	int64_t bin_ns, until_ns;
	bool is_late;
	int error = advance(pyramid, begin_ns);

	level = &pyramid->levels[pyramid->finest];
	if (!error && begin_ns < begin_of(pyramid->finest, level->bin))
		error = drop_for_late(pyramid, begin_of(pyramid->finest, level->bin) - begin_ns);
	if (error)
		return error;
	level = &pyramid->levels[pyramid->finest];
	bin_ns = begin_of(pyramid->finest, level->bin);
	until_ns = begin_of(pyramid->finest, level->bin + 1);
	is_late = begin_ns < bin_ns;
	if (is_late)
		error = add_late(pyramid, pyramid->finest, item, begin_ns,
				 end_ns < bin_ns ? end_ns : bin_ns);
	else
		level->begun++;
	begin_ns = is_late ? bin_ns : begin_ns;
	if (!error && is_moment && !is_late)
		error = cover_bin(level, item->what, false, item->weight);
	if (error || is_moment || end_ns <= begin_ns)
		return error;
	error = cover_bin(level, item->what, item->is_uncovered,
			  part_until(begin_ns, end_ns, until_ns));
	if (!error && end_ns > until_ns)
		error = hold_span(pyramid, end_ns, kind_of(item));
	return error;
}

static int add_value(struct pyramid *pyramid, const struct pyramid_item *item, int64_t begin_ns)
{
	struct pyramid_level *level;
	int64_t standing = pyramid->has_value ? pyramid->value : item->value;
	int error = advance(pyramid, begin_ns);

	if (error)
		return error;
	level = &pyramid->levels[pyramid->finest];
	if (!level->begun)
		level->least = level->largest = standing;
	level->begun++;
	level->value = item->value;
	level->least = item->value < level->least ? item->value : level->least;
	level->largest = item->value > level->largest ? item->value : level->largest;
	pyramid->has_value = true;
	pyramid->value = item->value;
	return 0;
}

/* Drops finest levels until a reading of this length covers at most READING_BINS bins. */
static int drop_for_long(struct pyramid *pyramid, int64_t length_ns)
{
	int error = 0;

	while (!error && pyramid->finest + 1 < PYRAMID_LEVELS &&
	       bin_of(pyramid->finest, length_ns) > READING_BINS)
		error = drop_finest(pyramid);
	return error;
}

static void add_reading_part(struct pyramid_level *level, int64_t value, int64_t length_ns)
{
	bool is_first = !level->begun && !level->covered;

	level->least = is_first || value < level->least ? value : level->least;
	level->largest = is_first || value > level->largest ? value : level->largest;
	level->value = value;
	level->covered += (uint64_t)length_ns;
	level->area += (double)value * (double)length_ns;
}

/* Adds a reading to each bin that it covers. An overlap with the previous reading is counted only
 * once, by starting at the current bin. */
static int add_reading(struct pyramid *pyramid, const struct pyramid_item *item, int64_t begin_ns,
		       int64_t end_ns)
{
	uint64_t begun = 1;
	int error = drop_for_long(pyramid, end_ns - begin_ns);

	do {
		struct pyramid_level *level;
		int64_t bin_ns, until_ns;

		if (!error)
			error = advance(pyramid, begin_ns);
		if (error)
			return error;
		level = &pyramid->levels[pyramid->finest];
		bin_ns = begin_of(pyramid->finest, level->bin);
		until_ns = begin_of(pyramid->finest, level->bin + 1);
		begin_ns = begin_ns < bin_ns ? bin_ns : begin_ns;
		until_ns = until_ns < end_ns ? until_ns : end_ns;
		add_reading_part(level, item->value, until_ns > begin_ns ? until_ns - begin_ns : 0);
		level->begun += begun;
		begun = 0;
		begin_ns = until_ns;
	} while (begin_ns < end_ns);
	return 0;
}

static int64_t clamp(int64_t time_ns, int64_t low, int64_t high)
{
	if (time_ns < low)
		return low;
	return time_ns > high ? high : time_ns;
}

int pyramid_add(struct pyramid *pyramid, const struct pyramid_item *item)
{
	int64_t end_ns = item->begin_ns + (int64_t)item->duration_ns;
	int64_t begin = clamp(item->begin_ns, pyramid->from_ns, pyramid->to_ns - 1);
	int error = put_item(pyramid, item, end_ns);

	pyramid->items++;
	if (error)
		return error;
	if (pyramid->type == PYRAMID_VALUES)
		return add_value(pyramid, item, begin);
	if (pyramid->type == PYRAMID_READINGS)
		return add_reading(pyramid, item, begin, clamp(end_ns, begin, pyramid->to_ns));
	return add_to_bins(pyramid, item, begin, clamp(end_ns, begin, pyramid->to_ns));
}

/* ---- finishing ---- */

static int finish_bins(struct pyramid *pyramid)
{
	int error = 0;

	while (!error && pyramid->open_count)
		error = step_to_bin(pyramid, 0);
	for (unsigned int i = pyramid->finest; i < PYRAMID_LEVELS && !error; i++)
		error = flush_bin(pyramid, i);
	return error;
}

/* A track with few items needs no bins. Other tracks always keep their coarsest level. */
static void choose_levels(struct pyramid *pyramid, uint64_t wall_ns)
{
	unsigned int coarsest = 1;
	bool is_small = pyramid->items <= 2 * (uint64_t)MAX_PYRAMID_BINS;

	while (coarsest + 1 < PYRAMID_LEVELS &&
	       wall_ns / pyramid_bin_ns(coarsest) >= MAX_PYRAMID_BINS)
		coarsest++;
	coarsest = coarsest < pyramid->finest ? pyramid->finest : coarsest;
	for (unsigned int i = 1; i < PYRAMID_LEVELS; i++) {
		if (is_small || i > coarsest || (i < coarsest && !is_worth(pyramid, i, 0)))
			drop_level(&pyramid->levels[i]);
	}
}

int pyramid_finish(struct pyramid *pyramid, uint64_t wall_ns)
{
	int error = finish_bins(pyramid);

	choose_levels(pyramid, wall_ns);
	for (unsigned int i = 0; i < PYRAMID_LEVELS && !error; i++)
		error = flush_chunk(pyramid, i);
	return error;
}
