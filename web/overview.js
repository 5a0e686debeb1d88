// SPDX-License-Identifier: MIT
//
// The strip above the timeline: the whole run, coarsely, with a frame around what is in view.

import {sizeCanvas} from "./dom.js";
import {styleOf, waitingStyles} from "./styles.js";
import {formatNs} from "./format.js";

const MOST_ROWS = 8;

// What says most about a run: its devices; else its calls, else its samples, of those that count time.
function chooseTracks(model) {
	for (const kind of ["device", "calls", "samples", "queue", "waiting"]) {
		const found = model.ofKind(kind).filter((track) => track.levels.length && (!track.unit || track.unit === "ns"));
		if (found.length)
			return found;
	}
	return [];
}

function drawOverviewTrack(view, ctx, track, top, height, scale) {
	const levelIndex = track.levels.length - 1, level = track.levels[levelIndex];
	const drawAnew = () => {
		view.overview = null;
		view.redraw();
	};
	for (let index = 0; index < level.chunks.length; index++) {
		const chunk = view.chunks.peek(track, levelIndex, index);
		if (!chunk && view.chunks.whyAbsent(track, levelIndex, index))
			drawAbsent(view, ctx, level.chunks[index], top, height, scale, view.colours.absent());
		else if (!chunk)
			view.chunks.load(track, levelIndex, index).then(drawAnew, drawAnew);
		for (let i = 0; chunk && i < chunk.items; i++)
			drawOverviewItem(view, ctx, track, chunk, i, top, height, scale);
	}
}

function drawAbsent(view, ctx, [begin, end], top, height, scale, style) {
	ctx.fillStyle = style.paint;
	ctx.fillRect((begin - view.lowNs) * scale, top, (end - begin) * scale, height);
}

function drawOverviewItem(view, ctx, track, chunk, i, top, height, scale) {
	const what = chunk.what ? chunk.what[i] : chunk.stack[i];
	const width = chunk.binNs || (chunk.duration ? chunk.duration[i] : chunk.weight[i]);
	const isIdle = view.model.causeOf(track, what) >= 0;
	if (track.unmeasured) {
		drawAbsent(view, ctx, [chunk.begin[i], chunk.begin[i] + width], top, height, scale, view.colours.unmeasured());
		return;
	}
	const share = chunk.binNs ? Math.min(1, chunk.covered[i] / chunk.binNs) : isIdle ? 0 : 1;
	if (share <= 0)
		return;
	const style = track.kind === "waiting" ? waitingStyles(view)[1] :
		isIdle ? view.colours.solid("#6f93b5") : styleOf(view, track, what, 0);
	const tall = Math.max(1, height * share);
	ctx.fillStyle = style.paint;
	ctx.fillRect((chunk.begin[i] - view.lowNs) * scale, top + height - tall, Math.max(1, width * scale), tall);
}

function makePicture(view, width, height) {
	const canvas = document.createElement("canvas");
	canvas.width = width * view.ratio;
	canvas.height = height * view.ratio;
	const ctx = canvas.getContext("2d");
	ctx.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
	ctx.fillStyle = view.colours.theme.stripe;
	ctx.fillRect(0, 0, width, height);
	const tracks = chooseTracks(view.model).slice(0, MOST_ROWS), scale = width / (view.highNs - view.lowNs);
	const each = Math.floor((height - 4) / Math.max(1, tracks.length));
	for (const [i, track] of tracks.entries())
		drawOverviewTrack(view, ctx, track, 2 + i * each, each - 1, scale);
	return canvas;
}

function describeOverview(view, canvas) {
	const {model} = view, count = chooseTracks(model).length;
	canvas.title = "The whole run, " + formatNs(model.wallNs) + (count > MOST_ROWS ? ", " + MOST_ROWS + " of " + count + " tracks" : "") +
		"; drag to move";
	canvas.setAttribute("aria-valuemax", String(model.wallNs));
	canvas.setAttribute("aria-valuenow", String(Math.round((view.from + view.to) / 2)));
	canvas.setAttribute("aria-valuetext", formatNs(view.from) + " to " + formatNs(view.to) + " of " + formatNs(model.wallNs));
}

/** Draws the strip. */
export function drawOverview(view, canvas, width, height) {
	if (sizeCanvas(canvas, width, height, view.ratio) || !view.overview)
		view.overview = makePicture(view, width, height);
	const ctx = canvas.getContext("2d"), theme = view.colours.theme, scale = width / (view.highNs - view.lowNs);
	ctx.setTransform(1, 0, 0, 1, 0, 0);
	ctx.drawImage(view.overview, 0, 0);
	ctx.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
	const x0 = Math.max(0, (view.from - view.lowNs) * scale), x1 = Math.min(width, Math.max(x0 + 2, (view.to - view.lowNs) * scale));
	ctx.fillStyle = theme.isDark ? "rgba(0,0,0,.55)" : "rgba(90,98,110,.32)";
	ctx.fillRect(0, 0, x0, height);
	ctx.fillRect(x1, 0, width - x1, height);
	ctx.strokeStyle = theme.accent;
	ctx.lineWidth = 2;
	ctx.strokeRect(x0 + 1, 1, Math.max(1, x1 - x0 - 2), height - 2);
	describeOverview(view, canvas);
}
