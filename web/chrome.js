// SPDX-License-Identifier: MIT
//
// What every page has: a line for what is wrong, a tip at the pointer, a theme.

import {byId, fill, make} from "./dom.js";
import {visible} from "./format.js";

/** A line above all else; "" hides it. */
export function showNotice(text) {
	const notice = byId("notice");
	notice.textContent = visible(text);
	notice.hidden = !text;
	window.dispatchEvent(new Event("resize"));
}

/** Lines at the pointer, {lines, clientX, clientY}; null hides them. */
export function showTip(tip) {
	const element = byId("tip");
	element.hidden = !tip;
	if (!tip)
		return;
	fill(element, ...tip.lines.map((line, i) => make(i ? "div" : "b", null, line.slice(0, 400))));
	const {offsetWidth, offsetHeight} = element;
	const x = tip.clientX + 16 + offsetWidth > innerWidth ? tip.clientX - offsetWidth - 12 : tip.clientX + 16;
	const y = tip.clientY + 18 + offsetHeight > innerHeight ? tip.clientY - offsetHeight - 10 : tip.clientY + 18;
	element.style.transform = "translate(" + Math.max(2, x) + "px," + Math.max(2, y) + "px)";
}

/**
 * Light or dark as the system is, until the button is pressed.
 * @param {function(boolean)} onTheme told whether it is dark, at once and whenever that changes
 * @returns {function()} what changes it
 */
export function connectTheme(onTheme) {
	const wish = matchMedia("(prefers-color-scheme: dark)");
	let chosen = null;
	const apply = () => {
		const isDark = chosen === null ? wish.matches : chosen;
		document.documentElement.dataset.theme = isDark ? "dark" : "light";
		onTheme(isDark);
	};
	const toggle = () => {
		chosen = !(chosen === null ? wish.matches : chosen);
		apply();
	};
	wish.addEventListener("change", apply);
	byId("theme").addEventListener("click", toggle);
	apply();
	return toggle;
}

/** What goes wrong in a page is said on it. */
export function reportErrors() {
	window.addEventListener("error", (event) => showNotice("Something went wrong in this page: " + event.message));
	window.addEventListener("unhandledrejection", (event) => showNotice("Something went wrong in this page: " +
		(event.reason && event.reason.message || event.reason)));
}
