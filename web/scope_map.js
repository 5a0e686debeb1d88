// SPDX-License-Identifier: MIT
//
// The heat map on a canvas: a column for each second, a box for each cell, the first at the bottom.

import {make, sizeCanvas} from "./dom.js";
import {axisStep, formatPlain} from "./format.js";
import {FONT, widthOf} from "./text.js";

const LEFT = 62;
const TOP = 4;
const BELOW = 22;
const RIGHT = 12;
const MAP_HEIGHT = 300;
const LEAST_COLUMN = 1;
const MOST_COLUMN = 240;
const LABEL_EVERY = 90;
// From little to much, on a light page and on a dark one; what a cell has without anything is the page's own.
const HEAT_LIGHT = [[255, 236, 200], [253, 187, 99], [239, 101, 72], [179, 0, 0], [90, 0, 20]];
const HEAT_DARK = [[56, 36, 52], [120, 40, 50], [196, 72, 40], [246, 160, 52], [255, 244, 170]];

/** The colour of a cell with that part of the most, 0 to 1. */
export function heatColour(part, isDark) {
	const stops = isDark ? HEAT_DARK : HEAT_LIGHT, place = Math.min(1, part) * (stops.length - 1);
	const at = Math.min(stops.length - 2, Math.floor(place));
	return "rgb(" + stops[at].map((from, i) => Math.round(from + (stops[at + 1][i] - from) * (place - at))).join(",") + ")";
}

/** A bar with all colours. */
export function makeHeatBar(isDark) {
	const canvas = make("canvas");
	canvas.width = 160;
	canvas.height = 12;
	const ctx = canvas.getContext("2d");
	for (let x = 0; x < canvas.width; x++) {
		ctx.fillStyle = heatColour(x / (canvas.width - 1), isDark);
		ctx.fillRect(x, 0, 1, canvas.height);
	}
	return canvas;
}

export class HeatMap {
	constructor(canvas, model) {
		const {rows, cells} = model.head;
		Object.assign(this, {canvas, model, rows, columns: Math.ceil(cells / rows), cursor: null});
	}

	// Sizes in px for a width of the page.
	layOut(width) {
		const column = Math.floor((width - LEFT - RIGHT) / this.columns);
		this.cellWidth = Math.max(LEAST_COLUMN, Math.min(MOST_COLUMN, column));
		this.cellHeight = Math.max(1, Math.floor(MAP_HEIGHT / this.rows));
		this.height = this.cellHeight * this.rows;
		this.width = LEFT + this.columns * this.cellWidth + RIGHT;
	}

	/** The cell at a place in the canvas; null: none. */
	cellAt(x, y) {
		const column = Math.floor((x - LEFT) / this.cellWidth), row = Math.floor((TOP + this.height - y) / this.cellHeight);
		const cell = column * this.rows + row;
		return column >= 0 && column < this.columns && row >= 0 && row < this.rows && cell < this.model.head.cells ? cell : null;
	}

	/** Where a cell is: px from the canvas's left and top. */
	placeOf(cell) {
		return {x: LEFT + Math.floor(cell / this.rows) * this.cellWidth,
			y: TOP + this.height - (cell % this.rows + 1) * this.cellHeight};
	}

	/**
	 * @param {object} theme of Colours
	 * @param {?number[]} range first and last cell of what is selected
	 */
	draw(width, ratio, theme, range) {
		this.layOut(width);
		sizeCanvas(this.canvas, Math.max(width, this.width), this.height + TOP + BELOW, ratio);
		const ctx = this.canvas.getContext("2d");
		ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
		ctx.clearRect(0, 0, Math.max(width, this.width), this.height + TOP + BELOW);
		this.drawCells(ctx, theme);
		this.drawAxes(ctx, theme);
		if (range)
			this.drawRange(ctx, theme, range);
		if (this.cursor !== null)
			this.drawCursor(ctx, theme);
	}

	drawCells(ctx, theme) {
		const {totals, most, head} = this.model, gap = this.cellWidth > 5 && this.cellHeight > 4 ? 1 : 0;
		ctx.fillStyle = theme.group;
		for (let cell = 0; cell < head.cells; cell++) {
			const {x, y} = this.placeOf(cell);
			ctx.fillStyle = totals[cell] ? heatColour(totals[cell] / most, theme.isDark) : theme.group;
			ctx.fillRect(x, y, this.cellWidth - gap, this.cellHeight - gap);
		}
	}

	drawAxes(ctx, theme) {
		const {head} = this.model, columnNs = head.row_ns * head.rows;
		const every = Math.max(1, Math.ceil(LABEL_EVERY / this.cellWidth));
		const {label} = axisStep(columnNs * this.columns, this.cellWidth * this.columns, LABEL_EVERY);
		ctx.font = FONT;
		ctx.fillStyle = theme.faint;
		ctx.textBaseline = "middle";
		for (let column = 0; column < this.columns; column += every)
			ctx.fillText(label(head.from_ns + column * columnNs), LEFT + column * this.cellWidth, TOP + this.height + 13);
		for (const part of [0, 0.25, 0.5, 0.75, 1]) {
			const text = formatPlain(columnNs * part), y = TOP + this.height * (1 - part);
			ctx.fillText(text, LEFT - 6 - widthOf(ctx, text), Math.min(TOP + this.height - 5, Math.max(TOP + 6, y)));
		}
	}

	// The outline of each column's selected cells.
	drawRange(ctx, theme, [first, last]) {
		ctx.fillStyle = theme.range;
		ctx.strokeStyle = theme.edge;
		ctx.lineWidth = 1.5;
		for (let column = Math.floor(first / this.rows); column <= Math.floor(last / this.rows); column++) {
			const low = Math.max(first, column * this.rows), high = Math.min(last, (column + 1) * this.rows - 1);
			const {x, y} = this.placeOf(high), height = (high - low + 1) * this.cellHeight;
			ctx.fillRect(x, y, this.cellWidth, height);
			ctx.strokeRect(x + 0.5, y + 0.5, Math.max(1, this.cellWidth - 1), Math.max(1, height - 1));
		}
	}

	drawCursor(ctx, theme) {
		const {x, y} = this.placeOf(this.cursor);
		ctx.strokeStyle = theme.text;
		ctx.lineWidth = 2;
		ctx.strokeRect(x - 1, y - 1, this.cellWidth + 2, this.cellHeight + 2);
	}

	/** The cell that a key leads to from another; undefined: the key is not for the map. */
	cellAfter(key, cell) {
		const last = this.model.head.cells - 1;
		const steps = {ArrowUp: 1, ArrowDown: -1, ArrowRight: this.rows, ArrowLeft: -this.rows, Home: -last, End: last,
			PageUp: -10 * this.rows, PageDown: 10 * this.rows};
		return Object.hasOwn(steps, key) ? Math.max(0, Math.min(last, cell + steps[key])) : undefined;
	}
}
