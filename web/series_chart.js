// SPDX-License-Identifier: MIT
//
// A small chart of one line over all recordings: its values, its changes, and what is under the pointer.

import {make} from "./dom.js";
import {formatNs, formatValue, visible} from "./format.js";
import {baseName, formatPercentChange, formatP, makeSvg, shorten, signClass} from "./compare_page.js";
import {MATCHES} from "./diff_rows.js";

const HEIGHT = 92, EDGE = 7, CHART_LEFT = 62, POINTS_SHOWN = 60, MIN_SPAN = 0.02;

/** A value of a line with its unit. */
export function lineValueText(line, value) {
	return line.unit === "ns" ? formatNs(value) : formatValue(value, "");
}

// Stretches without a gap: [[recording, value], ...].
function stretchesOf(values) {
	const stretches = [];
	values.forEach((value, i) => {
		if (value === null)
			return;
		if (!i || values[i - 1] === null)
			stretches.push([]);
		stretches[stretches.length - 1].push([i, value]);
	});
	return stretches;
}

// The scale covers at least 2 %, so that noise stays flat.
function scaleOf(values) {
	const known = values.filter((value) => value !== null);
	const low = known.reduce((a, b) => Math.min(a, b)), high = known.reduce((a, b) => Math.max(a, b));
	const span = Math.max(high - low, MIN_SPAN * Math.abs(high)) || 1;
	return {low: (low + high - span) / 2, span};
}

/** The chart of a line. */
export class SeriesChart {
	constructor(line, recordings, name, onTip, onSay) {
		Object.assign(this, {line, recordings, name, onTip, onSay, at: -1, width: 0});
		const {first, last} = line;
		this.frame = make("div", "frame");
		this.frame.tabIndex = 0;
		this.frame.setAttribute("role", "img");
		this.frame.setAttribute("aria-label", name + ". Arrows go from recording to recording");
		this.element = make("div", "chart", make("h3", null, name), make("div", "ends", lineValueText(line, first) + " \u2192 " + lineValueText(line, last) + "  (" + formatPercentChange(last - first, first) + ")"), this.frame, this.makeList());
		this.element.firstChild.title = name.slice(0, 2000);
		this.connect();
	}

	makeList() {
		const list = make("ul", null);
		for (const {recording, before, after, p} of this.line.changes)
			list.append(make("li", signClass(after - before), "from " + this.placeText(recording) + ": " + lineValueText(this.line, before) + " \u2192 " +
				lineValueText(this.line, after) + " (" + formatPercentChange(after - before, before) + "), p " + formatP(p)));
		for (const {recording, was, match, match_confidence: sure} of this.line.names || [])
			list.append(make("li", "faint", "from " + this.placeText(recording) + ": was " + shorten(visible(was), 120) + "; " + (MATCHES.get(match) || match) +
				" (" + Math.round(sure * 100) + " % sure)"));
		list.hidden = !list.childNodes.length;
		return list;
	}

	placeText(recording) {
		const {path, date} = this.recordings[recording];
		return baseName(visible(path)) + (date ? " (" + date + ")" : "");
	}

	connect() {
		this.frame.addEventListener("mousemove", (event) => this.point(this.recordingAt(event.clientX), event));
		this.frame.addEventListener("mouseleave", () => this.leave());
		this.frame.addEventListener("blur", () => this.leave());
		this.frame.addEventListener("keydown", (event) => {
			const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
			if (!step)
				return;
			event.preventDefault();
			const {left, bottom} = this.frame.getBoundingClientRect(), next = Math.min(this.recordings.length - 1, Math.max(0, this.at + step));
			this.point(next, {clientX: left + this.x(next), clientY: bottom - 20});
			this.onSay(this.tipLines().join(", "));
		});
	}

	x(recording) {
		const count = this.recordings.length;
		return count > 1 ? CHART_LEFT + recording / (count - 1) * (this.width - CHART_LEFT - EDGE) : (CHART_LEFT + this.width) / 2;
	}

	y(value) {
		return HEIGHT - EDGE - (value - this.scale.low) / this.scale.span * (HEIGHT - 2 * EDGE);
	}

	recordingAt(clientX) {
		const at = (clientX - this.frame.getBoundingClientRect().left - CHART_LEFT) / Math.max(1, this.width - CHART_LEFT - EDGE) * (this.recordings.length - 1);
		return Math.min(this.recordings.length - 1, Math.max(0, Math.round(at)));
	}

	tipLines() {
		const {path, date} = this.recordings[this.at], value = this.line.values[this.at];
		return [value === null ? "not in this recording" : lineValueText(this.line, value), visible(path), date || "no date"];
	}

	point(recording, {clientX, clientY}) {
		const value = this.line.values[recording];
		this.at = recording;
		this.cursor.setAttribute("visibility", value === null ? "hidden" : "visible");
		if (value !== null) {
			this.cursor.setAttribute("cx", this.x(recording));
			this.cursor.setAttribute("cy", this.y(value));
		}
		this.onTip({lines: this.tipLines(), clientX, clientY});
	}

	leave() {
		if (this.cursor)
			this.cursor.setAttribute("visibility", "hidden");
		this.onTip(null);
	}

	drawScale(svg) {
		const {low, span} = this.scale;
		for (const value of [low, low + span])
			svg.append(makeSvg("line", {class: "grid", x1: CHART_LEFT - 4, x2: this.width, y1: this.y(value), y2: this.y(value)}),
				makeSvg("text", {class: "faint scale", x: CHART_LEFT - 8, y: this.y(value) + 4, "text-anchor": "end"}, lineValueText(this.line, value)));
	}

	drawChanges(svg) {
		const {changes, values, names} = this.line, ends = [...changes.map((change) => change.recording), values.length];
		for (const {recording} of names || [])
			svg.append(makeSvg("line", {class: "name-change", x1: this.x(recording - 0.5), x2: this.x(recording - 0.5), y1: 0, y2: HEIGHT}));
		changes.forEach(({recording, before, after}, i) => {
			const x = this.x(recording - 0.5), from = i ? changes[i - 1].recording : 0;
			svg.append(makeSvg("line", {class: "step " + (after > before ? "up" : "down"), x1: x, x2: x, y1: 0, y2: HEIGHT}),
				makeSvg("line", {class: "level", x1: this.x(from), x2: x, y1: this.y(before), y2: this.y(before)}),
				makeSvg("line", {class: "level", x1: x, x2: this.x(ends[i + 1] - 1), y1: this.y(after), y2: this.y(after)}));
		});
	}

	/** Draws it as wide as its frame. */
	draw() {
		const {values} = this.line, width = Math.max(60, this.frame.clientWidth), hasPoints = values.length <= POINTS_SHOWN;
		if (width === this.width)
			return;
		Object.assign(this, {width, scale: scaleOf(values)});
		const svg = makeSvg("svg", {width, height: HEIGHT, viewBox: "0 0 " + width + " " + HEIGHT});
		this.drawScale(svg);
		this.drawChanges(svg);
		for (const stretch of stretchesOf(values)) {
			const places = stretch.map(([i, value]) => this.x(i).toFixed(1) + " " + this.y(value).toFixed(1));
			svg.append(makeSvg("path", {class: hasPoints ? "curve" : "curve many", d: "M" + places.join("L")}));
			if (hasPoints || stretch.length === 1)
				for (const [i, value] of stretch)
					svg.append(makeSvg("circle", {class: "point", cx: this.x(i), cy: this.y(value), r: 2}));
		}
		this.cursor = makeSvg("circle", {class: "cursor", r: 4, visibility: "hidden"});
		svg.append(this.cursor);
		this.frame.replaceChildren(svg);
	}
}
