// SPDX-License-Identifier: MIT
//
// Keys that do one thing each; held keys are in input.js.

import {byId} from "./dom.js";
import {fitSelection, isTyping} from "./input.js";
import {followLink} from "./details.js";
import {showHelp} from "./help.js";
import {itemNear, pick} from "./place.js";

const PANE_TABS = ["selection", "account", "flame", "tables", "metrics", "findings", "about"];

// The focus goes into the help, and back to where it was.
function toggleHelp(view, isShown) {
	const help = byId("help"), wasHidden = help.hidden;
	help.hidden = isShown === undefined ? !help.hidden : !isShown;
	if (wasHidden && !help.hidden)
		view.focusBeforeHelp = document.activeElement;
	if (!help.hidden) {
		showHelp(view, help, () => toggleHelp(view, false));
		help.querySelector("button").focus();
	} else if (!wasHidden && view.focusBeforeHelp) {
		view.focusBeforeHelp.focus({preventScroll: true});
	}
}

// Closes one thing at a time, the innermost first.
function escape(view) {
	if (!byId("help").hidden)
		toggleHelp(view, false);
	else if (!byId("results").hidden)
		byId("results").hidden = true;
	else if (view.selection)
		view.select(null);
	else if (view.range)
		view.clearRange();
	else if (view.search)
		view.clearSearch();
}

// Selects the item before or behind the selected one in its track.
async function stepItem(view, direction) {
	const {selection} = view;
	if (!selection) {
		stepRow(view, direction);
		return;
	}
	const {track, level} = selection, chunks = track.levels[level].chunks;
	for (let index = selection.index; index >= 0 && index < chunks.length; index += direction) {
		const chunk = await view.chunks.load(track, level, index);
		const i = index === selection.index ? selection.i + direction : direction > 0 ? 0 : chunk.items - 1;
		if (i < 0 || i >= chunk.items)
			continue;
		const found = pick(track, level, index, chunk, i);
		view.select(found);
		const {begin} = found.item, span = view.to - view.from;
		if (begin < view.from || begin > view.to)
			view.moveTo(begin - span / 2, begin + span / 2);
		return;
	}
}

// Selects, in the next row below (1) or above (-1) that has something there, what is nearest to the selected item, or to the middle.
function stepRow(view, direction) {
	const {selection, layout} = view, rows = [...layout.pinned, ...layout.rows];
	const ns = selection ? selection.item.begin + (selection.item.duration || 0) / 2 : (view.from + view.to) / 2;
	let at = selection ? rows.findIndex((row) => row.track === selection.track) : direction > 0 ? -1 : rows.length;
	for (at += direction; at >= 0 && at < rows.length; at += direction) {
		const found = itemNear(view, rows[at].track, ns);
		if (!found)
			continue;
		view.select(found);
		view.tell("reveal", found.track);
		return;
	}
}

function openSearch() {
	byId("search").focus();
	byId("search").select();
}

/** Makes the keys work. */
export function listenToKeys(view, pane) {
	const scroll = (px) => byId("scroller").scrollTop += px;
	const actions = new Map([
		["?", () => toggleHelp(view)], ["/", openSearch], ["n", () => view.nextMatch(1)], ["N", () => view.nextMatch(-1)],
		["f", () => fitSelection(view)], ["F", () => fitSelection(view)], ["0", () => view.fitAll()], ["Home", () => view.fitAll()],
		["m", () => view.toggleMark(view.nsAt(view.pointerX === null ? view.width / 2 : view.pointerX))],
		["t", () => view.toggleTheme()], ["o", () => view.flame && view.flame.turn()], ["Escape", () => escape(view)], ["Enter", () => followLink(view)],
		["ArrowUp", () => scroll(-60)], ["ArrowDown", () => scroll(60)], ["PageUp", () => scroll(-view.height * 0.8)],
		["PageDown", () => scroll(view.height * 0.8)], [",", () => stepItem(view, -1)], [".", () => stepItem(view, 1)],
		["j", () => stepRow(view, 1)], ["k", () => stepRow(view, -1)],
		["p", () => view.selection && view.togglePinned(view.selection.track.id)],
		["v", () => view.model.report && view.model.report.verdict && pane.open("verdict", true)],
		...PANE_TABS.map((name, i) => [String(i + 1), () => pane.open(name, true)])]);
	document.addEventListener("keydown", (event) => {
		const action = actions.get(event.key);
		const isControl = event.target instanceof HTMLElement && /^(BUTTON|TR)$/.test(event.target.tagName) && /^(Enter| )$/.test(event.key);
		const isInPane = byId("content").contains(event.target) && /^(Arrow|Page|Home)/.test(event.key);
		if (!action || isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || isControl || isInPane)
			return;
		event.preventDefault();
		action();
	});
	byId("helpButton").addEventListener("click", () => toggleHelp(view));
	view.on("theme", () => !byId("help").hidden && toggleHelp(view, true));
}
