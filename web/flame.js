// SPDX-License-Identifier: MIT
//
// A flame graph on a canvas: the root at the bottom or on top, a box as wide as its share. A click zooms, hovering tells.
// The view remembers where the root is, for all graphs of the page.

import {byId, make, makeSwatch, sizeCanvas} from "./dom.js";
import {formatNs, formatShare, visible} from "./format.js";
import {FLAME_AWAY, FLAME_CALL, FLAME_CODE, FLAME_COPY, FLAME_IDLE, FLAME_KERNEL, FLAME_OTHER, FLAME_STALL, FLAME_UNMEASURED} from "./account.js";
import {fitText} from "./text.js";

const FLAME_ROW = 17;
const FLAME_FONT = "11px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";
// As other pages and pictures have them.
const CODE_HUE = "#a5d8f3", STALL_HUE = "#c9b3ea";
const NO_CODE = "#9aa0a8";
// Classes of frames that are not code, in the order of duet flame; below: as Colours.frame() has them.
const CLASS_SCRIPT = 4, CLASS_DEVICE = 5, CLASS_CODE = 6, CLASS_STALL = 7, CLASS_IDLE = 9;
const LEAST_BOX = 0.6, LEAST_SEEN = 3;
const MOST_ROWS_DRAWN = 600;

/** Where a Python function is defined, for the tip of its box, which all of its lines share; "" for other boxes. */
export function definitionText(node) {
	const place = node.kind === CLASS_SCRIPT && !node.file && / \(([^()]+:\d+)\)$/.exec(node.text);
	return place ? "defined at " + visible(place[1]) : "";
}

/** The style of a box whose kind is its class of frame, as in duet flame. */
export function frameStyle(view, node) {
	const {colours, model} = view;
	if (node.kind === CLASS_IDLE)
		return colours.idle(node.text);
	if (node.kind === CLASS_DEVICE && model.classOfCommand)
		return colours.path({cls: model.classOfCommand(node.text), name: node.text});
	if (node.kind <= CLASS_DEVICE)
		return colours.frame(node.kind, node.text);
	return colours.solid(node.kind === CLASS_CODE ? CODE_HUE : node.kind === CLASS_STALL ? STALL_HUE : NO_CODE);
}

function boxStyle(view, node) {
	const {colours} = view;
	if (node.kind === FLAME_AWAY)
		return colours.idle(node.text);
	if (node.kind >= FLAME_IDLE)
		return colours.cause(view.model.causes[node.kind - FLAME_IDLE] || "unknown");
	if (node.kind === FLAME_KERNEL)
		return colours.named(node.text);
	if (node.kind === FLAME_COPY || node.kind === FLAME_OTHER)
		return colours.path({cls: node.kind === FLAME_COPY ? 1 : 2, name: node.text});
	if (node.kind === FLAME_UNMEASURED)
		return colours.unmeasured();
	if (node.kind === FLAME_STALL)
		return colours.solid(STALL_HUE);
	if (node.kind === FLAME_CODE)
		return colours.solid(CODE_HUE);
	return colours.frame(node.kind === FLAME_CALL ? 7 : node.kind, node.text);
}

// Boxes of a node and below, in px; children by value.
function layBoxes(node, x, scale, depth, boxes) {
	const width = node.value * scale;
	if (width < LEAST_BOX || depth > MOST_ROWS_DRAWN)
		return;
	boxes.push({node, x, width, depth});
	const inner = [...node.children.values()].sort((a, b) => b.value - a.value);
	for (const childNode of inner) {
		layBoxes(childNode, x, scale, depth + 1, boxes);
		x += childNode.value * scale;
	}
}

export class FlameGraph {
	/**
	 * @param {View} view
	 * @param {object} root as flameOfAccount() and flameOfSamples() give it
	 * @param {function(object, Event)} onHover told the node under the pointer, or null
	 * @param {string} unit of its values; "ns" are written as times
	 * @param {function(object, object): object} styleOfBox the style of a node; as the view's boxes by default
	 */
	constructor(view, root, onHover, unit, styleOfBox) {
		Object.assign(this, {view, root, onHover, unit: unit || "ns", trail: [root], boxes: []});
		this.styleOfBox = styleOfBox || boxStyle;
		this.canvas = make("canvas", "flame");
		this.crumbs = make("div", "crumbs");
		this.legend = make("div", "legends");
		this.element = make("div", "flame-box", this.crumbs, this.canvas, this.legend);
		this.canvas.tabIndex = 0;
		this.canvas.setAttribute("role", "application");
		this.canvas.setAttribute("aria-label", "Flame graph. Arrows go to callers, callees and neighbours, Enter zooms, Backspace goes back, o turns it");
		this.cursor = null; // the node that keys are at
		this.canvas.addEventListener("keydown", (event) => this.onKey(event));
		this.canvas.addEventListener("blur", (event) => this.moveTo(null, event));
		this.canvas.addEventListener("click", (event) => this.zoomTo(this.nodeAt(event)));
		this.canvas.addEventListener("pointermove", (event) => onHover(this.nodeAt(event), event));
		this.canvas.addEventListener("pointerleave", (event) => onHover(null, event));
	}

	nodeAt(event) {
		const rect = this.canvas.getBoundingClientRect();
		const x = event.clientX - rect.left, depth = this.turned(Math.floor((event.clientY - rect.top) / FLAME_ROW));
		const found = this.boxes.find((box) => box.depth === depth && x >= box.x && x < box.x + box.width);
		return found ? found.node : null;
	}

	// What a key leads to from a box; undefined: the key is not for the graph.
	boxAfter(key, box) {
		const inRow = this.boxes.filter((other) => other.depth === box.depth).sort((a, b) => a.x - b.x), at = inRow.indexOf(box);
		const isUnder = (other) => box.node.children.has(other.node.key) && box.node.children.get(other.node.key) === other.node;
		const toCaller = () => this.boxes.find((other) => other.node.children.get(box.node.key) === box.node);
		const toCallee = () => this.boxes.find(isUnder);
		const ways = {
			ArrowDown: this.view.isIcicle ? toCallee : toCaller,
			ArrowUp: this.view.isIcicle ? toCaller : toCallee,
			ArrowLeft: () => inRow[at - 1],
			ArrowRight: () => inRow[at + 1],
			Home: () => this.boxes[0],
		};
		return Object.hasOwn(ways, key) ? ways[key]() || box : undefined;
	}

	onKey(event) {
		const box = this.boxes.find((other) => other.node === this.cursor);
		const next = box ? this.boxAfter(event.key, box) : /^(Arrow|Home)/.test(event.key) ? this.boxes[this.trail.length - 1] : undefined;
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		if (next)
			this.moveTo(next.node, event);
		else if (event.key === "Enter" && box)
			this.zoomTo(box.node);
		else if (event.key === "Backspace")
			this.zoomTo(this.trail[this.trail.length - 2]);
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	}

	// Puts the cursor on a node, and tells what it is; null: nowhere.
	moveTo(node, event) {
		this.cursor = node;
		this.draw(this.width);
		const box = this.boxes.find((other) => other.node === node);
		if (!box) {
			this.onHover(null, event);
			return;
		}
		this.showRow(box.depth);
		const rect = this.canvas.getBoundingClientRect();
		this.onHover(node, {clientX: rect.left + box.x, clientY: rect.top + this.topOf(box.depth) + FLAME_ROW});
		this.view.tell("say", visible(node.text) + ", " + this.valueText(node));
	}

	// The row of a depth from the top, and the depth of a row.
	turned(row) {
		return this.view.isIcicle ? row : this.rows - 1 - row;
	}

	// Where a row is, px from the top of the canvas.
	topOf(depth) {
		return this.turned(depth) * FLAME_ROW;
	}

	/** Scrolls to the root: a graph is read from there. */
	showRoot() {
		byId("content").scrollTop = this.view.isIcicle ? 0 : byId("content").scrollHeight;
	}

	/** Puts the root on top, or back to the bottom. */
	turn() {
		this.view.isIcicle = !this.view.isIcicle;
		this.draw(this.width);
		this.showRoot();
		this.view.tell("say", this.view.isIcicle ? "root on top" : "root at the bottom");
	}

	// Scrolls so that a row can be seen.
	showRow(depth) {
		const frame = byId("content").getBoundingClientRect(), top = this.canvas.getBoundingClientRect().top + this.topOf(depth);
		if (top < frame.top)
			byId("content").scrollTop -= frame.top - top;
		else if (top + FLAME_ROW > frame.bottom)
			byId("content").scrollTop += top + FLAME_ROW - frame.bottom;
	}

	/** A node's value for people. */
	valueText(node) {
		const value = this.unit === "ns" ? formatNs(node.value) : node.value.toLocaleString("en") + " " + this.unit;
		return value + ", " + formatShare(node.value, this.root.value);
	}

	zoomTo(node) {
		if (!node)
			return;
		const above = this.trail.indexOf(node);
		this.trail = above >= 0 ? this.trail.slice(0, above + 1) : [...this.trail.slice(0, -1), ...this.pathTo(node)];
		this.draw(this.width);
		this.showRoot();
	}

	// From the node that is zoomed to down to another.
	pathTo(node) {
		const search = (at) => {
			if (at === node)
				return [at];
			for (const inner of at.children.values()) {
				const found = search(inner);
				if (found)
					return [at, ...found];
			}
			return null;
		};
		return search(this.trail[this.trail.length - 1]) || [this.root];
	}

	// The idle causes that the graph has, largest first, in their colours.
	drawLegend() {
		if (this.legendOf === this.view.colours)
			return;
		this.legendOf = this.view.colours;
		const causes = new Map(), {causeByText} = this.view.colours;
		const walk = (node) => {
			if (causeByText.has(node.text))
				causes.set(node.text, (causes.get(node.text) || 0) + node.value);
			for (const inner of node.children.values())
				walk(inner);
		};
		walk(this.root);
		this.legend.replaceChildren(...[...causes].sort((a, b) => b[1] - a[1]).map(([text]) =>
			make("span", "legend", makeSwatch(this.view.colours.idle(text)), text.slice(1, -1))));
	}

	/** Nodes whose text is found, without those above another one; the largest first. */
	matches(search) {
		const found = [];
		const walk = (node) => {
			if (node !== this.root && search.hasText(node.text))
				found.push(node);
			else
				node.children.forEach(walk);
		};
		walk(this.root);
		return found.sort((a, b) => b.value - a.value);
	}

	/** Puts the cursor on a node; zooms to it where its box is too narrow to be seen. */
	goTo(node, event) {
		if (!this.boxes.some((box) => box.node === node && box.width > LEAST_SEEN)) {
			this.trail = [this.root];
			this.zoomTo(node);
		}
		this.moveTo(node, event);
	}

	drawCrumbs() {
		this.crumbs.replaceChildren(...this.trail.slice(-8).map((node) => {
			const button = make("button", null, visible(node.text).slice(0, 60));
			button.type = "button";
			button.addEventListener("click", () => this.zoomTo(node));
			return button;
		}));
		const turn = make("button", null, this.view.isIcicle ? "Root at the bottom" : "Root on top");
		Object.assign(turn, {type: "button", title: "Root on top, or at the bottom (o)"});
		turn.addEventListener("click", () => this.turn());
		this.crumbs.append(make("span", "faint", this.valueText(this.trail[this.trail.length - 1])), turn);
	}

	draw(width) {
		this.width = width;
		const zoomed = this.trail[this.trail.length - 1];
		this.boxes = [];
		this.trail.slice(0, -1).forEach((node, depth) => this.boxes.push({node, x: 0, width, depth, isAbove: true}));
		layBoxes(zoomed, 0, width / Math.max(1, zoomed.value), this.trail.length - 1, this.boxes);
		this.rows = this.boxes.reduce((most, box) => Math.max(most, box.depth + 1), 1);
		sizeCanvas(this.canvas, width, this.rows * FLAME_ROW, this.view.ratio);
		const ctx = this.canvas.getContext("2d");
		ctx.setTransform(this.view.ratio, 0, 0, this.view.ratio, 0, 0);
		ctx.clearRect(0, 0, width, this.rows * FLAME_ROW);
		ctx.textBaseline = "middle";
		ctx.font = FLAME_FONT;
		for (const box of this.boxes)
			this.drawBox(ctx, box);
		this.drawCrumbs();
		this.drawLegend();
	}

	drawCursor(ctx, box, y) {
		ctx.strokeStyle = this.view.colours.theme.text;
		ctx.lineWidth = 2;
		ctx.strokeRect(box.x + 1, y + 1, Math.max(1, box.width - 3), FLAME_ROW - 3);
	}

	drawBox(ctx, box) {
		const isRoot = box.node === this.root;
		const style = isRoot ? this.view.colours.solid(this.view.colours.theme.missing) : this.styleOfBox(this.view, box.node);
		const y = this.topOf(box.depth);
		const alpha = box.isAbove ? 0.6 : this.view.search && !this.view.search.hasText(box.node.text) ? 0.25 : 1;
		ctx.globalAlpha = alpha;
		ctx.fillStyle = style.paint;
		ctx.fillRect(box.x, y, Math.max(0.5, box.width - 0.7), FLAME_ROW - 1);
		ctx.globalAlpha = 1;
		const {model} = this.view;
		const text = fitText(ctx, model && model.shortName ? model.shortName(box.node.text) : box.node.text, box.width - 7);
		if (text) {
			ctx.fillStyle = this.view.colours.inkOver(style, alpha);
			ctx.fillText(text, box.x + 4, y + FLAME_ROW / 2);
		}
		if (box.node === this.cursor)
			this.drawCursor(ctx, box, y);
	}
}
