// SPDX-License-Identifier: MIT
//
// Which rows there are: tracks in their order, without those in a collapsed group; pinned ones above.

const LANE = 16; // px, room for a name
const ROOMY_LANES = 8, THIN_LANES_HEIGHT = 128, THINNEST_LANES_HEIGHT = 400, ROW_GAP = 3;
const HEIGHTS = new Map([["process", 24], ["thread", 20], ["device", 26], ["metric", 40], ["counter", 40], ["metrics", 20], ["clock", 22], ["samples", 20], ["group", 20]]);
const FEW_THREADS = 16, FEW_CHARTS = 4, FEW_GROUPS = 3, FEW_PROCESSORS = 16;
const STRIP = 3, STRIPS_MOST = 72; // px

/** Height of a lane, px: many lanes are thin, so that a deep queue fits on the screen; those that got room on demand are not. */
export function laneHeight(view, track) {
	if (HEIGHTS.has(track.kind))
		return HEIGHTS.get(track.kind) - ROW_GAP;
	if (track.lanes <= ROOMY_LANES || view.roomy.has(track.id))
		return LANE;
	const height = Math.max(2, Math.floor(THIN_LANES_HEIGHT / track.lanes));
	return Math.min(height, THINNEST_LANES_HEIGHT / track.lanes);
}

// A group that is folded shows a strip of each of its charts.
function stripsHeight(track) {
	return Math.min(Math.max(chartsIn(track).length * STRIP + ROW_GAP, HEIGHTS.get("metrics")), STRIPS_MOST);
}

/** The charts of a group and of the groups in it. */
export function chartsIn(track) {
	return track.children.flatMap((inner) => inner.kind === "metrics" ? chartsIn(inner) : inner.kind === "counter" ? [inner] : []);
}

function rowHeight(view, track) {
	if (track.kind === "metrics" && view.collapsed.has(track.id))
		return stripsHeight(track);
	if (!track.levels.length && !HEIGHTS.has(track.kind))
		return 18;
	const lanes = HEIGHTS.has(track.kind) ? 1 : track.lanes;
	return Math.ceil(laneHeight(view, track) * lanes) + ROW_GAP;
}

/** Whether a row's lanes are too thin for names, or have got room on demand: then its header offers the other. */
export function canGrow(view, track) {
	return laneHeight(view, track) < LANE - 4 || view.roomy.has(track.id);
}

function hasWork(track) {
	return track.items > 0 && track.kind === "calls" || track.children.some(hasWork);
}

// Groups of threads, and of many processors.
function foldedGroups(model) {
	return model.ofKind("group").filter((group) => group.children.length > (group.parent ? 0 : FEW_PROCESSORS));
}

// Of many threads those without calls.
function idleThreads(model) {
	const threads = model.ofKind("thread").filter((thread) => !model.above(thread, "group"));
	if (threads.length <= FEW_THREADS)
		return [];
	const busy = threads.filter(hasWork).slice(0, FEW_THREADS);
	return threads.filter((thread) => !busy.includes(thread));
}

// Charts of a metric's many parts, and those of all processes where there are many.
function manyCharts(model) {
	const groups = model.ofKind("metrics"), inProcesses = groups.filter((group) => group.parent && group.parent.kind === "process");
	return groups.filter((group) => (group.parent && group.parent.kind === "metrics" && chartsIn(group).length > FEW_CHARTS) ||
		(inProcesses.length > FEW_GROUPS && inProcesses.includes(group)));
}

/** What is collapsed at first. */
export function firstCollapsed(model) {
	return new Set([...foldedGroups(model), ...idleThreads(model), ...manyCharts(model)].map((track) => track.id));
}

// Groups in which nothing was recorded say nothing.
function isEmpty(track) {
	return !track.items && track.kind !== "process" && track.kind !== "device" && track.children.every(isEmpty);
}

function addRow(view, rows, track, depth, y) {
	const height = rowHeight(view, track);
	rows.push({track, depth, y, height, isGroup: track.children.length > 0,
		isCollapsed: view.collapsed.has(track.id)});
	return y + height;
}

/**
 * Rows from top to bottom, y in px from the top of their part.
 * @returns {{pinned: object[], rows: object[], pinnedHeight: number, height: number}}
 */
export function layOut(view) {
	const pinned = [], rows = [];
	let pinnedHeight = 0, height = 0;
	for (const id of view.pinned)
		if (view.model.byId.has(id))
			pinnedHeight = addRow(view, pinned, view.model.byId.get(id), 0, pinnedHeight);
	const walk = (track, depth) => {
		if (isEmpty(track))
			return;
		height = addRow(view, rows, track, depth, height);
		if (!view.collapsed.has(track.id))
			for (const inner of track.children)
				walk(inner, depth + 1);
	};
	for (const track of view.model.roots)
		walk(track, 0);
	return {pinned, rows, pinnedHeight, height};
}
