// SPDX-License-Identifier: MIT
//
// What the pages of a comparison and of a history share: their data, SVG elements, signed numbers, the filter.

import {SectionStore} from "./data.js";
import {byId} from "./dom.js";
import {formatNs, visible} from "./format.js";
import {connectTheme} from "./chrome.js";

const SVG = "http://www.w3.org/2000/svg";

/** A new element of SVG with attributes; texts become text nodes, never markup. */
export function makeSvg(name, attributes, ...contents) {
	const element = document.createElementNS(SVG, name);
	for (const [key, value] of Object.entries(attributes || {}))
		element.setAttribute(key, value);
	element.append(...contents);
	return element;
}

/** "+1.234 ms", "-3 ns", "0 ns". */
export function formatSigned(ns) {
	return (ns > 0 ? "+" : "") + formatNs(ns);
}

/** "+3.0 %"; a dash where the base is 0. */
export function formatPercentChange(change, base) {
	if (!(base > 0))
		return "\u2013";
	const percent = change / base * 100, size = Math.abs(percent);
	return (percent > 0 ? "+" : "") + percent.toFixed(size < 9.95 ? 2 : size < 99.95 ? 1 : 0) + " %";
}

/** A probability with two digits. */
export function formatP(p) {
	return p < 0.001 ? p.toExponential(1) : p.toPrecision(2);
}

/** The class of a number by its sign; the sign itself is in the text. */
export function signClass(value) {
	return value > 0 ? "grown" : value < 0 ? "shrunk" : "";
}

/** Cuts the middle of a name: its ends differ. */
export function shorten(text, length) {
	return text.length <= length ? text : text.slice(0, length - Math.floor(length / 3) - 1) + "\u2026" + text.slice(-Math.floor(length / 3));
}

/** The same, to a width in px. */
export function fitName(text, width) {
	const ctx = document.createElement("canvas").getContext("2d");
	ctx.font = "12px system-ui, \"Segoe UI\", \"DejaVu Sans\", sans-serif";
	let length = Math.min(text.length, 400);
	while (length > 4 && ctx.measureText(shorten(text, length)).width > width)
		length--;
	return shorten(text, length);
}

/** The file's name in a path. */
export function baseName(path) {
	return path.replace(/^.*\/(?=.)/, "");
}

/**
 * The head and the document of the file.
 * @returns {Promise<[object, object]>}
 */
export async function loadDocument(schema) {
	const sections = new SectionStore({isWhole: () => true, has: (id) => Boolean(byId(id)), text: (id) => byId(id).textContent});
	if (!byId("head") || !byId("document"))
		throw new Error("This file has no data: it was cut off, or duet diff did not write it.");
	const [head, data] = [await sections.loadJson("head"), await sections.loadJson("document")];
	if (data.schema !== schema)
		throw new Error("This file says that it is \"" + visible(String(data.schema)) + "\"; this viewer reads " + schema + ".");
	return [head, data];
}

/** The filter box and the keys / and t. */
export function connectFilter(onFilter) {
	const filter = byId("filter"), toggleTheme = connectTheme(() => {});
	filter.addEventListener("input", () => onFilter(filter.value.trim().toLowerCase()));
	document.addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		if (event.target === filter) {
			if (event.key !== "Escape")
				return;
			filter.value = "";
			filter.blur();
			onFilter("");
		} else if (event.key === "/") {
			event.preventDefault();
			filter.focus();
		} else if (event.key === "t") {
			toggleTheme();
		}
	});
}
