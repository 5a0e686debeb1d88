// SPDX-License-Identifier: MIT
//
// Search, the ends of a launch, rows: what is found in a file, against all of its items.
//
//	node test_find.mjs FOLDER
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {ChunkStore, SectionStore} from "../../web/data.js";
import {Model} from "../../web/model.js";
import {Watch} from "../../web/account.js";
import {momentPlace, Search} from "../../web/search.js";
import {findEvidence} from "../../web/findings.js";
import {findPlace, shownCauses} from "../../web/verdict.js";
import {findLinked} from "../../web/links.js";
import {threadsMeanwhile} from "../../web/meanwhile.js";
import {pick} from "../../web/place.js";
import {firstCollapsed, laneHeight, layOut} from "../../web/layout.js";
import {end, sourceOf, test} from "./harness.mjs";

const folder = process.argv[2];

async function open(name) {
	const sections = new SectionStore(sourceOf(folder + "/" + name + ".html"));
	const model = new Model(await sections.loadJson("head"));
	const expected = JSON.parse(readFileSync(folder + "/" + name + ".json", "utf8"));
	return {model, chunks: new ChunkStore(sections, () => null), expected};
}

// All begins of queue items of a name, from the file's description.
function beginsOf({model, expected}, kind, name) {
	const begins = [];
	model.tracks.filter((track) => track.items).forEach((track, number) => {
		const {columns} = expected.items[number];
		if (track.kind === kind)
			columns[0].forEach((begin, i) => model.itemName(track, columns[3][i]) === name && begins.push(begin));
	});
	return begins.sort((a, b) => a - b);
}

// twins: what is in one queue is in the other too, at the same moments
for (const name of ["scene", "many", "twins"])
	await test(name + ": a search counts every match once, and walks through all in time", async () => {
		const file = await open(name);
		const search = new Search(file.model, "DIFFuse"), begins = beginsOf(file, "queue", "diffuse");
		let rows = null;
		await search.count(file.chunks, new Watch(), (counts) => rows = [...counts.values()]);
		assert.deepEqual(rows, [{text: "diffuse", kind: "command", count: begins.length, isOfStacks: false}]);
		const few = begins.slice(0, 60), last = momentPlace(Infinity, -1), walked = [], back = [];
		for (let at = momentPlace(begins[0], 1), found; walked.length < few.length; at = search.placeOf(found))
			walked.push((found = await search.next(file.chunks, at, 1, new Watch())).item.begin);
		assert.deepEqual(walked, few, "one that begins with another is not passed over");
		for (let at = last, found; back.length < 60; at = search.placeOf(found))
			back.push((found = await search.next(file.chunks, at, -1, new Watch())).item.begin);
		assert.deepEqual(back, begins.slice(-60).reverse(), "the same way back");
		assert.equal(await search.next(file.chunks, momentPlace(Infinity, 1), 1, new Watch()), null);
	});

for (const name of ["scene", "many"])
	await test(name + ": a new search begins at the longest match", async () => {
		const file = await open(name), search = new Search(file.model, "diffuse");
		const found = await search.longest(file.chunks, -Infinity, Infinity, new Watch());
		let longest = 0;
		file.model.tracks.filter((track) => track.items).forEach((track, number) => {
			const {columns} = file.expected.items[number];
			if (track.kind === "queue")
				columns[0].forEach((begin, i) => longest = Math.max(longest, file.model.itemName(track, columns[3][i]) === "diffuse" ? columns[1][i] : 0));
		});
		assert.equal(found.item.duration, longest);
		const chunk = await file.chunks.load(found.track, 0, found.index);
		assert.equal(chunk.begin[found.i], found.item.begin, "its place, from which , and . go on");
	});

// By gaps between busy times, from the file's description: [sum of the cause, begin of its longest item].
function gapsOf({model, expected}, device, cause) {
	const number = model.tracks.filter((track) => track.items).indexOf(device), {columns} = expected.items[number];
	const gaps = [[0, 0, -1]];
	columns[0].forEach((begin, i) => {
		const gap = gaps[gaps.length - 1];
		if (columns[3][i] >= 16)
			gaps.push([0, 0, -1]);
		else if (model.causes[columns[3][i]] === cause)
			gaps[gaps.length - 1] = [gap[0] + columns[1][i], Math.max(gap[1], columns[1][i]), columns[1][i] > gap[1] ? begin : gap[2]];
	});
	return gaps.sort((x, y) => y[0] - x[0]);
}

await test("the evidence of idle time is in the gap that has most of the largest cause", async () => {
	const file = await open("many"), device = file.model.ofKind("device")[0], view = {model: file.model, chunks: file.chunks};
	const causes = ["preempted", "blocked", "on_cpu"].filter((cause) => gapsOf(file, device, cause)[0][0] > 0);
	assert.ok(causes.length > 1, causes.join());
	for (const large of causes) {
		const evidence = {device: device.name, ...Object.fromEntries(causes.map((cause) => [cause + "_ns", cause === large ? 5 : 1]))};
		const found = await findEvidence(view, {id: "starved_queue", evidence}, new Watch()), [gap] = gapsOf(file, device, large);
		assert.deepEqual([file.model.causes[found.item.what], found.item.begin, found.item.duration], [large, gap[2], gap[1]]);
	}
});

// By brute force, for each piece of idle time with a cause: how many ns of it the marked ones cover, and the begin of the piece with most in the gap with most.
function placeByBruteForce({model, expected}, cause, isMarked) {
	const covered = new Uint8Array(model.wallNs), tracks = model.tracks.filter((track) => track.items);
	tracks.forEach((track, number) => {
		const [begin, length, ...rest] = expected.items[number].columns;
		begin.forEach((b, i) => {
			const [low, high] = track.kind === "samples" ? [b - length[i], b] : [b, b + length[i]];
			if (isMarked(track, ...rest.map((column) => column[i])))
				covered.fill(1, Math.max(0, low), Math.max(0, high));
		});
	});
	const {columns} = expected.items[tracks.indexOf(model.ofKind("device")[0])];
	const gaps = [{sum: 0, most: 0, begin: -1}];
	columns[0].forEach((begin, i) => {
		const gap = gaps[gaps.length - 1];
		if (columns[3][i] >= 16)
			gaps.push({sum: 0, most: 0, begin: -1});
		else if (model.causes[columns[3][i]] === cause) {
			const ns = covered.subarray(begin, begin + columns[1][i]).reduce((sum, one) => sum + one, 0);
			gap.sum += ns;
			if (ns > gap.most)
				Object.assign(gap, {most: ns, begin, end: begin + columns[1][i]});
		}
	});
	return gaps.reduce((best, gap) => gap.sum > best.sum ? gap : best);
}

await test("the longest place of a cause of the verdict: its thread's wait, else the device's idle time", async () => {
	const file = await open("scene"), {model} = file, view = {...file, sections: null}, {verdict} = model.report;
	const [read, compute, launched] = verdict.causes;
	const isIn = (name) => (stack) => stack > 0 && model.ownFrame(stack).name === name;
	const waited = placeByBruteForce(file, "blocked", (track, lane, what, stack) => track.kind === "off" && model.name(what) === "read" && isIn("read_all")(stack));
	const wait = await findPlace(view, verdict, read, new Watch());
	assert.equal(wait.track.kind, "off");
	assert.equal(model.name(wait.item.what), "read");
	assert.ok(waited.most > 0 && wait.item.begin < waited.end && wait.item.begin + wait.item.duration > waited.begin, "the wait in that gap");
	const computed = placeByBruteForce(file, "on_cpu", (track, stack) => track.kind === "samples" && track.parent.name.startsWith("main") && isIn("step")(stack));
	const idle = await findPlace(view, verdict, compute, new Watch());
	assert.ok(computed.most > 0);
	assert.deepEqual([idle.track.kind, idle.item.begin], ["device", computed.begin]);
	const late = await findPlace(view, verdict, launched, new Watch());
	assert.deepEqual([late.track.kind, model.causes[late.item.what]], ["device", "latency"]);
	assert.ok(isIn("step")(model.path(late.item.stack - 1).stack), "of the launching function");
	assert.equal(await findPlace(view, verdict, verdict.causes[3], new Watch()), null, "what the timeline does not have");
	assert.deepEqual(shownCauses(verdict), verdict.causes.slice(0, 4), "without those below one per cent");
});

await test("the user's own innermost function of a stack", async () => {
	const {model} = await open("scene"), names = [];
	for (let stack = 1; stack * 2 < model.stacks.length; stack++)
		names.push([model.leaf(stack).name, model.ownFrame(stack).name]);
	assert.ok(names.some(([leaf, own]) => leaf === "copy_to_user" && own === "read_all"), "not the system's");
	assert.ok(names.some(([leaf, own]) => leaf === "clEnqueueNDRangeKernel" && own === "step"), "not a library's");
	model.own = new Set();
	const stack = model.stacks.length / 2 - 1;
	assert.equal(model.ownFrame(stack).name, model.leaf(stack).name, "without any of the user's the innermost");
	assert.equal(model.ownFrame(0), null);
});

await test("a search finds functions in the stacks of threads, and idle causes", async () => {
	const file = await open("scene");
	const kinds = async (text) => {
		let rows = [];
		await new Search(file.model, text).count(file.chunks, new Watch(), (counts) => rows = [...counts.values()]);
		return rows.map((row) => row.kind);
	};
	assert.deepEqual(await kinds("simulate"), ["CPU samples"]);
	assert.deepEqual((await kinds("read_all")).sort(), ["CPU samples", "off the processor"]);
	assert.deepEqual(await kinds("idle: submission"), ["idle"]);
	assert.deepEqual(await kinds("there is no such name"), []);
});

await test("from each of 200 executions to its call and waiting command, and back", async () => {
	const file = await open("many"), {model} = file;
	const queue = model.ofKind("queue")[1];
	for (let n = 0; n < 200; n++) {
		const index = n % queue.levels[0].chunks.length;
		const chunk = await file.chunks.load(queue, 0, index), i = n * 37 % chunk.items;
		const ends = await findLinked(file, pick(queue, 0, index, chunk, i));
		const {item} = ends.waiting;
		assert.equal(ends.call.item.link, chunk.link[i]);
		assert.equal(ends.call.track.kind, "calls");
		assert.equal(item.begin + item.first + item.second, chunk.begin[i]);
		const back = await findLinked(file, ends.call);
		assert.deepEqual([back.queue.track, back.queue.item.begin], [queue, chunk.begin[i]]);
	}
});

await test("what threads did in a stretch of time: clamped, the most first", async () => {
	const file = await open("scene"), from = 4e6, to = 4.5e6, sums = new Map();
	file.model.tracks.filter((track) => track.items).forEach((track, n) => {
		const [begin, second, , what] = file.expected.items[n].columns;
		begin.forEach((b, i) => {
			const ns = track.kind === "off" ? Math.min(b + second[i], to) - Math.max(b, from) : 0;
			if (ns > 0)
				sums.set(track.parentId + file.model.name(what[i]), (sums.get(track.parentId + file.model.name(what[i])) || 0) + ns);
		});
	});
	const {rows, isExact} = await threadsMeanwhile({model: file.model, chunks: file.chunks}, from, to, new Watch());
	assert.ok(isExact);
	assert.ok(rows.length > 3 && rows.every((row, i) => !i || row.ns <= rows[i - 1].ns));
	const off = rows.filter((row) => row.kind === "off");
	assert.ok(off.length);
	for (const row of off)
		assert.equal(row.ns, sums.get(row.thread.id + row.text));
});

await test("rows: parents first, folded groups are one row, empty tracks none, deep queues thin", async () => {
	const {model} = await open("scene");
	const view = {model, collapsed: new Set(), pinned: [], roomy: new Set()};
	const all = layOut(view);
	assert.ok(all.rows.every((row, i) => !i || row.y === all.rows[i - 1].y + all.rows[i - 1].height));
	const process = model.ofKind("process")[0];
	view.collapsed.add(process.id);
	const folded = layOut(view);
	assert.ok(folded.rows.length < all.rows.length && folded.rows[0].isCollapsed);
	view.pinned.push(model.ofKind("device")[0].id, 12345);
	assert.equal(layOut(view).pinned.length, 1);
	const queue = model.ofKind("queue")[0];
	queue.lanes = 5000;
	assert.ok(laneHeight(view, queue) * 5000 <= 400);
	view.roomy.add(queue.id);
	assert.equal(laneHeight(view, queue), 16);
	assert.equal(firstCollapsed(model).size, 0);
});

end();
