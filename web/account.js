// SPDX-License-Identifier: MIT
//
// Sums over a range: the account of a device, tables by name, flame graphs. All of them read the items
// themselves, chunk by chunk; watch is told how far they are and may end them.

import {chunkRange, itemRange, touches, FIRST_PATH} from "./model.js";

/** What is said of a sum that lacks items. */
export const CUT_TEXT = "Not complete: the finest levels of some tracks are not in this file.";

/** Somebody asked for something else meanwhile. */
export class CancelledError extends Error {}

/** How a sum tells where it is, and learns that nobody waits for it any more. */
export class Watch {
	/** @param {function(number)} onProgress told the share that is done, 0 to 1 */
	constructor(onProgress) {
		this.onProgress = onProgress || (() => null);
		this.isCancelled = false;
		this.pausedAt = 0;
	}

	cancel() {
		this.isCancelled = true;
	}

	/** Gives the page a turn now and then, so that it stays usable. */
	async step(done) {
		const now = performance.now();
		if (now - this.pausedAt > 12) {
			this.onProgress(done);
			await new Promise((resolve) => setTimeout(resolve, 0));
			this.pausedAt = performance.now();
		}
		if (this.isCancelled)
			throw new CancelledError("cancelled");
	}
}

// Calls visit(chunk, low, high, index) for the items [low, high) of each chunk of the finest level that may have some in [from, to).
async function visitChunks(store, track, from, to, watch, visit) {
	const level = track.levels[0], [first, end] = chunkRange(level, from, to);
	for (let index = first; index < end; index++) {
		if (!touches(level, index, from, to))
			continue;
		const chunk = await store.load(track, 0, index);
		visit(chunk, ...itemRange(chunk, from, to), index);
		await watch.step((index + 1 - first) / (end - first));
	}
}

/**
 * Calls visit(chunk, i, begin, end, index) for each item of a track that overlaps [from, to) ns; begin and end
 * are clamped to it, index is the chunk's. Returns false where the items themselves are not in the file (cut).
 */
export async function visitItems(store, track, from, to, watch, visit) {
	const level = track.levels[0];
	if (!level)
		return true;
	if (level.binNs)
		return false;
	await visitChunks(store, track, from, to, watch, (chunk, low, high, index) => {
		for (let i = low; i < high; i++) {
			const itemEnd = chunk.begin[i] + (chunk.duration ? chunk.duration[i] : 0);
			if (itemEnd > from || chunk.begin[i] >= from)
				visit(chunk, i, Math.max(chunk.begin[i], from), Math.min(itemEnd, to), index);
		}
	});
	return true;
}

function add(map, key, value) {
	map.set(key, (map.get(key) || 0) + value);
}

function addIdle(sum, cause, ns) {
	sum.idleNs += ns;
	sum.causes[cause] = (sum.causes[cause] || 0) + ns;
}

/**
 * The account of a device in [from, to): every nanosecond once.
 * @returns {Promise<{wallNs, busyNs, idleNs, classes, causes, byPath, isExact}>}
 *   classes: ns of kernels, copies, others; causes: ns by cause; byPath: Map of ns by path
 */
export async function accountOf(model, store, track, from, to, watch) {
	const sum = {wallNs: to - from, busyNs: 0, idleNs: 0, classes: [0, 0, 0],
		causes: model.causes.map(() => 0), byPath: new Map(), isExact: true};
	const isWhole = await visitItems(store, track, from, to, watch, (chunk, i, begin, end) => {
		const what = chunk.what[i], ns = end - begin;
		if (what >= FIRST_PATH) {
			sum.busyNs += ns;
			add(sum.byPath, what - FIRST_PATH, ns);
			return;
		}
		addIdle(sum, what, ns);
	});
	if (!isWhole)
		await estimateAccount(model, store, track, from, to, watch, sum);
	for (const [path, ns] of sum.byPath)
		sum.classes[Math.min(2, model.path(path).cls)] += ns;
	return sum;
}

// Only bins are in the file: busy time is known, what covers most of each bin stands for all of it.
async function estimateAccount(model, store, track, from, to, watch, sum) {
	sum.isExact = false;
	const level = track.levels[0];
	await visitChunks(store, track, from, to, watch, (chunk, low, high) => {
		for (let i = low; i < high; i++) {
			const share = Math.max(0, Math.min(chunk.begin[i] + level.binNs, to) -
				Math.max(chunk.begin[i], from)) / level.binNs;
			const busyNs = chunk.covered[i] * share;
			sum.busyNs += busyNs;
			if (chunk.what[i] >= FIRST_PATH)
				add(sum.byPath, chunk.what[i] - FIRST_PATH, busyNs);
			else
				addIdle(sum, chunk.what[i], level.binNs * share - busyNs);
		}
	});
	sum.idleNs = sum.wallNs - sum.busyNs;
}

function row(table, key, make) {
	let found = table.get(key);
	if (!found) {
		found = Object.assign({count: 0, totalNs: 0, shortestNs: Infinity, longestNs: 0, extra: 0, failed: 0}, make());
		table.set(key, found);
	}
	return found;
}

function count(entry, durationNs) {
	entry.count++;
	entry.totalNs += durationNs;
	entry.shortestNs = Math.min(entry.shortestNs, durationNs);
	entry.longestNs = Math.max(entry.longestNs, durationNs);
}

function sorted(table) {
	return [...table.values()].sort((a, b) => b.totalNs - a.totalNs);
}

/**
 * What overlaps [from, to) in the tracks, by name, with whole durations as in duet report --from --to.
 * @returns {Promise<{kernels, copies, others, calls, offs, ranges, isExact}>} rows
 *   {name, count, totalNs, shortestNs, longestNs, extra (bytes or work items), failed}
 */
export async function tablesOf(model, store, tracks, from, to, watch) {
	const tables = {kernels: new Map(), copies: new Map(), others: new Map(), calls: new Map(), offs: new Map(),
		ranges: new Map()};
	const ofClass = [tables.kernels, tables.copies, tables.others];
	const ofKind = {calls: tables.calls, off: tables.offs, ranges: tables.ranges};
	let isExact = true;
	for (const track of tracks) {
		const named = ofKind[track.kind];
		if (track.kind !== "queue" && track.kind !== "transfers" && !named)
			continue;
		const isWhole = await visitItems(store, track, from, to, watch, (chunk, i) => {
			const what = chunk.what[i];
			if (named) {
				const entry = row(named, what, () => ({name: model.name(what), track, what}));
				count(entry, chunk.duration[i]);
				entry.failed += track.kind === "calls" && chunk.extra[i] !== 0 ? 1 : 0;
				return;
			}
			const path = model.path(what);
			const entry = row(ofClass[Math.min(2, path.cls)], path.device + "/" + path.name,
				() => ({name: path.name, track, what}));
			count(entry, chunk.duration[i]);
			entry.extra += chunk.extra[i];
		});
		isExact = isExact && isWhole;
	}
	const rows = {isExact};
	for (const name of Object.keys(tables))
		rows[name] = sorted(tables[name]);
	return rows;
}

function makeNode(key, text, kind) {
	return {key, text, kind, value: 0, self: 0, children: new Map(), file: "", line: 0};
}

function child(node, key, text, kind) {
	let found = node.children.get(key);
	if (!found) {
		found = makeNode(key, text, kind);
		node.children.set(key, found);
	}
	return found;
}

// A path of nodes from the root; value is added to all of them. Returns the last.
function descend(model, root, stack, tail, value) {
	let node = root;
	node.value += value;
	for (const index of model.stackFrames(stack)) {
		const frame = model.frame(index);
		node = child(node, "f" + index, frame.name, frame.cls);
		node.file = frame.file;
		node.line = frame.line;
		node.value += value;
	}
	for (const [key, text, kind] of tail) {
		node = child(node, key, text, kind);
		node.value += value;
	}
	node.self += value;
	return node;
}

/** Kinds of boxes in a flame graph, beyond the classes of frames (0 to 6); CODE: of a device; FLAME_IDLE + cause. */
export const FLAME_CALL = 7;
export const FLAME_KERNEL = 8;
export const FLAME_COPY = 9;
export const FLAME_OTHER = 10;
export const FLAME_CODE = 11;
export const FLAME_STALL = 12;
export const FLAME_UNMEASURED = 13;
export const FLAME_AWAY = 14;
export const FLAME_IDLE = 16;

/**
 * The flame graph of a device's account where the file has no stacks of its idle time: stack, launching call,
 * kernel; idle causes at the root. value is ns; isExact: of the items themselves.
 */
export function flameOfAccount(model, account) {
	const root = Object.assign(makeNode("", "all", 0), {isExact: account.isExact});
	const tailOf = (path) => [["c" + path.functionName, path.functionName, FLAME_CALL],
		["k" + path.name, path.name, [FLAME_KERNEL, FLAME_COPY, FLAME_OTHER][Math.min(2, path.cls)]]]
		.filter(([, text]) => text !== "");
	for (const [index, ns] of account.byPath)
		descend(model, root, model.path(index).stack, tailOf(model.path(index)), ns);
	account.causes.forEach((ns, cause) => ns && descend(model, root, 0, [["i" + cause, "idle: " + model.causeText(cause), FLAME_IDLE + cause]], ns));
	return root;
}

// As duet flame names the reason why a thread is off its processor.
function awayText(name) {
	if (name === "preempted" || name === "blocked" || name === "")
		return "[" + (name || "blocked") + "]";
	return /GIL/.test(name) ? "[waiting for the Python GIL]" : "[waiting in " + name + "]";
}

/** The flame graph of the time that threads were off their processors in [from, to): stack, reason. value is ns. */
export async function flameOfAway(model, store, tracks, from, to, watch) {
	const root = Object.assign(makeNode("", "all", 0), {isExact: true});
	for (const track of tracks)
		if (track.kind === "off")
			root.isExact = await visitItems(store, track, from, to, watch, (chunk, i, begin, end) => {
				const text = awayText(model.name(chunk.what[i])), stack = chunk.stack[i];
				if (end > begin)
					descend(model, root, stack, [...stack ? [] : [["none", "[unknown stack]", 6]], ["a" + text, text, FLAME_AWAY]], end - begin);
			}) && root.isExact;
	return root;
}

/** The flame graph of CPU samples of the tracks in [from, to); value is the samples' weight, isExact: all are in the file. */
export async function flameOfSamples(model, store, tracks, from, to, watch) {
	const byStack = new Map();
	let samples = 0, isExact = true;
	for (const track of tracks)
		if (track.kind === "samples")
			isExact = await visitItems(store, track, from, to, watch, (chunk, i) => {
				add(byStack, chunk.stack[i], chunk.weight[i]);
				samples++;
			}) && isExact;
	const root = Object.assign(makeNode("", "all", 0), {isExact});
	for (const [stack, weight] of byStack)
		descend(model, root, stack, stack ? [] : [["none", "no stack", 6]], weight);
	root.samples = samples;
	return root;
}

/** The flame graph of a device that was not measured: one box for all of the range. */
export function flameOfUnmeasured(ns) {
	const root = Object.assign(makeNode("", "all", 0), {isExact: true});
	root.value = ns;
	const leaf = child(root, "n", "not measured", FLAME_UNMEASURED);
	leaf.value = leaf.self = ns;
	return root;
}

// Integers of a row of stalls, in their order.
const STALL_COLUMNS = 9;

/**
 * The flame graph of samples of device instructions: stack, launching call, kernel, instruction, what it waited for, where it is.
 * @param {{names: string[], rows: number[], rest: number[]}} stalls as docs/design/view.md has them
 * @param {object} meanings by the name of a reason: what it means, and the usual remedy
 * @returns {object} value is a number of samples; what has no row is in one box, by its reasons
 */
export function flameOfStalls(model, stalls, meanings) {
	const root = Object.assign(makeNode("", "all", 0), {isExact: true});
	const {names, rows, rest} = stalls;
	const reasonOf = (name) => name ? [["r" + names[name], names[name], FLAME_STALL]] : [];
	for (let at = 0; at < rows.length; at += STALL_COLUMNS) {
		const [stack, call, kernel, text, reason, place, file, line, samples] = rows.slice(at, at + STALL_COLUMNS);
		const head = [["s", stack ? "" : "[unknown stack]", 6], ["c" + call, call ? model.name(call) : "", FLAME_CALL], ["k" + kernel, names[kernel] || "[unknown code]", FLAME_KERNEL],
			["t" + text, names[text] || "[unknown instruction]", FLAME_CODE]].filter(([, words]) => words !== "");
		const leaf = descend(model, root, stack, [...head, ...reasonOf(reason), ...place ? [["p" + place, names[place], FLAME_CODE]] : []], samples);
		leaf.file = names[file];
		leaf.line = line;
	}
	for (let at = 0; at < rest.length; at += 2)
		descend(model, root, 0, [["rest", "[others]", FLAME_CODE], ...reasonOf(rest[at])], rest[at + 1]);
	explainStalls(root, meanings || {});
	return root;
}

function explainStalls(node, meanings) {
	if (node.kind === FLAME_STALL && Object.hasOwn(meanings, node.text))
		node.meaning = String(meanings[node.text]);
	for (const inner of node.children.values())
		explainStalls(inner, meanings);
}

/**
 * Functions of a flame graph: self and total value, largest self first.
 * @returns {{text, kind, self, total}[]}
 */
export function functionsOf(root) {
	const table = new Map();
	const open = new Map();
	const walk = (node) => {
		const entry = row(table, node.text, () => ({text: node.text, kind: node.kind, self: 0, total: 0}));
		const outer = open.get(node.text) || 0;
		entry.self += node.self;
		// a function that is on the stack twice is counted once
		entry.total += outer ? 0 : node.value;
		open.set(node.text, outer + 1);
		for (const inner of node.children.values())
			walk(inner);
		open.set(node.text, outer);
	};
	for (const inner of root.children.values())
		walk(inner);
	return [...table.values()].sort((a, b) => b.self - a.self || b.total - a.total);
}
