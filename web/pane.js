// SPDX-License-Identifier: MIT
//
// The pane below the timeline: what is selected, and the account, flame graph and tables of a range.

import {byId, fill, make, makeButton, makeSwatch} from "./dom.js";
import {formatCount, formatExact, formatNs, formatShare, visible} from "./format.js";
import {accountOf, CancelledError, CUT_TEXT, flameOfAccount, flameOfAway, flameOfSamples, flameOfStalls, flameOfUnmeasured, functionsOf, tablesOf, Watch} from "./account.js";
import {bytesColumn, countColumn, makeTable, nsColumn, shareColumn, textColumn} from "./tables.js";
import {definitionText, FlameGraph, frameStyle} from "./flame.js";
import {showDetails} from "./details.js";
import {showFindings} from "./findings.js";
import {showVerdict} from "./verdict.js";
import {instructionTables} from "./instructions.js";
import {showMetrics} from "./metrics.js";
import {showAbout} from "./about.js";
import {fitItem} from "./input.js";
import {momentPlace} from "./search.js";

const TABS = [["verdict", "Verdict"], ["selection", "Selection"], ["account", "Account"], ["flame", "Flame graph"], ["tables", "Tables"], ["metrics", "Metrics"],
	["findings", "Findings"], ["about", "Recording"]];
const CLASS_NAMES = ["kernels", "copies", "other commands"];

/** What sums are of: the selected range, else the whole recording. */
export function scopeOf(view) {
	const {range, model} = view;
	const tracks = range && range.tracks ? range.tracks : model.tracks;
	return {from: range ? range.from : model.fromNs, to: range ? range.to : model.toNs, tracks, isRange: Boolean(range)};
}

// Sums that are of the whole recording, whatever is selected.
function wholeScope(view) {
	const {model} = view;
	return {from: model.fromNs, to: model.toNs, tracks: model.tracks, isRange: false};
}

function scopeLine(view, scope) {
	const line = make("p", "scope", scope.isRange ? "Selected: " : "Whole recording: ",
		make("b", null, formatNs(scope.to - scope.from)), make("span", "faint", "  from " + formatExact(scope.from) + " to " + formatExact(scope.to)));
	if (scope.tracks !== view.model.tracks)
		line.append(make("span", "faint", ", " + formatCount(scope.tracks.length) + " tracks"));
	if (scope.isRange)
		line.append(makeButton("Zoom", "Zoom to the range (f)", () => view.fit(scope.from, scope.to)),
			makeButton("Clear", "Forget the range (Esc)", () => view.clearRange()));
	return line;
}

function accountRow(view, style, name, ns, wallNs, depth) {
	const cells = make("td", "part depth" + depth, style ? makeSwatch(style) : "", name);
	const bar = make("div", "bar");
	bar.style.width = Math.max(0, Math.min(100, ns / wallNs * 100)) + "%";
	if (style)
		bar.style.background = style.bar;
	return make("tr", null, cells, make("td", "number", formatNs(ns)), make("td", "number exact", formatExact(ns)),
		make("td", "number", formatShare(ns, wallNs)), make("td", "share", bar));
}

function accountTable(view, track, sum) {
	if (track.unmeasured)
		return make("section", "account", make("h3", null, visible(track.name)), make("p", "unmeasured", make("b", null, "not measured"),
			": " + track.unmeasured));
	const {model, colours} = view, rows = [], wallNs = sum.wallNs;
	rows.push(accountRow(view, null, make("b", null, "busy"), sum.busyNs, wallNs, 0));
	sum.classes.forEach((ns, cls) => ns && rows.push(accountRow(view, cls === 0 ? colours.solid("#0072b2") :
		colours.path({cls, name: ""}), CLASS_NAMES[cls], ns, wallNs, 1)));
	rows.push(accountRow(view, null, make("b", null, "idle"), sum.idleNs, wallNs, 0));
	sum.causes.forEach((ns, cause) => {
		if (!ns)
			return;
		const row = accountRow(view, colours.cause(model.causes[cause]), model.causeText(cause), ns, wallNs, 1);
		row.title = model.causeMeaning(cause);
		rows.push(row);
	});
	const note = sum.isExact ? "adds up to the wall, " + formatExact(wallNs) : "an estimate: the finest levels are not in this file";
	return make("section", "account", make("h3", null, visible(track.name)), make("table", "sums account", make("tbody", null, ...rows)),
		make("p", "faint", note));
}

function devicesIn(view, scope) {
	const all = view.model.ofKind("device").filter((track) => track.levels.length);
	if (scope.tracks === view.model.tracks)
		return all;
	const chosen = all.filter((device) => scope.tracks.some((track) => view.model.above(track, "device") === device));
	return chosen.length ? chosen : all;
}

async function accountsOf(view, scope, watch) {
	const key = scope.from + "-" + scope.to;
	const sums = [];
	for (const track of devicesIn(view, scope)) {
		view.accounts = view.accounts && view.accounts.key === key ? view.accounts : {key, sums: new Map()};
		const known = view.accounts.sums;
		if (!known.has(track))
			known.set(track, await accountOf(view.model, view.chunks, track, scope.from, scope.to, watch));
		sums.push([track, known.get(track)]);
	}
	return sums;
}

// The whole recording's account is in the report: nothing has to be read for it.
function reportedAccounts(view, scope) {
	const reported = view.model.report && view.model.report.devices || [];
	const sums = devicesIn(view, scope).map((track, i) => [track, reported[track.device === undefined ? i : track.device]]);
	if (scope.isRange || sums.some(([, device]) => !device || device.wall_ns !== scope.to - scope.from || !device.idle_causes))
		return null;
	return sums.map(([track, device]) => [track, {wallNs: device.wall_ns, busyNs: device.busy_ns, idleNs: device.idle_ns, isExact: true,
		classes: [device.kernels_ns, device.copies_ns, device.other_ns], causes: view.model.causes.map((name) => device.idle_causes[name] || 0)}]);
}

async function showAccount(view, content, scope, watch) {
	const sums = reportedAccounts(view, scope) || await accountsOf(view, scope, watch);
	fill(content, scopeLine(view, scope), sums.length ? make("div", "columns", ...sums.map(([track, sum]) => accountTable(view, track, sum))) :
		make("p", "faint", "No device was recorded, so there is no account of one."));
}

// A device's time, or its idle time alone, by the stacks of duet flame.
async function deviceFlame(view, scope, watch, track, hasBusy) {
	const graph = await view.model.loadGraph(view.sections, track);
	const reported = hasBusy ? null : reportedAccounts(view, scope), sums = reported || await accountsOf(view, scope, watch);
	const sum = sums.find(([other]) => other === track)[1];
	if (!graph)
		return flameOfAccount(view.model, sum);
	return Object.assign(graph.flameOf(view.model, sum, scope.from, scope.to, hasBusy), {hasClasses: true});
}

// Of what flame graphs there can be: [name, text, how to make it, unit, whether it is of the whole recording alone]. The first is
// what is shown unless another is asked for.
function flameChoices(view, scope, watch) {
	const {model, chunks} = view, devices = devicesIn(view, scope);
	const measured = devices.filter((track) => !track.unmeasured);
	const choices = measured.map((track) => ["device " + track.id, "Device: " + visible(track.name), () => deviceFlame(view, scope, watch, track, true), "ns"]);
	for (const track of measured.filter((one) => one.graph))
		choices.push(["idle " + track.id, "Idle: " + visible(track.name), () => deviceFlame(view, scope, watch, track, false), "ns"]);
	if (model.head.stalls)
		choices.push(["stalls", "Device instructions", async () => flameOfStalls(model, await model.loadStalls(view.sections), model.head.stall_texts),
			"samples", true]);
	const units = new Map();
	for (const track of scope.tracks)
		if (track.kind === "samples" && track.levels.length)
			units.set(track.name + "/" + track.unit, [track.name, track.unit || "ns"]);
	// Time first, whatever was sampled first.
	for (const [name, unit] of [...units.values()].sort((a, b) => (b[1] === "ns") - (a[1] === "ns")))
		choices.push(["samples " + name, "CPU: " + visible(name), () => flameOfSamples(model, chunks, scope.tracks.filter(
			(track) => track.name === name), scope.from, scope.to, watch), unit]);
	if (scope.tracks.some((track) => track.kind === "off" && track.levels.length))
		choices.push(["away", "Off the processor: threads", () => flameOfAway(model, chunks, scope.tracks, scope.from, scope.to, watch), "ns"]);
	for (const track of devices.filter((one) => one.unmeasured))
		choices.push(["device " + track.id, "Device: " + visible(track.name) + ", not measured", () => flameOfUnmeasured(scope.to - scope.from), "ns"]);
	return choices;
}

function flameTip(view, graph, node, event) {
	const lines = node && [visible(node.text), graph.valueText(node), definitionText(node), node.file ? visible(node.file) + (node.line ? ":" + node.line : "") : "",
		node.meaning ? visible(node.meaning) : ""];
	view.tell("tip", node ? {lines: lines.filter(Boolean), clientX: event.clientX, clientY: event.clientY} : null);
}

async function showFlame(view, content, scope, watch) {
	await view.model.loadTexts(view.sections);
	const choices = flameChoices(view, scope, watch);
	if (!choices.length) {
		fill(content, scopeLine(view, scope), make("p", "faint", "Neither devices nor samples of processors were recorded."));
		return;
	}
	const chosen = choices.find(([name]) => name === view.flameChoice) || choices[0];
	const root = await chosen[2]();
	const picker = make("select");
	picker.setAttribute("aria-label", "Flame graph of");
	for (const [name, text] of choices)
		picker.append(Object.assign(make("option", null, text), {value: name, selected: name === chosen[0]}));
	picker.addEventListener("change", () => {
		view.flameChoice = picker.value;
		view.tell("pane");
	});
	const line = scopeLine(view, chosen[4] ? wholeScope(view) : scope);
	line.prepend(picker, " ");
	const graph = new FlameGraph(view, root, (node, event) => flameTip(view, graph, node, event), chosen[3],
		root.hasClasses ? frameStyle : null);
	fill(content, line, root.isExact ? null : make("p", "faint", CUT_TEXT),
		root.value ? graph.element : root.isExact ? make("p", "faint", "Nothing in this range.") : null);
	graph.draw(Math.max(200, content.clientWidth - 24));
	graph.showRoot();
	view.flame = graph;
}

function sumsColumns(model, whole, more) {
	return [textColumn("name", (row) => model.shortName(row.name)), countColumn("count", (row) => row.count), nsColumn("total", (row) => row.totalNs),
		shareColumn("of range", (row) => row.totalNs, whole), nsColumn("mean", (row) => row.totalNs / row.count),
		nsColumn("shortest", (row) => row.shortestNs), nsColumn("longest", (row) => row.longestNs), ...more];
}

// Goes to the longest item of a row's name in the range; from it to the next one that begins in the range, behind the last one to the first.
async function jumpToRow(view, row, scope) {
	const search = view.makeSearch(row.name), begin = momentPlace(scope.from, 1);
	const isWanted = (track, what) => scope.tracks.includes(track) && track.kind === row.track.kind &&
		view.model.itemName(track, what) === row.name;
	const isAtRow = view.selection && view.selection.level === 0 && isWanted(view.selection.track, view.selection.item.what);
	const next = async (from) => {
		const found = await search.next(view.chunks, from, 1, new Watch(), isWanted);
		return found && found.item.begin < scope.to ? found : null;
	};
	const found = isAtRow && (await next(search.placeOf(view.selection)) || await next(begin)) ||
		await search.longest(view.chunks, scope.from, scope.to, new Watch(), isWanted);
	if (!found)
		return;
	view.reveal(found.track);
	view.select(found);
	fitItem(view, found);
	view.tell("reveal", found.track);
}

// Tables of the functions in samples, and whether all samples are in the file.
async function functionTables(view, scope, watch) {
	const tables = [];
	let isExact = true;
	for (const [name, text, makeRoot, unit] of flameChoices(view, scope, watch)) {
		if (!name.startsWith("samples"))
			continue;
		const root = await makeRoot();
		isExact = isExact && root.isExact;
		const column = unit === "ns" ? nsColumn : countColumn;
		tables.push(makeTable("Functions, " + text, [textColumn("function", (row) => row.text), column("self", (row) => row.self),
			shareColumn("of samples", (row) => row.self, root.value), column("with callees", (row) => row.total)], functionsOf(root), null));
	}
	return [tables, isExact];
}

async function showTables(view, content, scope, watch) {
	await view.model.loadTexts(view.sections);
	const sums = await tablesOf(view.model, view.chunks, scope.tracks, scope.from, scope.to, watch), whole = scope.to - scope.from;
	const onPick = (row) => jumpToRow(view, row, scope).catch((error) => view.tell("notice", error.message));
	const tables = [["Kernels", sums.kernels, []], ["Copies", sums.copies, [bytesColumn("bytes", (row) => row.extra)]],
		["Other commands", sums.others, []], ["API calls", sums.calls, [countColumn("failed", (row) => row.failed)]],
		["Off the processor", sums.offs, []], ["Ranges", sums.ranges, []]]
		.filter(([, rows]) => rows.length).map(([title, rows, more]) => makeTable(title, sumsColumns(view.model, whole, more), rows, onPick));
	const [functions, hasAllSamples] = await functionTables(view, scope, watch);
	tables.push(...functions, ...instructionTables(view));
	const isExact = sums.isExact && hasAllSamples;
	const note = isExact ? "What overlaps the range counts with its whole duration. A click on a row goes to the longest one, another click to the next." : CUT_TEXT;
	fill(content, scopeLine(view, scope), make("p", "faint", note), ...(tables.length || !isExact ? tables : [make("p", "faint", "Nothing in this range.")]));
}

const SUM_TABS = new Map([["account", showAccount], ["flame", showFlame], ["tables", showTables],
	["metrics", async (view, content, scope, watch) => fill(content, scopeLine(view, scope), ...await showMetrics(view, scope, watch))]]);

/** The pane: tabs and what the chosen one shows. */
export class Pane {
	constructor(view) {
		this.view = view;
		this.tab = "selection";
		this.content = byId("content");
		this.watch = null;
		this.makeTabs();
		byId("tabs").addEventListener("keydown", (event) => this.onTabKey(event));
		view.on("selection", () => (view.selection || this.tab === "selection") && this.open("selection", true));
		view.on("range", (range) => this.open(range && !SUM_TABS.has(this.tab) ? "account" : this.tab, true));
		view.on("pane", () => this.show());
		view.on("open", (name) => this.open(name, true));
		view.on("theme", () => this.show());
	}

	makeTabs() {
		const report = this.view.model.report || {}, findings = report.findings || [];
		fill(byId("tabs"), ...TABS.filter(([name]) => name !== "verdict" || report.verdict).map(([name, text]) => {
			const tab = makeButton(name === "findings" && findings.length ? text + " (" + findings.length + ")" : text, "", () => this.open(name, true));
			tab.setAttribute("role", "tab");
			tab.setAttribute("aria-controls", "content");
			tab.dataset.tab = name;
			return tab;
		}));
	}

	// Left and right go from tab to tab.
	onTabKey(event) {
		const step = {ArrowLeft: "previousElementSibling", ArrowRight: "nextElementSibling"}[event.key], next = step && event.target[step];
		if (!step)
			return;
		event.preventDefault();
		event.stopPropagation();
		if (next) {
			next.focus();
			this.open(next.dataset.tab, true);
		}
	}

	open(name, isForced) {
		if (name === this.tab && !isForced)
			return;
		this.tab = name;
		this.show();
	}

	/** Shows the chosen tab anew. Sums that take a while say how far they are, and end when another is asked for. */
	show() {
		for (const tab of byId("tabs").children)
			tab.setAttribute("aria-selected", String(tab.dataset.tab === this.tab));
		if (this.watch)
			this.watch.cancel();
		this.view.flame = null;
		const {view, content} = this, sum = SUM_TABS.get(this.tab);
		content.className = this.tab;
		if (!sum) {
			const simple = {verdict: showVerdict, selection: showDetails, findings: showFindings, about: showAbout};
			simple[this.tab](view, content);
			return;
		}
		const watch = this.watch = new Watch((done) => {
			if (this.watch === watch)
				fill(content, make("p", "faint", "adding up, " + Math.round(done * 100) + " % \u2026"));
		});
		sum(view, content, scopeOf(view), watch).catch((error) => {
			if (!(error instanceof CancelledError) && this.watch === watch)
				fill(content, make("p", "bad", error.message));
		});
	}
}
