// SPDX-License-Identifier: MIT
//
// Draws the tracks. Of a track the finest level is taken that has few items a pixel; where a chunk of it is
// not decoded yet, the next coarser level stands in, and the chunk is asked for.

import {drawMetric, uncertaintyOf} from "./charts.js";
import {drawCounter, drawStrips} from "./counters.js";
import {axisStep, visible} from "./format.js";
import {laneHeight} from "./layout.js";
import {chooseLevel} from "./model.js";
import {drawArrows, drawAxis, drawMarks, drawPointer, drawRange, gridOf, outline} from "./overlays.js";
import {AXIS, ITEMS_PER_PIXEL} from "./place.js";
import {drawLevel} from "./slices.js";
import {FONT, label, SMALL_FONT, widthOf} from "./text.js";

const LEAST_STEP = 90; // px from mark to mark of the axis

// A collapsed group shows its first tracks one over the other, faint.
function drawSummary(frame, track, box) {
	const found = [];
	const collect = (at) => {
		for (const inner of at.children) {
			if (inner.levels.length && !frame.view.model.isChart(inner) && found.length < 6)
				found.push(inner);
			collect(inner);
		}
	};
	collect(track);
	frame.ctx.globalAlpha = 0.7;
	for (const [i, inner] of found.entries()) {
		const height = Math.max(2, Math.floor((box.height - 4) / found.length));
		const level = Math.max(chooseLevel(inner, frame.from, frame.to, frame.width, 1), inner.levels.length > 1 ? 1 : 0);
		drawLevel(frame, inner, Math.min(level, inner.levels.length - 1), frame.from, frame.to,
			{top: box.top + 2 + i * height, height: height - 1, lane: Math.max(1, Math.floor((height - 1) / inner.lanes))});
	}
	frame.ctx.globalAlpha = 1;
}

function drawNote(frame, text, box) {
	frame.ctx.font = SMALL_FONT;
	label(frame, text, 0, frame.width, box.top, box.height, frame.view.colours.theme.faint);
	frame.ctx.font = FONT;
}

function drawRow(frame, row, top) {
	const {view, ctx} = frame, {track} = row, theme = view.colours.theme;
	const box = {top: top + 1, height: row.height - 3, lane: laneHeight(view, track)};
	const isHeading = view.model.isHeading(track);
	ctx.fillStyle = isHeading ? theme.group : theme.back;
	ctx.fillRect(0, top, frame.width, row.height);
	if (!isHeading)
		frame.drawGrid(top, row.height);
	ctx.fillStyle = theme.line;
	ctx.fillRect(0, top + row.height - 1, frame.width, 1);
	if (row.isCollapsed && track.kind === "metrics")
		drawStrips(frame, track, box);
	else if (row.isCollapsed)
		drawSummary(frame, track, box);
	if (!track.levels.length || (row.isCollapsed && track.kind !== "device"))
		return;
	if (!track.isKnown) {
		drawNote(frame, "tracks of kind \u201c" + visible(track.kind) + "\u201d are not known to this viewer: "
			+ track.items + " items not drawn", box);
		return;
	}
	if (view.model.isChart(track)) {
		(track.kind === "counter" ? drawCounter : drawMetric)(frame, track, box);
		return;
	}
	const level = chooseLevel(track, frame.from, frame.to, frame.width, ITEMS_PER_PIXEL);
	if (level < 0)
		return;
	row.level = level;
	drawLevel(frame, track, level, frame.from, frame.to, box);
	if (level === 0 && track.levels[0].binNs * frame.scale > 6)
		drawNote(frame, "finer levels are not in this file: it would be too large", box);
}

// The axis's marks, so far apart that their texts do not run into each other.
function axisOf({ctx, from, to, width}) {
	const axis = axisStep(to - from, width, LEAST_STEP);
	const needed = Math.max(widthOf(ctx, axis.label(from)), widthOf(ctx, axis.label(to))) + 12;
	return needed > LEAST_STEP ? axisStep(to - from, width, needed) : axis;
}

function makeFrame(view) {
	const frame = {view, ctx: view.ctx, from: view.from, to: view.to, width: view.width, height: view.height,
		scale: view.width / (view.to - view.from), wants: [], links: new Map(), whiskers: 0, search: view.search};
	frame.ctx.font = FONT;
	frame.axis = axisOf(frame);
	frame.drawGrid = gridOf(frame);
	frame.uncertainty = uncertaintyOf(frame);
	return frame;
}

function drawRows(frame) {
	const {ctx, view} = frame, {layout} = view, theme = view.colours.theme;
	const top = AXIS + layout.pinnedHeight;
	ctx.save();
	ctx.beginPath();
	ctx.rect(0, top, frame.width, frame.height - top);
	ctx.clip();
	for (const row of layout.rows) {
		const y = top + row.y - view.scrollTop;
		if (y + row.height > top && y < frame.height)
			drawRow(frame, row, y);
	}
	ctx.restore();
	for (const row of layout.pinned)
		drawRow(frame, row, AXIS + row.y);
	if (layout.pinnedHeight) {
		ctx.fillStyle = theme.accent;
		ctx.fillRect(0, top - 2, frame.width, 2);
	}
}

/** Draws everything that is visible, and asks for the chunks that are not there. */
export function drawTimeline(view) {
	const frame = makeFrame(view), {ctx} = frame, theme = view.colours.theme;
	ctx.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
	ctx.textBaseline = "middle";
	ctx.fillStyle = theme.back;
	ctx.fillRect(0, 0, frame.width, frame.height);
	drawRows(frame);
	ctx.save();
	ctx.beginPath();
	ctx.rect(0, AXIS, frame.width, frame.height - AXIS);
	ctx.clip();
	drawArrows(frame);
	for (const end of ["call", "waiting", "queue"])
		if (view.linked && view.linked[end])
			outline(frame, view.linked[end].track, view.linked[end].item, theme.accent, 1);
	if (view.selection)
		outline(frame, view.selection.track, view.selection.item, theme.accent, 2);
	ctx.restore();
	drawAxis(frame);
	drawRange(frame);
	drawMarks(frame);
	drawPointer(frame);
	frame.wants.sort((a, b) => a[0] - b[0]);
	view.chunks.want(frame.wants.map((want) => want.slice(1)));
}
