// SPDX-License-Identifier: MIT
//
// A launch's three places: the call, the waiting command, its execution. They have the same link; the
// items near the moment where one must be are looked through.

import {chunkRange} from "./model.js";
import {pick} from "./place.js";

const MOST_CHUNKS = 12;

// Chunks around a moment: the ones that hold it, then further and further away in one direction.
function chunksNear(level, ns, direction) {
	const [first, end] = chunkRange(level, ns, ns + 1);
	const order = [];
	if (direction > 0)
		for (let index = Math.min(first, end - 1, level.chunks.length - 1); index < level.chunks.length; index++)
			order.push(index);
	else
		for (let index = end - 1; index >= 0; index--)
			order.push(index);
	return order.filter((index) => index >= 0).slice(0, MOST_CHUNKS);
}

async function findIn(view, track, link, ns, direction) {
	const level = track.levels[0];
	if (!level || level.binNs)
		return null;
	for (const index of chunksNear(level, ns, direction)) {
		const chunk = await view.chunks.load(track, 0, index);
		const i = chunk.link.indexOf(link);
		if (i >= 0)
			return pick(track, 0, index, chunk, i);
	}
	return null;
}

async function findFirst(view, tracks, link, ns, direction) {
	for (const track of tracks) {
		const found = await findIn(view, track, link, ns, direction);
		if (found)
			return found;
	}
	return null;
}

/**
 * The other places of a picked item's launch.
 * @returns {Promise<{call, waiting, queue}>} as pick() gives them, null where one is not found
 */
export async function findLinked(view, picked) {
	const {model} = view, {link, begin} = picked.item;
	const ends = {call: null, waiting: null, queue: null};
	if (!(link > 0) || picked.level !== 0)
		return ends;
	const {kind} = picked.track;
	if (kind in ends)
		ends[kind] = picked;
	if (kind === "rejected" || kind === "transfers")
		ends.queue = picked;
	const waits = model.ofKind("waiting"), queues = [...model.ofKind("queue"), ...model.ofKind("transfers"), ...model.ofKind("rejected")];
	const own = kind === "queue" || kind === "transfers" ? waits.filter((track) => track.parent === model.above(picked.track, "queue")) : waits;
	if (!ends.waiting)
		ends.waiting = await findFirst(view, own, link, begin, kind === "calls" ? 1 : -1);
	const wait = ends.waiting && ends.waiting.item;
	const startedNs = wait ? wait.begin + wait.duration : begin;
	if (!ends.queue)
		ends.queue = await findFirst(view, wait && ends.waiting.track.parent ? [ends.waiting.track.parent, ...queues] : queues,
			link, startedNs, 1);
	ends.call = kind === "calls" ? picked : await findFirst(view, model.ofKind("calls"), link, wait ? wait.begin : begin, -1);
	return ends;
}
