// SPDX-License-Identifier: MIT
//
// What the threads did while a device idled: where they were off their processors, and what their samples saw.

import {visitItems} from "./account.js";
import {formatPlace} from "./format.js";

const MOST_ROWS_SHOWN = 8;

function addTo(rows, track, kind, text, ns) {
	const key = kind + track.parentId + "/" + text;
	const row = rows.get(key) || {thread: track.parent, kind, text, ns: 0, count: 0};
	row.ns += ns;
	row.count++;
	rows.set(key, row);
}

/** The place where a thread was for most of [from, to) ns, as the report names places; null: not known. */
export async function placeMeanwhile(view, thread, from, to, watch) {
	const {model, chunks} = view, sums = new Map();
	await model.loadTexts(view.sections);
	for (const track of thread.children)
		if (track.kind === "off" || (track.kind === "samples" && (!track.unit || track.unit === "ns")))
			await visitItems(chunks, track, from, to, watch, (chunk, i, begin, end) => {
				const frame = chunk.stack[i] ? model.ownFrame(chunk.stack[i]) : null;
				const place = frame ? formatPlace({function: frame.name, file: frame.file, line: frame.line}) : "";
				if (place)
					sums.set(place, (sums.get(place) || 0) + (track.kind === "off" ? end - begin : chunk.weight[i]));
			});
	return sums.size ? [...sums].reduce((best, row) => row[1] > best[1] ? row : best)[0] : null;
}

/**
 * The most of what threads did in [from, to) ns.
 * @returns {Promise<{rows: {thread, kind, text, ns, count}[], isExact: boolean}>} kind "off" (ns off the processor) or "on"
 *   (weight of samples, ns); isExact: all that was recorded is in the file
 */
export async function threadsMeanwhile(view, from, to, watch) {
	const {model, chunks} = view, rows = new Map();
	let isExact = true;
	for (const track of model.tracks) {
		const isOff = track.kind === "off", isSamples = track.kind === "samples" && (!track.unit || track.unit === "ns");
		if (!isOff && !isSamples)
			continue;
		isExact = await visitItems(chunks, track, from, to, watch, (chunk, i, begin, end) => {
			if (isOff)
				addTo(rows, track, "off", model.name(chunk.what[i]), end - begin);
			else
				addTo(rows, track, "on", model.itemName(track, chunk.stack[i]), chunk.weight[i]);
		}) && isExact;
	}
	return {rows: [...rows.values()].sort((a, b) => b.ns - a.ns).slice(0, MOST_ROWS_SHOWN), isExact};
}
