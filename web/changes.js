// SPDX-License-Identifier: MIT
//
// The comparison in the file, in a form that can be asked: which names of both runs belong together, and its sums.

const ALONE = {gone: "gone", new: "new"};

// Names that a row joins, as they are in the run: a split or fused kernel has several.
function namesIn(name, known) {
	return known.has(name) ? [name] : String(name).split(" + ");
}

/** Names of a row: {base, changed}, lists of names of the runs. An idle row has none. */
export function namesOf(row, known) {
	if (row.cause)
		return {base: [], changed: []};
	return {base: row.match === "new" ? [] : namesIn(row.base_name || row.name, known[0]),
		changed: row.match === "gone" ? [] : namesIn(row.name, known[1])};
}

/** Names of commands of a run. */
export function commandNames(model) {
	const names = new Set();
	for (let i = 0; i * 5 < model.paths.length; i++)
		names.add(model.path(i).name);
	return names;
}

/**
 * Per run what its commands' names mean in the other one: name to {key, alone}. The key is one for all partners; alone: "gone", "new" or "".
 * A name that has a partner on one device is not alone on another.
 */
export function partnersOf(rows, known) {
	const maps = [new Map(), new Map()];
	for (const row of rows) {
		const alone = ALONE[row.match] || "", {base, changed} = namesOf(row, known);
		for (const [side, names] of [base, changed].entries())
			for (const name of names) {
				const old = maps[side].get(name);
				if (!old || (old.alone && !alone) || (row.match === "exact" && old.key !== row.name))
					maps[side].set(name, {key: row.name, alone});
			}
	}
	return maps;
}

/** What the rows add up to, and whether this is what the file says: {base, changed, change, wall, isExact}. ns */
export function sumsOf(diff) {
	const rows = diff.rows || [], devices = diff.devices || [], add = (list, value) => list.reduce((sum, row) => sum + (value(row) || 0), 0);
	const sums = {base: add(rows, (row) => row.base.value), changed: add(rows, (row) => row.new.value), change: add(rows, (row) => row.change)};
	const walls = [add(devices, (device) => device.base_wall_ns), add(devices, (device) => device.new_wall_ns)];
	sums.isExact = sums.change === diff.change_ns && sums.base === walls[0] && sums.changed === walls[1] && sums.changed - sums.base === sums.change;
	return sums;
}

/** Totals of a device of the comparison, or of all: [[name, base, changed]] ns. */
export function totalsOf(devices) {
	const add = (key) => devices.reduce((sum, device) => sum + (device[key] || 0), 0);
	return [["busy", add("base_busy_ns"), add("new_busy_ns")], ["idle", add("base_idle_ns"), add("new_idle_ns")],
		["wall time", add("base_wall_ns"), add("new_wall_ns")]];
}
