// SPDX-License-Identifier: MIT
//
// One of two timelines: a view that moves with its twin, and gives matched commands one colour on both sides.

import {visitItems} from "./account.js";
import {Colours} from "./colours.js";
import {pick} from "./place.js";
import {View} from "./view.js";

const ALONE_HATCHES = new Map([["gone", "cross"], ["new", "dense"]]);

class SideColours extends Colours {
	constructor(isDark, head, partners) {
		super(isDark, head);
		this.partners = partners;
	}

	path(path) {
		const partner = this.partners.get(path.name);
		if (path.cls !== 0 || !partner)
			return super.path(path);
		if (partner.alone)
			return this.hatched(this.named(partner.key).fill, ALONE_HATCHES.get(partner.alone));
		return this.named(partner.key);
	}
}

export class SideView extends View {
	/** @param {Map} partners as partnersOf() gives them @param {object} elements of the page: scroller, heads, timeline ... */
	constructor(model, sections, draw, partners, elements) {
		super(model, sections, draw);
		this.partners = partners;
		this.elements = elements;
		this.origin = 0;
		this.twin = null;
		for (const [name, {alone}] of partners)
			if (alone)
				model.shortNames.set(name, alone + ": " + model.shortName(name));
	}

	setDark(isDark) {
		super.setDark(isDark);
		this.colours = new SideColours(isDark, this.model.head, this.partners || new Map());
	}

	setWindow(from, to) {
		super.setWindow(from, to);
		if (this.twin)
			this.twin.follow(this);
	}

	/** Shows the same part as the twin, by its distance to the aligned moment. */
	follow(twin) {
		const shift = this.origin - twin.origin;
		this.move = null;
		this.from = twin.from + shift;
		this.to = twin.to + shift;
		this.redraw();
	}

	/** Where the aligned moment is, and what can be in view around it; ns of this run, and from that moment. */
	setOrigin(origin, {low, high}) {
		const shift = origin - this.origin;
		this.origin = origin;
		this.lowNs = origin + low;
		this.highNs = origin + high;
		this.from += shift;
		this.to += shift;
		this.overview = null;
		this.redraw();
	}

	fitAll() {
		this.moveTo(this.lowNs, this.highNs);
	}

	/** Marks a part, or (null) nothing. */
	showSpan(span) {
		this.range = span && span.end > span.begin ? {from: span.begin, to: span.end, tracks: null} : null;
		this.redraw();
	}

	setPointer(x) {
		this.pointerX = x;
		this.redraw();
	}
}

/** Makes two views move together. */
export function joinViews(base, changed) {
	base.twin = changed;
	changed.twin = base;
}

/** What a row of the comparison is in a run: a search that matches its commands, or the idle time of its cause. */
export class RowSearch {
	/** @param {string[]} names of commands @param {?string} cause of idle time @param {number=} device the row's; undefined: any */
	constructor(model, names, cause, device) {
		this.model = model;
		this.text = "";
		this.device = device;
		this.paths = new Set();
		for (let i = 0; i * 5 < model.paths.length; i++)
			if (names.includes(model.path(i).name))
				this.paths.add(i);
		this.cause = cause ? model.causes.indexOf(cause) : -1;
	}

	matches(track, what) {
		if (this.device !== undefined && track.device !== undefined && track.device !== this.device)
			return false;
		const path = this.model.pathOf(track, what);
		return path >= 0 ? this.paths.has(path) : this.cause >= 0 && this.model.causeOf(track, what) === this.cause && !track.unmeasured;
	}

	matchesMetric() {
		return false;
	}

	/** The longest item of the row in [from, to) ns, as pick() gives it; null: none. Of equal ones the first. */
	async longest(store, from, to, watch) {
		const kinds = this.cause >= 0 ? ["device"] : ["queue", "transfers"];
		let best = null, length = -1;
		for (const track of this.model.tracks.filter(({kind}) => kinds.includes(kind)))
			await visitItems(store, track, from, to, watch, (chunk, i, begin, end, index) => {
				if (chunk.duration[i] > length && this.matches(track, chunk.what[i])) {
					length = chunk.duration[i];
					best = pick(track, 0, index, chunk, i);
				}
			});
		return best;
	}
}
