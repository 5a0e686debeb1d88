// SPDX-License-Identifier: MIT
//
// Text on a canvas: as much as fits, and names on boxes.

import {visible} from "./format.js";

/** The canvas's fonts. */
export const FONT = "11px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";
export const SMALL_FONT = "10px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";
const textWidths = new Map();

/** Width of a text in the canvas's font, px. */
export function widthOf(ctx, text) {
	const key = ctx.font + text;
	let width = textWidths.get(key);
	if (width === undefined) {
		if (textWidths.size > 20000)
			textWidths.clear();
		width = ctx.measureText(text).width;
		textWidths.set(key, width);
	}
	return width;
}

/** As much of a text as fits into so many px, with an ellipsis; "" where that says nothing. */
export function fitText(ctx, text, width) {
	if (width < 14)
		return "";
	text = visible(text.length > 300 ? text.slice(0, 300) : text);
	const whole = widthOf(ctx, text);
	if (whole <= width)
		return text;
	let length = Math.min(text.length - 1, Math.floor(text.length * width / whole));
	while (length > 1 && widthOf(ctx, text.slice(0, length) + "\u2026") > width)
		length--;
	return length > 1 ? text.slice(0, length) + "\u2026" : "";
}

/** Writes as much of a text as fits between x0 and x1, in the middle of a height; px. */
export function label(frame, text, x0, x1, y, height, ink) {
	const left = Math.max(x0, 0) + 4;
	const fitted = fitText(frame.ctx, text, Math.min(x1, frame.width) - left - 3);
	if (!fitted)
		return;
	frame.ctx.fillStyle = ink;
	frame.ctx.fillText(fitted, left, y + height / 2 + 0.5);
}

/** A name on a box; a hatching is left out behind it. */
export function labelBox(frame, text, x0, x1, y, height, style) {
	const {ctx} = frame, left = Math.max(x0, 0) + 4;
	const fitted = fitText(ctx, text, Math.min(x1, frame.width) - left - 3);
	if (!fitted)
		return;
	const middle = y + height / 2;
	if (style.paint !== style.fill) {
		ctx.fillStyle = style.fill;
		ctx.fillRect(left - 2, Math.max(y, middle - 7), widthOf(ctx, fitted) + 4, Math.min(height, 14));
	}
	ctx.fillStyle = style.ink;
	ctx.fillText(fitted, left, middle + 0.5);
}
