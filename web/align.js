// SPDX-License-Identifier: MIT
//
// What two timelines can be aligned by: their begins, the N-th iteration, the N-th range of a name, what is selected.

import {visitItems, Watch} from "./account.js";

const MOST_RANGES = 400000, MOST_NAMES = 100;

async function momentsOf(model, store, kind, keep) {
	for (const track of model.ofKind(kind))
		await visitItems(store, track, -Infinity, Infinity, new Watch(), (chunk, i) =>
			keep(model.itemName(track, chunk.what[i]), chunk.begin[i], chunk.begin[i] + chunk.duration[i]));
}

const inTime = (a, b) => a.begin - b.begin || b.end - a.end;

/** The iterations of a run in order: [{begin, end}], ns from its begin; empty: none are known. */
export async function iterationsOf(model, store) {
	const moments = [];
	await momentsOf(model, store, "iterations", (name, begin, end) => moments.push({begin, end}));
	return moments.sort(inTime);
}

/** The ranges of a run by name, each list in order. Of a run with very many ranges none. */
export async function rangesOf(model, store) {
	const byName = new Map(), count = model.ofKind("ranges").reduce((sum, track) => sum + track.items, 0);
	if (count > MOST_RANGES)
		return byName;
	await momentsOf(model, store, "ranges", (name, begin, end) => {
		if (!byName.has(name))
			byName.set(name, []);
		byName.get(name).push({begin, end});
	});
	for (const moments of byName.values())
		moments.sort(inTime);
	return byName;
}

function totalOf(moments) {
	return moments.reduce((sum, {begin, end}) => sum + end - begin, 0);
}

/** Names of ranges that both runs have, those that take longest first. */
export function commonNames(base, changed) {
	const names = [...base.keys()].filter((name) => name && changed.has(name));
	const total = new Map(names.map((name) => [name, totalOf(base.get(name)) + totalOf(changed.get(name))]));
	return names.sort((a, b) => total.get(b) - total.get(a)).slice(0, MOST_NAMES);
}

/**
 * The moments of both runs that lie one above the other.
 * @param {object[][]} lists of the base and of the new run; empty: their begins
 * @param {number} index from 0; the nearest one that both runs have counts
 * @returns {{index, count, origins, spans}} count: places that both runs have; spans: [{begin, end}] or null each
 */
export function placeAt(lists, index) {
	const count = Math.min(...lists.map((list) => list.length));
	if (!count)
		return {index: 0, count: 0, origins: [0, 0], spans: [null, null]};
	const at = Math.max(0, Math.min(index, count - 1));
	return {index: at, count, origins: lists.map((list) => list[at].begin), spans: lists.map((list) => list[at])};
}

/**
 * What can be in view, in ns from the aligned moment, so that neither run is cut.
 * @param {number[]} origins @param {number[]} lengths ns
 */
export function commonBounds(origins, lengths) {
	return {low: 0 - Math.max(...origins), high: Math.max(...origins.map((origin, i) => lengths[i] - origin))};
}
