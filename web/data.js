// SPDX-License-Identifier: MIT
//
// From the text of the file to typed arrays: base64, deflate, columns; and the two caches that hold
// what was unpacked. Nothing here knows the page: lookup gives the text of a section.

const SECTION_CACHE_BYTES = 96 * 1048576;
const CHUNK_CACHE_BYTES = 256 * 1048576;
const LOADS_AT_ONCE = 3;
const BASE64 = new Uint8Array(128).fill(255);
for (let i = 0; i < 64; i++)
	BASE64["ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".charCodeAt(i)] = i;

/** A section that is not in the file, because it was cut off. */
export class AbsentError extends Error {}

/**
 * Base64 to bytes. White space around it is allowed, padding is optional.
 * @param {string} text
 * @returns {Uint8Array}
 */
export function decodeBase64(text) {
	text = text.trim();
	let length = text.length;
	while (length > 0 && text.charCodeAt(length - 1) === 61)
		length--;
	const bytes = new Uint8Array(Math.floor(length * 3 / 4));
	let wrong = 0, held = 0, bits = 0, out = 0;
	for (let i = 0; i < length; i++) {
		const code = text.charCodeAt(i);
		const value = code < 128 ? BASE64[code] : 255;
		wrong |= value;
		held = held << 6 | value & 63;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			bytes[out++] = held >> bits;
		}
	}
	if (wrong > 63)
		throw new Error("a section is not base64: the file is damaged");
	return bytes;
}

/**
 * Inflates a raw deflate stream (RFC 1951).
 * @param {Uint8Array} bytes
 * @returns {Promise<Uint8Array>}
 */
export async function inflate(bytes) {
	if (typeof DecompressionStream === "undefined")
		throw new Error("this browser cannot inflate (DecompressionStream): Chromium 103, Firefox 113, " +
			"Safari 16.4 and later can");
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
	try {
		return new Uint8Array(await new Response(stream).arrayBuffer());
	} catch (error) {
		throw new Error("a section does not inflate: the file is damaged or cut off");
	}
}

/**
 * Reads count varints (LEB128) from bytes at at into out.
 * @param {boolean} isSigned zigzag
 * @returns {number} the place behind them
 */
export function readVarints(bytes, at, count, out, isSigned) {
	for (let i = 0; i < count; i++) {
		let byte = bytes[at++], value = byte & 127, shift = 7;
		for (; byte > 127 && shift < 28; shift += 7) {
			byte = bytes[at++];
			value |= (byte & 127) << shift;
		}
		for (let scale = 268435456; byte > 127; scale *= 128) {
			byte = bytes[at++];
			value += (byte & 127) * scale;
		}
		if (isSigned)
			value = value < 2147483648 ? value >>> 1 ^ -(value & 1) :
				value % 2 ? -(value + 1) / 2 : value / 2;
		out[i] = value;
	}
	if (at > bytes.length)
		throw new Error("a chunk ends early: the file is damaged");
	return at;
}

// Columns behind the begin, in their order: name, array, zigzag.
const SLICE_COLUMNS = [["duration", Float64Array], ["lane", Uint32Array], ["what", Uint32Array],
	["stack", Uint32Array], ["link", Uint32Array], ["extra", Float64Array]];
const REJECTED_COLUMNS = [...SLICE_COLUMNS.slice(0, 5), ["extra", Float64Array, true]];
const CALL_COLUMNS = [...REJECTED_COLUMNS, ["argument", Float64Array]];
const WAITING_COLUMNS = [["first", Float64Array], ["lane", Uint32Array], ["second", Float64Array],
	["what", Uint32Array], ["link", Uint32Array], ["extra", Float64Array]];
const SAMPLE_COLUMNS = [["weight", Float64Array], ["stack", Uint32Array], ["mode", Uint32Array]];
const VALUE_COLUMNS = [["value", Float64Array, true]];
const BIN_COLUMNS = [["count", Uint32Array], ["covered", Float64Array], ["what", Uint32Array],
	["most", Float64Array]];
const COUNTER_COLUMNS = [["duration", Float64Array], ["value", Float64Array, true], ["of", Float64Array]];
const COUNTER_BIN_COLUMNS = [["count", Uint32Array], ["covered", Float64Array], ["mean", Float64Array, true],
	["least", Float64Array, true], ["most", Float64Array, true]];
const VALUE_BIN_COLUMNS = [["count", Uint32Array], ["last", Float64Array, true],
	["least", Float64Array, true], ["most", Float64Array, true]];
const COLUMNS = new Map([["calls", CALL_COLUMNS], ["waiting", WAITING_COLUMNS], ["samples", SAMPLE_COLUMNS],
	["rejected", REJECTED_COLUMNS], ["metric", VALUE_COLUMNS], ["clock", VALUE_COLUMNS],
	["counter", COUNTER_COLUMNS]]);

function isValueKind(kind) {
	return kind === "metric" || kind === "clock";
}

function columnsOf(kind, binNs) {
	if (binNs)
		return kind === "counter" ? COUNTER_BIN_COLUMNS : isValueKind(kind) ? VALUE_BIN_COLUMNS : BIN_COLUMNS;
	return COLUMNS.get(kind) || SLICE_COLUMNS;
}

// Reads a column; one value may stand for all.
function readColumn(bytes, at, items, column, isSigned, isSame) {
	at = readVarints(bytes, at, isSame ? Math.min(1, items) : items, column, isSigned);
	if (isSame)
		column.fill(column[0]);
	return at;
}

// From deltas to begins. A slice counts from the end of the one before it, all else from its begin.
function addUpBegins(chunk, firstNs, isFromEnd) {
	const {begin, duration} = chunk;
	let last = firstNs;
	for (let i = 0; i < chunk.items; i++) {
		begin[i] += last;
		last = isFromEnd ? begin[i] + duration[i] : begin[i];
	}
}

// From what a link differs from the expected one to link + 1; 0: none.
function addUpLinks(chunk) {
	const {link} = chunk;
	let expected = 0;
	for (let i = 0; i < chunk.items; i++) {
		if (link[i] === 0)
			continue;
		const code = link[i] - 1, difference = code % 2 ? -(code + 1) / 2 : code / 2;
		link[i] = expected + difference + 1;
		expected = link[i];
	}
}

// Rows that came late to the recorder may be in a chunk out of order.
function sortChunk(chunk) {
	let i = 1;
	while (i < chunk.items && chunk.begin[i] >= chunk.begin[i - 1])
		i++;
	if (i >= chunk.items)
		return;
	const order = Uint32Array.from({length: chunk.items}, (_, k) => k).sort((a, b) => chunk.begin[a] - chunk.begin[b] || a - b);
	for (const [name, column] of Object.entries(chunk))
		if (ArrayBuffer.isView(column))
			chunk[name] = column.map((_, k) => column[order[k]]);
}

// The latest end so far: where it is above a moment, an item up to there may reach over it.
function addReach(chunk) {
	const reach = chunk.reach = new Float64Array(chunk.items);
	let latest = -Infinity;
	for (let i = 0; i < chunk.items; i++) {
		const end = chunk.begin[i] + (chunk.duration ? chunk.duration[i] : 0);
		latest = Math.max(latest, end);
		reach[i] = latest;
	}
}

/**
 * A chunk's columns as typed arrays. Times in ns from the begin of the recording.
 * @param {Uint8Array} bytes
 * @param {string} kind of the track
 * @param {number} binNs 0 for items
 * @param {number} beginNs what the first item's begin counts from
 * @param {number} items
 */
export function decodeChunk(bytes, kind, binNs, beginNs, items) {
	const chunk = {items, binNs, begin: new Float64Array(items)};
	const mask = new Float64Array(1), isSame = (column) => Math.floor(mask[0] / 2 ** column) % 2 === 1;
	let at = readVarints(bytes, 0, 1, mask, false), width = 16;
	at = readColumn(bytes, at, items, chunk.begin, true, isSame(0));
	columnsOf(kind, binNs).forEach(([name, Type, isSigned], i) => {
		chunk[name] = new Type(items);
		at = readColumn(bytes, at, items, chunk[name], Boolean(isSigned), isSame(i + 1));
		width += Type.BYTES_PER_ELEMENT;
	});
	addUpBegins(chunk, binNs ? 0 : beginNs, binNs === 0 && Boolean(chunk.duration));
	if (chunk.link)
		addUpLinks(chunk);
	if (binNs)
		for (let i = 0; i < items; i++)
			chunk.begin[i] *= binNs;
	if (chunk.first) {
		chunk.duration = new Float64Array(items);
		for (let i = 0; i < items; i++)
			chunk.duration[i] = chunk.first[i] + chunk.second[i];
	}
	sortChunk(chunk);
	addReach(chunk);
	chunk.bytes = width * items + 256;
	return chunk;
}

/** Things by key, up to a number of bytes; the longest unused go first. */
export class Cache {
	constructor(limitBytes) {
		this.limitBytes = limitBytes;
		this.bytes = 0;
		this.entries = new Map();
	}

	get(key) {
		const entry = this.entries.get(key);
		if (!entry)
			return null;
		this.entries.delete(key);
		this.entries.set(key, entry);
		return entry.value;
	}

	put(key, value, bytes) {
		const old = this.entries.get(key);
		if (old) {
			this.bytes -= old.bytes;
			this.entries.delete(key);
		}
		this.entries.set(key, {value, bytes});
		this.bytes += bytes;
		for (const [oldest, entry] of this.entries) {
			if (this.bytes <= this.limitBytes || oldest === key)
				break;
			this.entries.delete(oldest);
			this.bytes -= entry.bytes;
		}
	}
}

/** Sections, inflated. The parser may not have come to one yet: then it is waited for. */
export class SectionStore {
	/**
	 * @param {{has: function(string): boolean, text: function(string): string, isWhole: function(): boolean}} source
	 *   the file: whether a section is there, its base64, whether nothing more will come
	 */
	constructor(source, limitBytes) {
		this.source = source;
		this.cache = new Cache(limitBytes || SECTION_CACHE_BYTES);
		this.loading = new Map();
		this.waiting = [];
	}

	/** Whether a section can be read now, or never: nothing has to be waited for. */
	isSettled(id) {
		return this.source.has(id) || this.source.isWhole();
	}

	/** The file has grown. */
	wake() {
		for (const resolve of this.waiting.splice(0))
			resolve();
	}

	/** @returns {Promise<Uint8Array>} rejected with an AbsentError where it is not there */
	load(id) {
		const ready = this.cache.get(id);
		if (ready)
			return Promise.resolve(ready);
		let promise = this.loading.get(id);
		if (!promise) {
			promise = this.unpack(id).finally(() => this.loading.delete(id));
			this.loading.set(id, promise);
		}
		return promise;
	}

	async unpack(id) {
		while (!this.isSettled(id))
			await new Promise((resolve) => this.waiting.push(resolve));
		if (!this.source.has(id))
			throw new AbsentError("section " + id + " is not in the file: it was cut off");
		const bytes = await inflate(decodeBase64(this.source.text(id)));
		this.cache.put(id, bytes, bytes.length);
		return bytes;
	}

	/** @returns {Promise<*>} the section's JSON */
	async loadJson(id) {
		return JSON.parse(new TextDecoder().decode(await this.load(id)));
	}
}

/** Chunks of tracks, decoded; what is wanted for the screen is loaded first. */
export class ChunkStore {
	/**
	 * @param {SectionStore} sections
	 * @param {function()} onLoaded called when a wanted chunk has come, or cannot
	 */
	constructor(sections, onLoaded, limitBytes) {
		this.sections = sections;
		this.onLoaded = onLoaded;
		this.cache = new Cache(limitBytes || CHUNK_CACHE_BYTES);
		this.absent = new Map();
		this.wanted = [];
		this.running = new Map();
	}

	/** The chunk, if it is decoded; null otherwise. */
	peek(track, level, index) {
		return this.cache.get(ChunkStore.key(track, level, index));
	}

	/** Why the chunk cannot be had, or null. */
	whyAbsent(track, level, index) {
		return this.absent.get(ChunkStore.key(track, level, index)) || null;
	}

	static key(track, level, index) {
		return track.id + "/" + level + "/" + index;
	}

	/** What the screen lacks now, the most important first, as [track, level, index]; replaces the list before. */
	want(list) {
		this.wanted = list;
		this.pump();
	}

	pump() {
		while (this.wanted.length && this.running.size < LOADS_AT_ONCE) {
			const [track, level, index] = this.wanted.shift();
			const key = ChunkStore.key(track, level, index);
			if (this.absent.has(key) || this.running.has(key) || this.cache.entries.has(key) ||
				!this.sections.isSettled("s" + track.levels[level].chunks[index][2]))
				continue;
			this.load(track, level, index).catch(() => null).then(() => {
				this.onLoaded();
				this.pump();
			});
		}
	}

	/** @returns {Promise<object>} the decoded chunk */
	load(track, level, index) {
		const ready = this.peek(track, level, index);
		if (ready)
			return Promise.resolve(ready);
		const key = ChunkStore.key(track, level, index);
		let promise = this.running.get(key);
		if (!promise) {
			promise = this.decode(track, level, index, key).finally(() => this.running.delete(key));
			this.running.set(key, promise);
		}
		return promise;
	}

	async decode(track, level, index, key) {
		const {binNs, chunks} = track.levels[level];
		const [beginNs, , section, offset, bytes, items] = chunks[index];
		try {
			const whole = await this.sections.load("s" + section);
			if (offset + bytes > whole.length)
				throw new Error("section s" + section + " is too short: the file is damaged");
			const chunk = decodeChunk(whole.subarray(offset, offset + bytes), track.kind, binNs, beginNs, items);
			this.cache.put(key, chunk, chunk.bytes);
			return chunk;
		} catch (error) {
			this.absent.set(key, error);
			throw error;
		}
	}
}
