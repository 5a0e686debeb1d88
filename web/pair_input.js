// SPDX-License-Identifier: MIT
//
// Mouse, wheel and keys over two timelines.

import {byId, fill, make, makeButton} from "./dom.js";
import {keyTable, legend} from "./help.js";
import {fitItem, fitSelection, isTyping, listenToHeldKeys, listenToOverview, placeIn} from "./input.js";
import {AXIS, itemAt} from "./place.js";

const DRAG_SLOP = 4; // px

function listenToSideWheel(view) {
	const {timeline} = view.elements;
	timeline.addEventListener("wheel", (event) => {
		const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 200 : 1, [x, y] = placeIn(timeline, event);
		const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
		if (event.ctrlKey || event.metaKey || y < AXIS) {
			event.preventDefault();
			view.zoom(Math.exp(Math.max(-1, Math.min(1, dy * 0.004))), x / view.width);
		} else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) {
			event.preventDefault();
			view.pan((Math.abs(dx) > Math.abs(dy) ? dx : dy) / view.width);
		}
	}, {passive: false});
}

// A drag moves both runs; one on the axis marks a part of both.
function moveSide(view, drag, x, y) {
	if (!drag.hasMoved && Math.hypot(x - drag.x, y - drag.y) < DRAG_SLOP)
		return;
	drag.hasMoved = true;
	if (drag.isAxis) {
		const to = view.nsAt(Math.max(0, Math.min(view.width, x))), begin = Math.min(drag.fromNs, to), end = Math.max(drag.fromNs, to);
		const shift = view.twin.origin - view.origin;
		view.showSpan({begin, end});
		view.twin.showSpan({begin: begin + shift, end: end + shift});
		return;
	}
	view.pan((drag.lastX - x) / view.width);
	view.elements.scroller.scrollTop += drag.lastY - y;
	drag.lastX = x;
	drag.lastY = y;
}

function listenToSidePointer(view) {
	const {timeline} = view.elements;
	let drag = null;
	timeline.addEventListener("pointerdown", (event) => {
		if (event.button !== 0)
			return;
		const [x, y] = placeIn(timeline, event);
		drag = {x, y, lastX: x, lastY: y, hasMoved: false, isAxis: y < AXIS, fromNs: view.nsAt(x)};
		view.move = view.twin.move = null;
		timeline.setPointerCapture(event.pointerId);
		timeline.focus({preventScroll: true});
	});
	timeline.addEventListener("pointermove", (event) => {
		const [x, y] = placeIn(timeline, event);
		view.setPointer(x);
		view.twin.setPointer(x);
		if (drag)
			moveSide(view, drag, x, y);
		view.tell("hover", drag && drag.hasMoved ? null : {x, y, clientX: event.clientX, clientY: event.clientY});
	});
	const finish = (event) => {
		const done = drag;
		drag = null;
		if (!done || done.hasMoved || event.type !== "pointerup")
			return;
		const [x, y] = placeIn(timeline, event);
		if (y < AXIS)
			view.tell("axis");
		else
			view.select(itemAt(view, x, y));
	};
	timeline.addEventListener("pointerup", finish);
	timeline.addEventListener("pointercancel", finish);
	timeline.addEventListener("pointerleave", () => {
		view.setPointer(null);
		view.twin.setPointer(null);
		view.tell("hover", null);
	});
	timeline.addEventListener("dblclick", (event) => fitItem(view, itemAt(view, ...placeIn(timeline, event))));
}

/** Makes a timeline and its overview answer. */
export function listenToSide(view) {
	listenToSideWheel(view);
	listenToSidePointer(view);
	listenToOverview(view, view.elements.overview);
}

const PAIR_KEYS = [["w  s", "zoom in, out at the pointer"], ["a  d  \u2190  \u2192", "move left, right"], ["0  Home", "both runs"], ["f", "fit what is selected"],
	["n  p", "align the next, the previous iteration or range"], ["i", "zoom to the aligned iteration or range"], ["/", "search names in both runs"],
	["t", "dark or light"], ["Esc", "close, clear the selection, the search"], ["?", "this help"]];
const PAIR_MOUSE = [["drag", "move both runs"], ["wheel", "scroll the tracks; Ctrl: zoom, Shift: move"], ["click", "select"], ["double click", "zoom to it"],
	["drag on the axis", "measure"], ["click on a row", "show the row's kernel or idle time in both runs"]];

function togglePairHelp(pair, show) {
	const help = byId("help");
	help.hidden = show === undefined ? !help.hidden : !show;
	if (help.hidden)
		return;
	fill(help, make("div", "help-head", make("h2", null, "Keys and mouse"), makeButton("Close", "Close (Esc)", () => togglePairHelp(pair, false))),
		make("div", "columns", keyTable(PAIR_KEYS), keyTable(PAIR_MOUSE)), make("h3", null, "Colours"), legend(pair.changed),
		make("p", "faint", "Matched kernels have one colour in both runs. A kernel of one run alone is hatched, and its name begins with gone or new."));
	help.querySelector("button").focus();
}

function escapePair(pair) {
	if (!byId("help").hidden)
		togglePairHelp(pair, false);
	else if (pair.views.some((view) => view.selection) || pair.row)
		pair.clear();
	else
		pair.searchFor("");
}

/** Makes the keys work. */
export function listenToPairKeys(pair) {
	const actions = new Map([["?", () => togglePairHelp(pair)], ["/", () => byId("search").select()], ["n", () => pair.step(1)], ["p", () => pair.step(-1)],
		["i", () => pair.zoomToPlace()], ["0", () => pair.changed.fitAll()], ["Home", () => pair.changed.fitAll()],
		["f", () => fitSelection(pair.changed.selection ? pair.changed : pair.base)], ["t", () => pair.toggleTheme()], ["Escape", () => escapePair(pair)]]);
	listenToHeldKeys(pair.changed);
	document.addEventListener("keydown", (event) => {
		const action = actions.get(event.key), isInContent = byId("content").contains(event.target) && event.key === "Home";
		if (!action || isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || isInContent)
			return;
		event.preventDefault();
		action();
	});
	byId("helpButton").addEventListener("click", () => togglePairHelp(pair));
}
