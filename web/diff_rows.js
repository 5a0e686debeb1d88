// SPDX-License-Identifier: MIT
//
// The account of a comparison: rows in groups, with the intervals of their changes.

import {make} from "./dom.js";
import {formatCount, formatNs, formatValue, visible} from "./format.js";
import {formatPercentChange, formatP, formatSigned, makeSvg, shorten, signClass} from "./compare_page.js";

export const MATCHES = new Map([["new", "new"], ["gone", "gone"], ["map", "matched by --map"], ["template", "other template arguments"],
	["variant", "variants of one name"], ["renamed", "renamed: same call path"], ["split", "split: several kernels in place of one"],
	["fused", "fused: one kernel in place of several"], ["regrouped", "regrouped: other kernels do this work"]]);
const PROOFS = new Map([["proved", "proved"], ["small", "proved, small"], ["no_change", "no change"], ["within", "within these runs"], ["unproved", "unproved"]]);
const BAR = 190, ROWS_SHOWN = 100;

/** A row with the values that the table shows, in ns per run or per iteration. */
export function readRow(row, head) {
	const base = row.base.value / head.base_units, changed = row.new.value / head.new_units;
	const label = visible(row.label || row.name), was = row.base_name ? visible(row.base_name) : "";
	return {row, label, was, base, changed, change: row.change, group: visible(row.group), device: row.device, isIdle: row.table === "idle",
		percent: base > 0 ? row.change / base : row.change ? Infinity : 0, proof: row.noise.proof,
		counts: [row.base.count / head.base_units, row.new.count / head.new_units],
		text: (label + " " + was + " " + row.group + " " + row.match + " " + row.noise.proof).toLowerCase()};
}

/** How the row changed: "each +3.0 % (+12 ms), ran 100 -> 120 times (+4 ms)". */
export function describeRow(one) {
	const {row, counts} = one, parts = [];
	if (row.base.count && row.new.count && !one.isIdle) {
		const [before, after] = [row.base.value / row.base.count, row.new.value / row.new.count];
		if (before > 0 && Math.abs(after - before) >= before / 1000)
			parts.push("each " + formatPercentChange(after - before, before) + " (" + formatSigned(row.each_slower) + ")");
		if (counts[0] !== counts[1])
			parts.push("ran " + counts.map((count) => formatValue(count, "")).join(" \u2192 ") + " times (" + formatSigned(row.more_often) + ")");
	}
	if (row.match !== "exact" && row.match !== "new" && row.match !== "gone")
		parts.push((MATCHES.get(row.match) || row.match) + (one.was ? ", was " + shorten(one.was, 90) : "") + " (" + Math.round(row.match_confidence * 100) + " % sure)");
	return parts.join("; ");
}

/** The largest distance from 0 that an interval or an estimate has, at least 1 ns; 0: no row has one. */
export function largestBar(rows) {
	let largest = 0;
	for (const {row: {noise}} of rows)
		if (noise.estimate !== undefined)
			for (const value of [noise.estimate, noise.low, noise.high, 1])
				largest = Math.max(largest, Math.abs(value || 0));
	return largest;
}

function barLines(noise) {
	const unit = noise.values === "iterations" ? " per iteration" : " per run";
	const lines = [PROOFS.get(noise.proof) || noise.proof];
	if (noise.estimate !== undefined)
		lines.push("change " + formatSigned(noise.estimate) + unit);
	lines.push(noise.low === undefined ? "too few values for an interval" : "interval " + formatSigned(noise.low) + " to " + formatSigned(noise.high));
	if (noise.p_adjusted !== undefined)
		lines.push("p " + formatP(noise.p_adjusted) + ", corrected for all rows");
	if (noise.base_values !== undefined)
		lines.push(noise.base_values + " and " + noise.new_values + " values");
	return lines;
}

// A thick line is proved, a thin one is not: dashed, with an empty circle.
function makeBar(noise, largest, onTip) {
	const svg = makeSvg("svg", {width: BAR, height: 18, viewBox: "0 0 " + BAR + " 18", role: "img", "aria-label": barLines(noise).join("; ")});
	const x = (value) => BAR / 2 + Math.sign(value) * Math.sqrt(Math.abs(value) / (largest || 1)) * (BAR / 2 - 6), sign = noise.estimate > 0 ? "up" : noise.estimate < 0 ? "down" : "";
	svg.append(makeSvg("line", {class: "grid", x1: BAR / 2, x2: BAR / 2, y1: 0, y2: 18}));
	if (noise.low !== undefined)
		svg.append(makeSvg("line", {class: "bar-line " + noise.proof + " " + (noise.proof === "unproved" ? "" : sign), x1: x(noise.low) - 1, x2: x(noise.high) + 1, y1: 9, y2: 9}));
	if (noise.estimate !== undefined)
		svg.append(makeSvg("circle", {class: "bar-dot " + (noise.proof === "unproved" ? "" : "proved"), cx: x(noise.estimate), cy: 9, r: 3}));
	svg.addEventListener("mousemove", ({clientX, clientY}) => onTip({lines: barLines(noise), clientX, clientY}));
	svg.addEventListener("mouseleave", () => onTip(null));
	return svg;
}

function numberCell(text, className) {
	return make("td", "number " + (className || ""), text);
}

function makeRow(one, table) {
	const {row} = one, name = make("td", "name", shorten(one.label, 150)), how = describeRow(one);
	name.title = visible(row.name).slice(0, 2000);
	if (row.match !== "exact")
		name.append(make("span", "tag", row.match));
	if (table.hasDevices && one.device !== undefined)
		name.append(make("span", "tag", "device " + one.device));
	if (how)
		name.append(make("div", "how", how));
	const bar = make("td", null), {noise} = row, proof = make("td", "proof " + one.proof, PROOFS.get(one.proof) || one.proof);
	if (noise.estimate !== undefined)
		bar.append(makeBar(noise, table.largest, table.onTip), make("div", "faint range", noise.low === undefined ? "too few values" : formatSigned(noise.low) + " to " + formatSigned(noise.high)));
	bar.hidden = !table.largest;
	return make("tr", "row", name, numberCell(formatNs(one.base)), numberCell(formatNs(one.changed)), numberCell(formatSigned(one.change), signClass(one.change)),
		numberCell(row.match === "new" ? "new" : row.match === "gone" ? "gone" : formatPercentChange(one.change, one.base), signClass(one.change)), bar, proof);
}

function sumRows(rows, key) {
	return rows.reduce((sum, one) => sum + one[key], 0);
}

function makeSumRow(className, text, rows, table) {
	const [base, changed, change] = ["base", "changed", "change"].map((key) => sumRows(rows, key));
	return make("tr", className, make("td", null, text), numberCell(formatNs(base)), numberCell(formatNs(changed)), numberCell(formatSigned(change), signClass(change)),
		numberCell(formatPercentChange(change, base), signClass(change)), ...Array.from({length: table.columns().length - 5}, () => make("td", null)));
}

/** Rows in groups by what they are: "busy: kernels", "idle: waiting in a call". */
export function groupRows(rows) {
	const groups = new Map();
	for (const one of rows) {
		const name = (one.isIdle ? "idle: " : "busy: ") + one.group;
		if (!groups.has(name))
			groups.set(name, []);
		groups.get(name).push(one);
	}
	return [...groups].map(([name, members]) => ({name, rows: members, base: sumRows(members, "base"), changed: sumRows(members, "changed"),
		change: sumRows(members, "change"), label: name, percent: sumRows(members, "base") > 0 ? sumRows(members, "change") / sumRows(members, "base") : Infinity, proof: ""}));
}

const ACCOUNT_COLUMNS = [["name", "label"], ["base", "base"], ["new", "changed"], ["change", "change"], ["change %", "percent"], ["interval", null], ["proof", "proof"]];

// Changes are sorted by their size, whatever the sign.
function compareBy(key, isDescending) {
	const value = (one) => key === "change" || key === "percent" ? Math.abs(one[key]) : one[key];
	return (a, b) => {
		const [x, y] = [value(a), value(b)];
		return (x < y ? -1 : x > y ? 1 : 0) * (isDescending ? -1 : 1);
	};
}

/** The account as a table that is sorted by a click on a column. */
export class AccountTable {
	constructor(hasDevices, onTip) {
		Object.assign(this, {hasDevices, onTip, key: "change", isDescending: true, rows: [], filter: "", largest: 0, opened: new Set()});
		this.element = make("table", "account");
	}

	setRows(rows) {
		Object.assign(this, {rows, largest: largestBar(rows)});
		this.draw();
	}

	setFilter(filter) {
		this.filter = filter;
		this.draw();
	}

	sortBy(key) {
		this.isDescending = this.key === key ? !this.isDescending : key !== "label";
		this.key = key;
		this.draw();
	}

	// Interval and proof: only where there are any.
	columns() {
		const isPerIteration = this.rows.some((one) => one.row.noise.values === "iterations");
		return ACCOUNT_COLUMNS.filter(([, key]) => key || this.largest).map(([title, key]) => [key ? title : title + (isPerIteration ? " per iteration" : " per run"), key]);
	}

	makeHead() {
		const row = make("tr", null);
		for (const [title, key] of this.columns()) {
			const cell = make("th", ["base", "changed", "change", "percent"].includes(key) ? "number" : null);
			if (key) {
				const button = make("button", null, title);
				button.type = "button";
				button.addEventListener("click", () => this.sortBy(key));
				cell.append(button);
			} else {
				cell.append(make("span", null, title));
			}
			if (this.key === key)
				cell.setAttribute("aria-sort", this.isDescending ? "descending" : "ascending");
			row.append(cell);
		}
		return make("thead", null, row);
	}

	addGroup(body, group, compare) {
		const shown = group.rows.filter((one) => one.text.includes(this.filter)).sort(compare);
		const limit = this.opened.has(group.name) ? shown.length : ROWS_SHOWN;
		if (!shown.length)
			return 0;
		body.append(makeSumRow("group", group.name + (shown.length < group.rows.length ? " (" + shown.length + " of " + group.rows.length + " rows)" : ""), group.rows, this));
		for (const one of shown.slice(0, limit))
			body.append(makeRow(one, this));
		if (shown.length > limit) {
			const button = make("button", null, "Show " + formatCount(shown.length - limit) + " more"), cell = make("td", null, button);
			button.type = "button";
			cell.colSpan = this.columns().length;
			button.addEventListener("click", () => {
				this.opened.add(group.name);
				this.draw();
			});
			body.append(make("tr", null, cell));
		}
		return shown.length;
	}

	draw() {
		const body = make("tbody", null), compare = compareBy(this.key, this.isDescending);
		let shown = 0;
		for (const group of groupRows(this.rows).sort(compare))
			shown += this.addGroup(body, group, compare);
		if (shown < this.rows.length)
			body.append(makeSumRow("total", shown + " rows shown", this.rows.filter((one) => one.text.includes(this.filter)), this));
		body.append(makeSumRow("total", "wall time: the sum of all rows", this.rows, this));
		this.element.replaceChildren(this.makeHead(), body);
	}
}
