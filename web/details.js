// SPDX-License-Identifier: MIT
//
// The pane of one selected item: facts, where its launch's other ends are, its stack.

import {fill, make, makeButton, makeSwatch} from "./dom.js";
import {formatNs, formatShare, formatValue, visible} from "./format.js";
import {CancelledError, CUT_TEXT, Watch} from "./account.js";
import {placeMeanwhile, threadsMeanwhile} from "./meanwhile.js";
import {factsOf, kindText, nameOfItem, otherOf, stackOf} from "./describe.js";
import {findLinked} from "./links.js";
import {statisticsOf} from "./counters.js";
import {styleOf, waitingStyles} from "./styles.js";
import {bringIntoView, fitItem} from "./input.js";
import {FRAME_CLASSES} from "./model.js";

const END_TEXTS = {call: "launching call", waiting: "in the queue", queue: "execution"};

function factsRow([what, text]) {
	return make("tr", null, make("th", null, what), make("td", null, visible(text)));
}

function factsTable(rows) {
	return make("table", "facts", ...rows.map(factsRow));
}

/** The frames of a stack, the innermost first. */
export function stackList(view, stack) {
	const list = make("ol", "stack");
	for (const index of view.model.stackFrames(stack).reverse()) {
		const frame = view.model.frame(index);
		const place = frame.file ? frame.file + (frame.line ? ":" + frame.line : "") : "";
		const name = make("span", "function", visible(frame.name || "?"));
		const line = make("li", null, makeSwatch(view.colours.frame(frame.cls, frame.name)), name);
		if (frame.cls > 0)
			line.append(make("span", "class", FRAME_CLASSES[frame.cls] || ""));
		if (place)
			line.append(make("span", "file", visible(place)));
		list.append(line);
	}
	return list;
}

// Goes to another end of the launch, and keeps the three ends.
function goTo(view, end) {
	const linked = view.linked;
	view.reveal(end.track);
	view.select(end);
	view.linked = linked;
	bringIntoView(view, end);
	view.tell("reveal", end.track);
}

function endButtons(view, ends, selected) {
	const box = make("div", "ends");
	for (const name of ["call", "waiting", "queue"]) {
		const end = ends[name];
		if (!end || (end.track === selected.track && end.item.begin === selected.item.begin))
			continue;
		box.append(makeButton("\u2192 " + END_TEXTS[name], "Go to the " + END_TEXTS[name] + " (Enter)", () => goTo(view, end)));
	}
	return box;
}

/** Goes on to the next end of the selected launch: call, waiting, execution, call ... */
export function followLink(view) {
	const {linked, selection} = view;
	if (!linked || !selection)
		return;
	const ends = ["call", "waiting", "queue"].map((name) => linked[name]).filter(Boolean);
	const at = ends.findIndex((end) => end.track === selection.track && end.item.begin === selection.item.begin);
	if (ends.length > 1)
		goTo(view, ends[(at + 1) % ends.length]);
}

// Reads the texts and the other ends, and shows them if the item is still selected.
async function complete(view, picked, facts, ends, right) {
	if (!view.model.hasTexts) {
		await view.model.loadTexts(view.sections);
		view.tell("texts");
	}
	if (view.selection !== picked)
		return;
	showStack(view, picked, right);
	const linked = view.linked || await findLinked(view, picked);
	if (view.selection !== picked)
		return;
	view.linked = linked;
	fill(ends, endButtons(view, linked, picked));
	view.redraw();
	if (view.model.causeOf(picked.track, picked.item.what) >= 0 && !picked.item.binNs)
		await showMeanwhile(view, picked, right);
	if (picked.track.kind === "off" && picked.item.extra > 0)
		await showOther(view, picked, facts);
}

// Where the thread was for which this one waited.
async function showOther(view, picked, facts) {
	const {thread} = otherOf(view.model, picked.item), {begin, duration} = picked.item;
	if (!thread)
		return;
	view.meanwhile = new Watch();
	const place = await placeMeanwhile(view, thread, begin, begin + duration, view.meanwhile);
	if (place && view.selection === picked)
		facts.append(factsRow(["which was in", place]));
}

async function showMeanwhile(view, picked, right) {
	const {begin, duration} = picked.item;
	view.meanwhile = new Watch();
	const {rows, isExact} = await threadsMeanwhile(view, begin, begin + duration, view.meanwhile);
	if (view.selection !== picked || (!rows.length && isExact))
		return;
	right.append(make("h3", "below", "Meanwhile"), make("table", "facts sums", ...rows.map(meanwhileLine)),
		isExact ? "" : make("p", "faint", CUT_TEXT));
}

function meanwhileLine({thread, kind, text, ns, count}) {
	const isOff = kind === "off", amount = isOff ? formatNs(ns) : count + (count === 1 ? " sample" : " samples");
	return make("tr", null, make("td", null, thread ? visible(thread.name) : "?"),
		make("td", null, (isOff ? "off its processor: " : "on a processor: ") + visible(text)), make("td", "number", amount));
}

function showStack(view, picked, right) {
	const stack = stackOf(view, picked), isGap = view.model.causeOf(picked.track, picked.item.what) >= 0 && !picked.track.unmeasured;
	fill(right, make("h3", null, isGap ? "Stack of the launch that ended it" : "Stack"),
		stack ? stackList(view, stack) : make("p", "faint", "none was recorded for this"));
}

// Of the selected range, else of what is in view.
async function showStatistics(view, picked, right) {
	const {track} = picked, {range} = view, [from, to] = range ? [range.from, range.to] : [Math.max(view.from, view.lowNs), Math.min(view.to, view.highNs)];
	view.meanwhile = new Watch();
	const sum = await statisticsOf(view.chunks, track, from, to, view.meanwhile), text = (value) => formatValue(value, track.unit);
	if (view.selection !== picked)
		return;
	const rows = sum.readings ? [["mean", Number.isNaN(sum.mean) ? "\u2013" : text(sum.mean)], ["least", text(sum.least)], ["largest", text(sum.most)],
		["readings", sum.readings.toLocaleString("en")], ["measured", formatShare(sum.coveredNs, to - from) + " of " + formatNs(to - from)]] : [];
	fill(right, make("h3", null, range ? "Selected range" : "In view"), rows.length ? factsTable(rows) : make("p", "faint", "nothing was read there"),
		sum.isExact ? "" : make("p", "faint", CUT_TEXT));
}

/** Shows what is selected. */
export function showDetails(view, content) {
	const picked = view.selection;
	if (view.meanwhile)
		view.meanwhile.cancel();
	if (!picked) {
		fill(content, make("p", "faint", "Click something in the timeline. Drag over the time axis, or with Shift over tracks, " +
			"to select a range. Press ? for all keys."));
		return;
	}
	const {track, item} = picked, what = track.kind === "samples" ? (item.binNs ? item.what : item.stack) : item.what;
	const isValue = view.model.isChart(track);
	const style = isValue ? view.colours.solid("#56b4e9") : track.kind === "waiting" ? waitingStyles(view)[1] :
		styleOf(view, track, what, item.link, item.extra);
	const title = make("h2", null, makeSwatch(style), visible(nameOfItem(view, track, item)));
	const trail = make("p", "trail", kindText(view, track, item) + " \u00b7 " + visible(view.model.trail(track).join(" \u203a ")));
	const facts = factsTable(factsOf(view, picked)), ends = make("div", "ends-place"), right = make("div", "column");
	const tools = make("div", "ends", makeButton("Zoom to it", "Zoom to it (f)", () => fitItem(view, picked)),
		makeButton("Select its time", "Account, flame graph and tables of this time", () =>
			view.setRange(item.begin, item.begin + (item.binNs || item.duration || 1), null)));
	fill(content, make("div", "columns", make("div", "column", title, trail, facts, tools, ends), right));
	if (track.kind === "counter")
		showStatistics(view, picked, right).catch((error) => error instanceof CancelledError ||
			fill(right, make("p", "bad", error.message)));
	if (!isValue)
		complete(view, picked, facts, ends, right).catch((error) => error instanceof CancelledError ||
			fill(ends, make("p", "bad", error.message)));
}
