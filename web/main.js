// SPDX-License-Identifier: MIT
//
// The viewer's begin: reads the head, puts state, drawing and input together.

import {SectionStore} from "./data.js";
import {Model} from "./model.js";
import {View} from "./view.js";
import {byId, sizeCanvas} from "./dom.js";
import {connectTheme, reportErrors, showNotice, showTip} from "./chrome.js";
import {formatCount, visible} from "./format.js";
import {itemAt, rowOf} from "./place.js";
import {drawTimeline} from "./timeline.js";
import {placeHeads} from "./heads.js";
import {drawOverview} from "./overview.js";
import {listenToInput} from "./input.js";
import {listenToKeys} from "./keys.js";
import {Pane} from "./pane.js";
import {tipLines} from "./describe.js";
import {connectSearch} from "./finder.js";
import {followHash} from "./hash.js";

const OVERVIEW_HEIGHT = 40;
const LEAST_PANE = 60;

// The sections as the parser brings them: one is whole once something comes behind it.
const pageSource = {
	isWhole: () => document.readyState !== "loading",
	has: (id) => Boolean(byId(id)) && (Boolean(byId(id).nextElementSibling) || pageSource.isWhole()),
	text: (id) => byId(id).textContent,
};

function measure(view) {
	const scroller = byId("scroller"), heads = byId("heads");
	view.ratio = window.devicePixelRatio || 1;
	view.height = Math.max(60, scroller.clientHeight);
	view.width = Math.max(100, scroller.clientWidth - heads.offsetWidth);
	byId("sticky").style.height = view.height + "px";
	if (view.flame)
		view.flame.draw(Math.max(200, byId("content").clientWidth - 24));
	view.redraw();
}

function drawAll(view) {
	const timeline = byId("timeline");
	view.scrollTop = byId("scroller").scrollTop;
	sizeCanvas(timeline, view.width, view.height, view.ratio);
	byId("spacer").style.height = Math.max(0, view.layout.height + view.layout.pinnedHeight + 26 + 40 - view.height) + "px";
	view.ctx = timeline.getContext("2d", {alpha: false});
	drawTimeline(view);
	placeHeads(view, byId("heads"));
	const overview = byId("overview");
	drawOverview(view, overview, overview.parentElement.clientWidth, OVERVIEW_HEIGHT);
}

function connectTip(view) {
	view.on("tip", showTip);
	view.on("window", () => showTip(null));
	view.on("hover", (at) => {
		const picked = at && itemAt(view, at.x, at.y);
		showTip(picked ? {lines: tipLines(view, picked), clientX: at.clientX, clientY: at.clientY} : null);
	});
}

function connectSplitter(view) {
	const splitter = byId("splitter"), pane = byId("pane");
	const resize = (height) => {
		pane.style.height = Math.max(LEAST_PANE, Math.min(innerHeight - 220, height)) + "px";
		measure(view);
		describe();
	};
	const describe = () => splitter.setAttribute("aria-valuenow", String(Math.round(pane.offsetHeight / innerHeight * 100)));
	describe();
	splitter.addEventListener("pointerdown", (event) => splitter.setPointerCapture(event.pointerId));
	splitter.addEventListener("pointermove", (event) => event.buttons & 1 && resize(innerHeight - event.clientY - 3));
	splitter.addEventListener("keydown", (event) => {
		const step = {ArrowUp: 24, ArrowDown: -24}[event.key];
		if (!step)
			return;
		event.preventDefault();
		event.stopPropagation();
		resize(pane.offsetHeight + step);
	});
}

// Scrolls so that a track can be seen.
function scrollTo(view, track) {
	const at = rowOf(view, track), scroller = byId("scroller");
	if (!at)
		return;
	const above = 26 + view.layout.pinnedHeight;
	if (at.top < above)
		scroller.scrollTop += at.top - above - 8;
	else if (at.top + Math.min(at.row.height, view.height - above) > view.height)
		scroller.scrollTop += at.top + Math.min(at.row.height, view.height - above) - view.height + 8;
}

// What tells most: the verdict; else findings; else where the device's time went, and without a device where the threads' did.
function firstTab(model) {
	if (model.report && model.report.verdict)
		return "verdict";
	if (model.report && (model.report.findings || []).length)
		return "findings";
	return model.ofKind("device").length || !model.ofKind("samples").length ? "account" : "flame";
}

function connect(view) {
	view.toggleTheme = connectTheme((isDark) => {
		view.setDark(isDark);
		view.tell("theme");
	});
	connectTip(view);
	connectSplitter(view);
	listenToInput(view, byId("timeline"), byId("overview"));
	const pane = new Pane(view);
	connectSearch(view);
	listenToKeys(view, pane);
	view.on("reveal", (track) => requestAnimationFrame(() => scrollTo(view, track)));
	view.on("notice", showNotice);
	view.on("say", (text) => byId("status").textContent = text);
	view.on("selection", (picked) => picked && view.tell("say", tipLines(view, picked).join(", ")));
	view.on("texts", () => {
		view.colours.forgetTables();
		view.redraw();
	});
	byId("scroller").addEventListener("scroll", view.redraw);
	window.addEventListener("resize", () => measure(view));
	const observer = new ResizeObserver(() => requestAnimationFrame(() => measure(view)));
	observer.observe(byId("scroller"));
	observer.observe(byId("heads"));
	byId("fit").addEventListener("click", () => view.fitAll());
	measure(view);
	pane.open(firstTab(view.model), true);
	followHash(view);
}

// What the head and the parser say about the file.
function describeFile(view) {
	const {model} = view, threads = model.ofKind("thread").length;
	document.title = visible(model.title).slice(0, 100) + " - duet";
	byId("title").textContent = visible(model.title);
	byId("title").title = visible(model.title);
	byId("status").textContent = formatCount(model.tracks.length) + " tracks, " + threads + " threads";
}

// What is missing in the file and in the trace: each of it is said.
function shortcomings(model) {
	const {cut, head} = model;
	return [!model.tracks.some((track) => track.items) && "Nothing was recorded in this run: no calls, commands, samples or metrics.",
		!byId("end") && "This file was cut off: its end is missing. What is there is shown, what is not is hatched.",
		cut && "Fine levels of " + (cut.tracks || "some") + " tracks are not in this file: " + (cut.reason || "it would be too large") + ".",
		head.incomplete && String(head.incomplete)].filter(Boolean);
}

// Sections that come while the page is parsed are drawn as they come.
function followParser(view) {
	const grow = () => {
		view.sections.wake();
		view.overview = null;
		view.redraw();
	};
	const check = () => {
		grow();
		showNotice(shortcomings(view.model).join(" \u00b7 "));
	};
	if (pageSource.isWhole()) {
		check();
		return;
	}
	const timer = setInterval(grow, 300);
	document.addEventListener("DOMContentLoaded", () => {
		clearInterval(timer);
		check();
	});
}

async function start() {
	const sections = new SectionStore(pageSource);
	if (!byId("head"))
		throw new Error("This file has no head: it was cut off, or duet view did not write it.");
	const model = new Model(await sections.loadJson("head"));
	if (!/^duet\.view\/1(\.|$)/.test(model.head.schema || ""))
		throw new Error("This file says that it is \"" + visible(String(model.head.schema)) + "\"; this viewer reads duet.view/1.");
	const view = new View(model, sections, () => drawAll(view));
	showNotice("");
	connect(view);
	describeFile(view);
	followParser(view);
	window.duetView = view;
}

reportErrors();
start().catch((error) => showNotice(error.message));
