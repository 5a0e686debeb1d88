// SPDX-License-Identifier: MIT
//
// What an item of a track looks like.

/** What the report says of calls of that name: whether they launch, wait; null where it says nothing. */
export function callTraits(view, name) {
	if (!view.callTraits) {
		view.callTraits = new Map();
		for (const call of view.model.report && view.model.report.api || [])
			view.callTraits.set(call.name, call);
	}
	return view.callTraits.get(name) || null;
}

function makeStyle(view, track, what, isLaunch) {
	const {colours, model} = view;
	const path = model.pathOf(track, what), cause = model.causeOf(track, what), name = model.itemName(track, what);
	if (path >= 0)
		return colours.path(model.path(path));
	if (cause >= 0 && track.unmeasured)
		return colours.unmeasured();
	if (cause >= 0)
		return colours.cause(model.causes[cause] || "unknown");
	if (track.kind === "rejected")
		return colours.rejected();
	if (track.kind === "iterations")
		return name === "iteration" ? colours.call(false, false) : colours.slow();
	const traits = track.kind === "calls" && callTraits(view, name);
	if (traits)
		return colours.call(isLaunch || traits.launches, traits.waits);
	if (track.kind === "off")
		return colours.off(name);
	if (track.kind === "samples") {
		const leaf = model.leaf(what);
		return leaf ? colours.frame(leaf.cls, leaf.name) : colours.solid("#9aa0a8");
	}
	return colours.named(name);
}

/** The style of an item of a track, by what it is. A range has the colour that its program chose, if it chose one. */
export function styleOf(view, track, what, link, extra = 0) {
	const colour = track.kind === "ranges" && extra > 0 ? view.model.rangeOf(extra).colour : "";
	if (colour)
		return view.colours.solid(colour);
	const isLaunch = link > 0, table = view.colours.tableOf(track.unmeasured ? "unmeasured" : track.kind), key = what * 2 + (isLaunch ? 1 : 0);
	let style = table.get(key);
	if (!style) {
		style = makeStyle(view, track, what, isLaunch);
		table.set(key, style);
	}
	return style;
}

/** The styles of a waiting command's two zones. */
export function waitingStyles(view) {
	return [view.colours.hatched("#e69f00", "rise"), view.colours.hatched("#56b4e9", "fall")];
}
