// SPDX-License-Identifier: MIT
//
// Counters: readings, bins, sums over a range against brute force, which of them are folded, what a search finds.
//
//	node test_counters.mjs FOLDER
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {Watch} from "../../web/account.js";
import {shownItem, statisticsOf, valueAxis} from "../../web/counters.js";
import {ChunkStore, SectionStore} from "../../web/data.js";
import {formatValue} from "../../web/format.js";
import {chartsIn, firstCollapsed, layOut} from "../../web/layout.js";
import {Model} from "../../web/model.js";
import {pick} from "../../web/place.js";
import {Search} from "../../web/search.js";
import {end, sourceOf, test} from "./harness.mjs";

const folder = process.argv[2];
const sections = new SectionStore(sourceOf(folder + "/counters.html"));
const model = new Model(await sections.loadJson("head")), chunks = new ChunkStore(sections, () => null);
const expected = JSON.parse(readFileSync(folder + "/counters.json", "utf8"));
const charts = model.tracks.filter((track) => track.items);

function near(got, want, what) {
	assert.ok(Math.abs(got - want) <= 1e-9 * Math.max(1, Math.abs(want)), what + ": " + got + ", not " + want);
}

// Means and extremes by brute force; a reading counts as much as lies in the range.
function bruteForce(track, {columns: [begin, duration, value, of]}, from, to) {
	const sum = {value: 0, by: 0, least: Infinity, most: -Infinity, readings: 0, coveredNs: 0};
	begin.forEach((at, i) => {
		const inside = Math.min(at + duration[i], to) - Math.max(at, from);
		if (inside <= 0)
			return;
		const part = inside / duration[i], by = {level: 1, amount: duration[i] / 1e9, ratio: of[i]}[track.type];
		sum.readings++;
		sum.coveredNs += inside;
		sum.value += value[i] * (track.type === "level" ? inside : part);
		sum.by += track.type === "level" ? inside : by * part;
		sum.least = Math.min(sum.least, value[i] / by * track.factor);
		sum.most = Math.max(sum.most, value[i] / by * track.factor);
	});
	return {...sum, mean: sum.value / sum.by * track.factor};
}

await test("every reading comes back, and what it shows", async () => {
	for (const [number, track] of charts.entries()) {
		const got = [[], [], [], []], keys = ["begin", "duration", "value", "of"];
		for (let i = 0; i < track.levels[0].chunks.length; i++) {
			const chunk = await chunks.load(track, 0, i);
			keys.forEach((key, column) => got[column].push(...chunk[key]));
		}
		assert.deepEqual(got, expected.items[number].columns, track.name);
		const {item} = pick(track, 0, 0, await chunks.load(track, 0, 0), 7), row = got.map((column) => column[7]);
		near(shownItem(track, item), row[2] / {level: 1, amount: row[1] / 1e9, ratio: row[3]}[track.type] * track.factor, track.name);
	}
});

await test("means, extremes and what is known of a range, with the gap and without", async () => {
	for (const [from, to] of [[0, model.wallNs], [1e9, 1.5e9], [4.3e9, 5.2e9], [123456789, 123456790]])
		for (const [number, track] of charts.entries()) {
			const got = await statisticsOf(chunks, track, from, to, new Watch()), want = bruteForce(track, expected.items[number], from, to);
			for (const key of ["readings", "least", "most", "coveredNs", "mean"])
				near(got[key], want[key], track.name + " " + key);
			assert.ok(got.isExact);
		}
	const none = await statisticsOf(chunks, charts[0], model.wallNs + 10, model.wallNs + 20, new Watch());
	assert.deepEqual([none.readings, none.coveredNs, Number.isNaN(none.mean)], [0, 0, true]);
});

await test("without the items their bins tell it, as an estimate", async () => {
	const track = charts[0], cut = {...track, id: "cut", levels: track.levels.slice(1)};
	assert.ok(cut.levels.length >= 1);
	const got = await statisticsOf(chunks, cut, 0, model.wallNs, new Watch()), want = bruteForce(track, expected.items[0], 0, model.wallNs);
	assert.equal(got.isExact, false);
	assert.ok(Math.abs(got.mean - want.mean) < 0.01, got.mean + " " + want.mean);
	assert.deepEqual([got.least, got.most, got.coveredNs, got.readings], [want.least, want.most, want.coveredNs, want.readings]);
});

await test("the axis: from 0 or below, to what there can be or the run's largest", async () => {
	const view = {chunks, redraw: () => null};
	assert.equal(valueAxis(view, charts[1]), null, "not known before a chunk is there");
	for (const track of charts)
		for (let i = 0; i < track.levels[track.levels.length - 1].chunks.length; i++)
			await chunks.load(track, track.levels.length - 1, i);
	const [memory, depth, , busy] = charts.map((track) => valueAxis(view, track));
	assert.deepEqual([memory.high, memory.hasLimit, busy.high, busy.hasLimit], [1000, true, 100, true]);
	assert.deepEqual([depth.low, depth.high, depth.hasLimit], [-50, 999, false]);
});

await test("a metric of many parts is folded, the others are not", () => {
	const collapsed = firstCollapsed(model), names = (set) => [...set].map((id) => model.byId.get(id).name);
	assert.deepEqual(names(collapsed), ["temperature"]);
	const group = model.tracks.find((track) => track.name === "temperature");
	assert.equal(chartsIn(group).length, 6);
	const rows = layOut({model, collapsed, pinned: [], roomy: new Set()}).rows.map((row) => row.track.name);
	assert.deepEqual(rows, ["python3 4242", "metrics", "process.memory", "system", "queue.depth", "disk.read sda", "cpu.busy", "temperature"]);
});

await test("a search finds charts, and of a metric's parts the group", () => {
	const found = (text) => new Search(model, text).metrics().map((track) => track.name);
	assert.deepEqual([found("TEMP"), found("zone 3"), found("disk"), found("nothing")], [["temperature"], ["temperature zone 3"], ["disk.read sda"], []]);
	assert.ok(new Search(model, "temperature").matchesMetric(charts[5]));
	assert.ok(!new Search(model, "system").matchesMetric(charts[1]));
});

await test("values with their units", () => {
	assert.deepEqual([formatValue(1, "MB/s"), formatValue(1, "processors"), formatValue(12.3456, "%"), formatValue(1234.56, "W"), formatValue(-2048, "bytes")],
		["1 MB/s", "1 processor", "12.346 %", "1,234.6 W", "\u22122.00 KiB"]);
});

end();
