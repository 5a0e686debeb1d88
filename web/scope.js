// SPDX-License-Identifier: MIT
//
// The page of duet flamescope: the heat map, what is selected in it, and the flame graph of that.

import {SectionStore} from "./data.js";
import {Colours} from "./colours.js";
import {definitionText, FlameGraph, frameStyle} from "./flame.js";
import {HeatMap, makeHeatBar} from "./scope_map.js";
import {ScopeModel} from "./scope_model.js";
import {byId, fill, make, makeButton} from "./dom.js";
import {formatCount, formatExact, formatNs, formatShare, visible} from "./format.js";
import {connectTheme, reportErrors, showNotice, showTip} from "./chrome.js";
import {keyTable} from "./help.js";

const SCOPE_KEYS = [["\u2190 \u2192 \u2191 \u2193", "in the map: to another column, another cell; in the graph: to neighbours, callers, callees"],
	["Enter", "in the map: one end of a range, then the other; in the graph: zoom"], ["Backspace", "in the graph: one zoom back"],
	["Home  End", "the first, the last cell"], ["/", "search frames"], ["n  N", "the largest match, then the next, the previous"],
	["Esc", "close the help, clear the search, show the whole map"], ["o", "root of the graph on top, or at the bottom"], ["t", "dark or light"], ["?", "this help"]];
const SCOPE_MOUSE = [["click in the map", "one end of a range, then the other; the graph below is of that range"], ["hover", "the exact value of a cell, of a box"],
	["click in the graph", "zoom to a box; its row of names goes back"]];

const VIEWS = {total: "time of the devices", gpu: "busy time of the devices", idle: "idle time of the devices",
	cpu: "what threads did on processors", offcpu: "time of threads off processors", launch: "launches",
	stall: "samples of device instructions"};

// A moment with all of its digits, so that two cells never have the same.
function formatMoment(ns) {
	return (ns / 1e9).toFixed(9).replace(/\.?0+$/, "") + " s";
}

/** A search for part of a name, in any case. */
class FrameSearch {
	constructor(text) {
		Object.assign(this, {text, needle: text.toLowerCase(), at: -1});
	}

	hasText(text) {
		return text.toLowerCase().includes(this.needle);
	}
}

/** State of the page. */
class Scope {
	constructor(model) {
		const {head} = model;
		Object.assign(this, {model, unit: head.unit, colours: null, search: null, ratio: 1, anchor: null, range: null, flame: null, isIcicle: false});
		this.map = new HeatMap(byId("map"), model);
		this.isTime = head.unit === "ns";
	}

	setDark(isDark) {
		this.colours = new Colours(isDark, this.model.head);
		this.showLegend();
		this.draw();
	}

	tell(what, text) {
		if (what === "say")
			byId("status").textContent = text;
	}

	/** A value for people, and with all of its digits. */
	valueText(value) {
		return this.isTime ? formatNs(value) : formatCount(value) + " " + this.unit;
	}

	exactText(value) {
		return this.isTime ? formatExact(value) : formatCount(value) + " " + this.unit;
	}

	timeText(from, to) {
		return formatMoment(this.model.beginOf(from)) + " to " + formatMoment(this.model.beginOf(to));
	}

	// First and last cell of what is drawn below.
	selected() {
		return this.range || [0, this.model.head.cells - 1];
	}

	/** The first click sets one end of a range, the second the other; a third begins anew. */
	pick(cell) {
		if (this.anchor === null) {
			this.anchor = cell;
			this.range = [cell, cell];
		} else {
			this.range = [Math.min(this.anchor, cell), Math.max(this.anchor, cell)];
			this.anchor = null;
		}
		this.showRange();
	}

	/** The whole map. */
	clear() {
		this.anchor = this.range = null;
		this.showRange();
	}

	showRange() {
		const [first, last] = this.selected(), {model} = this;
		this.root = model.flameOf(first, last + 1);
		this.flame = new FlameGraph(this, this.root, (node, event) => this.hoverFrame(node, event), this.unit, frameStyle);
		const text = this.range ? this.timeText(first, last + 1) : "Whole map: " + this.timeText(first, last + 1);
		fill(byId("range"), make("b", null, text), " \u00b7 " + this.exactText(this.root.value) + " \u00b7 " +
			formatShare(this.root.value, model.sum + model.head.lost) + " of all" +
			(this.anchor === null ? "" : " \u00b7 now the other end"));
		fill(byId("content"), this.root.value ? this.flame.element : make("p", "faint", "Nothing here."));
		this.tell("say", byId("range").textContent);
		this.draw();
		this.showHits();
		this.flame.showRoot();
	}

	/** Highlights boxes with a text in their names; "": ends the search. */
	find(text) {
		this.search = text ? new FrameSearch(text) : null;
		this.showHits();
		this.draw();
	}

	// The share of the matches.
	showHits() {
		const found = this.search && this.flame ? this.flame.matches(this.search) : [];
		const value = found.reduce((sum, node) => sum + node.value, 0);
		byId("hits").textContent = !this.search ? "" : found.length ? formatShare(value, this.root.value) : "0";
		byId("hits").title = found.length ? formatCount(found.length) + " boxes, " + this.exactText(value) : "";
	}

	/** Goes to the largest match, then to the next one (step 1) or back (-1). */
	nextMatch(step, event) {
		const found = this.search ? this.flame.matches(this.search) : [];
		if (!found.length)
			return;
		this.search.at = (Math.max(this.search.at, step > 0 ? -1 : 0) + step + found.length) % found.length;
		this.flame.goTo(found[this.search.at], event);
	}

	hoverFrame(node, event) {
		showTip(node ? {lines: [visible(node.text), this.exactText(node.value), formatShare(node.value, this.root.value) + " of what is selected",
			definitionText(node)].filter(Boolean),
			clientX: event.clientX, clientY: event.clientY} : null);
	}

	cellLines(cell) {
		const value = this.model.totals[cell];
		return [this.timeText(cell, cell + 1), this.exactText(value), formatShare(value, this.model.sum) + " of all",
			formatShare(value, this.model.most) + " of the fullest cell"];
	}

	showLegend() {
		const {head, most, sum} = this.model, {theme} = this.colours;
		const cell = formatNs(head.row_ns), column = formatNs(head.row_ns * head.rows);
		fill(byId("legend"), make("b", null, VIEWS[head.view] || head.view),
			make("span", null, "cell " + cell + ", column " + column + ", first cell at the bottom"),
			make("span", "scale", "0", makeHeatBar(theme.isDark), this.valueText(most) + " in a cell"),
			make("span", "faint", "all: " + this.exactText(sum)));
	}

	/** What a reader must know first. */
	shortcomings() {
		const {head, sum} = this.model;
		const coarser = head.row_ns !== head.asked_row_ns && "Cells are of " + formatNs(head.row_ns) + ": with cells of " +
			formatNs(head.asked_row_ns) + " this page would be too large; --from and --to show a part in detail.";
		return [head.warning, coarser, !sum && "Nothing was recorded in this part.",
			head.lost && this.exactText(head.lost) + " were lost: they have no time, and are in the graph of the whole map alone.",
			head.cut_stacks && formatCount(head.cut_stacks) + " stacks lack their innermost functions: there are too many functions."]
			.filter(Boolean);
	}

	draw() {
		if (!this.colours)
			return;
		this.ratio = window.devicePixelRatio || 1;
		this.map.draw(Math.max(200, byId("mapBox").clientWidth), this.ratio, this.colours.theme, this.range);
		if (this.flame && this.root.value)
			this.flame.draw(Math.max(200, byId("content").clientWidth - 24));
	}
}

function cellUnder(scope, event) {
	const rect = scope.map.canvas.getBoundingClientRect();
	return scope.map.cellAt(event.clientX - rect.left, event.clientY - rect.top);
}

function connectMouse(scope) {
	const {canvas} = scope.map;
	canvas.addEventListener("click", (event) => {
		const cell = cellUnder(scope, event);
		if (cell !== null)
			scope.pick(cell);
	});
	canvas.addEventListener("pointermove", (event) => {
		const cell = cellUnder(scope, event);
		showTip(cell === null ? null : {lines: scope.cellLines(cell), clientX: event.clientX, clientY: event.clientY});
	});
	canvas.addEventListener("pointerleave", () => showTip(null));
}

// Goes to a cell and tells what it is.
function moveCursor(scope, cell) {
	const {map} = scope, box = byId("mapBox");
	map.cursor = cell;
	scope.draw();
	const {x, y} = map.placeOf(cell), rect = map.canvas.getBoundingClientRect();
	if (x < box.scrollLeft || x + map.cellWidth > box.scrollLeft + box.clientWidth)
		box.scrollLeft = x - box.clientWidth / 2;
	showTip({lines: scope.cellLines(cell), clientX: rect.left + x, clientY: rect.top + y});
	scope.tell("say", scope.cellLines(cell).join(", "));
}

function connectKeys(scope) {
	const {map} = scope;
	map.canvas.addEventListener("keydown", (event) => {
		const next = map.cellAfter(event.key, map.cursor === null ? scope.selected()[0] : map.cursor);
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		if (next !== undefined)
			moveCursor(scope, map.cursor === null ? scope.selected()[0] : next);
		else if ((event.key === "Enter" || event.key === " ") && map.cursor !== null)
			scope.pick(map.cursor);
		else
			return;
		event.preventDefault();
	});
	map.canvas.addEventListener("blur", () => {
		map.cursor = null;
		showTip(null);
		scope.draw();
	});
	const search = byId("search"), ways = {t: () => scope.toggleTheme(), o: () => scope.flame.turn(), "?": () => toggleScopeHelp(), n: (event) => scope.nextMatch(1, event),
		N: (event) => scope.nextMatch(-1, event), "/": () => search.focus(), Escape: () => leave(scope)};
	document.addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey || event.target === search || !Object.hasOwn(ways, event.key))
			return;
		event.preventDefault();
		ways[event.key](event);
	});
	search.addEventListener("input", () => scope.find(search.value.trim()));
	search.addEventListener("keydown", (event) => {
		if (event.key === "Enter")
			scope.nextMatch(event.shiftKey ? -1 : 1, event);
		else if (event.key === "Escape")
			leave(scope);
	});
	byId("helpButton").addEventListener("click", toggleScopeHelp);
}

function toggleScopeHelp() {
	const help = byId("help");
	help.hidden = !help.hidden;
	if (help.hidden)
		return;
	fill(help, make("div", "help-head", make("h2", null, "Keys and mouse"), makeButton("Close", "Close (Esc)", toggleScopeHelp)),
		make("div", "columns", keyTable(SCOPE_KEYS), keyTable(SCOPE_MOUSE)),
		make("p", "faint", "A column of the map is a stretch of time, its first cell at the bottom; a darker cell has more of what the map shows. " +
			"The graph has its root at the bottom, or on top after o; a box is as wide as its share of the selected range."));
	help.querySelector("button").focus();
}

// Closes the help, else ends the search, else the range.
function leave(scope) {
	const search = byId("search");
	if (!byId("help").hidden) {
		toggleScopeHelp();
	} else if (scope.search) {
		search.value = "";
		scope.find("");
		byId("map").focus();
	} else {
		scope.clear();
	}
}

async function openScope() {
	const sections = new SectionStore({isWhole: () => true, has: (id) => Boolean(byId(id)), text: (id) => byId(id).textContent});
	if (!byId("head") || !byId("cells"))
		throw new Error("This file has no data: it was cut off, or duet flamescope did not write it.");
	const head = await sections.loadJson("head");
	if (!/^duet\.flamescope\/1(\.|$)/.test(head.schema || ""))
		throw new Error("This file says that it is \"" + visible(String(head.schema)) + "\"; this viewer reads duet.flamescope/1.");
	const scope = new Scope(new ScopeModel(head, await sections.loadJson("cells")));
	document.title = visible(head.title).slice(0, 100) + " - duet flamescope";
	byId("title").textContent = byId("title").title = visible(head.title);
	byId("about").textContent = head.about.split("\n").filter((line) => line !== head.title).map(visible).join("\n");
	showNotice(scope.shortcomings().join(" \u00b7 "));
	scope.toggleTheme = connectTheme((isDark) => scope.setDark(isDark));
	byId("all").addEventListener("click", () => scope.clear());
	connectMouse(scope);
	connectKeys(scope);
	new ResizeObserver(() => requestAnimationFrame(() => scope.draw())).observe(byId("scope"));
	scope.clear();
	window.duetScope = scope;
}

reportErrors();
openScope().catch((error) => showNotice(error.message));
