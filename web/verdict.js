// SPDX-License-Identifier: MIT
//
// The verdict of duet report, with which the page opens: its sentences, and its causes with the way to their longest place.

import {fill, make, makeButton} from "./dom.js";
import {formatCount, formatExact, formatNs, formatShare, visible} from "./format.js";
import {visitItems, Watch} from "./account.js";
import {deviceTrack, goToEvidence, largestGap} from "./findings.js";
import {pick} from "./place.js";

const MOST_CAUSES = 6, LEAST_SHARE = 0.01; // as duet report prints them
// Kinds of tracks that show what a thread did in idle time of a cause; of other causes the launching stack has it.
const KINDS_OF_CAUSE = new Map([["on_cpu", ["samples"]], ["preempted", ["off", "samples"]], ["blocked", ["off"]], ["api_wait", ["calls"]],
	["api_call", ["calls"]], ["runtime", ["calls"]], ["duet_itself", ["calls"]], ["profiler_overhead", ["calls"]]]);

/** The causes that are shown, the longest first. */
export function shownCauses(verdict) {
	return verdict.causes.filter((cause) => cause.ns >= verdict.steady.wall_ns * LEAST_SHARE).slice(0, MOST_CAUSES);
}

// Begin and end of the steady part, ns from the begin of the recording.
function steadyOf(model, verdict) {
	const beginNs = (model.report.start_ns || 0) - model.fromNs;
	return [verdict.steady.begin_ns - beginNs, verdict.steady.end_ns - beginNs];
}

// Whether a stack is at the cause's place; known answers are kept.
function placeTest(model, cause) {
	const known = new Map();
	return (stack) => {
		if (!known.has(stack)) {
			const frame = model.ownFrame(stack);
			known.set(stack, !cause.function || Boolean(frame && frame.name === cause.function && frame.file === (cause.file || "")));
		}
		return known.get(stack);
	};
}

function isOfThread(thread, cause) {
	return !cause.thread || cause.threads > 1 || !thread || thread.name === cause.thread || thread.name.startsWith(cause.thread + " ");
}

// What a thread was seen to do at the cause's place, in order: {begin, end, track, index, i}. A sample stands for the time before it.
async function marksOf(view, cause, [from, to], watch) {
	const {model, chunks} = view, isAtPlace = placeTest(model, cause), marks = [], kinds = KINDS_OF_CAUSE.get(cause.cause) || [];
	for (const track of model.tracks) {
		if (!kinds.includes(track.kind) || !isOfThread(track.parent, cause))
			continue;
		const isNamed = track.kind === "calls" || (track.kind === "off" && cause.cause === "blocked");
		await visitItems(chunks, track, from, to, watch, (chunk, i, begin, end, index) => {
			if (!isAtPlace(chunk.stack[i]) || (isNamed && cause.what && model.name(chunk.what[i]) !== cause.what))
				return;
			const weight = track.kind === "samples" ? chunk.weight[i] : 0;
			marks.push({begin: begin - weight, end, track, index, i});
		});
	}
	return marks.sort((a, b) => a.begin - b.begin);
}

// A function that gives how much of [begin, end) the marks cover; to be called in the order of time.
function coverage(marks) {
	const parts = [];
	for (const {begin, end} of marks) {
		const last = parts[parts.length - 1];
		if (last && begin <= last[1])
			last[1] = Math.max(last[1], end);
		else
			parts.push([begin, end]);
	}
	let first = 0;
	return (begin, end) => {
		let sum = 0;
		while (first < parts.length && parts[first][1] <= begin)
			first++;
		for (let at = first; at < parts.length && parts[at][0] < end; at++)
			sum += Math.min(end, parts[at][1]) - Math.max(begin, parts[at][0]);
		return sum;
	};
}

// How much of an idle piece is of the cause.
async function measureOf(view, cause, steady, watch) {
	const {model} = view, isCause = (chunk, i) => model.causes[chunk.what[i]] === cause.cause;
	const isIn = (chunk, i) => chunk.begin[i] < steady[1] && chunk.begin[i] + chunk.duration[i] > steady[0];
	if (!KINDS_OF_CAUSE.has(cause.cause)) {
		const isAtPlace = placeTest(model, cause), stackOf = (chunk, i) => chunk.stack[i] ? model.path(chunk.stack[i] - 1).stack : 0;
		return {marks: [], measure: (chunk, i) => isCause(chunk, i) && isIn(chunk, i) && isAtPlace(stackOf(chunk, i)) ? chunk.duration[i] : 0};
	}
	const marks = await marksOf(view, cause, steady, watch), covered = coverage(marks);
	return {marks, measure: (chunk, i) => isCause(chunk, i) && isIn(chunk, i) ? covered(chunk.begin[i], chunk.begin[i] + chunk.duration[i]) : 0};
}

/**
 * Where a cause of the verdict lasts longest: in the gap that has most of it what its thread did, or the device's state.
 * @returns {Promise<?object>} as pick() gives it; null: the file does not have it
 */
export async function findPlace(view, verdict, cause, watch) {
	await view.model.loadTexts(view.sections);
	const device = deviceTrack(view.model, verdict), steady = steadyOf(view.model, verdict);
	if (!device)
		return null;
	const {marks, measure} = await measureOf(view, cause, steady, watch);
	const gap = await largestGap(view.chunks, device, measure, watch);
	if (!gap)
		return null;
	const {begin, duration} = gap.item, overlap = (mark) => Math.min(mark.end, begin + duration) - Math.max(mark.begin, begin);
	const best = marks.reduce((most, mark) => mark.track.kind !== "samples" && (!most || overlap(mark) > overlap(most)) ? mark : most, null);
	return best && overlap(best) > 0 ? pick(best.track, 0, best.index, await view.chunks.load(best.track, 0, best.index), best.i) : gap;
}

// The idle flame graph with the cause's function searched for.
function openFlame(view, verdict, cause) {
	const device = deviceTrack(view.model, verdict);
	view.flameChoice = "idle " + (device ? device.id : "");
	view.tell("open", "flame");
	view.searchFor(cause.function || cause.what || "");
}

async function jumpToCause(view, verdict, cause, say) {
	const search = view.causeSearch = {};
	const report = (text) => view.causeSearch === search && say(text);
	report("looking for it \u2026");
	const found = await findPlace(view, verdict, cause, new Watch((done) => report("looking for it, " + Math.round(done * 100) + " %")));
	if (view.causeSearch !== search) // a later click counts
		return;
	say("");
	if (found)
		goToEvidence(view, found);
	else
		openFlame(view, verdict, cause);
}

function causeRow(view, verdict, cause, say) {
	const bar = make("div", "bar"), cell = make("td", "number", formatNs(cause.ns)), share = cause.ns / verdict.steady.wall_ns;
	const row = make("tr", "pick", cell, make("td", "number", formatShare(cause.ns, verdict.steady.wall_ns)), make("td", "share", bar),
		make("td", "words", makeButton(visible(cause.text || cause.kind), "Go to its longest place", () => {})));
	const go = () => jumpToCause(view, verdict, cause, say).catch((error) => say(error.message));
	cell.title = formatExact(cause.ns);
	bar.style.width = Math.max(0, Math.min(100, share * 100)) + "%";
	bar.style.background = view.colours.cause(cause.cause).line;
	row.addEventListener("click", go);
	return row;
}

/** Shows the verdict and its causes. */
export function showVerdict(view, content) {
	const {verdict, findings} = view.model.report, causes = shownCauses(verdict), said = make("p", "faint"), count = (findings || []).length;
	const sentences = (verdict.sentences || [verdict.text]).map((text, i) => make("p", i ? null : "first", visible(text)));
	fill(content, make("section", "sentences", ...sentences),
		causes.length ? make("section", "table", make("h3", null, "Causes of idle time in the steady part"),
			make("table", "sums causes", make("tbody", null, ...causes.map((cause) => causeRow(view, verdict, cause, (text) => said.textContent = text)))),
			make("p", "faint", "A click on a cause goes to its longest place."), said) : null,
		count ? make("p", null, makeButton(formatCount(count) + (count === 1 ? " finding" : " findings"), "What the rules of duet found",
			() => view.tell("open", "findings"))) : null);
}
