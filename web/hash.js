// SPDX-License-Identifier: MIT
//
// The moment that is shown, in the URL's fragment: v=from_to (ns), r=from_to of a range, and its tracks, s=track_begin of
// the selection, m=marks. t=12.5ms goes to a moment.

import {chunkRange, itemRange} from "./model.js";
import {parseNs} from "./format.js";
import {momentSpan} from "./input.js";
import {pick} from "./place.js";

const WRITE_AFTER_MS = 250;
const MOST_TRACKS = 200; // of a range

// Of a range of some tracks their numbers, as far as an address has room for them.
function tracksInHash(range) {
	return range.tracks && range.tracks.length <= MOST_TRACKS ? range.tracks.map((track) => track.id) : [];
}

function writeState(view) {
	const parts = ["v=" + Math.round(view.from) + "_" + Math.round(view.to)];
	if (view.range)
		parts.push("r=" + [view.range.from, view.range.to, ...tracksInHash(view.range)].join("_"));
	if (view.selection && view.selection.level === 0)
		parts.push("s=" + view.selection.track.id + "_" + view.selection.item.begin + "_" + (view.selection.item.lane || 0));
	if (view.marks.length)
		parts.push("m=" + view.marks.join("_"));
	return "#" + parts.join("&");
}

function numbers(text) {
	return (text || "").split("_").filter((part) => part !== "").map(Number).filter(Number.isFinite);
}

async function selectAt(view, trackId, begin, lane) {
	const track = view.model.byId.get(trackId), level = track && track.levels[0];
	if (!level || level.binNs)
		return;
	const [first, end] = chunkRange(level, begin, begin + 1);
	for (let index = first; index < end; index++) {
		const chunk = await view.chunks.load(track, 0, index);
		const [low, high] = itemRange(chunk, begin, begin + 1);
		for (let i = low; i < high; i++)
			if (chunk.begin[i] === begin && (!chunk.lane || chunk.lane[i] === (lane || 0))) {
				view.reveal(track);
				view.select(pick(track, 0, index, chunk, i));
				view.tell("reveal", track);
				return;
			}
	}
}

/** Goes where a fragment says; what it does not say stays. */
export function readHash(view, text) {
	const parts = new Map(text.replace(/^#/, "").split("&").map((part) => {
		const at = part.indexOf("=");
		return at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + 1)];
	}));
	const [from, to] = numbers(parts.get("v"));
	if (to > from)
		view.setWindow(from, to);
	const moment = parseNs(decodeURIComponent((parts.get("t") || "").replace(/%(?![0-9a-fA-F]{2})/g, "")));
	if (Number.isFinite(moment)) {
		const span = momentSpan(view);
		view.setWindow(moment - span / 2, moment + span / 2);
		view.marks = [moment];
	}
	if (parts.has("m"))
		view.marks = numbers(parts.get("m")).slice(0, 99);
	const [begin, end, ...ids] = numbers(parts.get("r"));
	const tracks = ids.map((id) => view.model.byId.get(id)).filter(Boolean);
	if (end > begin)
		view.setRange(begin, end, tracks.length ? tracks : null);
	const selection = numbers(parts.get("s"));
	if (selection.length >= 2)
		selectAt(view, ...selection).catch(() => null);
}

/** Keeps the fragment and the view the same. */
export function followHash(view) {
	let timer = 0, written = location.hash;
	const write = () => {
		clearTimeout(timer);
		timer = setTimeout(() => {
			written = writeState(view);
			history.replaceState(null, "", written);
		}, WRITE_AFTER_MS);
	};
	for (const name of ["window", "selection", "range", "marks"])
		view.on(name, write);
	window.addEventListener("hashchange", () => {
		if (location.hash !== written)
			readHash(view, location.hash);
	});
	if (location.hash.length > 1)
		readHash(view, location.hash);
}
