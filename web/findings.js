// SPDX-License-Identifier: MIT
//
// The report's findings (docs/design/findings.md), and where in the timeline their evidence is.

import {fill, make, makeButton} from "./dom.js";
import {formatBytes, formatCount, formatNs, formatPlace, visible} from "./format.js";
import {CUT_TEXT, visitItems, Watch} from "./account.js";
import {FIRST_PATH} from "./model.js";
import {pick} from "./place.js";
import {fitItem} from "./input.js";

const MOST_ENTRIES = 5; // of a list that are shown at once
// Idle causes that a finding's evidence speaks of, by its key.
const CAUSE_OF_KEY = [["preempted_ns", "preempted"], ["blocked_ns", "blocked"], ["on_cpu_ns", "on_cpu"]];

/** The track of the device that evidence or a verdict names, else the first; null: there is none. */
export function deviceTrack(model, evidence) {
	const devices = model.ofKind("device");
	const report = model.report && model.report.devices || [];
	const at = report.findIndex((device) => device.key === evidence.device || device.name === evidence.device);
	return devices.find((track) => track.device === at && at >= 0) || devices[Math.max(0, at)] || devices[0] || null;
}

function isBelow(track, ancestor) {
	for (let at = track; at; at = at.parent)
		if (at === ancestor)
			return true;
	return !ancestor;
}

// What a finding is about, in the order in which it is looked for: {tracks, accepts(chunk, i), isShortest}.
function aimsOf(model, finding) {
	const evidence = finding.evidence || {}, device = deviceTrack(model, evidence);
	const queues = [...model.ofKind("queue"), ...model.ofKind("transfers")].filter((track) => isBelow(track, device)), calls = model.ofKind("calls");
	const isCopy = (chunk, i) => model.path(chunk.what[i]).cls === 1;
	const isKernel = (chunk, i) => model.path(chunk.what[i]).name === evidence.kernel;
	const isCall = (chunk, i) => chunk.extra[i] === evidence.result && model.name(chunk.what[i]) === evidence.name;
	const gaps = CAUSE_OF_KEY.filter(([key]) => device && evidence[key] > 0).sort(([a], [b]) => evidence[b] - evidence[a])
		.flatMap(([, cause]) => aimsAtGaps(model, device, cause, evidence));
	const known = {
		small_transfers: [{tracks: queues, accepts: (chunk, i) => isCopy(chunk, i) && chunk.extra[i] > 0 && chunk.extra[i] <= evidence.limit_bytes}],
		failed_launches: [{tracks: calls, accepts: isCall}], failed_builds: [{tracks: calls, accepts: isCall}],
		failed_allocations: [{tracks: calls, accepts: isCall}], failed_commands: [{tracks: model.ofKind("rejected"), accepts: isCall}],
		no_overlap: [{tracks: queues, accepts: isCopy}], sync_copies: [{tracks: queues, accepts: isCopy}],
		copy_bound: [{tracks: queues, accepts: isCopy}],
		launch_bound: device ? aimsAtGaps(model, device, "runtime", evidence) : [],
		tiny_kernels: [{tracks: queues, accepts: isKernel, isShortest: true}], low_occupancy: [{tracks: queues, accepts: isKernel}],
		launch_latency: [{tracks: model.ofKind("waiting").filter((track) => isBelow(track, device)), accepts: () => true}],
		wait_under_gil: [{tracks: model.ofKind("off"), accepts: (chunk, i) => /GIL/.test(model.name(chunk.what[i]))}],
	};
	return Object.hasOwn(known, finding.id) ? known[finding.id] : gaps.length ? gaps : [{tracks: queues, accepts: () => true}];
}

// Idle time of a cause, of whole gaps: before the launch that the evidence names first, else before any.
function aimsAtGaps(model, device, cause, evidence) {
	const isCause = (chunk, i) => model.causes[chunk.what[i]] === cause;
	const launch = evidence.launches && evidence.launches[0] && evidence.launches[0].name;
	const isBefore = (chunk, i) => chunk.stack[i] > 0 && model.path(chunk.stack[i] - 1).name === launch;
	return [{tracks: launch ? [device] : [], accepts: (chunk, i) => isCause(chunk, i) && isBefore(chunk, i), isGap: true},
		{tracks: [device], accepts: isCause, isGap: true}];
}

async function extreme(store, {tracks, accepts, isShortest, isGap}, watch) {
	const sign = isShortest ? -1 : 1;
	let best = null, length = -Infinity;
	for (const track of tracks)
		if (track.levels.length && !track.levels[0].binNs && !isGap)
			await visitItems(store, track, -Infinity, Infinity, watch, (chunk, i, begin, end, index) => {
				if (chunk.duration[i] * sign > length && accepts(chunk, i)) {
					length = chunk.duration[i] * sign;
					best = pick(track, 0, index, chunk, i);
				}
			});
	return isGap && tracks.length ? largestGap(store, tracks[0], (chunk, i) => accepts(chunk, i) ? chunk.duration[i] : 0, watch) : best;
}

/**
 * Of the gap between two busy times that has most of a cause, the item with most of it: samples cut a gap into pieces.
 * @param {function(object, number): number} measure (chunk, i): how much of an idle item is of the cause, ns
 */
export async function largestGap(store, track, measure, watch) {
	let best = null, most = 0, sum = 0, longest = null, longestNs = 0;
	const isIdle = (chunk, i) => chunk.what[i] < FIRST_PATH;
	const take = () => {
		if (sum > most)
			[most, best] = [sum, longest];
		[sum, longest, longestNs] = [0, null, 0];
	};
	if (track.levels.length && !track.levels[0].binNs)
		await visitItems(store, track, -Infinity, Infinity, watch, (chunk, i, begin, end, index) => {
			if (!isIdle(chunk, i)) {
				take();
				return;
			}
			const ns = measure(chunk, i);
			sum += ns;
			if (ns > longestNs)
				[longest, longestNs] = [pick(track, 0, index, chunk, i), ns];
		});
	take();
	return best;
}

/**
 * The item that shows a finding best: the longest one of what its evidence is about, of kernels that are too short the shortest.
 * @returns {Promise<?object>} as pick() gives it
 */
export async function findEvidence(view, finding, watch) {
	for (const aim of aimsOf(view.model, finding)) {
		const found = await extreme(view.chunks, aim, watch || new Watch());
		if (found)
			return found;
	}
	return null;
}

function valueText(key, value) {
	if (typeof value === "number")
		return /_ns$/.test(key) ? formatNs(value) : /bytes$/.test(key) ? formatBytes(value) : formatCount(value);
	if (value && value.function)
		return formatPlace(value);
	return value && typeof value === "object" ? Object.values(value).filter((part) => typeof part !== "object").join(", ") : String(value);
}

function entryList(key, entries) {
	return make("ol", "entries", ...entries.map((entry) => make("li", null, visible(valueText(key, entry)))));
}

// The first entries of a list, the rest on demand.
function entriesCell(key, entries) {
	const cell = make("td", null, entries.length ? entryList(key, entries.slice(0, MOST_ENTRIES)) : "none");
	if (entries.length > MOST_ENTRIES)
		cell.append(make("details", null, make("summary", null, formatCount(entries.length - MOST_ENTRIES) + " more"),
			entryList(key, entries.slice(MOST_ENTRIES))));
	return cell;
}

// Frames are listed as stacks are elsewhere in the page, the innermost first.
function evidenceRow(key, value) {
	const title = visible(key.replace(/_ns$/, " time").replace(/_/g, " "));
	return make("tr", null, make("th", null, title), !Array.isArray(value) ? make("td", null, visible(valueText(key, value))) :
		entriesCell(key, key === "frames" ? [...value].reverse() : value));
}

function evidenceTable(evidence) {
	return make("table", "facts", ...Object.entries(evidence || {}).map(([key, value]) => evidenceRow(key, value)));
}

async function jump(view, finding, say) {
	say("looking for it \u2026");
	const found = await findEvidence(view, finding, new Watch((done) => say("looking for it, " + Math.round(done * 100) + " %")));
	say(found ? "" : view.model.cut ? CUT_TEXT : "the timeline has nothing of it");
	if (found)
		goToEvidence(view, found);
}

/** Selects an item and zooms to it. */
export function goToEvidence(view, found) {
	view.reveal(found.track);
	view.select(found);
	fitItem(view, found);
	view.tell("reveal", found.track);
}

// No rule found anything: that does not mean that the device was busy.
function showNothing(view, content) {
	const {verdict} = view.model.report, text = make("p", "faint", "No rule of duet found anything in this run.");
	fill(content, text, verdict ? make("p", null, visible((verdict.sentences || [verdict.text]).slice(0, 2).join(" ")), " ",
		makeButton("Verdict", "The causes of idle time (v)", () => view.tell("open", "verdict"))) : null);
}

/** Lists the findings; each has a way to its evidence. */
export function showFindings(view, content) {
	const findings = view.model.report && view.model.report.findings;
	if (!findings) {
		fill(content, make("p", "faint", "This file has no report, so no findings."));
		return;
	}
	if (!findings.length) {
		showNothing(view, content);
		return;
	}
	fill(content, ...findings.map((finding) => {
		const said = make("span", "faint");
		const isWarning = finding.severity === "warning";
		const button = makeButton("Show evidence", "Go to what shows it best", () =>
			jump(view, finding, (text) => said.textContent = text).catch((error) => said.textContent = error.message));
		return make("article", "finding " + (isWarning ? "warning" : "info"),
			make("p", null, make("b", "severity", isWarning ? "\u26a0 warning" : "\u2139 info"), " ", visible(finding.text)),
			make("div", "ends", button, said), evidenceTable(finding.evidence));
	}));
}
