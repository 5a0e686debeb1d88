// SPDX-License-Identifier: MIT
//
// The list of keys and of what the mouse does.

import {fill, make, makeButton, makeSwatch} from "./dom.js";
import {waitingStyles} from "./styles.js";

const KEY_TEXTS = [
	["w  s", "zoom in, out at the pointer"], ["a  d  \u2190  \u2192", "move left, right; with Shift further"],
	["\u2191  \u2193", "scroll the tracks"], ["0  Home", "the whole run"], ["f", "fit what is selected"],
	["/", "search names"], ["n  N", "longest match, then the next, the previous"], ["Enter", "follow the launch: call, queue, execution"],
	[",  .", "previous, next item of the track"], ["j  k", "select in the track below, above"], ["m", "mark the moment under the pointer, or unmark it"],
	["p", "pin the track of the selection"], ["v", "the verdict"], ["1 \u2026 7", "the other tabs of the pane"], ["o", "flame graph: root on top, or at the bottom"], ["t", "dark or light"],
	["Esc", "close, clear the selection, the range, the search"], ["?", "this help"]];
const MOUSE_TEXTS = [
	["drag", "move"], ["wheel", "scroll the tracks; Ctrl: zoom, Shift: move"], ["click", "select, with details below"],
	["double click", "zoom to it"], ["drag on the axis", "select a range: its account, flame graph, tables"],
	["Shift + drag", "the same, of the tracks touched"], ["click on a header", "fold, unfold"], ["pin in a header", "pin the track to the top"]];

/** A table of keys and what they do. */
export function keyTable(rows) {
	return make("table", "facts", ...rows.map(([key, text]) => make("tr", null, make("th", "key", key), make("td", null, text))));
}

export function legend(view) {
	const {colours, model} = view, [hostQueue, deviceQueue] = waitingStyles(view);
	const row = (style, text) => make("span", "legend", makeSwatch(style), text);
	return make("div", "legends", row(colours.call(true, false), "launch"), row(colours.call(false, true), "call that waits"),
		row(colours.call(false, false), "other call"), row(hostQueue, "host queue"), row(deviceQueue, "device queue"),
		row(colours.path({cls: 1, name: ""}), "copy"), row(colours.rejected(), "rejected command"),
		...model.causes.map((name, cause) => row(colours.cause(name), "idle: " + model.causeText(cause))),
		...colours.offGroups().map(([text, style]) => row(style, "off CPU: " + text)));
}

/** Fills the help. */
export function showHelp(view, element, close) {
	fill(element, make("div", "help-head", make("h2", null, "Keys and mouse"), makeButton("Close", "Close (Esc)", close)),
		make("div", "columns", keyTable(KEY_TEXTS), keyTable(MOUSE_TEXTS)), make("h3", null, "Colours"), legend(view),
		make("p", "faint", "Kernels are solid, in a hue by their name. Height of a summary is the share of its time that is covered. " +
			"Lines with ends at a command's begin and end are what its device's clock may be off."));
}
