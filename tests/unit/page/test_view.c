/* SPDX-License-Identifier: MIT
 *
 * tests/unit/export/test_view.c - items packed into chunks and bins, chunks into sections
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/lane_assign.h"
#include "page/view/metrics.h"
#include "page/view/pyramid.h"
#include "page/view/sections.h"
#include "page/view/tracks.h"
#include "harness.h"

#define WHOLE (INT64_C(1) << 53)

static uint64_t state = 1;

static uint64_t random_below(uint64_t limit)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 33) % limit;
}

/* ---- a reader of chunks ---- */

struct table {
	int64_t *values; /* row by row */
	size_t rows, capacity;
	unsigned int columns;
};

static struct view_store *new_store(void)
{
	struct view_store *store = NULL;

	CHECK_EQUAL(view_store_new(NULL, &store), 0);
	return store;
}

static uint8_t *inflate_bytes(const struct view_bytes *deflated, size_t size)
{
	uint8_t *bytes = calloc(1, size + 1);
	z_stream stream = {.next_in = deflated->bytes,
			   .avail_in = (uInt)deflated->size,
			   .next_out = bytes,
			   .avail_out = (uInt)size + 1};

	CHECK_EQUAL(inflateInit2(&stream, -15), Z_OK);
	CHECK_EQUAL(inflate(&stream, Z_FINISH), Z_STREAM_END);
	CHECK_EQUAL(stream.total_out, size);
	inflateEnd(&stream);
	return bytes;
}

static uint8_t *read_piece(struct view_store *store, const struct view_chunk *chunk)
{
	struct view_bytes deflated = {0};
	uint8_t *bytes;

	CHECK_EQUAL(view_store_finish(store), 0);
	CHECK_EQUAL(view_store_read(store, chunk->piece, &deflated), 0);
	CHECK_EQUAL(array_grow(deflated.bytes, deflated.capacity, deflated.size + 2), 0);
	memcpy(deflated.bytes + deflated.size, VIEW_DEFLATE_END, 2);
	deflated.size += 2;
	bytes = inflate_bytes(&deflated, chunk->bytes);
	free(deflated.bytes);
	return bytes;
}

static uint64_t next_varint(const uint8_t **at)
{
	uint64_t value = 0;
	unsigned int shift = 0;

	do {
		value |= (uint64_t)(**at & 127) << shift;
		shift += 7;
	} while (*(*at)++ & 128);
	return value;
}

static int64_t unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* Appends the rows of a chunk as they are written, without adding up deltas. */
static void read_chunk(struct view_store *store, const struct view_chunk *chunk,
		       struct table *table)
{
	uint8_t *bytes = read_piece(store, chunk);
	const uint8_t *at = bytes;
	uint64_t same = next_varint(&at);

	REQUIRE(!array_grow(table->values, table->capacity,
			    (table->rows + chunk->items) * table->columns));
	for (unsigned int i = 0; i < table->columns; i++) {
		int64_t value = 0;

		for (size_t row = 0; row < chunk->items; row++) {
			if (!row || !(same >> i & 1))
				value = (int64_t)next_varint(&at);
			table->values[(table->rows + row) * table->columns + i] = value;
		}
	}
	CHECK_EQUAL(at - bytes, chunk->bytes);
	table->rows += chunk->items;
	free(bytes);
}

/* ---- rows ---- */

TEST(rows_keep_values_and_leave_out_what_is_the_same)
{
	struct view_store *store = new_store();
	struct view_rows rows = {0};
	struct table table = {.columns = 7};
	struct view_chunk chunk;
	const int64_t begins[] = {100, 90, 130};
	const uint64_t links[] = {41, 0, 42};

	for (size_t i = 0; i < 3; i++) {
		const uint64_t values[] = {10, 0, i, UINT64_MAX, links[i], 7};
		const struct view_row row = {begins[i], begins[i] + 10, begins[i], begins[i] + 10,
					     values};

		CHECK_EQUAL(view_rows_add(&rows, 7, true, &row), 0);
	}
	CHECK_EQUAL(view_rows_write(&rows, 7, rows.begin_ns, 0, store, &chunk), 0);
	CHECK_EQUAL(chunk.begin_ns, 90);
	CHECK_EQUAL(chunk.end_ns, 140);
	CHECK_EQUAL(chunk.items, 3);
	read_chunk(store, &chunk, &table);
	CHECK_EQUAL(unzigzag((uint64_t)table.values[0]), 10);
	CHECK_EQUAL(unzigzag((uint64_t)table.values[7]), 90 - 110);
	CHECK_EQUAL(unzigzag((uint64_t)table.values[14]), 130 - 100);
	CHECK_EQUAL(table.values[7 + 3], 1);
	CHECK_EQUAL(table.values[14 + 4], -1);
	CHECK_EQUAL(table.values[5], 1 + 2 * 40); /* link 40, expected 0 */
	CHECK_EQUAL(table.values[7 + 5], 0);
	CHECK_EQUAL(table.values[14 + 5], 1); /* as expected */
	/* a mask, 3 begins, one duration, one lane, 3 whats, one stack of 10 bytes, 3 links, one
	 * extra */
	CHECK_EQUAL(chunk.bytes, 1 + 3 + 1 + 1 + 3 + 10 + 3 + 1);
	/* another chunk knows nothing of this one */
	CHECK_EQUAL(view_rows_add(&rows, 7, true,
				  &(struct view_row){.values = (uint64_t[]){0, 0, 0, 0, 43, 0}}),
		    0);
	CHECK_EQUAL(view_rows_write(&rows, 7, 0, 0, store, &chunk), 0);
	read_chunk(store, &chunk, &table);
	CHECK_EQUAL(table.values[21 + 5], 1 + 2 * 42);
	free(table.values);
	view_rows_fini(&rows);
	view_store_free(store);
}

TEST(rows_of_one_value_take_a_byte_a_column)
{
	struct view_store *store = new_store();
	struct view_rows rows = {0};
	struct view_chunk chunk;
	const uint64_t values[] = {5};

	for (int64_t i = 0; i < 1000; i++) {
		const struct view_row row = {5 * i, 5 * i + 5, 5 * i, 5 * i + 5, values};

		CHECK_EQUAL(view_rows_add(&rows, 2, false, &row), 0);
	}
	CHECK_EQUAL(view_rows_write(&rows, 2, rows.begin_ns, 0, store, &chunk), 0);
	CHECK_EQUAL(chunk.bytes, 3);
	CHECK_EQUAL(rows.count, 0);
	view_rows_fini(&rows);
	view_store_free(store);
}

/* ---- the store ---- */

TEST(pieces_come_back_in_any_order)
{
	struct view_store *store = new_store();
	struct view_bytes deflated = {0};
	uint32_t id;

	for (uint32_t turn = 0; turn < 2; turn++) {
		for (uint32_t i = 0; i < 100; i++) {
			struct view_bytes *bytes = view_store_begin(store);

			REQUIRE(!array_grow(bytes->bytes, bytes->capacity, 1000));
			for (bytes->size = 0; bytes->size < 1000; bytes->size++)
				bytes->bytes[bytes->size] =
					(uint8_t)(i % 2 ? random_below(256) : i + turn);
			bytes->bytes[0] = (uint8_t)(i + turn);
			CHECK_EQUAL(view_store_end(store, i % 3, &id), 0);
			CHECK_EQUAL(id, i);
		}
		CHECK_EQUAL(view_store_finish(store), 0);
		for (uint32_t i = 100; i-- > 0;) {
			const struct view_chunk chunk = {.piece = i, .bytes = 1000};
			uint8_t *bytes = read_piece(store, &chunk);

			CHECK_EQUAL(bytes[0], i + turn);
			free(bytes);
		}
		CHECK(view_store_size(store, 0) < 100); /* one value, again and again */
		CHECK_EQUAL(view_store_clear(store), 0);
	}
	free(deflated.bytes);
	view_store_free(store);
}

/* ---- tallies ---- */

TEST(max_tally_adds_and_finds_the)
{
	struct view_tally tally = {0}, other = {0};
	uint64_t sums[100] = {0};
	struct view_tally_entry most;

	for (size_t turn = 0; turn < 3; turn++) {
		size_t largest = 0, kinds = turn == 1 ? 5 : 100;

		memset(sums, 0, sizeof(sums));
		for (size_t i = 0; i < 1000; i++) {
			uint64_t what = random_below(kinds), amount = random_below(50);

			sums[what] += amount;
			CHECK_EQUAL(view_tally_add(i % 2 ? &tally : &other, what * 3, amount), 0);
		}
		CHECK_EQUAL(view_tally_add(&tally, 3 * 4, 99), 0);
		view_tally_take(&tally, 3 * 4, 99);
		CHECK_EQUAL(view_tally_merge(&tally, &other), 0);
		for (size_t i = 0; i < kinds; i++)
			largest = sums[i] > sums[largest] ? i : largest;
		most = max_view_tally(&tally);
		CHECK_EQUAL(most.what, 3 * largest);
		CHECK_EQUAL(most.amount, sums[largest]);
		CHECK(tally.count <= kinds);
		view_tally_clear(&tally);
		view_tally_clear(&other);
		CHECK_EQUAL(max_view_tally(&tally).amount, 0);
	}
	view_tally_fini(&tally);
	view_tally_fini(&other);
}

/* ---- lanes ---- */

TEST(lanes_hide_nothing_and_the_first_free_one_is_taken)
{
	struct lanes lanes = {0};
	uint64_t ends[1000] = {0}, begin = 0;
	size_t lane, used = 0;

	for (size_t i = 0; i < 5000; i++) {
		uint64_t end = begin + random_below(400);
		size_t free_lane = 0;

		while (free_lane < used && ends[free_lane] > begin)
			free_lane++;
		REQUIRE(!lanes_place_command(&lanes, begin, end, &lane));
		CHECK_EQUAL(lane, free_lane);
		used = lane == used ? used + 1 : used;
		ends[lane] = end;
		begin += random_below(4);
	}
	CHECK(used > 50);
	CHECK_EQUAL(lanes.count, used);
	lanes_fini(&lanes);
}

/* ---- pyramids ---- */

struct made_item {
	int64_t begin, end;
	uint64_t what, weight;
	bool is_uncovered;
};

enum { WHATS = 12 };

/* What a bin must say. */
struct made_bin {
	uint64_t begun, covered, amounts[WHATS];
};

static void add_items(struct pyramid *pyramid, const struct made_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const uint64_t values[6] = {(uint64_t)(items[i].end - items[i].begin), 0,
					    items[i].what};
		const struct pyramid_item item = {.begin_ns = items[i].begin,
						  .duration_ns =
							  (uint64_t)(items[i].end - items[i].begin),
						  .weight = items[i].weight,
						  .what = items[i].what,
						  .is_uncovered = items[i].is_uncovered,
						  .values = values};

		CHECK_EQUAL(pyramid_add(pyramid, &item), 0);
	}
}

static struct made_bin *sum_bins(const struct made_item *items, size_t count, int64_t bin_ns,
				 size_t bins, bool is_moment)
{
	struct made_bin *made = calloc(bins, sizeof(*made));

	for (size_t i = 0; i < count; i++) {
		int64_t at = items[i].begin;

		made[at / bin_ns].begun++;
		if (is_moment) {
			made[at / bin_ns].covered += items[i].weight;
			made[at / bin_ns].amounts[items[i].what] += items[i].weight;
		}
		while (!is_moment && at < items[i].end) {
			int64_t until = (at / bin_ns + 1) * bin_ns;
			uint64_t part;

			until = until < items[i].end ? until : items[i].end;
			part = (uint64_t)(until - at);
			made[at / bin_ns].covered += items[i].is_uncovered ? 0 : part;
			made[at / bin_ns].amounts[items[i].what] += part;
			at = until;
		}
	}
	return made;
}

/* Rows of one bin add up. Returns whether any bin had several. */
static bool compare_bins(const struct table *table, const struct made_bin *made, size_t bins,
			 bool may_be_double)
{
	struct made_bin *found = calloc(bins, sizeof(*found));
	uint8_t *seen = calloc(bins, 1);
	bool is_double = false;
	int64_t bin = 0;

	for (size_t i = 0; i < table->rows; i++) {
		const int64_t *row = &table->values[i * table->columns];
		uint64_t most = 0;

		bin += unzigzag((uint64_t)row[0]);
		if (bin < 0 || (size_t)bin >= bins)
			continue;
		is_double |= seen[bin];
		seen[bin] = 1;
		found[bin].begun += (uint64_t)row[1];
		found[bin].covered += (uint64_t)row[2];
		found[bin].amounts[row[3]] += (uint64_t)row[4];
		for (size_t what = 0; what < WHATS; what++)
			most = made[bin].amounts[what] > most ? made[bin].amounts[what] : most;
		CHECK((uint64_t)row[4] <= made[bin].amounts[row[3]]);
		if (!may_be_double)
			CHECK_EQUAL(row[4], most);
	}
	for (size_t i = 0; i < bins; i++) {
		CHECK_EQUAL(found[i].begun, made[i].begun);
		CHECK_EQUAL(found[i].covered, made[i].covered);
	}
	free(found);
	free(seen);
	return is_double;
}

static unsigned int check_levels(struct pyramid *pyramid, const struct made_item *items,
				 size_t count, int64_t wall_ns, bool may_be_double)
{
	unsigned int levels = 0;

	for (unsigned int i = 1; i < PYRAMID_LEVELS; i++) {
		const struct pyramid_level *level = &pyramid->levels[i];
		size_t bins = (size_t)((uint64_t)wall_ns / pyramid_bin_ns(i)) + 2;
		struct made_bin *made;
		struct table table = {.columns = 5};

		if (!level->chunks_count)
			continue;
		levels++;
		made = sum_bins(items, count, (int64_t)pyramid_bin_ns(i), bins,
				pyramid->type == PYRAMID_MOMENTS);
		for (size_t j = 0; j < level->chunks_count; j++) {
			size_t before = table.rows;
			int64_t bin = 0;

			read_chunk(pyramid->store, &level->chunks[j], &table);
			/* each chunk counts from bin 0: as a delta to where the one before it
			 * ended */
			for (size_t row = 0; row < before; row++)
				bin += unzigzag((uint64_t)table.values[row * 5]);
			table.values[before * 5] = (int64_t)view_zigzag(
				unzigzag((uint64_t)table.values[before * 5]) - bin);
		}
		CHECK(!compare_bins(&table, made, bins, may_be_double) || may_be_double);
		free(made);
		free(table.values);
	}
	return levels;
}

/* length 0: moments. */
static struct made_item *make_items(size_t count, uint64_t step, uint64_t length, size_t late)
{
	struct made_item *items = calloc(count, sizeof(*items));
	int64_t at = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t begin = at;

		if (late && i % late == late - 1)
			begin -= (int64_t)random_below((uint64_t)at + 1);
		items[i] = (struct made_item){.begin = begin,
					      .end = begin +
						     (int64_t)(length ? random_below(length) : 0),
					      .what = random_below(WHATS),
					      .weight = 1 + random_below(9),
					      .is_uncovered = length && random_below(2)};
		at += (int64_t)random_below(step);
	}
	return items;
}

/* Items of about that length, every `late`th of them late; 0: none. Returns how many levels of bins
 * there are. */
static unsigned int check_pyramid(enum pyramid_type type, size_t count, uint64_t step,
				  uint64_t length, size_t late)
{
	struct view_store *store = new_store();
	struct made_item *items = make_items(count, step, length, late);
	struct pyramid pyramid;
	unsigned int levels;
	int64_t wall_ns = 0;

	for (size_t i = 0; i < count; i++)
		wall_ns = items[i].end > wall_ns ? items[i].end : wall_ns;
	pyramid_init(&pyramid, type, 7, 0, 0, WHOLE, store);
	add_items(&pyramid, items, count);
	CHECK_EQUAL(pyramid_finish(&pyramid, (uint64_t)wall_ns), 0);
	CHECK_EQUAL(pyramid.items, count);
	levels = check_levels(&pyramid, items, count, wall_ns, late);
	pyramid_fini(&pyramid);
	view_store_free(store);
	free(items);
	return levels;
}

TEST(bins_of_short_spans_add_up)
{
	CHECK(check_pyramid(PYRAMID_SPANS, 400000, 20, 100, 0) >= 2);
}

TEST(bins_of_spans_that_are_longer_than_many_bins_add_up)
{
	CHECK(check_pyramid(PYRAMID_SPANS, 20000, 200, 300000, 0) >= 1);
	CHECK(check_pyramid(PYRAMID_CROWDS, 20000, 20, 10000000, 0) >= 1);
	CHECK(check_pyramid(PYRAMID_SPANS, 9000, 1000000, 100, 0) >= 1);
}

TEST(bins_add_up_where_items_come_late)
{
	CHECK(check_pyramid(PYRAMID_CROWDS, 200000, 20, 100, 10) >= 1);
	CHECK(check_pyramid(PYRAMID_CROWDS, 30000, 200, 30000, 1000) >= 1);
	CHECK(check_pyramid(PYRAMID_MOMENTS, 200000, 20, 0, 50) >= 1);
}

TEST(bins_of_moments_add_up)
{
	CHECK(check_pyramid(PYRAMID_MOMENTS, 400000, 20, 0, 0) >= 2);
}

TEST(one_span_of_a_day_makes_no_row_for_each_bin)
{
	struct view_store *store = new_store();
	const struct made_item item = {.begin = 5, .end = INT64_C(86400000000000)};
	struct pyramid pyramid;

	pyramid_init(&pyramid, PYRAMID_SPANS, 7, 0, 0, WHOLE, store);
	add_items(&pyramid, &item, 1);
	CHECK_EQUAL(pyramid_finish(&pyramid, (uint64_t)item.end), 0);
	CHECK_EQUAL(pyramid.levels[0].chunks_count, 1);
	for (unsigned int i = 1; i < PYRAMID_LEVELS; i++)
		CHECK_EQUAL(pyramid.levels[i].chunks_count, 0);
	pyramid_fini(&pyramid);
	view_store_free(store);
}

TEST(bins_have_nothing_beyond_the_part_that_is_shown)
{
	struct view_store *store = new_store();
	struct made_item *items = make_items(10000, 200, 20000, 0);
	struct pyramid pyramid;

	pyramid_init(&pyramid, PYRAMID_SPANS, 7, 0, 100000, 900000, store);
	add_items(&pyramid, items, 10000);
	CHECK_EQUAL(pyramid_finish(&pyramid, 900000), 0);
	for (size_t i = 0; i < 10000; i++) {
		int64_t *ends[] = {&items[i].begin, &items[i].end};

		for (size_t j = 0; j < 2; j++) {
			*ends[j] = *ends[j] < 100000 ? 100000 : *ends[j];
			*ends[j] = *ends[j] > 900000 - !j ? 900000 - !j : *ends[j];
		}
	}
	CHECK(check_levels(&pyramid, items, 10000, 900000, false) >= 1);
	pyramid_fini(&pyramid);
	view_store_free(store);
	free(items);
}

TEST(bins_of_values_have_the_last_the_least_and_the_largest)
{
	struct view_store *store = new_store();
	struct table table = {.columns = 5};
	struct pyramid pyramid;
	int64_t bin = 0, last = 0, values[20000];

	pyramid_init(&pyramid, PYRAMID_VALUES, 2, 0, 0, WHOLE, store);
	for (int64_t i = 0; i < 20000; i++) {
		uint64_t column;

		values[i] = (int64_t)random_below(1000) - 500;
		column = view_zigzag(values[i]);
		CHECK_EQUAL(pyramid_add(&pyramid, &(struct pyramid_item){.begin_ns = 100 * i,
									 .value = values[i],
									 .values = &column}),
			    0);
	}
	CHECK_EQUAL(pyramid_finish(&pyramid, 2000000), 0);
	REQUIRE(pyramid.levels[2].chunks_count == 1); /* of 4096 ns */
	read_chunk(store, &pyramid.levels[2].chunks[0], &table);
	for (size_t i = 0; i < table.rows; i++) {
		const int64_t *row = &table.values[5 * i];
		int64_t first, end, least, largest;

		bin += unzigzag((uint64_t)row[0]);
		first = (bin * 4096 + 99) / 100;
		end = ((bin + 1) * 4096 + 99) / 100;
		end = end < 20000 ? end : 20000;
		least = largest = first ? last : values[0];
		for (int64_t j = first; j < end; j++) {
			least = values[j] < least ? values[j] : least;
			largest = values[j] > largest ? values[j] : largest;
		}
		last = values[end - 1];
		CHECK_EQUAL(row[1], end - first);
		CHECK_EQUAL(unzigzag((uint64_t)row[2]), last);
		CHECK_EQUAL(unzigzag((uint64_t)row[3]), least);
		CHECK_EQUAL(unzigzag((uint64_t)row[4]), largest);
	}
	CHECK_EQUAL(table.rows, 2000000 / 4096 + 1);
	free(table.values);
	pyramid_fini(&pyramid);
	view_store_free(store);
}

/* 10000 readings of 100 ns and one of 2 ms, whose value is its number, and 50 ns between them of
 * which nobody knows. */
TEST(bins_of_readings_have_means_and_what_is_known)
{
	struct view_store *store = new_store();
	struct table table = {.columns = 6};
	struct pyramid pyramid;
	int64_t bin = 0, covered = 0, begun = 0, least = WHOLE, largest = 0;
	const int64_t long_begin = 1500000, long_end = 3500000;

	pyramid_init(&pyramid, PYRAMID_READINGS, 4, 0, 0, WHOLE, store);
	for (int64_t i = 0; i <= 10000; i++) {
		uint64_t length = i == 10000 ? (uint64_t)(long_end - long_begin) : 100;
		const uint64_t columns[] = {length, view_zigzag(i), 0};

		CHECK_EQUAL(pyramid_add(&pyramid, &(struct pyramid_item){.begin_ns = 150 * i,
									 .duration_ns = length,
									 .value = i,
									 .values = columns}),
			    0);
	}
	CHECK_EQUAL(pyramid_finish(&pyramid, (uint64_t)long_end), 0);
	REQUIRE(pyramid.levels[3].chunks_count == 1); /* of 32768 ns */
	read_chunk(store, &pyramid.levels[3].chunks[0], &table);
	for (size_t i = 0; i < table.rows; i++) {
		const int64_t *row = &table.values[6 * i];
		int64_t mean = unzigzag((uint64_t)row[3]);

		bin += unzigzag((uint64_t)row[0]);
		begun += row[1];
		covered += row[2];
		least = unzigzag((uint64_t)row[4]) < least ? unzigzag((uint64_t)row[4]) : least;
		largest =
			unzigzag((uint64_t)row[5]) > largest ? unzigzag((uint64_t)row[5]) : largest;
		CHECK(mean >= unzigzag((uint64_t)row[4]) && mean <= unzigzag((uint64_t)row[5]));
		if ((bin + 1) * 32768 <= long_begin) {
			/* values rise evenly: the mean is that of the middle, to a reading's
			 * width */
			CHECK(mean - (bin * 32768 + 16384) / 150 <= 1 &&
			      mean - (bin * 32768 + 16384) / 150 >= -1);
			CHECK(row[2] > 32768 * 6 / 10 && row[2] < 32768 * 7 / 10);
		} else if (bin * 32768 >= long_begin && (bin + 1) * 32768 <= long_end) {
			CHECK_EQUAL(mean, 10000);
			CHECK_EQUAL(row[2], 32768);
			CHECK_EQUAL(row[1], 0);
		}
	}
	CHECK_EQUAL(begun, 10001);
	CHECK_EQUAL(covered, 10000 * 100 + long_end - long_begin);
	CHECK_EQUAL(least, 0);
	CHECK_EQUAL(largest, 10000);
	free(table.values);
	pyramid_fini(&pyramid);
	view_store_free(store);
}

/* ---- sections ---- */

static struct view_track *make_track(struct view_store *store, size_t count)
{
	struct view_track *track = calloc(1, sizeof(*track));
	struct made_item *items = make_items(count, 2000, 1000, 0);

	pyramid_init(&track->pyramid, PYRAMID_SPANS, 7, 0, 0, WHOLE, store);
	add_items(&track->pyramid, items, count);
	CHECK_EQUAL(pyramid_finish(&track->pyramid, 1000 * count), 0);
	free(items);
	return track;
}

static void free_tracks(struct view_track **tracks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		pyramid_fini(&tracks[i]->pyramid);
		free(tracks[i]);
	}
}

TEST(sections_begin_with_the_coarsest_levels_and_cut_the_finest)
{
	struct view_store *store = new_store();
	struct view_track *all[] = {make_track(store, 100000), make_track(store, 3000)};
	struct view_tracks tracks = {.all = all, .count = 2};
	struct pyramid *large = &all[0]->pyramid, *small = &all[1]->pyramid;
	struct view_sections sections;
	unsigned int coarsest = PYRAMID_LEVELS - 1;

	CHECK_EQUAL(view_store_finish(store), 0);
	while (!large->levels[coarsest].chunks_count)
		coarsest--;
	view_sections_init(&sections, store, UINT64_MAX);
	CHECK_EQUAL(view_sections_pack(&sections, &tracks), 0);
	CHECK_EQUAL(large->levels[coarsest].chunks[0].section, 1);
	CHECK_EQUAL(small->levels[0].chunks[0].section, 1);
	CHECK_EQUAL(large->levels[0].chunks[0].section, 2);
	CHECK(large->levels[0].chunks[6].section > 2 || large->levels[0].chunks[6].at > 0);
	CHECK_EQUAL(sections.cut, 0);
	view_sections_fini(&sections);
	view_sections_init(&sections, store, 50000);
	CHECK_EQUAL(view_sections_pack(&sections, &tracks), 0);
	CHECK_EQUAL(sections.cut, 1);
	CHECK(large->is_cut && !large->levels[0].chunks_count);
	CHECK(large->levels[coarsest].chunks_count && small->levels[0].chunks_count);
	CHECK(sections.bytes <= 50000);
	view_sections_fini(&sections);
	free_tracks(all, 2);
	view_store_free(store);
}

TEST(a_section_is_one_element_of_base64)
{
	struct view_store *store = new_store();
	struct view_track *all[] = {make_track(store, 3000)};
	struct view_tracks tracks = {.all = all, .count = 1};
	static const char begin[] = "<script type=\"text/plain\" id=\"s1\">", end[] = "</script>\n";
	struct view_sections sections;
	char *text = NULL;
	size_t size = 0, length;
	FILE *file = open_memstream(&text, &size);

	CHECK_EQUAL(view_store_finish(store), 0);
	view_sections_init(&sections, store, UINT64_MAX);
	CHECK_EQUAL(view_sections_pack(&sections, &tracks), 0);
	CHECK_EQUAL(sections.count, 1);
	CHECK_EQUAL(view_sections_write(&sections, 0, file), 0);
	fclose(file);
	CHECK(strncmp(text, begin, strlen(begin)) == 0);
	length = strspn(text + strlen(begin), "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					      "0123456789+/=");
	CHECK_TEXT(text + strlen(begin) + length, end);
	CHECK_EQUAL(length % 4, 0);
	free(text);
	view_sections_fini(&sections);
	free_tracks(all, 1);
	view_store_free(store);
}

int main(void)
{
	RUN(rows_keep_values_and_leave_out_what_is_the_same);
	RUN(rows_of_one_value_take_a_byte_a_column);
	RUN(pieces_come_back_in_any_order);
	RUN(max_tally_adds_and_finds_the);
	RUN(lanes_hide_nothing_and_the_first_free_one_is_taken);
	RUN(bins_of_short_spans_add_up);
	RUN(bins_of_spans_that_are_longer_than_many_bins_add_up);
	RUN(bins_add_up_where_items_come_late);
	RUN(bins_of_moments_add_up);
	RUN(one_span_of_a_day_makes_no_row_for_each_bin);
	RUN(bins_have_nothing_beyond_the_part_that_is_shown);
	RUN(bins_of_values_have_the_last_the_least_and_the_largest);
	RUN(bins_of_readings_have_means_and_what_is_known);
	RUN(sections_begin_with_the_coarsest_levels_and_cut_the_finest);
	RUN(a_section_is_one_element_of_base64);
	return harness_end();
}
