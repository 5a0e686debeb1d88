// SPDX-License-Identifier: MIT
//
// Search over names: what matches is bright in the timeline, is counted, and can be walked through.

import {itemRange} from "./model.js";
import {visitItems} from "./account.js";
import {pick} from "./place.js";

// Kinds that are counted. A command is in other tracks too; of a device's state only idle time counts.
const COUNTED_KINDS = new Map([["calls", "API call"], ["queue", "command"], ["transfers", "transfer"], ["iterations", "iteration"], ["rejected", "rejected command"], ["off", "off the processor"],
	["ranges", "range"], ["samples", "CPU samples"], ["device", "idle"]]);

// Whether a track is searched: its items themselves are in the file.
function hasItems(track) {
	return COUNTED_KINDS.has(track.kind) && track.levels.length > 0 && track.levels[0].binNs === 0;
}

export class Search {
	/** @param {string} text part of a name; case does not matter */
	constructor(model, text) {
		this.model = model;
		this.text = text;
		this.needle = text.toLowerCase();
		this.learn();
	}

	/** Which names, paths, causes, stacks match; again when texts have come. */
	learn() {
		const {model} = this;
		this.names = new Set();
		model.names.forEach((name, i) => this.hasText(String(name)) && this.names.add(i));
		this.paths = new Set();
		for (let i = 0; i * 5 < model.paths.length; i++)
			if (this.names.has(model.paths[i * 5 + 2]) || this.names.has(model.paths[i * 5 + 3]))
				this.paths.add(i);
		this.causes = new Set(model.causes.map((_, i) => i).filter((i) => this.hasText("idle: " + model.causeText(i))));
		this.learnStacks();
	}

	// A stack matches where one of its frames does: callers have smaller numbers.
	learnStacks() {
		const {frames, stacks} = this.model, count = stacks.length / 2;
		this.stacks = new Uint8Array(count);
		for (let i = 1; i < count; i++)
			this.stacks[i] = this.stacks[stacks[i * 2]] || (this.names.has(frames[stacks[i * 2 + 1] * 4]) ? 1 : 0);
	}

	hasText(text) {
		return text.toLowerCase().includes(this.needle);
	}

	/**
	 * Whether an item of a track matches; what: its name, path, cause, or stack (samples); stack: where its thread was.
	 * Of calls and commands only names count, or what main() launched would be everything.
	 */
	matches(track, what, stack) {
		const {model} = this, path = model.pathOf(track, what);
		if (path >= 0)
			return this.paths.has(path);
		if (track.kind === "device")
			return track.unmeasured ? this.hasText(model.idleName(track, what)) : this.causes.has(what);
		if (track.kind === "samples")
			return this.stacks[what] === 1;
		return this.names.has(what) || (track.kind === "off" && this.stacks[stack] === 1);
	}

	/** Whether an item matches and is the one that counts, of those that are the same thing in several tracks. */
	counts(track, what, stack) {
		return (track.kind !== "device" || (this.model.causeOf(track, what) >= 0 && !track.unmeasured)) && this.matches(track, what, stack);
	}

	/** Whether a chart, or the group of a metric's parts that it is in, has the name. */
	matchesMetric(track) {
		return this.hasText(track.name) || Boolean(track.parent && track.parent.parent && track.parent.kind === "metrics" && this.hasText(track.parent.name));
	}

	/** Charts that match; of a group that matches the group alone. */
	metrics() {
		const found = this.model.tracks.filter((track) => (track.kind === "metrics" || this.model.isChart(track)) && this.hasText(track.name));
		return found.filter((track) => !found.includes(track.parent));
	}

	/** How many tracks cannot be searched, because their items are not in the file. */
	countUnsearched() {
		return this.model.tracks.filter((track) => COUNTED_KINDS.has(track.kind) && track.levels.length && !hasItems(track)).length;
	}

	/** Tracks that are walked through and counted. */
	tracks() {
		return this.model.tracks.filter(hasItems);
	}

	/**
	 * Counts matches by name over the whole run.
	 * @param {function(Map, boolean)} onCounts told now and then: key to {text, kind, count, isOfStacks}, and whether it is done
	 */
	async count(store, watch, onCounts) {
		const counts = new Map(), tracks = this.tracks();
		let told = performance.now();
		for (const [number, track] of tracks.entries()) {
			await visitItems(store, track, -Infinity, Infinity, watch, (chunk, i) => {
				const what = track.kind === "samples" ? chunk.stack[i] : chunk.what[i];
				if (this.counts(track, what, chunk.stack[i]))
					this.addTo(counts, track, what);
			});
			if (performance.now() - told > 300 && number + 1 < tracks.length) {
				onCounts(counts, false);
				told = performance.now();
			}
		}
		onCounts(counts, true);
	}

	addTo(counts, track, what) {
		const kind = COUNTED_KINDS.get(track.kind);
		const isOfStacks = track.kind === "samples" || (track.kind === "off" && !this.names.has(what));
		const text = isOfStacks ? "stacks with \u201c" + this.text + "\u201d" : this.model.itemName(track, what);
		const key = kind + "/" + text;
		if (!counts.has(key))
			counts.set(key, {text, kind, count: 0, isOfStacks});
		counts.get(key).count++;
	}

	/**
	 * The longest match, as pick() gives it; null: none. Of equal ones the first.
	 * @param {?function(object, number): boolean} isWanted (track, what): only those; null: all that match
	 */
	async longest(store, from, to, watch, isWanted) {
		const accepts = isWanted || ((track, what, stack) => this.counts(track, what, stack));
		let best = null, length = -1;
		for (const track of this.tracks())
			await visitItems(store, track, from, to, watch, (chunk, i, begin, end, index) => {
				const what = track.kind === "samples" ? chunk.stack[i] : chunk.what[i], duration = chunk.duration ? chunk.duration[i] : 0;
				if (duration > length && accepts(track, what, chunk.stack[i])) {
					length = duration;
					best = pick(track, 0, index, chunk, i);
				}
			});
		return best;
	}

	/** The place of a picked item in the order in which matches are walked through. */
	placeOf(picked) {
		const rank = this.model.tracks.indexOf(picked.track), isItem = picked.level === 0;
		return {begin: picked.item.begin, rank, index: isItem ? picked.index : -1, i: isItem ? picked.i : -1};
	}

	/**
	 * The match next after (direction 1) or before (-1) a place, in the order of time, then of tracks.
	 * @param {{begin, rank, index, i}} from as placeOf() gives it, or momentPlace() for the first match of all
	 * @param {?function(object, number): boolean} isWanted (track, what): only those; null: all that match
	 * @returns {Promise<?object>} as pick() gives it
	 */
	async next(store, from, direction, watch, isWanted) {
		const accepts = isWanted || ((track, what, stack) => this.counts(track, what, stack));
		const walk = {store, from, direction, watch, accepts, best: null, bestPlace: null};
		for (const [rank, track] of this.model.tracks.entries())
			if (hasItems(track))
				await walkTrack(walk, track, rank);
		return walk.best;
	}
}

/** The place before all that begins at a moment (direction 1), or behind it (-1). */
export function momentPlace(ns, direction) {
	return {begin: ns, rank: -direction * Infinity, index: 0, i: 0};
}

function comparePlaces(a, b) {
	return compareNumbers(a.begin, b.begin) || compareNumbers(a.rank, b.rank) || a.index - b.index || a.i - b.i;
}

// Infinite ones are equal to themselves.
function compareNumbers(a, b) {
	return a < b ? -1 : a > b ? 1 : 0;
}

// Takes the match of one track that is nearer than what was found in those before it.
async function walkTrack(walk, track, rank) {
	const {from, direction} = walk, {chunks} = track.levels[0];
	const order = direction > 0 ? chunks.keys() : [...chunks.keys()].reverse();
	for (const index of order) {
		const [begin, end] = chunks[index], limit = walk.bestPlace && walk.bestPlace.begin;
		if (direction > 0 ? end < from.begin : begin > from.begin)
			continue;
		if (limit !== null && (direction > 0 ? begin > limit : end < limit))
			continue;
		const chunk = await walk.store.load(track, 0, index);
		const i = firstMatch(walk, track, chunk, rank, index);
		const place = {begin: chunk.begin[i], rank, index, i};
		if (i >= 0 && (!walk.bestPlace || comparePlaces(place, walk.bestPlace) * direction < 0)) {
			walk.best = pick(track, 0, index, chunk, i);
			walk.bestPlace = place;
		}
		await walk.watch.step(0);
	}
}

function firstMatch({from, direction, accepts}, track, chunk, rank, index) {
	const what = track.kind === "samples" ? chunk.stack : chunk.what;
	const isBehind = (i) => comparePlaces({begin: chunk.begin[i], rank, index, i}, from) * direction > 0;
	const [low, high] = itemRange(chunk, direction > 0 ? from.begin : -Infinity, direction > 0 ? Infinity : from.begin + 1);
	for (let i = direction > 0 ? low : high - 1; i >= low && i < high; i += direction)
		if (accepts(track, what[i], chunk.stack[i]) && isBehind(i))
			return i;
	return -1;
}
