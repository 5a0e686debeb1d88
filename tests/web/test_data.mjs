// SPDX-License-Identifier: MIT
//
// Decoding, model and sums of the viewer against files and expectations of make_view.py.
//
//	node test_data.mjs FOLDER	with NAME.html and NAME.json in it
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {AbsentError, Cache, ChunkStore, decodeBase64, decodeChunk, inflate, readVarints, SectionStore} from "../../web/data.js";
import {chooseLevel, chunkRange, countItems, itemRange, Model} from "../../web/model.js";
import {accountOf, flameOfAccount, flameOfSamples, functionsOf, tablesOf, visitItems, Watch, CancelledError} from "../../web/account.js";
import {Search} from "../../web/search.js";
import {end, sourceOf, test} from "./harness.mjs";

const folder = process.argv[2];
const KEYS = {
	slices: ["begin", "duration", "lane", "what", "stack", "link", "extra"],
	calls: ["begin", "duration", "lane", "what", "stack", "link", "extra", "argument"],
	waiting: ["begin", "first", "lane", "second", "what", "link", "extra"],
	samples: ["begin", "weight", "stack", "mode"], metric: ["begin", "value"], clock: ["begin", "value"],
};

async function open(name) {
	const sections = new SectionStore(sourceOf(folder + "/" + name + ".html"));
	const model = new Model(await sections.loadJson("head"));
	return {model, sections, store: new ChunkStore(sections, () => null),
		expected: JSON.parse(readFileSync(folder + "/" + name + ".json", "utf8"))};
}

function signed(value) {
	const out = new Float64Array(1);
	readVarints(Uint8Array.from(value), 0, 1, out, true);
	return out[0];
}

await test("varints: widths, zigzag, beyond 32 and up to 53 bits, cut off", () => {
	const out = new Float64Array(4);
	const bytes = Uint8Array.from([0, 127, 0x80, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 15]);
	assert.equal(readVarints(bytes, 0, 4, out, false), bytes.length);
	assert.deepEqual([...out], [0, 127, 128, 2 ** 53 - 1]);
	assert.deepEqual([signed([0]), signed([1]), signed([2]), signed([3])].map((v) => v + 0), [0, -1, 1, -2]);
	assert.equal(signed([0xff, 0xff, 0xff, 0xff, 0x0f]), -(2 ** 31));
	assert.equal(signed([0x80, 0x80, 0x80, 0x80, 0x20]), 2 ** 32);
	assert.throws(() => readVarints(Uint8Array.from([0x80]), 0, 1, out, false), /ends early/);
	assert.throws(() => decodeChunk(new Uint8Array(3), "calls", 0, 0, 2), /ends early/);
});

await test("base64: all bytes, padding, white space, nonsense", () => {
	for (let length = 0; length < 300; length++) {
		const bytes = Buffer.from(Array.from({length}, (_, i) => i * 7 & 255));
		assert.deepEqual(Buffer.from(decodeBase64("\n" + bytes.toString("base64") + "\n")), bytes);
	}
	assert.throws(() => decodeBase64("ab*d"), /not base64/);
	assert.throws(() => decodeBase64("ab\u2026d"), /not base64/);
});

await test("a stream that was cut off is told", async () => {
	await assert.rejects(inflate(Uint8Array.from([0xed, 0xc1, 0x01])), /cut off/);
});

await test("cache: the longest unused goes, the newest stays even if it is too large", () => {
	const cache = new Cache(10);
	cache.put("a", 1, 4);
	cache.put("b", 2, 4);
	cache.get("a");
	cache.put("c", 3, 4);
	assert.deepEqual([cache.get("a"), cache.get("b"), cache.get("c"), cache.bytes], [1, null, 3, 8]);
	cache.put("d", 4, 40);
	assert.deepEqual([...cache.entries.keys()], ["d"]);
	cache.put("d", 4, 4);
	assert.equal(cache.bytes, 4);
});

for (const name of ["small", "scene", "hostile", "texts", "many"])
	await test(name + ": every item comes back", async () => {
		const {model, store, expected} = await open(name);
		let seen = 0;
		const withItems = model.tracks.filter((track) => track.items);
		assert.equal(withItems.length, expected.items.length);
		for (const [number, track] of withItems.entries()) {
			const keys = KEYS[track.kind] || KEYS.slices;
			const got = keys.map(() => []);
			for (let i = 0; i < track.levels[0].chunks.length; i++) {
				const chunk = await store.load(track, 0, i);
				keys.forEach((key, column) => got[column].push(...chunk[key]));
			}
			assert.deepEqual(got, expected.items[number].columns, track.name.slice(0, 40));
			seen += got[0].length;
		}
		assert.ok(seen > 30);
	});

for (const name of ["small", "scene", "many"])
	await test(name + ": bins have all items and all of the time", async () => {
		const {model, store} = await open(name);
		for (const track of model.tracks.filter((t) => t.items && model.isSlices(t))) {
			const sums = [];
			for (let level = 0; level < track.levels.length; level++) {
				let count = 0, covered = 0;
				for (let i = 0; i < track.levels[level].chunks.length; i++) {
					const chunk = await store.load(track, level, i);
					for (let k = 0; k < chunk.items; k++) {
						const isBusy = track.kind !== "device" || chunk.what[k] >= 16;
						count += level ? chunk.count[k] : 1;
						covered += level ? chunk.covered[k] : isBusy ? chunk.duration[k] : 0;
					}
				}
				sums.push([count, covered]);
			}
			for (const sum of sums)
				assert.deepEqual(sum, sums[0], track.kind);
		}
	});

for (const name of ["small", "scene", "many"])
	await test(name + ": the account of a range, to the nanosecond", async () => {
		const {model, store, expected} = await open(name);
		const device = model.ofKind("device")[0];
		for (const range of expected.accounts) {
			const sum = await accountOf(model, store, device, range.from, range.to, new Watch());
			const causes = Object.fromEntries(sum.causes.map((ns, i) => [i, ns]).filter(([, ns]) => ns));
			assert.deepEqual(causes, range.causes);
			assert.deepEqual(Object.fromEntries(sum.byPath), range.paths);
			assert.equal(sum.busyNs + sum.idleNs, range.to - range.from);
			assert.equal(sum.classes.reduce((a, b) => a + b), sum.busyNs);
			const flame = flameOfAccount(model, sum);
			assert.equal(flame.value, range.to - range.from);
			assert.equal(functionsOf(flame).reduce((a, f) => a + f.self, 0), flame.value);
			assert.ok(sum.isExact);
		}
	});

await test("tables: what overlaps the range, with whole durations", async () => {
	const {model, store, expected} = await open("scene");
	const from = 5e6, to = 9e6;
	const tables = await tablesOf(model, store, model.tracks, from, to, new Watch());
	const want = new Map(), failed = new Map();
	model.tracks.filter((t) => t.items).forEach((track, n) => {
		if (track.kind === "calls") {
			const [begin, duration, , what, , , result] = expected.items[n].columns;
			begin.forEach((b, i) => b < to && b + duration[i] > from && result[i] && model.name(what[i]) === "clFinish" && failed.set(b, result[i]));
		}
		if (track.kind !== "queue")
			return;
		const [begin, duration, , what] = expected.items[n].columns;
		begin.forEach((b, i) => {
			if (b < to && b + duration[i] > from && model.path(what[i]).cls === 0)
				want.set(model.path(what[i]).name, (want.get(model.path(what[i]).name) || 0) + duration[i]);
		});
	});
	assert.deepEqual(new Map(tables.kernels.map((r) => [r.name, r.totalNs])), new Map([...want].sort((a, b) => b[1] - a[1])));
	assert.ok(want.size > 2);
	assert.equal(tables.copies[0].name, "read");
	// as duet report counts them: a result below 0 is OpenCL's, one above is what others call an error
	assert.equal(tables.calls.find((r) => r.name === "clFinish").failed, failed.size);
	assert.deepEqual(new Set(failed.values()), new Set([-5, 600]));
	assert.equal(tables.calls.find((r) => r.name === "clSetKernelArg").failed, 0);
});

await test("flame graph of samples: all weight, functions once", async () => {
	const {model, store, expected} = await open("scene");
	const root = await flameOfSamples(model, store, model.tracks, 0, model.wallNs, new Watch());
	const weight = expected.items.filter((t) => t.kind === "samples").flatMap((t) => t.columns[1]).reduce((a, b) => a + b);
	assert.equal(root.value, weight);
	assert.equal(functionsOf(root).find((f) => f.text === "main").total, weight);
});

await test("levels: few items a pixel, the finest that is so", async () => {
	const {model} = await open("many");
	const calls = model.ofKind("calls")[0];
	for (const [from, to] of [[0, model.wallNs], [1e9, 1.1e9], [1e9, 1.001e9], [1e9, 1e9 + 100]]) {
		const level = chooseLevel(calls, from, to, 1000, 4);
		assert.ok(countItems(calls.levels[level], from, to) <= 4000);
		assert.ok(level === 0 || countItems(calls.levels[level - 1], from, to) > 4000);
	}
	assert.equal(chooseLevel(calls, 0, model.wallNs, 1000, 4) > 0, true);
	assert.equal(chooseLevel(calls, 1e9, 1e9 + 100, 1000, 4), 0);
	assert.equal(chooseLevel(model.ofKind("process")[0], 0, 1, 1000, 4), -1);
});

await test("ranges of chunks and items: nothing that overlaps is missed", async () => {
	const {model, store, expected} = await open("many");
	const number = model.tracks.filter((t) => t.items).findIndex((t) => t.kind === "queue");
	const track = model.tracks.filter((t) => t.items)[number];
	const [begin, duration] = expected.items[number].columns;
	for (const [from, to] of [[0, 1], [1e9, 1.001e9], [2.9e9, 3e9], [begin[17], begin[17] + 1]]) {
		const want = begin.filter((b, i) => b < to && b + duration[i] > from).length;
		let got = 0;
		await visitItems(store, track, from, to, new Watch(), () => got++);
		assert.equal(got, want);
		const [first, last] = chunkRange(track.levels[0], from, to);
		assert.ok(last - first <= 2 || to - from > 1e6);
	}
	const chunk = await store.load(track, 0, 0);
	assert.deepEqual(itemRange(chunk, -10, -5), [0, 0]);
});

await test("texts in their own section: before and after they are read", async () => {
	const {model, sections} = await open("texts");
	assert.equal(model.hasTexts, false);
	assert.equal(model.leaf(13).name, "\u2026");
	await model.loadTexts(sections);
	assert.ok(model.stackFrames(13).length === 6);
	assert.equal(model.leaf(13).name, "clEnqueueNDRangeKernel");
});

await test("a file that was cut off: what is there is read, what is not says so", async () => {
	const {store, sections, model} = await open("cut");
	assert.equal(sections.source.has("end"), false);
	const track = model.ofKind("calls")[0];
	assert.ok((await store.load(track, 0, 0)).items > 0);
	const other = new SectionStore({has: () => false, isWhole: () => true});
	const empty = new ChunkStore(other, () => null);
	await assert.rejects(empty.load(track, 0, 0), AbsentError);
	assert.ok(empty.whyAbsent(track, 0, 0) instanceof AbsentError);
});

await test("a section that the parser has not come to is waited for, and does not hold up others", async () => {
	const {sections, model} = await open("many");
	const last = model.ofKind("calls")[0], first = model.ofKind("device")[0];
	const late = last.levels[0].chunks[3], missing = "s" + late[2];
	let isThere = false, loaded = 0;
	const source = {...sections.source, isWhole: () => isThere, has: (id) => isThere || id !== missing};
	const growing = new SectionStore(source);
	const store = new ChunkStore(growing, () => loaded++);
	const top = first.levels.length - 1;
	store.want([[last, 0, 3], [last, 0, 3], [last, 0, 3], [last, 0, 3], [first, top, 0]]);
	for (let tries = 0; tries < 1000 && !loaded; tries++) // a busy machine takes its time
		await new Promise((resolve) => setTimeout(resolve, 10));
	assert.equal(loaded, 1);
	assert.ok(store.peek(first, top, 0));
	const waited = store.load(last, 0, 3);
	isThere = true;
	growing.wake();
	assert.ok((await waited).items > 0);
});

await test("fine levels left out: an account is an estimate and says so", async () => {
	const {model, store} = await open("levels");
	const device = model.ofKind("device")[0];
	assert.ok(device.levels[0].binNs > 0);
	const sum = await accountOf(model, store, device, 0, model.wallNs, new Watch());
	assert.equal(sum.isExact, false);
	assert.equal(Math.round(sum.busyNs), model.report.devices[0].busy_ns);
	assert.equal((await tablesOf(model, store, model.tracks, 0, model.wallNs, new Watch())).isExact, false);
	assert.equal(flameOfAccount(model, sum).isExact, false);
	const idle = [...flameOfAccount(model, sum).children.values()].filter((node) => node.text.startsWith("idle"));
	assert.equal(Math.round(idle.reduce((ns, node) => ns + node.value, 0)), Math.round(sum.causes.reduce((a, b) => a + b)));
	const samples = await flameOfSamples(model, store, model.tracks, 0, model.wallNs, new Watch());
	assert.deepEqual([samples.value, samples.isExact], [0, false]);
	assert.ok(new Search(model, "a").countUnsearched() > 3);
});

await test("a sum that nobody waits for ends", async () => {
	const {model, store} = await open("many");
	const watch = new Watch();
	watch.cancel();
	await assert.rejects(accountOf(model, store, model.ofKind("device")[0], 0, model.wallNs, watch), CancelledError);
});

await test("heads with little in them", () => {
	for (const head of [{}, {tracks: [{}]}, {tracks: [{kind: "calls", parent: 9}], names: []}, {report: "x", stacks: [0, 0, 5, 5]}]) {
		const model = new Model(head);
		assert.ok(model.wallNs >= 1);
		assert.equal(model.name(12), "name 12");
		assert.deepEqual(model.stackFrames(1).length <= 1, true);
		assert.equal(model.path(3).name, "path 3");
	}
	assert.equal(new Model({tracks: [{kind: "constructor"}]}).tracks[0].isKnown, false);
});

end();
