// SPDX-License-Identifier: MIT
//
// Colours and hatchings. The hues are those of Okabe and Ito, which colour-blind people can tell apart
// ("Color Universal Design"); idle causes have colours of the file and a hatching of their own each, kernels are
// solid, copies are striped, and everything that is wide enough has its name in it.

const HUES = ["#0072b2", "#009e73", "#56b4e9", "#cc79a7", "#d55e00", "#e69f00", "#7a68c4", "#8a9a3c"];
const GREY = "#8d8d8d", REJECTED = "#b3261e";
// Hatching by idle cause; the head has their colours, which are those of duet flame.
const CAUSE_HATCHES = new Map([["api_wait", "rise"], ["api_call", "fall"], ["on_cpu", "dots"], ["preempted", "cross"], ["blocked", "dense"],
	["host", "flat"], ["duet_itself", "dense"], ["profiler_overhead", "cross"], ["runtime", "upright"], ["submission", "rise"], ["dependency", "fall"], ["latency", "brick"],
	["nothing_to_do", "sparse"], ["unknown", "cross"]]);
// What a thread waits for off its processor: text, colour, hatching, names. No colour is that of computing. The last one has all other names.
const OFF_GROUPS = [
	["preempted", "#cc79a7", "cross", /^preempted$|\((thread of )?process \d+\)$|^duet's own/],
	["lock, or another thread", "#d55e00", "dense", /^(futex|mutex|flock|fcntl|semop|semtimedop)\b/],
	["Python GIL", "#7a68c4", "fall", /\bGIL\b/],
	["page fault", "#e69f00", "dots", /^page fault/],
	["sleep", "#8d8d8d", "sparse", /nanosleep|\(timerfd/],
	["network, pipe, event, child process", "#0072b2", "upright",
		/\((pipe|tcp|udp|unix|eventfd|inotify|fanotify|signalfd|terminal)|socket|^(recv|send|accept|connect|p?poll|p?select|epoll|wait4|waitid|mq_|msg)/i],
	["file, disk", "#56b4e9", "flat", /^(p?readv?(64|2)?|p?writev?(64|2)?|f(data)?sync|sync\w*|msync|open\w*|io_\w+)\b/],
	["blocked", "#a0765b", "brick", /(?:)/]];

const LIGHT = {isDark: false, back: "#ffffff", stripe: "#f6f7f9", group: "#eceff3", line: "#d9dde3", grid: "#e7eaee",
	text: "#1b1f24", faint: "#5b6470", accent: "#0b57d0", range: "rgba(11,87,208,.10)", edge: "#0b57d0",
	mark: "#b3261e", tint: 0.34, arrow: "#1b1f24", missing: "#c9ced6"};
const DARK = {isDark: true, back: "#16191d", stripe: "#1b1f24", group: "#23282f", line: "#343b44", grid: "#262b32",
	text: "#e8eaed", faint: "#a3acb8", accent: "#8ab4f8", range: "rgba(138,180,248,.14)", edge: "#8ab4f8",
	mark: "#ff8a80", tint: 0.38, arrow: "#e8eaed", missing: "#3d444d"};

function channels(colour) {
	return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

function mix(colour, other, share) {
	const [from, to] = [channels(colour), channels(other)];
	return "#" + from.map((c, i) => Math.round(c + (to[i] - c) * share).toString(16).padStart(2, "0")).join("");
}

// Relative luminance as WCAG 2 defines it.
function luminance(colour) {
	const [red, green, blue] = channels(colour).map((c) => c / 255)
		.map((c) => c <= 0.04045 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4));
	return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

// Black or white, whichever can be read better on it.
function inkOn(colour) {
	return luminance(colour) > 0.19 ? "#101214" : "#ffffff";
}

function hash(text) {
	let value = 2166136261;
	for (let i = 0; i < text.length; i++)
		value = Math.imul(value ^ text.charCodeAt(i), 16777619);
	value ^= value >>> 15;
	return Math.imul(value, 2246822519) >>> 0;
}

// Strokes of a hatching in a tile of 8 px.
function drawHatch(tile, name) {
	const line = (x0, y0, x1, y1) => {
		tile.moveTo(x0, y0);
		tile.lineTo(x1, y1);
	};
	const draw = {
		rise: () => { line(-2, 10, 10, -2); line(-2, 2, 2, -2); line(6, 10, 10, 6); },
		fall: () => { line(-2, -2, 10, 10); line(6, -2, 10, 2); line(-2, 6, 2, 10); },
		dense: () => { line(-2, 10, 10, -2); line(-2, 6, 6, -2); line(2, 10, 10, 2); line(-2, 2, 2, -2); line(6, 10, 10, 6); },
		cross: () => { draw.rise(); draw.fall(); },
		flat: () => { line(0, 2, 8, 2); line(0, 6, 8, 6); },
		upright: () => { line(2, 0, 2, 8); line(6, 0, 6, 8); },
		brick: () => { line(0, 0.5, 8, 0.5); line(0, 4.5, 8, 4.5); line(2, 0, 2, 4); line(6, 4, 6, 8); },
		dots: () => { tile.rect(1, 1, 1.5, 1.5); tile.rect(5, 5, 1.5, 1.5); },
		sparse: () => { tile.rect(3, 3, 1, 1); },
		stripes: () => { line(-2, 10, 10, -2); },
	};
	draw[name]();
}

function makePattern(fill, stroke, hatchName) {
	const canvas = document.createElement("canvas");
	canvas.width = canvas.height = 8;
	const tile = canvas.getContext("2d");
	tile.fillStyle = fill;
	tile.fillRect(0, 0, 8, 8);
	tile.strokeStyle = stroke;
	tile.lineWidth = 1.1;
	tile.beginPath();
	drawHatch(tile, hatchName);
	tile.stroke();
	return tile.createPattern(canvas, "repeat");
}

/** What things look like in a theme. A style is {fill, paint, bar, ink, line}: paint is what to fill
 * with, maybe a hatching; fill and bar are plain colours near it, ink is for text on it. */
export class Colours {
	/** @param {boolean} isDark @param {object} head has causes, cause_texts, cause_colours */
	constructor(isDark, head) {
		const {causes, cause_texts: texts, cause_colours: colours} = head || {};
		this.theme = isDark ? DARK : LIGHT;
		this.causeColours = new Map((causes || []).map((name, i) => [name, (colours || [])[2 * i + (isDark ? 1 : 0)]]));
		this.causeByText = new Map((causes || []).map((name, i) => ["[idle: " + (texts || causes)[i] + "]", name]));
		this.styles = new Map();
		this.tables = new Map();
	}

	/** Styles of a kind of track by number, for those who look one up for each item. */
	tableOf(kind) {
		let table = this.tables.get(kind);
		if (!table) {
			table = new Map();
			this.tables.set(kind, table);
		}
		return table;
	}

	/** Texts have come: what was coloured by a name that was not known is forgotten. */
	forgetTables() {
		this.tables.clear();
	}

	/** The style for a key; made by make() at first. */
	style(key, make) {
		let style = this.styles.get(key);
		if (!style) {
			style = make();
			this.styles.set(key, style);
		}
		return style;
	}

	solid(base) {
		return this.style("solid " + base, () => ({fill: base, paint: base, bar: base, ink: inkOn(base),
			line: mix(base, this.theme.isDark ? "#ffffff" : "#000000", 0.3)}));
	}

	hatched(base, hatchName) {
		return this.style("hatch " + base + hatchName, () => {
			const fill = mix(this.theme.back, base, this.theme.tint);
			return {fill, paint: makePattern(fill, mix(fill, base, 0.75), hatchName), bar: base, ink: inkOn(fill), line: base};
		});
	}

	striped(base) {
		return this.style("stripes " + base, () => ({fill: base, paint: makePattern(base, mix(base, "#ffffff", 0.45), "stripes"),
			bar: base, ink: inkOn(base), line: mix(base, "#000000", 0.3)}));
	}

	/** A hue by name, in one of three lightnesses. */
	named(name) {
		return this.style("name " + name, () => {
			const value = hash(name);
			const base = mix(HUES[value % HUES.length], this.theme.isDark ? "#000000" : "#ffffff", (value >>> 8) % 3 * 0.16);
			return this.solid(base);
		});
	}

	cause(name) {
		return this.style("cause " + name, () => {
			const fill = this.causeColours.get(name) || GREY, line = mix(fill, this.theme.isDark ? "#ffffff" : "#000000", 0.3);
			return {fill, paint: makePattern(fill, mix(fill, line, 0.6), CAUSE_HATCHES.get(name) || "flat"), bar: fill, ink: inkOn(fill), line};
		});
	}

	/** A box of idle time in a flame graph, by its text; grey where that is no cause. */
	idle(text) {
		const cause = this.causeByText.get(text) || (text === "[preempted]" ? "preempted" : /^\[(blocked|waiting )/.test(text) ? "blocked" : "");
		return cause ? this.cause(cause) : this.solid("#9aa0a8");
	}

	off(name) {
		const [, colour, hatchName] = OFF_GROUPS.find((group) => group[3].test(name));
		return this.hatched(colour, hatchName);
	}

	/** What threads wait for off their processors, for a legend: [text, style]. */
	offGroups() {
		return OFF_GROUPS.map(([text, colour, hatchName]) => [text, this.hatched(colour, hatchName)]);
	}

	path(path) {
		if (path.cls === 1)
			return this.striped("#7b6d8d");
		return path.cls === 2 ? this.solid("#8a8f98") : this.named(path.name);
	}

	/** A command that failed on its device, or has impossible times. */
	rejected() {
		return this.hatched(REJECTED, "cross");
	}

	/** An iteration that takes longer than the others. */
	slow() {
		return this.solid("#e69f00");
	}

	/** What to write with on a style that is painted over the page with less than all of its colour. */
	inkOver(style, alpha) {
		return inkOn(mix(this.theme.back, style.fill, alpha));
	}

	/** Of a device that was not measured. */
	unmeasured() {
		return this.hatched(GREY, "rise");
	}

	/** What should be in the file and is not. */
	absent() {
		return this.hatched(GREY, "sparse");
	}

	/** Calls that launch, that wait, others. */
	call(launches, waits) {
		const base = launches ? "#0072b2" : waits ? "#e69f00" : "#8fa3b5";
		return this.solid(this.theme.isDark ? mix(base, "#000000", 0.15) : mix(base, "#ffffff", 0.12));
	}

	/** A frame of a flame graph by its class. */
	frame(cls, name) {
		const base = ["#e07b53", "#e69f00", "#d9c23c", "#cc79a7", "#7fae4c", "#56b4e9", "#9aa0a8", "#8a9fd0"][cls] || "#9aa0a8";
		const step = hash(name) % 4 * 0.1;
		return this.solid(this.theme.isDark ? mix(base, "#000000", 0.1 + step) : mix(base, "#ffffff", 0.1 + step));
	}
}
