// SPDX-License-Identifier: MIT
//
// Draws values over time: metrics, and what a device's clock may be off.

import {formatValue} from "./format.js";
import {chooseLevel, chunkRange} from "./model.js";
import {ITEMS_PER_PIXEL} from "./place.js";
import {drawMissing} from "./slices.js";
import {FONT, SMALL_FONT, widthOf} from "./text.js";

function clippedTo(frame, box, draw) {
	const {ctx} = frame;
	ctx.save();
	ctx.beginPath();
	ctx.rect(0, box.top, frame.width, box.height);
	ctx.clip();
	draw();
	ctx.restore();
}

/** Chunks of a level in view with the one before them, whose last value still stands; null where one is missing. */
export function valueChunks(frame, track, levelIndex) {
	const level = track.levels[levelIndex];
	const [first, end] = chunkRange(level, frame.from, frame.to);
	const chunks = [];
	let isWhole = true;
	for (let index = Math.max(0, first - 1); index < end; index++) {
		const chunk = frame.view.chunks.peek(track, levelIndex, index);
		if (chunk)
			chunks.push(chunk);
		else {
			isWhole = false;
			if (!frame.view.chunks.whyAbsent(track, levelIndex, index))
				frame.wants.push([1 + levelIndex, track, levelIndex, index]);
		}
	}
	return isWhole ? chunks : null;
}

/** The top of a metric's chart: what the file says is most, else the largest value of the run; undefined: not known yet. */
export function largestValue(view, track) {
	if (track.max !== undefined && track.max !== null)
		return track.max;
	if (track.largest !== undefined)
		return track.largest;
	const last = track.levels.length - 1, level = track.levels[last];
	let largest = 0;
	for (let index = 0; index < level.chunks.length; index++) {
		const chunk = view.chunks.peek(track, last, index);
		if (!chunk && !view.chunks.whyAbsent(track, last, index)) {
			view.chunks.load(track, last, index).then(view.redraw, view.redraw);
			return undefined;
		}
		for (const value of chunk ? level.binNs ? chunk.most : chunk.value : [])
			largest = Math.max(largest, value / 1000);
	}
	track.largest = largest;
	return largest;
}

// A value and where it goes: steps, with a band where a pixel has several.
function drawChart(frame, track, chunks, top, box, style) {
	const {ctx, scale} = frame;
	const y = (value) => box.top + box.height - Math.min(1, Math.max(0, value / 1000 / top)) * (box.height - 2);
	const base = box.top + box.height;
	ctx.beginPath();
	let x = null, last = 0;
	const edge = [];
	const step = (at, value) => {
		if (x === null)
			ctx.moveTo(at, base);
		else
			ctx.lineTo(at, y(last));
		ctx.lineTo(at, y(value));
		edge.push(at, y(value));
		x = at;
		last = value;
	};
	const bands = [];
	for (const chunk of chunks)
		for (let i = 0; i < chunk.items; i++) {
			const at = (chunk.begin[i] - frame.from) * scale;
			if (at > frame.width + 2)
				break;
			if (i + 1 < chunk.items && (chunk.begin[i + 1] - frame.from) * scale < -2)
				continue;
			step(Math.max(-2, at), chunk.binNs ? chunk.last[i] : chunk.value[i]);
			if (chunk.binNs)
				bands.push([at, y(chunk.most[i]), y(chunk.least[i])]);
		}
	if (x === null)
		return;
	ctx.lineTo(frame.width + 2, y(last));
	ctx.lineTo(frame.width + 2, base);
	ctx.fillStyle = style.fill;
	ctx.globalAlpha = 0.55;
	ctx.fill();
	ctx.globalAlpha = 1;
	ctx.fillStyle = style.line;
	const width = Math.max(1, (chunks[0].binNs || 0) * scale);
	for (const [at, high, low] of bands)
		ctx.fillRect(at, high, width, Math.max(1, low - high));
	if (!bands.length)
		drawSteps(ctx, edge, frame.width, style.line);
}

function drawSteps(ctx, edge, width, colour) {
	ctx.strokeStyle = colour;
	ctx.lineWidth = 1.2;
	ctx.beginPath();
	for (let i = 0; i < edge.length; i += 2) {
		if (i)
			ctx.lineTo(edge[i], edge[i - 1]);
		else
			ctx.moveTo(edge[0], edge[1]);
		ctx.lineTo(edge[i], edge[i + 1]);
	}
	ctx.lineTo(width + 2, edge[edge.length - 1]);
	ctx.stroke();
}

// Values that are not in the file, where no level has them.
function drawAbsentValues(frame, track, box) {
	const last = track.levels.length - 1;
	track.levels[last].chunks.forEach(([begin, end], index) => {
		const error = frame.view.chunks.whyAbsent(track, last, index);
		if (error)
			drawMissing(frame, error, begin, end, box);
	});
}

/** Draws a metric's or a clock's values in a box. */
export function drawMetric(frame, track, box) {
	const {view, ctx} = frame;
	const pixels = frame.width;
	let level = chooseLevel(track, frame.from, frame.to, pixels, ITEMS_PER_PIXEL), chunks = null;
	for (; level < track.levels.length && !chunks; level++)
		chunks = valueChunks(frame, track, level);
	const top = largestValue(view, track);
	if (!chunks)
		drawAbsentValues(frame, track, box);
	if (!chunks || top === undefined)
		return;
	const style = track.kind === "clock" ? view.colours.solid("#cc79a7") : view.colours.solid("#56b4e9");
	const shrunk = {top: box.top + 1, height: box.height - 2};
	clippedTo(frame, box, () => drawChart(frame, track, chunks, top > 0 ? top : 1, shrunk, style));
	ctx.font = SMALL_FONT;
	const text = (track.kind === "clock" ? "\u00b1 " : "") + formatValue(top, track.unit);
	const back = view.colours.theme;
	ctx.fillStyle = back.back;
	ctx.globalAlpha = 0.75;
	ctx.fillRect(2, box.top + 1, widthOf(ctx, text) + 5, 11);
	ctx.globalAlpha = 1;
	ctx.fillStyle = back.faint;
	ctx.fillText(text, 4, box.top + 7);
	ctx.font = FONT;
}

/** Half the width of each device's certificate in view, ns: the largest, so that nothing is drawn surer than it is. */
export function uncertaintyOf(frame) {
	const found = new Map();
	for (const clock of frame.view.model.clocks) {
		const last = clock.levels.length - 1;
		if (last < 0)
			continue;
		const chunks = valueChunks(frame, clock, last);
		let half = 0;
		for (const chunk of chunks || [])
			for (let i = 0; i < chunk.items; i++)
				if (chunk.begin[i] < frame.to && (i + 1 >= chunk.items || chunk.begin[i + 1] >= frame.from))
					half = Math.max(half, (chunk.binNs ? chunk.most[i] : chunk.value[i]) / 1000);
		found.set(clock.parent, half);
	}
	return found;
}
