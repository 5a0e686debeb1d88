// SPDX-License-Identifier: MIT
//
// The search field: counts, the list of what was found, next and previous.

import {byId, fill, make} from "./dom.js";
import {formatCount, visible} from "./format.js";
import {CancelledError, Watch} from "./account.js";
import {momentPlace, Search} from "./search.js";
import {bringIntoView} from "./input.js";

const MOST_RESULTS = 60, MOST_METRICS = 12;
const SEARCH_AFTER_MS = 150;

// Metrics have no items that could be walked through: the row leads to the chart.
function metricButton(view, track) {
	const button = make("button", null, make("b", null, visible(track.name)),
		make("span", "faint", visible(view.model.trail(track.parent).join(" \u203a ") || "metric")), make("span", "number", "chart"));
	button.type = "button";
	button.addEventListener("click", () => {
		byId("results").hidden = true;
		showTrack(view, track);
	});
	return button;
}

/** Unfolds what a track is in, and scrolls to it. */
export function showTrack(view, track) {
	view.reveal(track);
	view.tell("reveal", track);
}

function resultButton(view, row) {
	const button = make("button", null, make("b", null, visible(row.text)), make("span", "faint", row.kind),
		make("span", "number", formatCount(row.count)));
	button.type = "button";
	button.addEventListener("click", () => {
		byId("search").value = row.isOfStacks ? view.search.text : row.text;
		startSearch(view);
		step(view, 1);
	});
	return button;
}

// A count that may lack something has a plus behind it.
function showCounts(view, counts, isDone) {
	const rows = [...counts.values()].sort((a, b) => b.count - a.count);
	const total = rows.reduce((sum, row) => sum + row.count, 0), unsearched = view.search.countUnsearched();
	const metrics = view.search.metrics();
	byId("hits").textContent = formatCount(total + metrics.length) + (isDone ? unsearched ? "+" : "" : " \u2026");
	fill(byId("results"), ...metrics.slice(0, MOST_METRICS).map((track) => metricButton(view, track)),
		metrics.length > MOST_METRICS ? make("p", "faint", formatCount(metrics.length - MOST_METRICS) + " more charts") : null,
		...rows.slice(0, MOST_RESULTS).map((row) => resultButton(view, row)),
		rows.length || metrics.length ? null : make("p", "faint", isDone ? "No name matches." : "counting \u2026"),
		rows.length > MOST_RESULTS ? make("p", "faint", formatCount(rows.length - MOST_RESULTS) + " more names") : null,
		unsearched ? make("p", "faint", "not searched: " + formatCount(unsearched) + " tracks whose finest levels are not in this file") : null);
}

function startSearch(view) {
	const text = byId("search").value.trim();
	if (view.searchWatch)
		view.searchWatch.cancel();
	if (text === (view.search ? view.search.text : ""))
		return;
	view.search = text ? new Search(view.model, text) : null;
	byId("results").hidden = !text;
	byId("hits").textContent = "";
	view.redraw();
	if (view.flame)
		view.flame.draw(view.flame.width);
	if (!text)
		return;
	const watch = view.searchWatch = new Watch();
	completeSearch(view, view.search, watch).catch((error) => {
		if (!(error instanceof CancelledError))
			view.tell("notice", error.message);
	});
}

async function completeSearch(view, search, watch) {
	showCounts(view, new Map(), false);
	if (!view.model.hasTexts) {
		await view.model.loadTexts(view.sections);
		view.tell("texts");
		search.learn();
	}
	await search.count(view.chunks, watch, (counts, isDone) => view.search === search && showCounts(view, counts, isDone));
}

// Of a new search the longest match; from there the next one in time, or the previous one; round at the ends.
async function findStep(view, direction) {
	const {search, selection} = view;
	if (!search.hasStepped || !selection) {
		search.hasStepped = true;
		return search.longest(view.chunks, -Infinity, Infinity, new Watch());
	}
	return await search.next(view.chunks, search.placeOf(selection), direction, new Watch()) ||
		search.next(view.chunks, momentPlace(-direction * Infinity, direction), direction, new Watch());
}

async function step(view, direction) {
	if (!view.search)
		return;
	const found = await findStep(view, direction);
	if (!found) {
		byId("hits").textContent = "0";
		return;
	}
	view.reveal(found.track);
	view.select(found);
	bringIntoView(view, found);
	view.tell("reveal", found.track);
}

/** Makes the field answer; view.nextMatch(1 or -1) and view.makeSearch(text) are for others. */
export function connectSearch(view) {
	const field = byId("search");
	let timer = 0;
	field.addEventListener("input", () => {
		clearTimeout(timer);
		timer = setTimeout(() => startSearch(view), SEARCH_AFTER_MS);
	});
	field.addEventListener("keydown", (event) => {
		if (event.key === "Enter") {
			clearTimeout(timer);
			startSearch(view);
			view.nextMatch(event.shiftKey ? -1 : 1);
		} else if (event.key === "Escape") {
			byId("results").hidden = true;
			byId("timeline").focus();
			event.stopPropagation();
		}
	});
	field.addEventListener("focus", () => byId("results").hidden = !view.search);
	byId("timeline").addEventListener("pointerdown", () => byId("results").hidden = true);
	view.makeSearch = (text) => new Search(view.model, text);
	view.nextMatch = (direction) => step(view, direction).catch((error) => view.tell("notice", error.message));
	view.searchFor = (text) => {
		field.value = text;
		startSearch(view);
		byId("results").hidden = true;
	};
	view.clearSearch = () => view.searchFor("");
}
