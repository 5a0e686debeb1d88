// SPDX-License-Identifier: MIT
//
// Draws items and bins of a track. Of items narrower than a pixel as many as lie side by side are one box.

import {chunkRange, itemRange, touches} from "./model.js";
import {styleOf, waitingStyles} from "./styles.js";
import {label, labelBox} from "./text.js";

/** More arrows than so many would hide what they are about. */
export const MOST_ARROWS = 120;
const MOST_WHISKERS = 600;

const NARROW_NAME = 110; // px
/** Of what a search does not match. */
export const FAINT = 0.2;

// What is written on an item; that a gap is idle its hatching says where there is little room.
function boxText(frame, track, what, width) {
	const cause = frame.view.model.causeOf(track, what);
	return cause >= 0 && width < NARROW_NAME && !track.unmeasured ? frame.view.model.causeText(cause) :
		frame.view.model.shortName(frame.view.model.itemName(track, what));
}

// One run of narrow items in a lane, drawn as one box: [begin, end) px and style.
class Runs {
	constructor(frame, lanes, top, height) {
		Object.assign(this, {frame, top, height});
		this.begin = new Float64Array(lanes).fill(-1);
		this.end = new Float64Array(lanes).fill(-1);
		this.styles = new Array(lanes).fill(null);
	}

	add(lane, x0, x1, style) {
		if (this.styles[lane] && x1 <= this.end[lane])
			return;
		if (this.styles[lane] === style && x0 <= this.end[lane] + 0.5) {
			this.end[lane] = x1;
			return;
		}
		this.flush(lane);
		this.begin[lane] = Math.max(x0, this.end[lane]);
		this.end[lane] = Math.max(x1, this.begin[lane] + 1);
		this.styles[lane] = style;
	}

	flush(lane) {
		if (!this.styles[lane])
			return;
		this.frame.ctx.fillStyle = this.styles[lane].paint;
		this.frame.ctx.fillRect(this.begin[lane], this.top + lane * this.height, this.end[lane] - this.begin[lane],
			this.height > 3 ? this.height - 1 : this.height);
		this.styles[lane] = null;
	}

	flushAll() {
		for (let lane = 0; lane < this.styles.length; lane++)
			this.flush(lane);
	}
}

function matches(frame, track, chunk, i) {
	if (!frame.search)
		return true;
	const stack = chunk.binNs || !chunk.stack ? 0 : chunk.stack[i];
	return frame.search.matches(track, track.kind === "samples" && !chunk.binNs ? stack : chunk.what[i], stack);
}

function drawBox(frame, x0, x1, y, height, style, text) {
	const {ctx} = frame;
	ctx.fillStyle = style.paint;
	ctx.fillRect(x0, y, Math.max(1, x1 - x0 - (x1 - x0 > 3 ? 1 : 0)), height);
	if (text !== null && x1 - x0 > 24 && height >= 11)
		labelBox(frame, text, x0, x1, y, height, style);
}

function noteLink(frame, track, link, x0, x1, y, height) {
	if (!(link > 0) || frame.links.size > 4 * MOST_ARROWS)
		return;
	if (!frame.links.has(link))
		frame.links.set(link, {});
	frame.links.get(link)[track.kind === "calls" ? "call" : track.kind === "queue" || track.kind === "transfers" ? "queue" : "other"] =
		{x: track.kind === "calls" ? Math.max(x0, Math.min(x1, x0 + 6)) : x0, y, height};
}

function drawWhiskers(frame, track, x0, x1, y, height) {
	const half = frame.uncertainty.get(frame.view.model.above(track, "device")) || 0;
	if (half * frame.scale < 1.5 || frame.whiskers++ > MOST_WHISKERS)
		return;
	const {ctx} = frame, reach = Math.min(half * frame.scale, frame.width), middle = Math.round(y + height / 2) + 0.5;
	ctx.strokeStyle = frame.view.colours.theme.text;
	ctx.lineWidth = 1;
	ctx.beginPath();
	for (const x of [x0, x1]) {
		ctx.moveTo(x - reach, middle);
		ctx.lineTo(x + reach, middle);
		for (const edge of [x - reach, x + reach]) {
			ctx.moveTo(edge, middle - 3);
			ctx.lineTo(edge, middle + 3);
		}
	}
	ctx.stroke();
}

/**
 * Calls draw(isWanted, faint) once, or during a search twice: what does not match comes first, faint, so that none of it hides a match.
 * isWanted(i): whether item i is drawn in this pass.
 */
function inPasses(frame, track, chunk, draw) {
	const {ctx} = frame, alpha = ctx.globalAlpha;
	for (const isMatch of frame.search ? [false, true] : [true]) {
		ctx.globalAlpha = isMatch ? 1 : FAINT;
		draw((i) => matches(frame, track, chunk, i) === isMatch);
	}
	ctx.globalAlpha = alpha;
}

// Draws items of a chunk that lie in [from, to).
function drawSlices(frame, track, chunk, from, to, box) {
	inPasses(frame, track, chunk, (isWanted) => drawSlicesOf(frame, track, chunk, from, to, box, isWanted));
}

function drawSlicesOf(frame, track, chunk, from, to, box, isWanted) {
	const {view, scale, width} = frame;
	const {begin, duration, lane, what, link, extra} = chunk;
	const [low, high] = itemRange(chunk, from, to);
	const lanes = track.lanes, height = box.lane, runs = new Runs(frame, lanes, box.top, height);
	const inner = height > 3 ? height - 1 : height;
	const hasWhiskers = view.model.isDeviceSide(track);
	for (let i = low; i < high; i++) {
		const end = begin[i] + duration[i];
		if (end < from || !isWanted(i))
			continue;
		const x0 = (begin[i] - frame.from) * scale, x1 = (end - frame.from) * scale;
		const at = lane[i] < lanes ? lane[i] : lanes - 1;
		const style = styleOf(view, track, what[i], link[i], extra[i]);
		if (x1 - x0 < 1.5) {
			runs.add(at, x0, x1, style);
			continue;
		}
		runs.flush(at);
		runs.end[at] = x1;
		const left = Math.max(x0, -4), right = Math.min(x1, width + 4), y = box.top + at * height;
		drawBox(frame, left, right, y, inner, style, right - left > 24 ? boxText(frame, track, what[i], right - left) : null);
		if (right - left > 2)
			noteLink(frame, track, link[i], x0, x1, y, inner);
		if (hasWhiskers && x1 - x0 > 2)
			drawWhiskers(frame, track, x0, x1, y, inner);
	}
	runs.flushAll();
}

function drawWaiting(frame, track, chunk, from, to, box) {
	inPasses(frame, track, chunk, (isWanted) => drawWaitingOf(frame, track, chunk, from, to, box, isWanted));
}

function drawWaitingOf(frame, track, chunk, from, to, box, isWanted) {
	const {scale, width, view} = frame;
	const [hostQueue, deviceQueue] = waitingStyles(view);
	const [low, high] = itemRange(chunk, from, to);
	const inner = box.lane > 3 ? box.lane - 1 : box.lane, runs = new Runs(frame, track.lanes, box.top, box.lane);
	for (let i = low; i < high; i++) {
		const middle = chunk.begin[i] + chunk.first[i], end = middle + chunk.second[i];
		if (end < from || !isWanted(i))
			continue;
		const x = [chunk.begin[i], middle, end].map((ns) => Math.max(-4, Math.min(width + 4, (ns - frame.from) * scale)));
		const at = Math.min(chunk.lane[i], track.lanes - 1), y = box.top + at * box.lane;
		if (x[2] - x[0] < 1.5) {
			runs.add(at, x[0], x[2], chunk.first[i] > chunk.second[i] ? hostQueue : deviceQueue);
			continue;
		}
		runs.flush(at);
		runs.end[at] = x[2];
		const name = view.model.path(chunk.what[i]).name;
		drawBox(frame, x[0], Math.max(x[1], x[0] + 0.5), y, inner, hostQueue, "host queue \u00b7 " + name);
		drawBox(frame, x[1], Math.max(x[2], x[1] + 0.5), y, inner, deviceQueue, "device queue \u00b7 " + name);
	}
	runs.flushAll();
}

function drawSamples(frame, track, chunk, from, to, box) {
	inPasses(frame, track, chunk, (isWanted) => drawSamplesOf(frame, track, chunk, from, to, box, isWanted));
}

function drawSamplesOf(frame, track, chunk, from, to, box, isWanted) {
	const {ctx, scale, view} = frame;
	const [low, high] = itemRange(chunk, from, to);
	let last = -Infinity;
	for (let i = low; i < high; i++) {
		const x = (chunk.begin[i] - frame.from) * scale;
		if (x < last + 0.7 || !isWanted(i))
			continue;
		last = x;
		const style = styleOf(view, track, chunk.stack[i], 0);
		const next = i + 1 < chunk.items ? (chunk.begin[i + 1] - frame.from) * scale : frame.width;
		ctx.fillStyle = style.paint;
		// a sample is a moment: the line is it, the name behind it takes the room up to the next one
		ctx.fillRect(x - 0.75, box.top, next - x > 4 ? 2 : 1.2, box.height);
		if (next - x > 34 && box.height >= 11)
			label(frame, view.model.itemName(track, chunk.stack[i]), x - 1, next, box.top, box.height, view.colours.theme.faint);
	}
}

// A device's bin is full: busy time from below, above it the rest.
function drawStateBin(frame, track, chunk, i, x0, width, box) {
	const {ctx, view} = frame;
	const busy = Math.min(1, chunk.covered[i] / chunk.binNs), height = Math.round(box.height * busy);
	const isPath = view.model.causeOf(track, chunk.what[i]) < 0;
	const style = styleOf(view, track, chunk.what[i], 0);
	ctx.fillStyle = isPath ? view.colours.theme.missing : style.paint;
	ctx.fillRect(x0, box.top, width, box.height - height);
	ctx.fillStyle = isPath ? style.paint : view.colours.solid("#6f93b5").paint;
	ctx.fillRect(x0, box.top + box.height - height, width, height);
}

function drawBins(frame, track, chunk, from, to, box) {
	inPasses(frame, track, chunk, (isWanted) => drawBinsOf(frame, track, chunk, from, to, box, isWanted));
}

function drawBinsOf(frame, track, chunk, from, to, box, isWanted) {
	const {ctx, scale, view} = frame;
	const [low, high] = itemRange(chunk, from, to);
	const barWidth = Math.max(1, chunk.binNs * scale + 0.3);
	const isWhole = track.kind === "samples" && track.unit && track.unit !== "ns";
	let painted = -Infinity; // up to there: what is faint stays so where several bins share a pixel
	for (let i = low; i < high; i++) {
		if (!isWanted(i))
			continue;
		const right = (chunk.begin[i] - frame.from) * scale + barWidth, x0 = Math.max(painted, right - barWidth), width = right - x0;
		painted = right;
		if (track.kind === "device") {
			drawStateBin(frame, track, chunk, i, x0, width, box);
			continue;
		}
		const share = isWhole ? 1 : Math.min(1, chunk.covered[i] / chunk.binNs / track.lanes);
		const height = Math.max(2, Math.round(box.height * share));
		const style = track.kind === "waiting" ? waitingStyles(view)[1] : styleOf(view, track, chunk.what[i], 0);
		ctx.fillStyle = style.paint;
		ctx.fillRect(x0, box.top + box.height - height, width, height);
	}
}

const ITEM_PAINTERS = new Map([["waiting", drawWaiting], ["samples", drawSamples]]);

/** Hatches [from, to) ns, with the reason in it. */
export function drawMissing(frame, error, from, to, box) {
	const {ctx, scale, view} = frame;
	const x0 = Math.max(0, (from - frame.from) * scale), x1 = Math.min(frame.width, (to - frame.from) * scale);
	ctx.fillStyle = view.colours.absent().paint;
	ctx.fillRect(x0, box.top, x1 - x0, box.height);
	label(frame, "not here: " + error.message, x0, x1, box.top, box.height, view.colours.theme.text);
}

/** Draws [from, to) ns of a track at a level, or coarser where that is not decoded. box: {top, height, lane} px. */
export function drawLevel(frame, track, levelIndex, from, to, box) {
	const level = track.levels[levelIndex];
	const [first, end] = chunkRange(level, from, to);
	for (let index = first; index < end; index++) {
		if (!touches(level, index, from, to))
			continue;
		const chunk = frame.view.chunks.peek(track, levelIndex, index);
		if (chunk) {
			const paint = level.binNs ? drawBins : ITEM_PAINTERS.get(track.kind) || drawSlices;
			paint(frame, track, chunk, from, to, box);
			continue;
		}
		const low = Math.max(from, level.chunks[index][0]), high = Math.min(to, level.chunks[index][1]);
		const error = frame.view.chunks.whyAbsent(track, levelIndex, index);
		if (!error)
			frame.wants.push([levelIndex === track.levels.length - 1 ? 0 : 1 + levelIndex, track, levelIndex, index]);
		if (levelIndex + 1 < track.levels.length)
			drawLevel(frame, track, levelIndex + 1, low, high, box);
		else if (error)
			drawMissing(frame, error, low, high, box);
	}
}
