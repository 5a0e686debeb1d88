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
	const mean = walls[1] / diff.new_units - walls[0] / diff.base_units;
	// each device's change is rounded down to a nanosecond
	sums.isExact = sums.change === diff.change_ns && sums.base === walls[0] && sums.changed === walls[1] && Math.abs(mean - sums.change) <= devices.length;
	return sums;
}

/** A row's means per run or iteration, ns: [base, changed, change]. */
export function meansOf(diff, row) {
	return [row.base.value / diff.base_units, row.new.value / diff.new_units, row.change];
}

/** Totals of devices of the comparison, means per run or iteration: [[name, base, changed, change]] ns. */
export function totalsOf(diff, devices) {
	const add = (key) => devices.reduce((sum, device) => sum + (device[key] || 0), 0) / (key.startsWith("base") ? diff.base_units : diff.new_units);
	return ["busy", "idle", "wall"].map((part) => [part === "wall" ? "wall time" : part, add("base_" + part + "_ns"), add("new_" + part + "_ns"),
		devices.reduce((sum, device) => sum + device[part + "_change_ns"], 0)]);
}
