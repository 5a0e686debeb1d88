// SPDX-License-Identifier: MIT
//
// What the head says, in a form that can be asked: tracks as a tree, texts, stacks, levels of detail.
// Whatever is missing in the head has a value here that means "nothing".

import {DeviceGraph} from "./graph.js";

const DEVICE_KINDS = new Set(["device", "context", "queue", "transfers", "waiting"]);
const PATH_KINDS = new Set(["context", "queue", "transfers", "waiting"]);
const SLICE_KINDS = new Set(["calls", "off", "device", "context", "queue", "transfers", "processor", "iterations", "rejected", "ranges"]);
const HEADING_KINDS = new Set(["process", "thread", "metrics", "group"]);
const VALUE_KINDS = new Set(["metric", "clock", "counter"]);
const KNOWN_KINDS = new Set([...SLICE_KINDS, ...VALUE_KINDS, ...HEADING_KINDS, "waiting", "samples"]);
/** Names of classes of frames, by their number in the file. */
export const FRAME_CLASSES = ["host", "kernel", "jit", "inlined", "python", "device", "mark"];
const CLASS_PYTHON = FRAME_CLASSES.indexOf("python");
/** what of a device's item: below a cause, from here on a path. */
export const FIRST_PATH = 16;
/** Idle causes for people: name in the file, text, what it means. */
const CAUSE_TEXTS = new Map([
	["api_wait", ["waiting in a call", "the launching thread is in a call that waits until launched work is done"]],
	["api_call", ["in another call", "the launching thread is in a call, not the launch of what comes next"]],
	["on_cpu", ["computing", "the launching thread is on a processor, outside of calls"]],
	["preempted", ["preempted", "the launching thread could run, its processor runs others"]],
	["blocked", ["blocked", "the launching thread is asleep, or waits for I/O, a lock ..."]],
	["host", ["outside of calls", "not known what the launching thread did there"]],
	["duet_itself", ["duet itself", "its guest works for itself in the launching thread"]],
	["profiler_overhead", ["profiler overhead", "the tool that made the recording held the launching thread"]],
	["runtime", ["launching call", "inside the enqueueing call"]],
	["submission", ["submission", "the call has returned, the command is not yet submitted"]],
	["dependency", ["dependency", "waiting for a command of its wait list"]],
	["latency", ["driver and queue latency", "launched, not yet started"]],
	["nothing_to_do", ["nothing to do", "before the first command, after the last"]],
	["unknown", ["unknown", "queue or run times are missing, or rows were lost"]]]);

// The first index in [0, count) for which is(index), else count; is() must not turn back to false.
function firstIndex(count, is) {
	let low = 0, high = count;
	while (low < high) {
		const middle = low + high >> 1;
		if (is(middle))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

function makeLevel(raw) {
	const chunks = raw.chunks || [];
	const reach = new Float64Array(chunks.length), low = new Float64Array(chunks.length);
	let latest = -Infinity, earliest = Infinity;
	for (let i = 0; i < chunks.length; i++)
		reach[i] = latest = Math.max(latest, chunks[i][1]);
	for (let i = chunks.length - 1; i >= 0; i--)
		low[i] = earliest = Math.min(earliest, chunks[i][0]);
	return {binNs: raw.bin_ns || 0, chunks, reach, low};
}

// Threads of one name are told apart by their numbers, processes of a job by their ranks; a clock has its device's name, which stands above it.
function nameOfTrack(raw) {
	if (raw.kind === "clock")
		return "clock uncertainty";
	const name = String(raw.name || ""), number = raw.kind === "process" ? raw.pid : raw.kind === "thread" ? raw.tid : undefined;
	return (number === undefined || name.includes(String(number)) ? name : (name + " " + number).trim()) + (raw.rank ? ", " + raw.rank : "");
}

function makeTrack(raw, index) {
	return {
		id: raw.id === undefined ? index : raw.id, parentId: raw.parent, kind: String(raw.kind),
		name: nameOfTrack(raw), detail: String(raw.detail || ""), unit: String(raw.unit || ""),
		max: raw.max, type: raw.type, unmeasured: String(raw.unmeasured || ""), factor: raw.factor === undefined ? 1 : raw.factor, intervalNs: raw.interval_ns || 0, number: raw.number, graph: raw.graph || null, device: raw.device, lanes: Math.max(1, raw.lanes || 1), items: raw.items || 0,
		levels: (raw.levels || []).map(makeLevel).filter((level) => level.chunks.length),
		parent: null, children: [], isKnown: KNOWN_KINDS.has(String(raw.kind)),
	};
}

/** Chunks of a level that may have something in [from, to), as [first, end); touches() tells which of them have. Times in ns. */
export function chunkRange(level, from, to) {
	const {chunks, reach, low} = level;
	return [firstIndex(chunks.length, (i) => reach[i] >= from),
		firstIndex(chunks.length, (i) => low[i] >= to)];
}

/** Whether a chunk of a level may have something in [from, to): a long item before it does not make it so. */
export function touches(level, index, from, to) {
	return level.chunks[index][1] >= from && level.chunks[index][0] < to;
}

/**
 * Items of a chunk that may reach into [from, to), as [first, end); between them are some that do not.
 */
export function itemRange(chunk, from, to) {
	const width = chunk.binNs;
	return [firstIndex(chunk.items, (i) => chunk.reach[i] + width > from || chunk.begin[i] >= from),
		firstIndex(chunk.items, (i) => chunk.begin[i] >= to)];
}

/** About how many items of a level are in [from, to). Chunks are taken to be even. */
export function countItems(level, from, to) {
	const [first, end] = chunkRange(level, from, to);
	let count = 0;
	for (let i = first; i < end; i++) {
		const [begin, latest, , , , items] = level.chunks[i];
		const next = i + 1 < level.chunks.length ? level.chunks[i + 1][0] : latest;
		const width = Math.max(next - begin, 1);
		const inside = Math.min(begin + width, to) - Math.max(begin, from);
		count += items * Math.min(1, Math.max(inside, 0) / width);
	}
	return count;
}

/**
 * The finest level of a track that has at most perPixel items a pixel in [from, to); -1 without levels.
 * @param {number} pixels width of [from, to) on the screen
 */
export function chooseLevel(track, from, to, pixels, perPixel) {
	for (let k = 0; k < track.levels.length; k++)
		if (countItems(track.levels[k], from, to) <= pixels * perPixel)
			return k;
	return track.levels.length - 1;
}

// Full and short names, by turns.
function makeShortNames(list) {
	const names = new Map();
	for (let i = 0; i + 1 < list.length; i += 2)
		names.set(String(list[i]), String(list[i + 1]));
	return names;
}

export class Model {
	constructor(head) {
		this.head = head;
		this.report = head.report && typeof head.report === "object" ? head.report : null;
		this.title = String(head.title || "");
		this.wallNs = Math.max(1, head.wall_ns || 0);
		this.fromNs = Math.max(0, head.from_ns || 0);
		this.toNs = Math.max(this.fromNs + 1, head.to_ns || this.wallNs);
		this.causes = head.causes || [...CAUSE_TEXTS.keys()];
		this.paths = head.paths || [];
		this.cut = head.cut || null;
		this.graphs = new Map();
		this.shortNames = makeShortNames(head.short_names || []);
		this.setTexts(head);
		this.hasTexts = !head.texts;
		this.tracks = (head.tracks || []).map(makeTrack);
		this.byId = new Map(this.tracks.map((track) => [track.id, track]));
		this.roots = [];
		for (const track of this.tracks) {
			track.parent = this.byId.get(track.parentId) || null;
			(track.parent ? track.parent.children : this.roots).push(track);
		}
		this.clocks = this.ofKind("clock");
	}

	/** Takes names, frames and stacks from the head or from the section of texts. */
	setTexts(texts) {
		this.names = texts.names || [""];
		this.frames = texts.frames || [];
		this.stacks = texts.stacks || [];
		this.own = new Set(texts.own || []);
		this.hasTexts = true;
	}

	/** The samples of device instructions, as docs/design/view.md has them; null where there are none. */
	async loadStalls(sections) {
		return this.head.stalls ? sections.loadJson(this.head.stalls) : null;
	}

	/** The graph of a device's time, from the sections that its track names; null where there are none. */
	async loadGraph(sections, track) {
		if (!track.graph)
			return null;
		if (!this.graphs.has(track))
			this.graphs.set(track, new DeviceGraph(await sections.loadJson(track.graph[0]), await sections.loadJson(track.graph[1])));
		return this.graphs.get(track);
	}

	/** Reads the texts that are not in the head. */
	async loadTexts(sections) {
		if (!this.hasTexts)
			this.setTexts(await sections.loadJson(this.head.texts));
	}

	name(index) {
		const text = this.names[index];
		return text === undefined ? "name " + index : String(text);
	}

	/** What a program said of a range besides its name: {domain, category, colour (#rrggbb), payload}, "" where nothing. */
	rangeOf(extra) {
		const [domain, category = "", colour = "", payload = ""] = this.name(extra).split("\x1f");
		return {domain, category, colour, payload};
	}

	/** The part of a kernel's name that distinguishes it from the others, where there is little room. */
	shortName(name) {
		return this.shortNames.get(name) || name;
	}

	causeText(cause) {
		const name = this.causes[cause] || "unknown", written = this.head.cause_texts && this.head.cause_texts[cause];
		return written ? String(written) : CAUSE_TEXTS.has(name) ? CAUSE_TEXTS.get(name)[0] : name;
	}

	causeMeaning(cause) {
		const known = CAUSE_TEXTS.get(this.causes[cause]);
		return known ? known[1] : "";
	}

	/** What an idle item of a device's track is called: nobody knows of a device that was not measured whether it was idle. */
	idleName(track, cause) {
		return track.unmeasured ? "not measured" : "idle: " + this.causeText(cause);
	}

	/** @returns {{device, cls, name, functionName, stack}} class 0 kernel, 1 copy, 2 other */
	path(index) {
		const at = index * 5;
		if (!(at + 4 < this.paths.length))
			return {device: 0, cls: 2, name: "path " + index, functionName: "", stack: 0};
		return {device: this.paths[at], cls: this.paths[at + 1], name: this.name(this.paths[at + 2]),
			functionName: this.name(this.paths[at + 3]), stack: this.paths[at + 4]};
	}

	/** The class of a command by its name: 0 kernel, 1 copy, 2 other. */
	classOfCommand(name) {
		if (!this.commandClasses) {
			this.commandClasses = new Map();
			for (let i = 0; i * 5 < this.paths.length; i++)
				this.commandClasses.set(this.path(i).name, this.path(i).cls);
		}
		return this.commandClasses.get(name) || 0;
	}

	frame(index) {
		const at = index * 4;
		if (!(at >= 0 && at + 3 < this.frames.length))
			return {name: this.hasTexts ? "frame " + index : "\u2026", file: "", line: 0, cls: 0};
		return {name: this.name(this.frames[at]), file: this.name(this.frames[at + 1]),
			line: this.frames[at + 2], cls: this.frames[at + 3]};
	}

	/** Numbers of a stack's frames, the root first. */
	stackFrames(stack) {
		const frames = [];
		while (stack > 0 && stack * 2 + 1 < this.stacks.length && frames.length < 4096) {
			frames.push(this.stacks[stack * 2 + 1]);
			const caller = this.stacks[stack * 2];
			stack = caller < stack ? caller : 0;
		}
		return frames.reverse();
	}

	/** The innermost frame of a stack, or null. */
	leaf(stack) {
		if (!(stack > 0))
			return null;
		return this.frame(stack * 2 + 1 < this.stacks.length ? this.stacks[stack * 2 + 1] : -1);
	}

	/** The user's own innermost function in a stack, as the report names places; else its innermost Python function, else its innermost; null: none. */
	ownFrame(stack) {
		const inner = this.stackFrames(stack).reverse();
		const isPython = (index) => this.frame(index).cls === CLASS_PYTHON;
		const at = [inner.findIndex((index) => this.own.has(index)), inner.findIndex(isPython), 0].find((index) => index >= 0);
		return inner.length ? this.frame(inner[at]) : null;
	}

	/** The path of an item, or -1. */
	pathOf(track, what) {
		if (PATH_KINDS.has(track.kind))
			return what;
		return track.kind === "device" && what >= FIRST_PATH ? what - FIRST_PATH : -1;
	}

	/** The cause of a device's idle item, or -1. */
	causeOf(track, what) {
		return track.kind === "device" && what < FIRST_PATH ? what : -1;
	}

	/** What an item is called. */
	itemName(track, what) {
		const path = this.pathOf(track, what);
		if (path >= 0)
			return this.path(path).name;
		const cause = this.causeOf(track, what);
		if (cause >= 0)
			return this.idleName(track, cause);
		if (track.kind === "samples") {
			const leaf = this.leaf(what);
			return leaf ? leaf.name : "no stack";
		}
		return this.name(what);
	}

	/** The stack of an item, 0 where it has none. */
	itemStack(track, what, stack) {
		const path = this.pathOf(track, what);
		return path >= 0 ? this.path(path).stack : stack || 0;
	}

	isDeviceSide(track) {
		return DEVICE_KINDS.has(track.kind);
	}

	/** Whether a track is a group alone: it has nothing to draw. */
	isHeading(track) {
		return HEADING_KINDS.has(track.kind);
	}

	/** Whether a track is drawn as a chart: it has values, and no names. */
	isChart(track) {
		return VALUE_KINDS.has(track.kind);
	}

	isSlices(track) {
		return SLICE_KINDS.has(track.kind);
	}

	/** The nearest track at or above this one with that kind, or null. */
	above(track, kind) {
		while (track && track.kind !== kind)
			track = track.parent;
		return track;
	}

	ofKind(kind) {
		return this.tracks.filter((track) => track.kind === kind);
	}

	/** "process 12 > thread 13 > calls": names from the top. */
	trail(track) {
		const names = [];
		for (let at = track; at; at = at.parent)
			names.push(at.name || at.kind);
		return names.reverse();
	}
}
