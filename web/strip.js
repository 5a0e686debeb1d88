// SPDX-License-Identifier: MIT
//
// The account of the difference, between the two timelines: a row for each kernel and each cause of idle time.

import {fill, make, makeSwatch} from "./dom.js";
import {meansOf, sumsOf, totalsOf} from "./changes.js";
import {factsOf, kindText, nameOfItem} from "./describe.js";
import {formatCount, formatExact, formatNs, visible} from "./format.js";

const MOST_CHANGES = 400;
const PROOF_TEXTS = new Map([["proved", "more than noise, and at least 0.5 % of the base's wall time"], ["small", "proved, but below 0.5 % of the base's wall time"],
	["same", "proved to be below 0.5 % of the base's wall time"], ["within", "more than the noise within these two runs; other runs may differ as much"], ["unproved", "it could be noise"]]);
const SAME = "no_change"; // in the file; duet diff prints it as "same"

/** A change of time with its sign. */
export function formatChange(ns) {
	return ns === 0 ? "0" : (ns > 0 ? "+" : "\u2212") + formatNs(Math.abs(ns));
}

/** A change as a share of the base, with its sign. */
export function formatChangeShare(change, base) {
	if (!(base > 0))
		return "\u2013";
	const percent = change / base * 100, size = Math.abs(percent);
	if (size >= 999.5)
		return "\u00d7 " + ((base + change) / base).toFixed(size < 9950 ? 1 : 0);
	return (percent < 0 ? "\u2212" : "+") + size.toFixed(size < 9.95 ? 2 : size < 99.95 ? 1 : 0) + " %";
}

function barOf(className, value, most) {
	const bar = make("div", className);
	bar.style.width = (most > 0 ? Math.abs(value) / most * 100 : 0) + "%";
	return bar;
}

function exactCell(className, text, ns) {
	const cell = make("td", className, text);
	cell.title = formatExact(Math.round(ns));
	return cell;
}

// The cells that rows and totals share: base, new, change, per cent.
function amountCells([base, changed, change]) {
	const className = change > 0 ? "number longerText" : change < 0 ? "number shorterText" : "number";
	return [exactCell("number", formatNs(base), base), exactCell("number", formatNs(changed), changed), exactCell(className, formatChange(change), change),
		make("td", "number", formatChangeShare(change, base))];
}

function barCells([base, changed, change], mosts, colour) {
	const after = barOf("after", changed, mosts.value);
	after.style.background = colour;
	return [make("td", "bars", barOf("before", base, mosts.value), after),
		make("td", "by", make("div", "turn", barOf(change > 0 ? "longer" : "shorter", change, mosts.change)))];
}

function styleOfRow(pair, row) {
	if (row.cause)
		return pair.changed.colours.cause(row.cause);
	const view = row.match === "gone" ? pair.base : pair.changed;
	return view.colours.path({cls: row.group === "kernels" ? 0 : 1, name: row.name});
}

function proofCell(noise) {
	const proof = !noise ? "unproved" : noise.proof === SAME ? "same" : String(noise.proof), cell = make("td", "proof " + (PROOF_TEXTS.has(proof) ? proof : "unproved"), visible(proof));
	cell.title = PROOF_TEXTS.get(proof) || "";
	return cell;
}

function nameCell(pair, row, style) {
	const label = row.label || row.name;
	const cell = make("td", "what", makeSwatch(style), visible(label));
	if (row.match === "gone" || row.match === "new")
		cell.append(make("span", "badge", row.match));
	cell.title = visible(label) + "\n" + visible(row.name) + (row.base_name ? "\nbase: " + visible(row.base_name) : "") + (row.how ? "\n" + visible(row.how) : "");
	return cell;
}

function rowLine(pair, row, mosts) {
	const style = styleOfRow(pair, row), means = meansOf(pair.diff, row), [bars, turn] = barCells(means, mosts, row.cause ? style.line : style.bar), how = make("td", "how", visible(row.how || ""));
	how.title = visible(row.how || "");
	const part = make("td", "part", row.cause ? "idle: " + visible(row.group) : row.group === "kernels" ? "kernel" : visible(row.group));
	const line = make("tr", "pick", nameCell(pair, row, style), part, make("td", "device", row.device === undefined ? "" : String(row.device)), bars, ...amountCells(means), turn, proofCell(row.noise), how);
	line.tabIndex = 0;
	line.addEventListener("click", () => pair.pickRow(row));
	line.addEventListener("keydown", (event) => event.key === "Enter" && pair.pickRow(row));
	line.setAttribute("aria-selected", String(pair.row === row));
	return line;
}

function totalLine([name, ...means], isLast, mosts) {
	const [bars, turn] = barCells(means, mosts, "var(--faint)");
	return make("tr", isLast ? "total last" : "total", make("td", "what", name), make("td", "part"), make("td", "device"), bars, ...amountCells(means), turn, make("td"), make("td", "how"));
}

function headLine() {
	const cells = [["what", "what"], ["part", ""], ["device", "device"], ["pairs", "base, new"], ["number amount", "base"], ["number amount", "new"], ["number amount", "change"], ["number percent", ""],
		["by", "less | more"], ["proof", "proof"], ["how", "why"]];
	return make("thead", null, make("tr", null, ...cells.map(([className, text]) => make("th", className, text))));
}

function sumLine(diff) {
	const sums = sumsOf(diff), count = formatCount(diff.rows.length) + (diff.rows.length === 1 ? " row" : " rows"), devices = diff.devices.length > 1 ? " of all devices" : "";
	const line = make("p", sums.isExact ? "sum faint" : "sum bad", count + (sums.isExact ? " add up to the wall time" + devices + " of both runs, and to its change, " :
		" do NOT add up to the change of the wall time" + devices + ": ") + (sums.change < 0 ? "\u2212" : "+") + formatExact(Math.abs(sums.change)));
	line.id = "sum";
	return line;
}

/** Shows the account. */
export function showChanges(pair, content) {
	const {diff} = pair, rows = [...diff.rows].sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
	const totals = totalsOf(diff, diff.devices), most = (list) => list.reduce((best, value) => Math.max(best, Math.abs(value)), 0);
	const mosts = {value: most(rows.flatMap((row) => meansOf(diff, row).slice(0, 2))), change: most(rows.map((row) => row.change))};
	const whole = {value: most(totals.flatMap((total) => total.slice(1, 3))), change: most(totals.map((total) => total[3]))};
	pair.lines = new Map(rows.slice(0, MOST_CHANGES).map((row) => [row, rowLine(pair, row, mosts)]));
	fill(content, make("table", diff.devices.length > 1 ? "changes many" : "changes", headLine(), make("tbody", null, ...totals.map((total, i) => totalLine(total, i === 2, whole)), ...pair.lines.values())),
		rows.length > MOST_CHANGES ? make("p", "faint", formatCount(rows.length - MOST_CHANGES) + " more rows, each with a smaller change") : null, sumLine(diff));
}

/** Marks the row that is picked. */
export function markRow(pair) {
	for (const [row, line] of pair.lines)
		line.setAttribute("aria-selected", String(pair.row === row));
	if (pair.row && pair.lines.has(pair.row))
		pair.lines.get(pair.row).scrollIntoView({block: "nearest"});
}

function factsOfSide(view, name) {
	const picked = view.selection;
	if (!picked)
		return [make("h3", null, name), make("p", "faint", "nothing selected")];
	const facts = factsOf(view, picked).slice(0, 7).map(([what, text]) => make("tr", null, make("th", null, what), make("td", null, visible(text.slice(0, 160)))));
	const title = nameOfItem(view, picked.track, picked.item), head = make("h3", null, name + ": " + visible(view.model.shortName(title)));
	head.title = visible(title);
	return [head,
		make("p", "trail", kindText(view, picked.track, picked.item) + " \u00b7 " + visible(view.model.trail(picked.track).join(" \u203a "))), make("table", "facts", ...facts)];
}

/** Shows what is selected on both sides. */
export function showPicked(pair, element) {
	if (!pair.views.some((view) => view.selection)) {
		fill(element, make("p", "faint", "Click on a row: the longest run of this kernel, or the longest gap of this cause, is selected in both timelines."));
		return;
	}
	fill(element, ...factsOfSide(pair.base, "Base"), ...factsOfSide(pair.changed, "New"));
}

/** Shows the verdict, its reasons, and what differs in the conditions. */
export function showVerdictOf(diff, element) {
	const reasons = (diff.reasons || []).map((text) => make("li", null, visible(text)));
	const notes = (diff.notes || []).map((note) => make("li", ["refusal", "warning"].includes(note.weight) ? note.weight : "faint", visible(note.text)));
	fill(element, make("div", null, make("p", "verdict", visible(diff.verdict || "")), make("ol", null, ...reasons)), notes.length ? make("ul", null, ...notes) : null);
}
