// SPDX-License-Identifier: MIT
//
// Mouse, wheel and keys over the timeline.

import {AXIS, itemAt, rowAt} from "./place.js";
import {byId} from "./dom.js";

const CLICK_SLOP = 4;
const PAN_SPEED = 0.9, ZOOM_SPEED = 2.2; // widths, factors of e a second
const HELD_AFTER_MS = 150;
const HELD_KEYS = new Map([["a", ["pan", -1]], ["d", ["pan", 1]], ["arrowleft", ["pan", -1]], ["arrowright", ["pan", 1]],
	["w", ["zoom", -1]], ["s", ["zoom", 1]]]);

export function placeIn(canvas, event) {
	const box = canvas.getBoundingClientRect();
	return [event.clientX - box.left, event.clientY - box.top];
}

// Tracks with items that a box from one height to another touches.
function tracksBetween(view, y0, y1) {
	const tracks = new Set();
	for (let y = Math.min(y0, y1); y <= Math.max(y0, y1); y += 2) {
		const at = rowAt(view, y);
		if (at)
			addWithInner(view.model, at.row, tracks);
	}
	return [...tracks];
}

function addWithInner(model, row, tracks) {
	tracks.add(row.track);
	const addInner = (track) => {
		tracks.add(track);
		track.children.forEach(addInner);
	};
	if (row.isCollapsed || model.isHeading(row.track))
		row.track.children.forEach(addInner);
}

// Wheel: with Ctrl, over the axis, and where there is nothing to scroll it zooms; with Shift or sideways it moves.
function listenToWheel(view, canvas) {
	canvas.addEventListener("wheel", (event) => {
		const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 200 : 1;
		const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
		const [x, y] = placeIn(canvas, event);
		const scroller = byId("scroller"), canScroll = scroller.scrollHeight > scroller.clientHeight + 1;
		if (event.ctrlKey || event.metaKey || y < AXIS || (!canScroll && !event.shiftKey && Math.abs(dy) >= Math.abs(dx))) {
			event.preventDefault();
			view.zoom(Math.exp(Math.max(-1, Math.min(1, dy * 0.004))), x / view.width);
		} else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) {
			event.preventDefault();
			view.pan((Math.abs(dx) > Math.abs(dy) ? dx : dy) / view.width);
		}
	}, {passive: false});
}

function startDrag(view, event, x, y) {
	const isRange = event.shiftKey || y < AXIS;
	return {x, y, lastX: x, lastY: y, isRange, hasMoved: false, fromNs: view.nsAt(x), isAxis: y < AXIS};
}

function moveDrag(view, drag, x, y) {
	if (!drag.hasMoved && Math.hypot(x - drag.x, y - drag.y) < CLICK_SLOP)
		return;
	drag.hasMoved = true;
	if (drag.isRange) {
		const to = view.nsAt(Math.max(0, Math.min(view.width, x)));
		view.range = {from: Math.min(drag.fromNs, to), to: Math.max(drag.fromNs, to), tracks: null};
		view.redraw();
		return;
	}
	view.pan((drag.lastX - x) / view.width);
	byId("scroller").scrollTop += drag.lastY - y;
	drag.lastX = x;
	drag.lastY = y;
}

function endDrag(view, drag, y) {
	if (!drag.hasMoved || !drag.isRange)
		return;
	const {from, to} = view.range;
	view.setRange(from, to, drag.isAxis ? null : tracksBetween(view, drag.y, y));
}

function listenToPointer(view, canvas) {
	let drag = null;
	canvas.addEventListener("pointerdown", (event) => {
		if (event.button !== 0)
			return;
		drag = startDrag(view, event, ...placeIn(canvas, event));
		view.move = null;
		canvas.setPointerCapture(event.pointerId);
		canvas.focus({preventScroll: true});
	});
	canvas.addEventListener("pointermove", (event) => {
		const [x, y] = placeIn(canvas, event);
		view.pointerX = x;
		canvas.style.cursor = y < AXIS || event.shiftKey ? "crosshair" : drag && drag.hasMoved ? "grabbing" : "default";
		if (drag)
			moveDrag(view, drag, x, y);
		view.tell("hover", drag && drag.hasMoved ? null : {x, y, clientX: event.clientX, clientY: event.clientY});
		view.redraw();
	});
	const finish = (event) => {
		if (!drag)
			return;
		const [x, y] = placeIn(canvas, event), done = drag;
		drag = null;
		endDrag(view, done, y);
		if (!done.hasMoved && event.type === "pointerup")
			clickAt(view, x, y, event);
	};
	canvas.addEventListener("pointerup", finish);
	canvas.addEventListener("pointercancel", finish);
	canvas.addEventListener("pointerleave", () => {
		view.pointerX = null;
		view.tell("hover", null);
		view.redraw();
	});
	canvas.addEventListener("dblclick", (event) => {
		const [x, y] = placeIn(canvas, event);
		if (y < AXIS && view.range)
			view.fit(view.range.from, view.range.to);
		else
			fitItem(view, itemAt(view, x, y));
	});
}

function clickAt(view, x, y) {
	if (y < AXIS)
		view.clearRange();
	else
		view.select(itemAt(view, x, y));
}

/** Zooms to an item as pick() gives it, if there is one. A moment has no length: what is around it is shown, as much the second time. */
export function fitItem(view, picked) {
	if (!picked)
		return;
	const {begin, duration, binNs} = picked.item, length = binNs || duration;
	if (length) {
		view.fit(begin, begin + length);
		return;
	}
	const span = Math.min(view.to - view.from, momentSpan(view));
	view.moveTo(begin - span / 2, begin + span / 2);
}

/** How much of a run is shown around a moment, ns. */
export function momentSpan(view) {
	return view.model.wallNs / 200;
}

/** Moves to an item that cannot be seen, and zooms to one that is too short for it. */
export function bringIntoView(view, picked) {
	const {begin, duration} = picked.item, span = view.to - view.from;
	if (duration > 0 && duration * view.width / span < 4)
		fitItem(view, picked);
	else if (begin > view.to || begin + duration < view.from)
		view.moveTo(begin - span / 2, begin + span / 2);
}

/** Shows what is selected: an item, else a range. */
export function fitSelection(view) {
	if (view.selection)
		fitItem(view, view.selection);
	else if (view.range)
		view.fit(view.range.from, view.range.to);
}

function act(view, [what, direction], amount) {
	const share = view.pointerX === null ? 0.5 : view.pointerX / view.width;
	if (what === "pan")
		view.pan(direction * amount);
	else
		view.zoom(Math.exp(direction * amount * ZOOM_SPEED / PAN_SPEED), share);
}

// A key that is held moves on, as fast on a slow machine as on a fast one.
export function listenToHeldKeys(view) {
	const held = new Map();
	let last = 0;
	const step = (now) => {
		const seconds = Math.min(0.1, (now - last) / 1000);
		last = now;
		for (const [key, since] of held)
			if (now - since > HELD_AFTER_MS)
				act(view, HELD_KEYS.get(key), seconds * PAN_SPEED);
		if (held.size)
			requestAnimationFrame(step);
	};
	document.addEventListener("keydown", (event) => {
		const key = event.key.toLowerCase();
		const isInPane = key.startsWith("arrow") && byId("content").contains(event.target);
		if (isTyping(event) || isInPane || event.ctrlKey || event.metaKey || event.altKey || !HELD_KEYS.has(key))
			return;
		event.preventDefault();
		if (held.has(key))
			return;
		act(view, HELD_KEYS.get(key), event.shiftKey ? 0.4 : 0.1);
		last = performance.now();
		held.set(key, last);
		requestAnimationFrame(step);
	});
	document.addEventListener("keyup", (event) => held.delete(event.key.toLowerCase()));
	window.addEventListener("blur", () => held.clear());
}

/** Whether a key goes into a field, and is no command. */
export function isTyping(event) {
	return event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
}

/** A drag over the overview moves the view there, an arrow by its width. */
export function listenToOverview(view, canvas) {
	let isDown = false;
	const go = (event) => {
		const [x] = placeIn(canvas, event), span = view.to - view.from;
		const ns = view.lowNs + x / canvas.clientWidth * (view.highNs - view.lowNs);
		view.move = null;
		view.setWindow(ns - span / 2, ns + span / 2);
	};
	canvas.addEventListener("pointerdown", (event) => {
		isDown = true;
		canvas.setPointerCapture(event.pointerId);
		go(event);
	});
	canvas.addEventListener("pointermove", (event) => isDown && go(event));
	canvas.addEventListener("pointerup", () => isDown = false);
	canvas.addEventListener("keydown", (event) => {
		const span = view.to - view.from, begin = {ArrowLeft: view.from - span, ArrowRight: view.to, Home: view.lowNs, End: view.highNs - span}[event.key];
		if (begin === undefined || event.ctrlKey || event.metaKey || event.altKey)
			return;
		event.preventDefault();
		event.stopPropagation();
		view.moveTo(begin, begin + span);
	});
	canvas.addEventListener("wheel", (event) => {
		event.preventDefault();
		view.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * 0.004))), 0.5);
	}, {passive: false});
}

/** Makes the timeline and the overview answer. */
export function listenToInput(view, timeline, overview) {
	listenToWheel(view, timeline);
	listenToPointer(view, timeline);
	listenToHeldKeys(view);
	listenToOverview(view, overview);
}
