// SPDX-License-Identifier: MIT
//
// What was counted: charts, strips of many charts, and sums over a range. Where nothing was read nothing is drawn.

import {visitItems} from "./account.js";
import {formatCount, formatNs, formatShare, formatValue} from "./format.js";
import {chartsIn} from "./layout.js";
import {chooseLevel, chunkRange, itemRange, touches} from "./model.js";
import {ITEMS_PER_PIXEL} from "./place.js";
import {drawMissing, FAINT} from "./slices.js";
import {FONT, SMALL_FONT, widthOf} from "./text.js";

const SECOND_NS = 1e9;
const HUE = "#56b4e9", HOT = "#d55e00";

// What is shown: factor times a level, an amount in a second, a part of a whole.
function shownOf(track, value, by) {
	return track.factor * (track.type === "level" ? value : track.type === "amount" ? value * SECOND_NS / by : value / by);
}

// What a reading's value is by: see shownOf.
function byOf(track, duration, of) {
	return track.type === "ratio" ? of : duration;
}

// What no time has passed for says nothing.
function shownAt(track, chunk, i) {
	if (chunk.binNs)
		return chunk.mean[i] / 1000;
	const by = byOf(track, chunk.duration[i], chunk.of[i]);
	return track.type === "level" || by > 0 ? shownOf(track, chunk.value[i], by) : NaN;
}

/** What an item of a counter's track shows, in the track's unit. */
export function shownItem(track, item) {
	if (item.binNs)
		return item.mean / 1000;
	return shownOf(track, item.value, byOf(track, item.duration, item.of));
}

/** Facts of an item, for the tooltip and the details. */
export function intervalRows(track, item) {
	const value = (shown) => formatValue(shown, track.unit);
	if (item.binNs)
		return [["mean", value(item.mean / 1000)], ["least", value(item.least / 1000)], ["largest", value(item.most / 1000)],
			["measured", formatShare(Math.min(item.covered, item.binNs), item.binNs) + " of it, " + formatCount(item.count) + " readings begin in it"]];
	const rows = [["interval", formatNs(item.duration) + (track.intervalNs ? ", asked for " + formatNs(track.intervalNs) : "")]];
	if (track.type === "amount")
		rows.push(["in it", formatCount(item.value)]);
	if (track.type === "ratio")
		rows.push(["in it", formatCount(item.value) + " of " + formatCount(item.of)]);
	return rows;
}

// ---- sums over a range ----

function noteExtremes(sum, low, high) {
	sum.least = Math.min(sum.least, low);
	sum.most = Math.max(sum.most, high);
}

// What came early, as the last reading does, says little: it is in means, and among the extremes only where there is nothing else.
function isFull(track, duration) {
	return track.type === "level" || duration * 2 >= track.intervalNs;
}

/**
 * A counter in [from, to) ns, as duet report has it: its mean is the sum of the values by that of what they are by, each reading as much as is in the range.
 * @returns {Promise<{mean, least, most, coveredNs, readings, isExact}>} mean NaN: nothing was read there
 */
export async function statisticsOf(store, track, from, to, watch) {
	const sum = {value: 0, by: 0, least: Infinity, most: -Infinity, coveredNs: 0, readings: 0, isExact: true, short: {least: Infinity, most: -Infinity}};
	sum.isExact = await visitItems(store, track, from, to, watch, (chunk, i, begin, end) => addReading(sum, track, chunk, i, end - begin));
	if (!sum.isExact)
		await visitBins(store, track, from, to, watch, sum);
	if (sum.most < sum.least)
		Object.assign(sum, sum.short);
	return {...sum, mean: meanOf(track, sum)};
}

// Of moments alone the largest.
function meanOf(track, sum) {
	if (!(sum.by > 0))
		return track.type === "level" && sum.readings ? sum.most : NaN;
	if (!sum.isExact)
		return sum.value / sum.by;
	return track.type === "level" ? sum.value / sum.by * track.factor : shownOf(track, sum.value, sum.by);
}

function addReading(sum, track, chunk, i, ns) {
	const shown = shownAt(track, chunk, i), duration = chunk.duration[i];
	if (Number.isNaN(shown))
		return;
	sum.readings++;
	noteExtremes(isFull(track, duration) ? sum : sum.short, shown, shown);
	if (!(duration > 0))
		return;
	const part = ns / duration;
	sum.coveredNs += ns;
	sum.by += track.type === "ratio" ? chunk.of[i] * part : ns;
	sum.value += track.type === "level" ? chunk.value[i] * ns : chunk.value[i] * part;
}

async function visitBins(store, track, from, to, watch, sum) {
	const level = track.levels[0], [first, end] = chunkRange(level, from, to);
	for (let index = first; index < end; index++) {
		const chunk = await store.load(track, 0, index), [low, high] = itemRange(chunk, from, to);
		for (let i = low; i < high; i++) {
			const ns = Math.min(chunk.covered[i], level.binNs) *
				Math.max(0, Math.min(chunk.begin[i] + level.binNs, to) - Math.max(chunk.begin[i], from)) / level.binNs;
			noteExtremes(sum, chunk.least[i] / 1000, chunk.most[i] / 1000);
			sum.readings += chunk.count[i];
			sum.coveredNs += ns;
			sum.by += ns;
			sum.value += chunk.mean[i] / 1000 * ns;
		}
		await watch.step((index + 1 - first) / (end - first));
	}
}

// ---- the axis ----

// Least and largest of the whole run, from the coarsest level; null: not known yet.
function extremesOf(view, track) {
	if (track.extremes)
		return track.extremes;
	const last = track.levels.length - 1, level = track.levels[last], found = {least: Infinity, most: -Infinity};
	for (let index = 0; index < level.chunks.length; index++) {
		const chunk = view.chunks.peek(track, last, index);
		if (!chunk && !view.chunks.whyAbsent(track, last, index)) {
			view.chunks.load(track, last, index).then(view.redraw, view.redraw);
			return null;
		}
		for (let i = 0; chunk && i < chunk.items; i++) {
			const shown = shownAt(track, chunk, i);
			if (!Number.isNaN(shown))
				noteExtremes(found, chunk.binNs ? chunk.least[i] / 1000 : shown, chunk.binNs ? chunk.most[i] / 1000 : shown);
		}
	}
	track.extremes = found;
	return found;
}

/** The ends of a chart's axis: 0, or less where there is less; what there can be at most, else the run's largest. null: not known yet. */
export function valueAxis(view, track) {
	const found = extremesOf(view, track), hasLimit = track.max > 0;
	if (!found)
		return null;
	const low = Math.min(0, found.least), high = hasLimit ? track.max : Math.max(0, found.most);
	return {low, high, span: high > low ? high - low : 1, hasLimit};
}

// ---- drawing ----

// Calls draw(x0, x1, value, least, most) for each item in view, px; chunks that are not there are asked for, coarser ones stand in.
function eachItem(frame, track, levelIndex, from, to, box, draw) {
	const level = track.levels[levelIndex], [first, end] = chunkRange(level, from, to);
	for (let index = first; index < end; index++) {
		if (!touches(level, index, from, to))
			continue;
		const chunk = frame.view.chunks.peek(track, levelIndex, index);
		if (chunk) {
			drawChunk(frame, track, chunk, from, to, draw);
			continue;
		}
		const low = Math.max(from, level.chunks[index][0]), high = Math.min(to, level.chunks[index][1]);
		const error = frame.view.chunks.whyAbsent(track, levelIndex, index);
		if (!error)
			frame.wants.push([1 + levelIndex, track, levelIndex, index]);
		if (levelIndex + 1 < track.levels.length)
			eachItem(frame, track, levelIndex + 1, low, high, box, draw);
		else if (error)
			drawMissing(frame, error, low, high, box);
	}
}

function drawChunk(frame, track, chunk, from, to, draw) {
	const [low, high] = itemRange(chunk, from, to);
	for (let i = low; i < high; i++) {
		const shown = shownAt(track, chunk, i);
		if (Number.isNaN(shown))
			continue;
		const x0 = (chunk.begin[i] - frame.from) * frame.scale, width = (chunk.binNs || chunk.duration[i]) * frame.scale;
		draw(Math.max(-4, x0), Math.min(frame.width + 4, x0 + width), shown,
			chunk.binNs ? chunk.least[i] / 1000 : shown, chunk.binNs ? chunk.most[i] / 1000 : shown);
	}
}

function hasMatch(frame, track) {
	return !frame.search || frame.search.matchesMetric(track);
}

// An area below a line; of a bin a band from the least to the largest with the mean in it. A moment is a tick.
function drawArea(frame, track, level, box, axis) {
	const {ctx, view} = frame, style = view.colours.solid(HUE);
	const y = (value) => box.top + box.height - Math.min(1, Math.max(0, (value - axis.low) / axis.span)) * (box.height - 1);
	const base = y(0);
	let last = null;
	ctx.fillStyle = style.fill;
	eachItem(frame, track, level, frame.from, frame.to, box, (x0, x1, value, least, most) => {
		const left = Math.round(x0), wide = Math.max(1, Math.round(x1) - left); // whole pixels: no seams where two meet
		const width = Math.max(1, x1 - x0), top = y(value), alpha = ctx.globalAlpha;
		ctx.globalAlpha = alpha * 0.45;
		ctx.fillStyle = style.fill;
		ctx.fillRect(left, Math.min(top, base), wide, Math.abs(base - top));
		ctx.globalAlpha = alpha * 0.7;
		if (most > least)
			ctx.fillRect(left, y(most), wide, y(least) - y(most));
		ctx.globalAlpha = alpha;
		ctx.fillStyle = style.line;
		ctx.fillRect(x0, top - 0.6, width, 1.2);
		if (last && x0 - last.x1 < 1)
			ctx.fillRect(x0 - 0.6, Math.min(top, last.top), 1.2, Math.abs(top - last.top));
		last = {x1, top};
	});
}

function drawScale(frame, track, box, axis) {
	const {ctx, view} = frame, {theme} = view.colours;
	const text = formatValue(axis.high, track.unit) + (axis.hasLimit ? "" : ", the run's largest");
	ctx.font = SMALL_FONT;
	ctx.fillStyle = theme.back;
	ctx.globalAlpha = 0.85;
	ctx.fillRect(2, box.top, widthOf(ctx, text) + 5, 11);
	ctx.globalAlpha = 1;
	ctx.fillStyle = theme.faint;
	ctx.fillText(text, 4, box.top + 6);
	if (axis.low < 0)
		ctx.fillText(formatValue(axis.low, track.unit), 4, box.top + box.height - 6);
	ctx.font = FONT;
}

function inBox(frame, box, alpha, draw) {
	const {ctx} = frame;
	ctx.save();
	ctx.beginPath();
	ctx.rect(0, box.top, frame.width, box.height);
	ctx.clip();
	ctx.globalAlpha = alpha;
	draw();
	ctx.restore();
}

/** Draws a counter's chart in a box. */
export function drawCounter(frame, track, box) {
	const axis = valueAxis(frame.view, track), level = chooseLevel(track, frame.from, frame.to, frame.width, ITEMS_PER_PIXEL);
	if (!axis)
		return;
	inBox(frame, box, hasMatch(frame, track) ? 1 : FAINT, () => drawArea(frame, track, level, box, axis));
	drawScale(frame, track, box, axis);
}

// A heat strip: the more there is, the less of the page shines through.
function drawStrip(frame, track, box) {
	const {ctx, view} = frame, axis = valueAxis(view, track);
	const level = chooseLevel(track, frame.from, frame.to, frame.width, 1);
	if (!axis)
		return;
	const alpha = hasMatch(frame, track) ? 1 : FAINT;
	ctx.fillStyle = view.colours.solid(HOT).fill;
	eachItem(frame, track, level, frame.from, frame.to, box, (x0, x1, value) => {
		ctx.globalAlpha = alpha * (0.06 + 0.94 * Math.min(1, Math.max(0, (value - axis.low) / axis.span)));
		const left = Math.round(x0);
		ctx.fillRect(left, box.top, Math.max(1, Math.round(x1) - left), box.height);
	});
	ctx.globalAlpha = 1;
}

/** Draws a group that is folded: a strip of each chart in it, as many as there is room for; of those that share a pixel the first. */
export function drawStrips(frame, group, box) {
	const charts = chartsIn(group).filter((track) => track.levels.length), height = box.height / charts.length;
	let drawn = -Infinity;
	for (const [i, track] of charts.entries()) {
		const top = Math.round(box.top + i * height), bottom = Math.max(top + 1, Math.round(box.top + (i + 1) * height));
		if (top <= drawn)
			continue;
		drawn = top;
		drawStrip(frame, track, {top, height: bottom - top > 2 ? bottom - top - 1 : bottom - top});
	}
}
