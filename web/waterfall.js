// SPDX-License-Identifier: MIT
//
// The way from the base's wall time to the new one, as bars that each begin where the one before ends.

import {formatNs} from "./format.js";
import {fitName, formatSigned, makeSvg} from "./compare_page.js";

const BAR_ROW = 24, BARS_TOP = 6, AXIS_HEIGHT = 26, VALUE = 96, STEPS_SHOWN = 10;

/**
 * The bars: the base, the largest changes, the rest, the new side. The changes add up exactly.
 * @param {Array<{text: string, change: number}>} rows
 * @returns {Array<{text: string, from: number, to: number, isWhole: boolean, change: number}>} times in ns
 */
export function waterfallSteps(baseNs, rows, changeNs) {
	const largest = rows.filter((row) => row.change !== 0).sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
	const shown = largest.slice(0, STEPS_SHOWN), others = largest.length - shown.length;
	const steps = [{text: "base wall time", from: 0, to: baseNs, isWhole: true, change: 0}];
	let at = baseNs;
	for (const row of shown) {
		steps.push({text: row.text, from: at, to: at + row.change, isWhole: false, change: row.change});
		at += row.change;
	}
	if (others) {
		const rest = baseNs + changeNs - at;
		steps.push({text: others + (others === 1 ? " smaller change" : " smaller changes"), from: at, to: at + rest, isWhole: false, change: rest});
	}
	steps.push({text: "new wall time", from: 0, to: baseNs + changeNs, isWhole: true, change: 0});
	return steps;
}

// The axis starts at 0 unless the changes would be too small to see.
function waterfallAxis(steps) {
	const levels = steps.map((step) => step.to), high = Math.max(...levels), low = Math.min(...levels);
	const from = low - (high - low) * 0.35;
	return from > high * 0.3 ? {from, to: high + (high - low) * 0.08} : {from: 0, to: high * 1.02 || 1};
}

function roundStep(span, count) {
	const rough = span / count, power = 10 ** Math.floor(Math.log10(rough));
	return power * ([1, 2, 5].find((factor) => factor * power >= rough) || 10);
}

/** The picture of the steps; width in px. */
export function drawWaterfall(steps, width) {
	const label = Math.min(430, Math.max(130, width * 0.34)), left = label + 8, right = width - VALUE;
	const axis = waterfallAxis(steps), height = BARS_TOP + steps.length * BAR_ROW + AXIS_HEIGHT;
	const x = (ns) => left + (ns - axis.from) / (axis.to - axis.from) * (right - left);
	const svg = makeSvg("svg", {width, height, viewBox: "0 0 " + width + " " + height, role: "img", "aria-label": "From the base's wall time to the new one"});
	const step = roundStep(axis.to - axis.from, Math.max(2, (right - left) / 110));
	for (let mark = Math.ceil(axis.from / step) * step; mark <= axis.to; mark += step) {
		svg.append(makeSvg("line", {class: "grid", x1: x(mark), x2: x(mark), y1: BARS_TOP, y2: height - AXIS_HEIGHT}),
			makeSvg("text", {class: "faint", x: x(mark), y: height - AXIS_HEIGHT + 15, "text-anchor": "middle"}, formatNs(mark)));
	}
	steps.forEach((one, i) => {
		const y = BARS_TOP + i * BAR_ROW, begin = one.isWhole ? left : x(Math.min(one.from, one.to)), end = x(Math.max(one.from, one.to));
		const value = one.isWhole ? formatNs(one.to) : formatSigned(one.change);
		svg.append(makeSvg("text", {x: label, y: y + 16, "text-anchor": "end"}, makeSvg("title", {}, one.text), fitName(one.text, label - 4)),
			makeSvg("rect", {class: one.isWhole ? "whole" : one.change > 0 ? "up" : "down", x: begin, y: y + 4, width: Math.max(1.5, end - begin), height: BAR_ROW - 8}));
		if (one.isWhole && axis.from > 0)
			svg.append(makeSvg("path", {class: "break", d: "M" + (left + 12) + " " + (y + 2) + "l-5 7l8 6l-5 7"}));
		if (i + 1 < steps.length)
			svg.append(makeSvg("line", {class: "join", x1: x(one.to), x2: x(one.to), y1: y + BAR_ROW - 4, y2: y + BAR_ROW + 4}));
		svg.append(makeSvg("text", {x: Math.min(end + 6, right + 6), y: y + 16}, value));
	});
	return {svg, isCut: axis.from > 0};
}
