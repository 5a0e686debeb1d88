// SPDX-License-Identifier: MIT
//
// The page's whole state in one object: what is in view, selected, folded, pinned; and the one frame loop,
// which draws only when something has changed.

import {ChunkStore} from "./data.js";
import {Colours} from "./colours.js";
import {firstCollapsed, layOut} from "./layout.js";

const LEAST_SPAN_NS = 20;
const MOVE_MS = 180;

export class View {
	/**
	 * @param {Model} model
	 * @param {SectionStore} sections
	 * @param {function()} draw puts the state on the screen
	 */
	constructor(model, sections, draw) {
		this.model = model;
		this.sections = sections;
		this.draw = draw;
		this.redraw = () => this.requestFrame();
		this.chunks = new ChunkStore(sections, this.redraw);
		this.lowNs = 0;
		this.highNs = model.wallNs;
		this.from = model.fromNs;
		this.to = model.toNs;
		this.width = this.height = 1;
		this.ratio = 1;
		this.scrollTop = 0;
		this.collapsed = firstCollapsed(model);
		this.pinned = [];
		this.roomy = new Set();
		this.selection = this.linked = this.range = this.search = null;
		this.isIcicle = false; // of flame graphs: the root is on top
		this.marks = [];
		this.pointerX = null;
		this.overview = null;
		this.frames = 0;
		this.listeners = new Map();
		this.setDark(false);
		this.relayout();
	}

	/** Calls action(detail) whenever tell(name) is called. */
	on(name, action) {
		if (!this.listeners.has(name))
			this.listeners.set(name, []);
		this.listeners.get(name).push(action);
	}

	tell(name, detail) {
		for (const action of this.listeners.get(name) || [])
			action(detail);
	}

	/** A frame soon, one for all that asked. */
	requestFrame() {
		if (this.isFrameAsked)
			return;
		this.isFrameAsked = true;
		requestAnimationFrame((now) => {
			this.isFrameAsked = false;
			this.frames++;
			this.stepMove(now);
			this.draw();
		});
	}

	setDark(isDark) {
		this.colours = new Colours(isDark, this.model.head);
		this.overview = null;
		this.redraw();
	}

	relayout() {
		this.layout = layOut(this);
		this.redraw();
	}

	toggleIn(set, id) {
		if (!set.delete(id))
			set.add(id);
		this.relayout();
		this.tell("layout");
	}

	toggleCollapsed(id) {
		this.toggleIn(this.collapsed, id);
	}

	toggleRoomy(id) {
		this.toggleIn(this.roomy, id);
	}

	togglePinned(id) {
		const at = this.pinned.indexOf(id);
		if (at >= 0)
			this.pinned.splice(at, 1);
		else
			this.pinned.push(id);
		this.relayout();
		this.tell("layout");
	}

	/** Unfolds what a track is in. */
	reveal(track) {
		for (let at = track.parent; at; at = at.parent)
			this.collapsed.delete(at.id);
		this.relayout();
	}

	/** Shows [from, to) ns, kept near the run and above a least span. */
	setWindow(from, to) {
		const whole = this.highNs - this.lowNs, span = Math.min(Math.max(to - from, LEAST_SPAN_NS), whole * 1.04);
		const middle = (from + to) / 2, margin = Math.min(span * 0.5, whole * 0.5) + whole * 0.02;
		from = Math.max(this.lowNs - margin, Math.min(middle - span / 2, this.highNs + margin - span));
		this.from = from;
		this.to = from + span;
		this.tell("window");
		this.redraw();
	}

	/** Glides to [from, to) ns; at once where the user wants no motion. */
	moveTo(from, to) {
		if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
			this.setWindow(from, to);
			return;
		}
		this.move = {from: [this.from, from], to: [this.to, to], begin: performance.now()};
		this.redraw();
	}

	stepMove(now) {
		const {move} = this;
		if (!move)
			return;
		const part = Math.min(1, Math.max(0, (now - move.begin) / MOVE_MS)), eased = 1 - Math.pow(1 - part, 3);
		if (part >= 1)
			this.move = null;
		this.setWindow(move.from[0] + (move.from[1] - move.from[0]) * eased, move.to[0] + (move.to[1] - move.to[0]) * eased);
	}

	/** Moves by a share of the width. */
	pan(share) {
		this.move = null;
		const ns = (this.to - this.from) * share;
		this.setWindow(this.from + ns, this.to + ns);
	}

	/** Makes the span factor times as long; the moment at share of the width stays where it is. */
	zoom(factor, share) {
		this.move = null;
		const span = this.to - this.from;
		const next = Math.min(Math.max(span * factor, LEAST_SPAN_NS), (this.highNs - this.lowNs) * 1.04);
		const still = this.from + span * share;
		this.setWindow(still - next * share, still + next * (1 - share));
	}

	/** Shows [from, to) with some room on both sides. */
	fit(from, to) {
		const room = Math.max((to - from) * 0.2, 10);
		this.moveTo(from - room, to + room);
	}

	fitAll() {
		this.moveTo(this.model.fromNs, this.model.toNs);
	}

	/** Selects an item as pick() gives it, or nothing. */
	select(selection) {
		this.selection = selection;
		this.linked = null;
		this.tell("selection", selection);
		this.redraw();
	}

	/** Selects [from, to) ns, of some tracks or (null) of all. */
	setRange(from, to, tracks) {
		this.range = {from: Math.max(this.lowNs, Math.round(from)), to: Math.min(this.highNs, Math.round(to)), tracks};
		if (!(this.range.to > this.range.from))
			this.range = null;
		this.tell("range", this.range);
		this.redraw();
	}

	clearRange() {
		this.range = null;
		this.tell("range", null);
		this.redraw();
	}

	/** Marks a moment, or unmarks it where a mark is near. */
	toggleMark(ns) {
		const near = (this.to - this.from) * 0.004;
		const at = this.marks.findIndex((mark) => Math.abs(mark - ns) < near);
		if (at >= 0)
			this.marks.splice(at, 1);
		else
			this.marks.push(Math.round(ns));
		this.marks.sort((a, b) => a - b);
		this.tell("marks");
		this.redraw();
	}

	nsAt(x) {
		return this.from + x / this.width * (this.to - this.from);
	}
}
