// SPDX-License-Identifier: MIT
//
// What an item is, in words: for the tooltip and the details.

import {formatBytes, formatCount, formatExact, formatNs, formatShare, formatValue, visible} from "./format.js";
import {intervalRows, shownItem} from "./counters.js";
import {callTraits} from "./styles.js";

const KIND_TEXTS = new Map([["calls", "API call"], ["off", "off the processor"], ["device", "state of the device"],
	["context", "command"], ["queue", "command"], ["transfers", "transfer"], ["processor", "thread on the processor"], ["iterations", "iteration of the main loop"], ["waiting", "waiting command"], ["rejected", "command in no account"], ["ranges", "range"], ["samples", "CPU sample"],
	["metric", "metric"], ["counter", "metric"], ["clock", "clock certificate"]]);
// What another thread did, by the role in the file.
const OTHER_TEXTS = ["held by", "ended by", "ran instead", "other thread"];
const CLASS_TEXTS = ["kernel", "copy", "other command"];

/** What an item's track holds, for people. */
export function kindText(view, track, item) {
	const path = view.model.pathOf(track, item.what);
	if (path >= 0 && track.kind !== "waiting" && track.kind !== "device")
		return CLASS_TEXTS[Math.min(2, view.model.path(path).cls)];
	if (track.kind === "calls" && item.link > 0)
		return "launch";
	return KIND_TEXTS.get(track.kind) || track.kind;
}

/** The name of an item: of a sample its innermost function, of a value the value. */
export function nameOfItem(view, track, item) {
	if (track.kind === "counter")
		return formatValue(shownItem(track, item), track.unit);
	if (item.binNs && !view.model.isChart(track))
		return formatCount(item.count) + (item.count === 1 ? " item" : " items");
	if (view.model.isChart(track))
		return (track.kind === "clock" ? "\u00b1 " : "") + formatValue((item.binNs ? item.last : item.value) / 1000, track.unit);
	return view.model.itemName(track, track.kind === "samples" ? item.stack : item.what);
}

function binRows(view, track, item) {
	const rows = [["from", formatNs(item.begin)], ["summary of", formatNs(item.binNs)]];
	if (track.kind === "counter")
		return [...rows, ...intervalRows(track, item)];
	if (view.model.isChart(track)) {
		rows.push(["least", formatValue(item.least / 1000, track.unit)], ["largest", formatValue(item.most / 1000, track.unit)]);
		return rows;
	}
	rows.push(["most of it", view.model.itemName(track, item.what)]);
	if ((track.kind !== "samples" || !track.unit || track.unit === "ns") && !track.unmeasured)
		rows.push([track.kind === "device" ? "busy" : "covered", formatNs(item.covered) + ", " +
			formatShare(item.covered, item.binNs * track.lanes)]);
	rows.push(["", "zoom in for the items"]);
	return rows;
}

function uncertaintyText(view, track, ns) {
	const device = view.model.above(track, "device");
	const clock = device && view.model.clocks.find((candidate) => candidate.parent === device);
	if (!clock || !clock.levels.length)
		return "";
	let half = null;
	const level = clock.levels.length - 1;
	for (let index = 0; index < clock.levels[level].chunks.length; index++) {
		const chunk = view.chunks.peek(clock, level, index);
		for (let i = 0; chunk && i < chunk.items && chunk.begin[i] <= ns; i++)
			half = (chunk.binNs ? chunk.most[i] : chunk.value[i]) / 1000;
	}
	return half === null ? "" : " \u00b1 " + formatNs(half);
}

// The argument is what the recorder keeps of a call: the queue that is waited for, else bytes.
function callRows(view, name, item) {
	const rows = item.extra ? [["result", String(item.extra) + " (failed)"]] : [], traits = callTraits(view, name);
	if (item.argument > 0)
		rows.push(traits && traits.waits && !item.link ? ["queue", formatCount(item.argument)] :
			["bytes", formatBytes(item.argument) + " (" + formatCount(item.argument) + ")"]);
	return rows;
}

/** The other thread of an item off the processor, and what it did for it: {thread, role}; thread undefined: none is known. */
export function otherOf(model, item) {
	const number = Math.floor(item.extra / OTHER_TEXTS.length) - 1;
	return {thread: model.tracks.find((other) => other.kind === "thread" && (other.number === undefined ? other.id : other.number) === number),
		role: item.extra % OTHER_TEXTS.length};
}

function rangeRows({domain, category, colour, payload}) {
	return [["domain", domain], ["category", category], ["colour", colour], ["payload", payload]].filter((row) => row[1]);
}

function extraRows(view, track, item) {
	if (track.kind === "calls")
		return callRows(view, view.model.name(item.what), item);
	if (track.kind === "rejected")
		return [["status", item.extra < 0 ? String(item.extra) + " (failed on its device)" : "its device's times are impossible"],
			["duration is", "from its launch until it was seen to be over"]];
	if (track.kind === "off" && item.extra > 0) {
		const {thread, role} = otherOf(view.model, item);
		return thread ? [[OTHER_TEXTS[role], view.model.trail(thread).join(" \u203a ")]] : [];
	}
	if (track.kind === "ranges" && item.extra > 0)
		return rangeRows(view.model.rangeOf(item.extra));
	const path = view.model.pathOf(track, item.what);
	if ((track.kind === "queue" || track.kind === "transfers") && path >= 0 && item.extra > 0)
		return [view.model.path(path).cls === 0 ? ["work items", formatCount(item.extra)] :
			["bytes", formatBytes(item.extra) + " (" + formatCount(item.extra) + ")"]];
	return [];
}

function zoneRows(item) {
	return [["queued", formatExact(item.begin)], ["in the host queue", formatNs(item.first)],
		["in the device queue", formatNs(item.second)]];
}

/** Facts of a picked item: [what, text] rows, the most important first. */
export function factsOf(view, picked) {
	const {track, item} = picked, {model} = view;
	if (item.binNs)
		return binRows(view, track, item);
	const certain = model.isDeviceSide(track) ? uncertaintyText(view, track, item.begin) : "";
	const rows = track.kind === "waiting" ? zoneRows(item) : [["begin", formatExact(item.begin) + certain]];
	if (track.kind === "samples")
		rows.push(["weight", track.unit && track.unit !== "ns" ? formatCount(item.weight) + " " + track.unit : formatNs(item.weight)],
			["mode", item.mode === 1 ? "system" : "user"]);
	else if (track.kind === "counter")
		rows.push(...intervalRows(track, item));
	else if (!model.isChart(track))
		rows.push(["duration", formatNs(item.duration) + (item.duration >= 1000 ? " (" + formatExact(item.duration) + ")" : "")]);
	const cause = model.causeOf(track, item.what);
	if (cause >= 0) {
		rows.push(["meaning", track.unmeasured || model.causeMeaning(cause)]);
		if (item.stack > 0)
			rows.push(["before", model.path(item.stack - 1).name]);
	}
	const path = model.pathOf(track, item.what);
	if (path >= 0 && model.path(path).functionName)
		rows.push(["launched by", model.path(path).functionName]);
	return [...rows, ...extraRows(view, track, item)];
}

/** The stack of a picked item, 0: none. An idle piece has that of the command the gap belongs to. */
export function stackOf(view, {track, item}) {
	if (track.kind === "samples")
		return (item.binNs ? item.what : item.stack) || 0;
	if (view.model.causeOf(track, item.what) >= 0)
		return item.stack > 0 && !item.binNs ? view.model.path(item.stack - 1).stack : 0;
	return view.model.itemStack(track, item.what, item.stack);
}

/** Lines of a tooltip. */
export function tipLines(view, picked) {
	const facts = factsOf(view, picked).slice(0, 6).map(([what, text]) => (what ? what + ": " : "") + text);
	return [visible(nameOfItem(view, picked.track, picked.item)), kindText(view, picked.track, picked.item) + " \u00b7 " +
		picked.track.name, ...facts].map(visible);
}
