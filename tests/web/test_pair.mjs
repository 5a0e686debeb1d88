// SPDX-License-Identifier: MIT
//
// The page with two runs, without a page: what is aligned, which names belong together, what the rows add up to.
//
//	node test_pair.mjs FOLDER
import assert from "node:assert/strict";
import {commonBounds, commonNames, iterationsOf, placeAt, rangesOf} from "../../web/align.js";
import {commandNames, meansOf, namesOf, partnersOf, sumsOf, totalsOf} from "../../web/changes.js";
import {ChunkStore, SectionStore} from "../../web/data.js";
import {Model} from "../../web/model.js";
import {RowSearch} from "../../web/side.js";
import {formatChange, formatChangeShare} from "../../web/strip.js";
import {end, sourceOf, test} from "./harness.mjs";

const folder = process.argv[2];
const amount = (value, count = 1) => ({count, value, runs: 1});
const row = (name, base, changed, more = {}) => ({name, base: amount(base), new: amount(changed), change: changed - base, group: "kernels", match: "exact", ...more});

function spans(...begins) {
	return begins.map((begin) => ({begin, end: begin + 5}));
}

await test("the place that both runs have nearest to the wanted one", () => {
	const lists = [spans(10, 20, 30), spans(100, 150)];
	assert.deepEqual(placeAt(lists, 1), {index: 1, count: 2, origins: [20, 150], spans: [{begin: 20, end: 25}, {begin: 150, end: 155}]});
	assert.equal(placeAt(lists, 2).index, 1);
	assert.equal(placeAt(lists, -4).index, 0);
	assert.deepEqual(placeAt([[], spans(3)], 0), {index: 0, count: 0, origins: [0, 0], spans: [null, null]});
});

await test("neither run is cut, wherever they are aligned", () => {
	assert.deepEqual(commonBounds([0, 0], [100, 70]), {low: 0, high: 100});
	assert.deepEqual(commonBounds([20, 50], [100, 70]), {low: -50, high: 80});
});

await test("names of ranges that both runs have, the longest first", () => {
	const base = new Map([["a", spans(1)], ["b", spans(1, 2, 3)], ["c", spans(1)], ["", spans(1)]]);
	const changed = new Map([["b", spans(1)], ["a", spans(1, 2)], ["d", spans(1)], ["", spans(1)]]);
	assert.deepEqual(commonNames(base, changed), ["b", "a"]);
});

await test("names: renamed, split, gone, new; a partner on one device counts for all", () => {
	const known = [new Set(["old", "one", "x + y", "left", "both"]), new Set(["new", "two", "three", "x + y", "came", "both"])];
	const rows = [row("both", 0, 5, {match: "new", device: 1}), row("new", 1, 1, {base_name: "old", match: "renamed"}),
		row("two + three", 1, 1, {base_name: "one", match: "split"}), row("x + y", 1, 1), row("left", 1, 0, {match: "gone"}), row("came", 0, 1, {match: "new"}),
		row("both", 1, 1, {device: 0}), row("waits", 1, 1, {cause: "api_wait"})];
	const [base, changed] = partnersOf(rows, known);
	assert.deepEqual(Object.fromEntries(base), {old: {key: "new", alone: ""}, one: {key: "two + three", alone: ""}, "x + y": {key: "x + y", alone: ""},
		left: {key: "left", alone: "gone"}, both: {key: "both", alone: ""}});
	assert.deepEqual(Object.fromEntries(changed), {new: {key: "new", alone: ""}, two: {key: "two + three", alone: ""}, three: {key: "two + three", alone: ""},
		"x + y": {key: "x + y", alone: ""}, came: {key: "came", alone: "new"}, both: {key: "both", alone: ""}});
	assert.deepEqual(namesOf(rows[7], known), {base: [], changed: []});
});

await test("the rows add up, or it is said", () => {
	const device = {base_wall_ns: 30, new_wall_ns: 37, base_busy_ns: 10, new_busy_ns: 12, base_idle_ns: 20, new_idle_ns: 25,
		busy_change_ns: 2, idle_change_ns: 5, wall_change_ns: 7};
	const diff = {base_units: 1, new_units: 1, change_ns: 7, devices: [device], rows: [row("k", 10, 12), row("w", 20, 25, {cause: "host"})]};
	assert.deepEqual(sumsOf(diff), {base: 30, changed: 37, change: 7, isExact: true});
	assert.equal(sumsOf({...diff, change_ns: 8}).isExact, false);
	assert.equal(sumsOf({...diff, rows: diff.rows.slice(1)}).isExact, false);
	assert.equal(sumsOf({...diff, devices: [{...device, base_wall_ns: 29}]}).isExact, false);
	assert.deepEqual(totalsOf(diff, [device, device]), [["busy", 20, 24, 4], ["idle", 40, 50, 10], ["wall time", 60, 74, 14]]);
	assert.deepEqual(meansOf({base_units: 2, new_units: 4}, {base: {value: 30}, new: {value: 40}, change: -5}), [15, 10, -5]);
});

await test("changes have a sign", () => {
	assert.deepEqual([formatChange(0), formatChange(1500), formatChange(-7)], ["0", "+1.500 \u00b5s", "\u22127 ns"]);
	assert.deepEqual([formatChangeShare(3, 100), formatChangeShare(-50, 100), formatChangeShare(900, 100), formatChangeShare(2400, 100), formatChangeShare(1, 0)],
		["+3.00 %", "\u221250.0 %", "+900 %", "\u00d7 25.0", "\u2013"]);
});

await test("a row is its commands, on its device, or the idle time of its cause", async () => {
	const sections = new SectionStore(sourceOf(folder + "/scene.html")), model = new Model(await sections.loadJson("head"));
	const name = [...commandNames(model)][0], queue = model.ofKind("queue")[0], device = model.ofKind("device")[0], path = [...Array(model.paths.length / 5).keys()].find((i) => model.path(i).name === name);
	const busy = new RowSearch(model, [name], undefined), idle = new RowSearch(model, [], "api_wait"), cause = model.causes.indexOf("api_wait");
	assert.ok(busy.matches(queue, path) && busy.matches(device, path + 16) && !busy.matches(device, cause));
	assert.ok(!idle.matches(queue, path) && idle.matches(device, cause) && !idle.matches(device, cause + 1));
	assert.ok(!busy.matches(model.ofKind("calls")[0], path));
	assert.ok(new RowSearch(model, [name], undefined, 7).matches({...device, device: 7}, path + 16));
	assert.ok(!new RowSearch(model, [name], undefined, 7).matches({...device, device: 1}, path + 16));
	const store = new ChunkStore(sections, () => null);
	assert.deepEqual(await iterationsOf(model, store), []);
	const ranges = await rangesOf(model, store), count = [...ranges.values()].reduce((sum, list) => sum + list.length, 0);
	assert.equal(count, model.ofKind("ranges").reduce((sum, track) => sum + track.items, 0));
	assert.ok(count > 1 && [...ranges.values()].every((list) => list.every(({begin}, i) => !i || list[i - 1].begin <= begin)));
});

end();
