// SPDX-License-Identifier: MIT
//
// Where things are on the canvas: rows, items; and what is at a place.

import {chartsIn, laneHeight} from "./layout.js";
import {chooseLevel, chunkRange, itemRange, touches} from "./model.js";

/** Height of the time axis, px. */
export const AXIS = 26;
/** How dense a level may be to be drawn. */
export const ITEMS_PER_PIXEL = 3;

/** Where a track is drawn, px from the top of the canvas: its row, or that of the group it is folded into; null: nowhere. */
export function rowOf(view, track) {
	const {layout} = view;
	for (let at = track; at; at = at.parent) {
		const pinned = layout.pinned.find((row) => row.track === at);
		if (pinned)
			return {row: pinned, top: AXIS + pinned.y};
		const row = layout.rows.find((candidate) => candidate.track === at);
		if (row)
			return {row, top: AXIS + layout.pinnedHeight + row.y - view.scrollTop};
	}
	return null;
}

/** Where an item is drawn: {x0, x1, y, height} px; null where its track is not. */
export function placeOf(view, track, item) {
	const at = rowOf(view, track);
	if (!at)
		return null;
	const scale = view.width / (view.to - view.from);
	const x0 = (item.begin - view.from) * scale, x1 = x0 + (item.duration || 0) * scale;
	if (at.row.track !== track || item.lane === undefined)
		return {x0, x1, y: at.top + 1, height: at.row.height - 3};
	const lane = laneHeight(view, track);
	return {x0, x1, y: at.top + 1 + Math.min(item.lane, track.lanes - 1) * lane, height: lane > 3 ? lane - 1 : lane};
}

/** The row under a place of the canvas, and its top; null: none. */
export function rowAt(view, y) {
	const {layout} = view, top = AXIS + layout.pinnedHeight;
	const find = (rows, from) => {
		const row = rows.find((candidate) => y >= from + candidate.y && y < from + candidate.y + candidate.height);
		return row ? {row, top: from + row.y} : null;
	};
	return y < AXIS ? null : y < top ? find(layout.pinned, AXIS) : find(layout.rows, top - view.scrollTop);
}

function itemOf(chunk, i) {
	const item = {begin: chunk.begin[i], duration: chunk.duration ? chunk.duration[i] : 0};
	for (const name of ["first", "second", "lane", "what", "stack", "link", "extra", "argument", "weight", "mode", "value", "of",
		"count", "covered", "most", "last", "least", "mean"])
		if (chunk[name])
			item[name] = chunk[name][i];
	if (chunk.binNs)
		item.binNs = chunk.binNs;
	return item;
}

/** An item of a decoded chunk as {track, level, index, i, item}; item has all columns by name. */
export function pick(track, level, index, chunk, i) {
	return {track, level, index, i, item: itemOf(chunk, i)};
}

// The item of a chunk nearest to a moment, if it is within slack ns: [distance, index].
function nearest(track, chunk, ns, slack, lane) {
	const [low, high] = itemRange(chunk, ns - slack, ns + slack);
	let best = [Infinity, -1];
	for (let i = low; i < high; i++) {
		if (lane !== null && chunk.lane && chunk.lane[i] !== lane)
			continue;
		const width = chunk.binNs || (chunk.duration ? chunk.duration[i] : 0);
		const distance = Math.max(chunk.begin[i] - ns, ns - chunk.begin[i] - width, 0);
		if (distance < best[0] || (distance === best[0] && width < 1e15))
			best = [distance, i];
	}
	return best[0] <= slack ? best : [Infinity, -1];
}

/** What of a track that is drawn is nearest to a moment in view, as pick() gives it; null: nothing. */
export function itemNear(view, track, ns) {
	return track.levels.length && track.isKnown ? pickIn(view, track, ns, view.to - view.from, null) : null;
}

// Of a group of charts that is folded the one whose strip is there.
function stripAt({row, top}, y) {
	const charts = row.track.kind === "metrics" ? chartsIn(row.track).filter((track) => track.levels.length) : [];
	const at = Math.floor((y - top - 1) / (row.height - 3) * charts.length);
	return charts[Math.max(0, Math.min(at, charts.length - 1))] || row.track;
}

/** What is drawn at a place of the canvas, as pick() gives it; null: nothing. */
export function itemAt(view, x, y) {
	const at = rowAt(view, y), track = at && (at.row.isCollapsed ? stripAt(at, y) : at.row.track);
	if (!track || !track.levels.length || !track.isKnown)
		return null;
	const slack = (view.to - view.from) / view.width * 3;
	const lane = track.lanes > 1 ? Math.floor((y - at.top - 1) / laneHeight(view, track)) : null;
	return pickIn(view, track, view.nsAt(x), slack, lane);
}

// Of the level that is drawn, else of a coarser one. lane null: any.
function pickIn(view, track, ns, slack, lane) {
	const isValue = track.kind === "metric" || track.kind === "clock";
	const chosen = chooseLevel(track, view.from, view.to, view.width, ITEMS_PER_PIXEL);
	for (let level = chosen; level < track.levels.length; level++) {
		const found = isValue ? valueAt(view, track, level, ns) : sliceAt(view, track, level, ns, slack, lane);
		if (found)
			return found;
	}
	return null;
}

function sliceAt(view, track, level, ns, slack, lane) {
	const [first, end] = chunkRange(track.levels[level], ns - slack, ns + slack);
	let best = null, distance = Infinity;
	for (let index = first; index < end; index++) {
		const chunk = touches(track.levels[level], index, ns - slack, ns + slack) && view.chunks.peek(track, level, index);
		const [near, i] = chunk ? nearest(track, chunk, ns, slack, lane) : [Infinity, -1];
		if (i >= 0 && near <= distance) {
			distance = near;
			best = pick(track, level, index, chunk, i);
		}
	}
	return best;
}

// The value that stands at a moment.
function valueAt(view, track, level, ns) {
	const end = chunkRange(track.levels[level], ns, ns + 1)[1];
	for (let index = end - 1; index >= 0; index--) {
		const chunk = view.chunks.peek(track, level, index);
		if (!chunk)
			return null;
		const last = itemRange(chunk, ns, ns + 1)[1] - 1;
		if (last >= 0)
			return pick(track, level, index, chunk, last);
	}
	return null;
}
