// SPDX-License-Identifier: MIT
//
// The begin of the page with two runs: reads both heads and the comparison, keeps both timelines aligned.

import {commonBounds, commonNames, iterationsOf, placeAt, rangesOf} from "./align.js";
import {CancelledError, Watch} from "./account.js";
import {commandNames, namesOf, partnersOf, sumsOf} from "./changes.js";
import {connectTheme, reportErrors, showNotice, showTip} from "./chrome.js";
import {SectionStore} from "./data.js";
import {tipLines} from "./describe.js";
import {byId, fill, make, sizeCanvas} from "./dom.js";
import {formatCount, formatNs, visible} from "./format.js";
import {placeHeads} from "./heads.js";
import {bringIntoView} from "./input.js";
import {Model} from "./model.js";
import {drawOverview} from "./overview.js";
import {itemAt, rowOf, AXIS} from "./place.js";
import {listenToPairKeys, listenToSide} from "./pair_input.js";
import {Search} from "./search.js";
import {joinViews, RowSearch, SideView} from "./side.js";
import {formatChange, formatChangeShare, markRow, showChanges, showPicked, showVerdictOf} from "./strip.js";
import {drawTimeline} from "./timeline.js";

const OVERVIEW = 16; // px
const RANGE_MODE = "range ";

// The sections of one run, as the parser brings them; the ids of the base's begin with a prefix.
function sectionsOf(prefix) {
	const isWhole = () => document.readyState !== "loading";
	return new SectionStore({isWhole, text: (id) => byId(prefix + id).textContent,
		has: (id) => Boolean(byId(prefix + id)) && (Boolean(byId(prefix + id).nextElementSibling) || isWhole())});
}

function elementsOf(id, file) {
	const elements = {name: id.toUpperCase(), file};
	for (const name of ["overview", "scroller", "sticky", "heads", "timeline", "spacer"])
		elements[name] = byId(id).querySelector("." + name);
	return elements;
}

function measureSide(view) {
	const {scroller, heads, sticky} = view.elements;
	view.ratio = window.devicePixelRatio || 1;
	view.height = Math.max(40, scroller.clientHeight);
	view.width = Math.max(100, scroller.clientWidth - heads.offsetWidth);
	sticky.style.height = view.height + "px";
	view.redraw();
}

// Which run this is, beside its time axis.
function nameSide(view, corner) {
	if (corner.firstChild)
		return;
	corner.append(make("b", null, view.elements.name), make("span", null, view.elements.file));
	corner.title = view.elements.file;
}

function drawSide(view) {
	const {scroller, timeline, spacer, heads, overview} = view.elements;
	view.scrollTop = scroller.scrollTop;
	sizeCanvas(timeline, view.width, view.height, view.ratio);
	spacer.style.height = Math.max(0, view.layout.height + view.layout.pinnedHeight + AXIS + 10 - view.height) + "px";
	view.ctx = timeline.getContext("2d", {alpha: false});
	drawTimeline(view);
	placeHeads(view, heads);
	nameSide(view, heads.querySelector(".corner"));
	drawOverview(view, overview, overview.parentElement.clientWidth, OVERVIEW);
}

// Scrolls so that a track of a side can be seen.
function showTrackOf(view, track) {
	const at = rowOf(view, track), {scroller} = view.elements;
	if (at && (at.top < AXIS || at.top + Math.min(at.row.height, 60) > view.height))
		scroller.scrollTop += at.top - AXIS - 8;
}

class Pair {
	constructor(base, changed, diff) {
		Object.assign(this, {base, changed, diff, views: [base, changed], row: null, mode: "begin", place: placeAt([[], []], 0)});
		this.known = this.views.map((view) => commandNames(view.model));
		this.sums = sumsOf(diff);
		this.iterations = [[], []];
		this.ranges = [new Map(), new Map()];
		this.pickWatch = new Watch();
	}

	// The lists that the mode aligns by.
	listsOf(mode) {
		if (mode === "iteration")
			return this.iterations;
		if (mode.startsWith(RANGE_MODE))
			return this.ranges.map((ranges) => ranges.get(mode.slice(RANGE_MODE.length)) || []);
		if (mode === "selection" && this.views.every((view) => view.selection))
			return this.views.map(({selection: {item}}) => [{begin: item.begin, end: item.begin + (item.duration || item.binNs || 0)}]);
		return [[], []];
	}

	/** Aligns both runs; mode: begin, iteration, selection, or "range " and a name. What is in view stays around the aligned moment. */
	align(mode, index) {
		this.mode = mode;
		this.place = placeAt(this.listsOf(mode), index);
		const bounds = commonBounds(this.place.origins, this.views.map((view) => view.model.wallNs));
		this.views.forEach((view, i) => {
			view.setOrigin(this.place.origins[i], bounds);
			view.showSpan(this.place.spans[i]);
		});
		this.changed.setWindow(this.changed.from, this.changed.to);
		this.showPlace();
	}

	step(direction) {
		if (this.place.count)
			this.align(this.mode, this.place.index + direction);
	}

	zoomToPlace() {
		const [base, changed] = this.place.spans;
		if (changed)
			this.changed.fit(changed.begin, changed.begin + Math.max(base.end - base.begin, changed.end - changed.begin, 1));
	}

	showPlace() {
		const {index, count, spans} = this.place, lists = this.listsOf(this.mode);
		byId("previous").disabled = index <= 0;
		byId("next").disabled = index >= count - 1;
		byId("zoomPlace").disabled = !count;
		const [before, after] = spans.map((span) => span && span.end - span.begin), of = lists[0].length === lists[1].length ? formatCount(count) : lists.map((list) => formatCount(list.length)).join(" | ");
		byId("place").textContent = count ? (this.mode === "selection" ? "" : formatCount(index + 1) + " of " + of + ": ") + formatNs(before) + " \u2192 " + formatNs(after) +
			" (" + formatChange(after - before) + ", " + formatChangeShare(after - before, before) + ")" : "";
	}

	/** The modes of the list, and the one that is chosen. */
	showModes() {
		const names = commonNames(...this.ranges), option = (value, text) => {
			const element = make("option", null, text);
			element.value = value;
			element.selected = value === this.mode;
			return element;
		};
		fill(byId("align"), option("begin", "start of the recordings"), this.iterations.every((list) => list.length) ? option("iteration", "iteration") : null,
			...names.map((name) => option(RANGE_MODE + name, "range " + visible(name).slice(0, 60))),
			this.views.every((view) => view.selection) ? option("selection", "what is selected") : null);
	}

	/** Reads what the runs can be aligned by. */
	async findPlaces() {
		const read = (find) => Promise.all(this.views.map((view) => find(view.model, view.chunks)));
		this.iterations = await read(iterationsOf);
		this.ranges = await read(rangesOf);
		if (this.iterations.every((list) => list.length))
			this.align("iteration", 0);
		this.changed.setWindow(this.changed.lowNs, this.changed.highNs);
		this.showModes();
	}

	/** Shows a row of the account in both runs: all else is faint, and its longest item is selected. */
	async pickRow(row) {
		this.pickWatch.cancel();
		this.row = this.row === row ? null : row;
		markRow(this);
		if (!this.row) {
			this.clear();
			return;
		}
		const {base, changed} = namesOf(row, this.known);
		const watch = this.pickWatch = new Watch((done) => byId("picked").textContent = "looking for the longest one, " + Math.round(done * 100) + " %");
		this.views.forEach((view, i) => {
			view.search = new RowSearch(view.model, i ? changed : base, row.cause, view.model.ofKind("device").length === this.diff.devices.length ? row.device : undefined);
			view.redraw();
		});
		try {
			for (const [i, view] of this.views.entries())
				await this.selectLongest(view, this.place.spans[i], watch);
			this.bringSelection();
		} catch (error) {
			if (!(error instanceof CancelledError))
				throw error;
		}
	}

	// The longest item of a view's row: in the aligned iteration, if it is there.
	async selectLongest(view, span, watch) {
		const {search} = view, found = (span && await search.longest(view.chunks, span.begin, span.end, watch)) ||
			await search.longest(view.chunks, -Infinity, Infinity, watch);
		if (found)
			view.reveal(found.track);
		view.select(found);
		if (found)
			showTrackOf(view, found.track);
	}

	bringSelection() {
		const isSeen = ({selection, from, to}) => selection && selection.item.begin < to && selection.item.begin + selection.item.duration > from;
		const view = this.changed.selection ? this.changed : this.base;
		if (view.selection && !this.views.some(isSeen))
			bringIntoView(view, view.selection);
	}

	clear() {
		this.pickWatch.cancel();
		this.row = null;
		markRow(this);
		for (const view of this.views) {
			view.search = this.text ? new Search(view.model, this.text) : null;
			view.select(null);
		}
	}

	/** Searches in both runs; "" ends it. */
	searchFor(text) {
		this.text = text;
		byId("search").value = text;
		byId("hits").textContent = "";
		this.clear();
		if (this.countWatch)
			this.countWatch.cancel();
		if (text)
			this.countMatches(this.countWatch = new Watch()).catch((error) => error instanceof CancelledError || showNotice(error.message));
	}

	async countMatches(watch) {
		const totals = [0, 0];
		for (const [i, view] of this.views.entries()) {
			await view.model.loadTexts(view.sections);
			const {search} = view;
			search.learn();
			await search.count(view.chunks, watch, (counts) => totals[i] = [...counts.values()].reduce((sum, row) => sum + row.count, 0));
		}
		byId("hits").textContent = totals.map(formatCount).join(" | ");
	}

	/** Selects the longest match in both runs. */
	async selectMatches() {
		for (const view of this.views)
			if (view.search && view.search.needle) {
				const found = await view.search.longest(view.chunks, -Infinity, Infinity, new Watch());
				if (found)
					view.reveal(found.track);
				view.select(found);
				if (found)
					showTrackOf(view, found.track);
			}
		this.bringSelection();
	}
}

function connectSide(pair, view) {
	listenToSide(view);
	view.on("hover", (at) => {
		const picked = at && itemAt(view, at.x, at.y);
		showTip(picked ? {lines: tipLines(view, picked), clientX: at.clientX, clientY: at.clientY} : null);
	});
	view.on("selection", (picked) => {
		if (picked)
			byId("status").textContent = tipLines(view, picked).join(", ");
		showPicked(pair, byId("picked"));
		pair.showModes();
	});
	view.on("axis", () => pair.views.forEach((side, i) => side.showSpan(pair.place.spans[i])));
	view.elements.scroller.addEventListener("scroll", view.redraw);
	new ResizeObserver(() => requestAnimationFrame(() => measureSide(view))).observe(view.elements.scroller);
	measureSide(view);
}

function connectBar(pair) {
	let timer = 0;
	byId("align").addEventListener("change", (event) => pair.align(event.target.value, 0));
	byId("previous").addEventListener("click", () => pair.step(-1));
	byId("next").addEventListener("click", () => pair.step(1));
	byId("zoomPlace").addEventListener("click", () => pair.zoomToPlace());
	byId("fit").addEventListener("click", () => pair.changed.fitAll());
	byId("search").addEventListener("input", (event) => {
		clearTimeout(timer);
		timer = setTimeout(() => pair.searchFor(event.target.value.trim()), 150);
	});
	byId("search").addEventListener("keydown", (event) => {
		if (event.key === "Enter")
			pair.selectMatches().catch((error) => showNotice(error.message));
		else if (event.key === "Escape")
			pair.changed.elements.timeline.focus();
	});
}

function fileOf(side) {
	const path = side && side[0] ? String(side[0].path) : "";
	return visible(path.replace(/^.*\//, ""));
}

function describePair(pair) {
	const {diff} = pair, title = visible(pair.changed.model.title);
	document.title = (title + ": " + fileOf(diff.base) + " \u2192 " + fileOf(diff.new)).slice(0, 160) + " - duet";
	byId("title").textContent = title;
	byId("title").title = title + "\nbase: " + visible(diff.base[0].path) + "\nnew: " + visible(diff.new[0].path);
	showVerdictOf(diff, byId("said"));
}

// What is missing in the file and in the traces.
function shortcomingsOf(pair) {
	const texts = byId("end") ? [] : ["This file was cut off: its end is missing."];
	for (const [i, {model}] of pair.views.entries()) {
		const name = i ? "New: " : "Base: ";
		if (model.head.incomplete)
			texts.push(name + model.head.incomplete);
		if (model.cut)
			texts.push(name + "fine levels of " + (model.cut.tracks || "some") + " tracks are not in this file: " + (model.cut.reason || "it would be too large") + ".");
	}
	return texts;
}

// Sections that come while the page is parsed are drawn as they come.
function followPairParser(pair) {
	const grow = () => pair.views.forEach((view) => {
		view.sections.wake();
		view.overview = null;
		view.redraw();
	});
	const check = () => {
		grow();
		showNotice(shortcomingsOf(pair).join(" \u00b7 "));
		pair.findPlaces().catch((error) => showNotice(error.message));
	};
	if (document.readyState !== "loading") {
		check();
		return;
	}
	const timer = setInterval(grow, 300);
	document.addEventListener("DOMContentLoaded", () => {
		clearInterval(timer);
		check();
	});
}

async function readModel(sections) {
	const model = new Model(await sections.loadJson("head"));
	if (!/^duet\.view\/1(\.|$)/.test(model.head.schema || ""))
		throw new Error("This file says that it is \"" + visible(String(model.head.schema)) + "\"; this viewer reads duet.view/1.");
	return model;
}

async function startPair() {
	const stores = [sectionsOf("b_"), sectionsOf("")];
	if (!byId("head") || !byId("b_head") || !byId("diff"))
		throw new Error("This file has no head: it was cut off, or duet view did not write it.");
	const diff = await stores[1].loadJson("diff"), models = [await readModel(stores[0]), await readModel(stores[1])];
	const partners = partnersOf(diff.rows, models.map(commandNames));
	const views = ["base", "new"].map((id, i) => {
		const view = new SideView(models[i], stores[i], () => drawSide(view), partners[i], elementsOf(id, fileOf(diff[id])));
		return view;
	});
	joinViews(...views);
	const pair = new Pair(...views, diff);
	showNotice("");
	describePair(pair);
	pair.toggleTheme = connectTheme((isDark) => {
		views.forEach((view) => view.setDark(isDark));
		showChanges(pair, byId("content"));
	});
	views.forEach((view) => connectSide(pair, view));
	showPicked(pair, byId("picked"));
	connectBar(pair);
	listenToPairKeys(pair);
	pair.align("begin", 0);
	pair.changed.setWindow(pair.changed.lowNs, pair.changed.highNs);
	followPairParser(pair);
	window.duetPair = pair;
}

reportErrors();
startPair().catch((error) => showNotice(error.message));
