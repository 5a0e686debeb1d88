// SPDX-License-Identifier: MIT
//
// Draws what lies over the tracks: axis, arrows, the selection, the range, marks, the pointer.

import {formatNs} from "./format.js";
import {AXIS, placeOf} from "./place.js";
import {MOST_ARROWS} from "./slices.js";
import {FONT, SMALL_FONT, widthOf} from "./text.js";

/** Draws the time axis. */
export function drawAxis(frame) {
	const {ctx, view, width} = frame, theme = view.colours.theme;
	ctx.fillStyle = theme.stripe;
	ctx.fillRect(0, 0, width, AXIS);
	ctx.fillStyle = theme.line;
	ctx.fillRect(0, AXIS - 1, width, 1);
	const {stepNs, label: write} = frame.axis;
	ctx.font = FONT;
	for (let ns = Math.ceil(frame.from / stepNs) * stepNs; ns < frame.to; ns += stepNs) {
		const x = Math.round((ns - frame.from) * frame.scale);
		ctx.fillStyle = theme.faint;
		ctx.fillRect(x, AXIS - 7, 1, 6);
		const text = write(ns);
		if (x + 4 + widthOf(ctx, text) < width)
			ctx.fillText(text, x + 4, AXIS / 2);
	}
}

/** A function that draws the axis's marks as lines through a row. */
export function gridOf(frame) {
	const {stepNs} = frame.axis, xs = [];
	for (let ns = Math.ceil(frame.from / stepNs) * stepNs; ns < frame.to; ns += stepNs)
		xs.push(Math.round((ns - frame.from) * frame.scale));
	return (top, height) => {
		frame.ctx.fillStyle = frame.view.colours.theme.grid;
		for (const x of xs)
			frame.ctx.fillRect(x, top, 1, height);
	};
}

function arrow(ctx, x0, y0, x1, y1, colour, width) {
	const bend = Math.max(12, Math.min(80, Math.abs(x1 - x0) / 2));
	ctx.strokeStyle = ctx.fillStyle = colour;
	ctx.lineWidth = width;
	ctx.beginPath();
	ctx.moveTo(x0, y0);
	ctx.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
	ctx.stroke();
	ctx.beginPath();
	ctx.moveTo(x1, y1);
	ctx.lineTo(x1 - 3 - width * 2, y1 - 2 - width);
	ctx.lineTo(x1 - 3 - width * 2, y1 + 2 + width);
	ctx.fill();
}

/** Draws arrows from launches to executions: of the selection, and of all in view where they are few. */
export function drawArrows(frame) {
	const {ctx, view} = frame, theme = view.colours.theme;
	const pairs = [...frame.links.values()].filter((ends) => ends.call && ends.queue);
	ctx.globalAlpha = 0.45;
	if (pairs.length <= MOST_ARROWS)
		for (const {call, queue} of pairs)
			arrow(ctx, call.x, call.y + call.height, queue.x, queue.y + queue.height / 2, theme.arrow, 1);
	ctx.globalAlpha = 1;
	const linked = view.linked;
	if (!linked || !linked.call || !linked.queue)
		return;
	const from = placeOf(view, linked.call.track, linked.call.item), to = placeOf(view, linked.queue.track, linked.queue.item);
	if (from && to)
		arrow(ctx, from.x0, from.y + from.height, to.x0, to.y + to.height / 2, theme.accent, 2);
}

/** Draws a frame around an item. */
export function outline(frame, track, item, colour, width) {
	const place = placeOf(frame.view, track, item);
	if (!place)
		return;
	frame.ctx.strokeStyle = colour;
	frame.ctx.lineWidth = width;
	const x0 = Math.max(-4, place.x0), x1 = Math.min(frame.width + 4, Math.max(place.x1, place.x0 + 3));
	if (x1 >= -4 && x0 <= frame.width + 4)
		frame.ctx.strokeRect(x0 - 0.5, place.y - 0.5, x1 - x0 + 1, place.height + 1);
}

/** Draws the selected range. */
export function drawRange(frame) {
	const {ctx, view} = frame, theme = view.colours.theme, range = view.range;
	if (!range)
		return;
	const x0 = (range.from - frame.from) * frame.scale, x1 = (range.to - frame.from) * frame.scale;
	ctx.fillStyle = theme.range;
	ctx.fillRect(x0, 0, x1 - x0, frame.height);
	ctx.fillStyle = theme.edge;
	ctx.fillRect(x0 - 0.5, 0, 1, frame.height);
	ctx.fillRect(x1 - 0.5, 0, 1, frame.height);
	const text = formatNs(range.to - range.from);
	const middle = (Math.max(0, x0) + Math.min(frame.width, x1)) / 2, half = widthOf(ctx, text) / 2 + 5;
	frame.rangeLabel = [middle - half, middle + half];
	if (x1 < 0 || x0 > frame.width)
		return;
	ctx.fillStyle = theme.accent;
	ctx.fillRect(middle - half, 4, half * 2, 17);
	ctx.fillStyle = theme.back;
	ctx.fillText(text, middle - half + 5, 13);
}

/** Draws the marks with their numbers. */
export function drawMarks(frame) {
	const {ctx, view} = frame, theme = view.colours.theme;
	ctx.fillStyle = theme.mark;
	for (const [index, ns] of view.marks.entries()) {
		const x = (ns - frame.from) * frame.scale;
		if (x < -20 || x > frame.width)
			continue;
		ctx.fillRect(x - 0.5, 0, 1, frame.height);
		ctx.beginPath();
		ctx.moveTo(x, AXIS - 12);
		ctx.lineTo(x, 0);
		ctx.lineTo(x + 16, 0);
		ctx.lineTo(x + 16, AXIS - 12);
		ctx.fill();
		ctx.fillStyle = theme.back;
		ctx.font = SMALL_FONT;
		ctx.fillText(String(index + 1), x + 5, 7.5);
		ctx.font = FONT;
		ctx.fillStyle = theme.mark;
	}
}

/** The left edge of the pointer's label: in the middle under the pointer, or beside the range's label. */
export function pointerLabelLeft(x, width, room, taken) {
	const left = Math.min(room - width, Math.max(0, x - width / 2));
	if (!taken || left >= taken[1] || left + width <= taken[0])
		return left;
	const before = taken[0] - width - 2, behind = taken[1] + 2;
	const isBehind = before < 0 || (behind + width <= room && x >= (taken[0] + taken[1]) / 2);
	return isBehind ? behind : before;
}

/** Draws the line at the pointer, with its moment. */
export function drawPointer(frame) {
	const {ctx, view} = frame, theme = view.colours.theme;
	if (view.pointerX === null)
		return;
	const x = Math.round(view.pointerX);
	ctx.fillStyle = theme.faint;
	ctx.globalAlpha = 0.5;
	ctx.fillRect(x, AXIS, 1, frame.height - AXIS);
	ctx.globalAlpha = 1;
	const text = formatNs(view.from + x / frame.scale), width = widthOf(ctx, text) + 8;
	const left = pointerLabelLeft(x, width, frame.width, frame.rangeLabel);
	ctx.fillStyle = theme.text;
	ctx.fillRect(left, AXIS - 17, width, 16);
	ctx.fillStyle = theme.back;
	ctx.fillText(text, left + 4, AXIS - 8.5);
}
