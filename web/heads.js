// SPDX-License-Identifier: MIT
//
// The column of headers beside the timeline: names, fold, pin. Only rows that are visible have elements.

import {fill, make} from "./dom.js";
import {visible} from "./format.js";
import {canGrow} from "./layout.js";
import {AXIS} from "./place.js";

const TALL = 44; // px

function headButton(className, text, title, isPressed, action) {
	const button = make("button", className, text);
	button.type = "button";
	button.title = title;
	button.setAttribute("aria-label", title);
	if (isPressed !== null)
		button.setAttribute("aria-pressed", String(isPressed));
	button.addEventListener("click", (event) => {
		event.stopPropagation();
		action();
	});
	return button;
}

function headTexts(track) {
	const name = visible(track.name || track.kind);
	const title = [name, track.detail && visible(track.detail), track.items ? track.items.toLocaleString("en") + " items" : ""];
	return [name, title.filter(Boolean).join("\n")];
}

function makeHead(view, row, isPinned) {
	const {track} = row, [name, title] = headTexts(track);
	const head = make("div", "head " + (track.isKnown ? track.kind : "unknown"));
	head.title = title;
	head.dataset.track = track.id;
	const indent = isPinned ? 0 : Math.min(row.depth, 5);
	if (row.isGroup && !isPinned)
		head.append(headButton("fold", row.isCollapsed ? "\u25b8" : "\u25be",
			(row.isCollapsed ? "Expand " : "Collapse ") + name, null, () => view.toggleCollapsed(track.id)));
	else
		head.append(make("span", "fold"));
	head.firstChild.style.marginLeft = indent * 11 + "px";
	const label = make("span", "name", isPinned && track.parent ? visible(view.model.trail(track).slice(-2).join(" \u203a ")) : name);
	head.append(label);
	if (track.detail && row.height >= 34)
		label.append(make("small", null, visible(track.detail)));
	if (canGrow(view, track))
		head.append(headButton("tool", "\u2195", "Room for the names of all " + track.lanes + " lanes", view.roomy.has(track.id),
			() => view.toggleRoomy(track.id)));
	head.append(headButton("tool pin", "pin", isPinned ? "Unpin " + name : "Pin " + name + " to the top", isPinned,
		() => view.togglePinned(track.id)));
	head.addEventListener("click", () => row.isGroup && !isPinned && view.toggleCollapsed(track.id));
	return head;
}

// Of a row that is higher than a few lines the name stays in sight while the row is.
function place(head, top, height, edge) {
	head.style.transform = "translateY(" + top + "px)";
	head.style.height = height + "px";
	head.classList.toggle("tall", height > TALL);
	head.style.paddingTop = height > TALL ? Math.max(0, Math.min(edge - top, height - TALL)) + "px" : "";
}

/** Puts the headers where the rows are; makes them anew where rows have changed. */
export function placeHeads(view, element) {
	const {layout} = view, top = AXIS + layout.pinnedHeight;
	const focused = view.headsOf !== layout && element.contains(document.activeElement) ? document.activeElement : null;
	if (view.headsOf !== layout) {
		view.headsOf = layout;
		view.heads = new Map();
		const below = make("div", "heads-below"), above = make("div", "heads-above"), corner = make("div", "corner");
		corner.style.height = AXIS + "px";
		for (const row of layout.pinned) {
			const head = makeHead(view, row, true);
			place(head, AXIS + row.y, row.height, AXIS);
			above.append(head);
		}
		fill(element, below, above, corner);
		above.style.height = top + "px";
		view.headsBelow = below;
	}
	for (const [row, head] of view.heads)
		if (!isVisible(view, row, top)) {
			head.remove();
			view.heads.delete(row);
		}
	for (const row of layout.rows) {
		if (!isVisible(view, row, top))
			continue;
		if (!view.heads.has(row)) {
			view.heads.set(row, makeHead(view, row, false));
			view.headsBelow.append(view.heads.get(row));
		}
		place(view.heads.get(row), top + row.y - view.scrollTop, row.height, top);
	}
	if (focused)
		focusAgain(element, focused);
}

// Buttons were made anew: the one that had the focus is the one of the same track and kind.
function focusAgain(element, old) {
	const head = old.closest(".head"), kind = old.classList[old.classList.length - 1];
	const again = head && element.querySelector(".head[data-track=\"" + head.dataset.track + "\"] ." + kind);
	if (again)
		again.focus({preventScroll: true});
}

function isVisible(view, row, top) {
	const y = top + row.y - view.scrollTop;
	return y + row.height > top && y < view.height;
}
