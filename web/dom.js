// SPDX-License-Identifier: MIT
//
// Elements of the page. Texts become text nodes, never markup.

/** The element with that id. */
export function byId(id) {
	return document.getElementById(id);
}

/**
 * A new element.
 * @param {string} name for example "td"
 * @param {?string} className
 * @param {...(string|Node)} contents texts and elements in it
 */
export function make(name, className, ...contents) {
	const element = document.createElement(name);
	if (className)
		element.className = className;
	element.append(...contents);
	return element;
}

/** A button that does something. */
export function makeButton(text, title, action) {
	const button = make("button", null, text);
	button.type = "button";
	button.title = title;
	button.addEventListener("click", action);
	return button;
}

/** Replaces what is in an element. */
export function fill(element, ...contents) {
	element.replaceChildren(...contents.filter((content) => content !== null));
}

/** A canvas's size in CSS px and its pixels; true where it has changed. */
export function sizeCanvas(canvas, width, height, ratio) {
	const [pixelWidth, pixelHeight] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
	if (canvas.width === pixelWidth && canvas.height === pixelHeight)
		return false;
	canvas.width = pixelWidth;
	canvas.height = pixelHeight;
	canvas.style.width = width + "px";
	canvas.style.height = height + "px";
	return true;
}

/** A small box in a style's colour and hatching, for legends and tables. */
export function makeSwatch(style) {
	const canvas = make("canvas", "swatch");
	canvas.width = canvas.height = 12;
	const ctx = canvas.getContext("2d");
	ctx.fillStyle = style.paint;
	ctx.fillRect(0, 0, 12, 12);
	ctx.strokeStyle = style.line;
	ctx.strokeRect(0.5, 0.5, 11, 11);
	return canvas;
}
