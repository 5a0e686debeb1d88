// SPDX-License-Identifier: MIT
//
// Rows of the table of instructions, from a report.
import assert from "node:assert/strict";
import {flameOfStalls, flameOfUnmeasured, functionsOf} from "../../web/account.js";
import {instructionRows} from "../../web/instructions.js";
import {Model} from "../../web/model.js";
import {end, test} from "./harness.mjs";

const REPORT = {instructions: [
	{kernel: "a", offset: 200, address: 16, text: "mov", samples: 3, stalls: {sbid: 1, send: 2}, file: "/x/y.cl", line: 7},
	{kernel: "a", offset: 216, text: "", samples: 9, stalls: {}},
	{kernel: "b", offset: 8, address: 8, text: "send", samples: 4, stalls: {constructor: 4}, file: "z.cl", line: 1, source: "x = y;"}]};

await test("the most samples first, with their share of the kernel", () => {
	const rows = instructionRows(REPORT, {sbid: "it waits", send: "the queue is full"});
	assert.deepEqual(rows.map((row) => [row.kernel, row.place, row.samples, row.ofKernel]), [["a", "0xd8", 9, 12], ["b", "0x8", 4, 4], ["a", "0x10", 3, 12]]);
	assert.deepEqual(rows.map((row) => row.source), ["", "z.cl:1  x = y;", "y.cl:7"]);
});

await test("reasons by their samples, and what they mean where somebody knows", () => {
	const rows = instructionRows(REPORT, {sbid: "it waits", send: "the queue is full"});
	assert.equal(rows[2].reasons, "send 2, sbid 1");
	assert.equal(rows[2].meaning, "send: the queue is full\nsbid: it waits");
	assert.equal(rows[0].reasons + rows[0].meaning, "");
	assert.equal(rows[1].reasons + rows[1].meaning, "constructor 4");
	assert.equal(instructionRows(REPORT)[2].meaning, "");
});

await test("a report without instructions, or none", () => {
	assert.deepEqual(instructionRows(undefined, {}), []);
	assert.deepEqual(instructionRows({}, {}), []);
});

const STALLS = {names: ["", "a", "mov", "send;0", "sbid", "sync", "0x10", "0x20", "x/y.cl", "[less frequent]"], rows: [
	1, 0, 1, 2, 4, 6, 8, 7, 40, // stack 1: the call stands in it
	1, 0, 1, 2, 5, 6, 8, 7, 2,
	1, 0, 1, 2, 4, 7, 8, 9, 3,
	1, 0, 1, 9, 4, 0, 0, 0, 4, // of several instructions
	0, 1, 0, 0, 0, 7, 0, 0, 5], rest: [4, 6, 0, 1]};
const TEXTS = {names: ["", "clEnqueue", "main"], frames: [2, 0, 0, 0], stacks: [0, 0, 0, 0]};

function pathsOf(node, above = []) {
	const own = node.self ? [[...above, node.text].join(" > ") + " = " + node.self] : [];
	return [...own, ...[...node.children.values()].flatMap((inner) => pathsOf(inner, [...above, node.text]))];
}

await test("samples as a flame graph: stack, call, kernel, instruction, reason, place", () => {
	const root = flameOfStalls(new Model(TEXTS), STALLS, {sbid: "it waits"});
	assert.deepEqual(pathsOf(root), [
		"all > main > a > mov > sbid > 0x10 = 40",
		"all > main > a > mov > sbid > 0x20 = 3",
		"all > main > a > mov > sync > 0x10 = 2",
		"all > main > a > [less frequent] > sbid = 4",
		"all > [unknown stack] > clEnqueue > [unknown code] > [unknown instruction] > 0x20 = 5",
		"all > [others] = 1",
		"all > [others] > sbid = 6"]);
	assert.equal(root.value, 61);
	assert.equal(functionsOf(root).reduce((sum, row) => sum + row.self, 0), 61);
});

await test("a reason says what it means, a place where it is in the source", () => {
	const root = flameOfStalls(new Model(TEXTS), STALLS, {sbid: "it waits"}), find = (node, text) => node.text === text ? [node] :
		[...node.children.values()].flatMap((inner) => find(inner, text));
	assert.deepEqual(find(root, "sbid").map((node) => node.meaning), ["it waits", "it waits", "it waits"]);
	assert.deepEqual(find(root, "sync").map((node) => node.meaning), [undefined]);
	assert.deepEqual(find(root, "0x20").map((node) => [node.file, node.line]), [["x/y.cl", 9], ["", 0]]);
});

await test("a device that was not measured is neither busy nor idle", () => {
	assert.deepEqual(pathsOf(flameOfUnmeasured(100)), ["all > not measured = 100"]);
	const model = new Model({tracks: [{kind: "device", name: "gpu", unmeasured: "no times"}, {kind: "device", name: "gpu"}]});
	assert.deepEqual(model.tracks.map((track) => model.itemName(track, 13)), ["not measured", "idle: unknown"]);
});

end();
