// SPDX-License-Identifier: MIT
//
// The page of duet diff --series: one small chart for each line of a history.

import {byId, fill, make} from "./dom.js";
import {formatCount, visible} from "./format.js";
import {reportErrors, showNotice, showTip} from "./chrome.js";
import {baseName, connectFilter, formatPercentChange, loadDocument, signClass} from "./compare_page.js";
import {SeriesChart, lineValueText} from "./series_chart.js";

const WHOLE = new Map([["wall", "wall time"], ["iteration", "iteration (median)"], ["busy", "busy time of the devices"], ["idle", "idle time of the devices"]]);
const SKIPPED_SHOWN = 10;

function lineName(line) {
	const label = visible(line.label || line.name || WHOLE.get(line.kind));
	return line.kind === "executions" ? label + ": executions" : label;
}

function groupName(line) {
	return WHOLE.has(line.kind) ? "whole" : line.kind === "cause" ? "causes" : "kernels";
}

function isConstant(line) {
	const known = line.values.filter((value) => value !== null);
	return known.every((value) => value === known[0]);
}

// How much a line changed in all, for the order: a line with change points before all others.
function changeOf(line) {
	const steps = line.changes.reduce((sum, {before, after}) => sum + (before > 0 ? Math.abs(after / before - 1) : 1), 0);
	return steps ? 1000 + steps : 0;
}

function showFound(data, lines) {
	const items = [];
	for (const {line, name} of lines)
		for (const {recording, before, after} of line.changes)
			items.push({recording, element: make("li", signClass(after - before), name + ": " + lineValueText(line, before) + " \u2192 " + lineValueText(line, after) +
				" (" + formatPercentChange(after - before, before) + ") from " + baseName(visible(data.recordings[recording].path)))});
	items.sort((a, b) => a.recording - b.recording);
	fill(byId("found"), make("h2", null, items.length === 1 ? "1 change" : formatCount(items.length) + " changes"),
		items.length ? make("ul", null, ...items.map((item) => item.element)) : make("p", null, "No line changes its level" + (data.recordings.length < 6 ? ": changes are found from 6 recordings on." : ".")));
}

function showSummary(data) {
	const {recordings, skipped} = data, [first, last] = [recordings[0], recordings[recordings.length - 1]];
	const commands = new Set(recordings.map((recording) => recording.command)), incomplete = recordings.filter((recording) => !recording.complete).length;
	fill(byId("summary"), formatCount(recordings.length) + " recordings, " + (first.date || baseName(visible(first.path))) + " to " + (last.date || baseName(visible(last.path))) +
		(commands.size > 1 ? " \u00b7 " + commands.size + " different commands" : "") + (data.range ? " \u00b7 only the range " + visible(data.range) : "") +
		(data.per === "iteration" ? " \u00b7 values per iteration" : ""));
	const notices = [];
	if (skipped.length)
		notices.push(skipped.length + " skipped, because they cannot be read: " + skipped.slice(0, SKIPPED_SHOWN).join(", ") + (skipped.length > SKIPPED_SHOWN ? " and more" : ""));
	if (incomplete)
		notices.push(incomplete + " recordings are incomplete: their values may be too small");
	showNotice(notices.join(" \u00b7 "));
	byId("title").textContent = visible(first.command).slice(0, 300);
}

/** State of the page. */
class SeriesPage {
	constructor(data) {
		Object.assign(this, {data, filter: "", order: "size"});
		this.drawer = new IntersectionObserver((entries) => entries.forEach((entry) => entry.isIntersecting && this.byElement.get(entry.target).draw()), {rootMargin: "400px"});
		this.byElement = new Map();
		this.lines = data.lines.filter((line) => line.kind !== "executions" || !isConstant(line)).map((line) => ({line, name: lineName(line), group: groupName(line), chart: null}));
	}

	chartOf(item) {
		if (!item.chart) {
			item.chart = new SeriesChart(item.line, this.data.recordings, item.name, showTip, (text) => byId("status").textContent = text);
			this.byElement.set(item.chart.element, item.chart);
			this.drawer.observe(item.chart.element);
		}
		return item.chart.element;
	}

	addGroup(id, title, about) {
		const items = this.lines.filter((item) => item.group === id && (item.name + " " + item.line.kind).toLowerCase().includes(this.filter));
		if (this.order === "change")
			items.sort((a, b) => changeOf(b.line) - changeOf(a.line));
		return items.length ? [make("h2", null, title), make("p", "faint", about), make("div", "charts", ...items.map((item) => this.chartOf(item)))] : [];
	}

	draw() {
		const per = this.data.per === "iteration" ? "per iteration" : "per recording";
		fill(byId("groups"), ...this.addGroup("whole", "Whole run", "Times " + per + "; several devices are added up."),
			...this.addGroup("kernels", "Kernels and copies", "Device time per execution. The number of executions has a chart where it changes."),
			...this.addGroup("causes", "Idle time by cause", "Idle time of the devices " + per + "."));
	}

	resize() {
		for (const chart of this.byElement.values())
			if (chart.width)
				chart.draw();
	}
}

async function openSeries() {
	const [head, data] = await loadDocument("duet.series/1");
	const page = new SeriesPage(data);
	document.title = formatCount(data.recordings.length) + " recordings - duet diff --series";
	showSummary(data);
	showFound(data, page.lines);
	fill(byId("about"), "Vertical lines are changes of level, dashed lines the levels; dotted lines are changes of a name. " + formatCount(data.tests) +
		" lines were searched; at most " + +(data.alpha * 100).toPrecision(3) + " % of the changes are expected to be noise. duet " + visible(head.version));
	connectFilter((text) => {
		page.filter = text;
		page.draw();
	});
	byId("order").addEventListener("change", () => {
		page.order = byId("order").value;
		page.draw();
	});
	addEventListener("resize", () => page.resize());
	page.draw();
	window.duetSeries = page;
}

reportErrors();
openSeries().catch((error) => showNotice(error.message));
