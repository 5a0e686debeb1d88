// SPDX-License-Identifier: MIT
//
// The script inside a flame graph (flame/svg.c). It reads the boxes once, lays them out from their
// values, and keeps its whole state (zoomed frames, search) in the URL's fragment.
//
// Names are data of the profiled program: they go into the page as text nodes and attribute values
// only, and are keys of a Map, never of an object. ASCII, no template literals (tools/embed.py).
(function () {
	"use strict";

	const SVG = "http://www.w3.org/2000/svg";
	const HTML = "http://www.w3.org/1999/xhtml";
	const PAD = 10, ROW = 17, BOX = 16, LINE = 18;
	const DEEPEST = 1023; // FLAME_ROWS_MAX - 1
	const BAR = 396, BAR_HEIGHT = 28; // px of the controls
	// px of the lists of changes, as in diff/picture.c
	const GAP = 20, TWO_COLUMNS = 1000, WIDE = 480, VALUES = 94, PATH = 236;
	const BESIDE = 800; // px of page width from which they fit beside the title
	const WORDS = new Map([
		["h", ["host", ""]], ["k", ["OS kernel", "_[k]"]], ["j", ["JIT", "_[j]"]],
		["i", ["inlined", "_[i]"]], ["p", ["Python", ""]], ["G", ["device", "_[G]"]],
		["g", ["device instruction", "_[g]"]], ["w", ["stall reason", "_[g]"]], ["s", ["host | device", ""]],
		["d", ["idle", ""]], ["t", ["truncated", ""]], ["r", ["", ""]]]);
	const HELP = [
		["click, Enter", "zoom to a frame"],
		["Esc, Backspace", "one zoom back"],
		["Home", "zoom out to everything"],
		["arrow keys", "move between frames"],
		["/, Ctrl-F", "search by regular expression"],
		["n, N", "next, previous match"],
		["i", "search with or without case"],
		["o", "root on top, or at the bottom"],
		["Page Up, Page Down", "scroll a deep graph"],
		["c", "largest changes, or back to the graph"],
		["r", "reset zoom and search"],
		["?", "show or hide this help"]];
	const STYLE =
		"#frames g{cursor:pointer;outline:none}" +
		"#frames g:hover>rect{stroke:#161616;stroke-width:1.2}" +
		"#frames text{user-select:none;-webkit-user-select:none}" +
		"#frames g.above>rect{fill-opacity:.5}" +
		"#frames.searching rect{fill-opacity:.3}" +
		"#frames.searching rect.m{fill:#e58cff;fill-opacity:1}" +
		".ring{fill:none;stroke:#0b4fd8;stroke-width:2.5;pointer-events:none}" +
		".tip,.help{pointer-events:none}" +
		".tip rect,.help rect{fill:#fff;stroke:#6b6b6b}" +
		"text.mono{font-family:ui-monospace,\"DejaVu Sans Mono\",\"Liberation Mono\",Menlo," +
		"Consolas,monospace}" +
		".tip .mono{font-weight:600}" +
		".help .key{font-weight:600}" +
		"#changes .row[role]{cursor:pointer;outline:none}" +
		"#changes .row[role]:hover .path,#changes .row:focus-visible .path{text-decoration:underline}" +
		".thumb{fill:#6b6b6b;fill-opacity:.6;cursor:grab}" +
		".crumb text{fill:#0b4fd8;text-decoration:underline}" +
		".crumb{cursor:pointer;outline:none}" +
		".crumb:focus-visible text{stroke:#0b4fd8;stroke-width:.6}" +
		"foreignObject{overflow:visible}" +
		".bar{display:flex;gap:6px;font:12px system-ui,sans-serif}" +
		".bar input{flex:1;min-width:60px}" +
		".bar input,.bar button{font:inherit;box-sizing:border-box;height:26px;padding:2px 8px;" +
		"border:1px solid #757575;border-radius:4px;background:#fff;color:#161616}" +
		".bar input[aria-invalid=true]{border:2px solid #c01c1c}" +
		".bar button[aria-pressed=true]{background:#d5e3ff;border-color:#0b4fd8}" +
		".bar :focus-visible{outline:2px solid #0b4fd8;outline-offset:1px}" +
		"text.bad{fill:#a11212;font-weight:600}" +
		"@media (prefers-color-scheme:dark){" +
		"#frames g:hover>rect{stroke:#f4f4f4}" +
		"#frames.searching rect.m{fill:#8a22a8}" +
		".ring{stroke:#8ab6ff}" +
		".tip rect,.help rect{fill:#262626;stroke:#8a8a8a}" +
		".thumb{fill:#a8a8a8}" +
		".crumb text{fill:#8ab6ff}" +
		".crumb:focus-visible text{stroke:#8ab6ff}" +
		".bar input,.bar button{background:#262626;color:#f4f4f4;border-color:#8a8a8a}" +
		".bar input[aria-invalid=true]{border-color:#ff9c92}" +
		".bar button[aria-pressed=true]{background:#1d3a70;border-color:#8ab6ff}" +
		".bar :focus-visible{outline-color:#8ab6ff}" +
		"text.bad{fill:#ff9c92}}";

	const svg = (document.currentScript && document.currentScript.ownerSVGElement) ||
		document.documentElement;
	const isAlone = svg === document.documentElement;
	const group = svg.querySelector("#frames");
	const head = svg.querySelector("#head");
	const unit = svg.dataset.unit;
	const rowCount = Number(svg.dataset.rows);
	const headStatic = Number(svg.dataset.head);
	const widthsOf = svg.dataset.diff; // "new", "base"; undefined: one recording
	const changes = svg.querySelector("#changes");
	const isDrawnIcicle = svg.dataset.icicle === "1"; // as the file has its boxes

	const frames = []; // parents before children, siblings from left to right
	const rows = []; // frames by depth, from left to right
	const frameOf = new Map(); // element -> frame

	let width = svg.width.baseVal.value;
	let headHeight = headStatic;
	let listHeight = 0; // px of the lists below the frames
	let viewHeight = 0;
	let scroll = 0;
	let isIcicle = isDrawnIcicle; // the root is on top
	let advance = 7.23; // px of a character of the boxes
	let path = []; // zoomed frames, from the outermost to the innermost
	let pattern = "";
	let isCaseless = false;
	let expression = null;
	let doubtful = []; // frames whose labels must be measured
	let current = null; // the frame with the keyboard focus
	let hashesDone = false;

	// -- helpers --

	function make(name, attributes, parent) {
		const element = document.createElementNS(SVG, name);
		for (const key of Object.keys(attributes || {}))
			element.setAttribute(key, attributes[key]);
		if (parent)
			parent.appendChild(element);
		return element;
	}

	function makeHtml(name, attributes, parent, text) {
		const element = document.createElementNS(HTML, name);
		for (const key of Object.keys(attributes))
			element.setAttribute(key, attributes[key]);
		if (text)
			element.textContent = text;
		parent.appendChild(element);
		return element;
	}

	function scaled(value, size, prefix) {
		const number = value / size;
		const digits = size === 1 ? 0 : number < 9.9995 ? 3 : number < 99.995 ? 2 :
			number < 999.95 ? 1 : 0;
		return number.toFixed(digits) + " " + prefix;
	}

	function human(value) {
		const times = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]];
		const sizes = [[2 ** 60, "EiB"], [2 ** 50, "PiB"], [2 ** 40, "TiB"], [2 ** 30, "GiB"],
			[2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "bytes"]];
		const counts = [[1e18, "E "], [1e15, "P "], [1e12, "T "], [1e9, "G "], [1e6, "M "],
			[1e3, "k "], [1, ""]];
		const isTime = unit === "ns", isSize = unit === "bytes";
		const scales = isTime ? times : isSize ? sizes : counts;
		const share = isSize ? 1 : 0.99995;
		const scale = scales.find((s) => s[0] === 1 || value >= s[0] * share);
		return scaled(value, scale[0], scale[1]) + (isTime || isSize ? "" : unit);
	}

	function exactly(exact) {
		return String(exact).replace(/\B(?=(\d{3})+$)/g, ",") + " " + unit;
	}

	function both(exact) {
		const short = human(Number(exact)), long = exactly(exact);
		return short === long ? short : short + " (" + long + ")";
	}

	function share(part, whole) {
		const percent = whole > 0 ? 100 * part / whole : 0;
		if (part > 0 && percent < 0.01)
			return "< 0.01 %";
		return (part < whole ? Math.min(percent, 99.99) : percent).toFixed(2) + " %";
	}

	// "+1.5 ms (1,500,000 ns), +50.00 %"
	function change(now, base) {
		const size = now > base ? now - base : base - now, sign = now > base ? "+" : "\u2212";
		const percent = 100 * Number(size) / Number(base);
		if (!size)
			return "unchanged";
		return sign + both(size) + (!base ? ", new" : !now ? ", only in BASE" :
			percent < 0.01 ? ", below 0.01 %" :
				", " + sign + percent.toFixed(percent < 1000 ? 2 : 0) + " %");
	}

	function cells(character) {
		return character.codePointAt(0) >= 0x1100 ? 2 : 1;
	}

	// -- the frames --

	function readFrame(g, longNames, notes, above) {
		const title = g.firstElementChild, rect = title.nextElementSibling;
		const row = Math.round((Number(rect.getAttribute("y")) - headStatic) / ROW);
		const depth = isIcicle ? row : rowCount - 1 - row;
		const parent = depth ? above[depth - 1] : null;
		const hidden = (g.dataset.u || "0 0").split(" ");
		const shown = title.textContent;
		const frame = {
			g: g, rect: rect, text: rect.nextElementSibling, index: frames.length, end: 0,
			name: g.dataset.l ? longNames[Number(g.dataset.l)] :
				shown.slice(0, shown.lastIndexOf("\n")),
			label: g.dataset.s || "",
			note: g.dataset.n ? notes[Number(g.dataset.n)] : "",
			letter: rect.getAttribute("class").charAt(0),
			exact: g.dataset.v, other: g.dataset.o, value: Number(g.dataset.v), start: 0, filled: 0,
			hiddenCount: Number(hidden[0]), hiddenExact: hidden[1],
			depth: depth, parent: parent, place: 0, kids: [],
			isShown: true, isAbove: false, isMatch: false, left: 0, width: 0, h1: 0, h2: 0};
		if (parent) {
			frame.start = parent.start + parent.filled;
			parent.filled += frame.value;
			parent.kids.push(frame);
		}
		title.remove();
		above.length = depth;
		above.push(frame);
		frames.push(frame);
		if (rows.length <= depth)
			rows.push([]);
		frame.place = rows[depth].push(frame) - 1;
		frameOf.set(g, frame);
	}

	function texts(id) {
		const list = svg.querySelector(id);
		return list ? Array.from(list.children, (entry) => entry.textContent) : [];
	}

	function readFrames() {
		const longNames = texts("#names"), notes = texts("#notes");
		const above = [];
		for (const g of Array.from(group.children)) {
			if (g.localName === "g")
				readFrame(g, longNames, notes, above);
		}
		for (let i = frames.length - 1; i >= 0; i--) {
			const frame = frames[i];
			frame.end = Math.max(frame.end, i + 1);
			if (frame.parent)
				frame.parent.end = Math.max(frame.parent.end, frame.end);
		}
	}

	function zoomed() {
		return path.length ? path[path.length - 1] : frames[0];
	}

	function isInside(frame, outer) {
		return frame.index >= outer.index && frame.index < outer.end;
	}

	function frameAt(target) {
		const g = target instanceof Element ? target.closest("#frames>g") : null;
		return g ? frameOf.get(g) : undefined;
	}

	// -- layout --

	function measure() {
		const probe = make("text", {x: 0, y: -100, class: "mono"}, svg);
		probe.textContent = "0".repeat(50);
		const length = probe.getComputedTextLength() / 50;
		probe.remove();
		if (length > 3)
			advance = length;
	}

	// The longest prefix of a name that fits, with an ellipsis for the cut part.
	function cut(name, room) {
		let most = Math.floor(room / advance), used = 0, end = 0, last = 0;
		for (const character of name) {
			used += cells(character);
			if (used > most)
				return name.slice(0, last) + "\u2026";
			end += character.length;
			if (used < most)
				last = end;
		}
		return name;
	}

	function label(frame) {
		const room = frame.width - 6;
		if (room < 3 * advance) {
			if (frame.text)
				frame.text.textContent = "";
			return;
		}
		if (!frame.text)
			frame.text = make("text", {y: Number(frame.rect.getAttribute("y")) + 12}, frame.g);
		const shown = cut(frame.label || frame.name, room);
		frame.text.setAttribute("x", (frame.left + 3).toFixed(2));
		frame.text.textContent = shown;
		if (/[^ -~\u2026]/.test(shown))
			doubtful.push(frame);
	}

	// Characters of other scripts have unknown widths. All labels are measured before any is
	// changed, because the browser computes the layout again for the first measurement after a
	// change.
	function fitLabels() {
		if (!group.isConnected)
			return;
		for (let round = 0; round < 4 && doubtful.length; round++) {
			const lengths = doubtful.map((frame) => frame.text.getComputedTextLength());
			const wide = [];
			doubtful.forEach((frame, i) => {
				if (lengths[i] > frame.width - 6)
					wide.push([frame, lengths[i]]);
			});
			for (const [frame, length] of wide) {
				const characters = Array.from(frame.text.textContent.replace(/\u2026$/, ""));
				const count = Math.floor(characters.length * (frame.width - 6) / length) - 1;
				frame.text.textContent = count > 0 ? characters.slice(0, count).join("") + "\u2026" : "";
			}
			doubtful = wide.map((pair) => pair[0]);
		}
		doubtful = [];
	}

	function put(frame, left, boxWidth) {
		frame.left = left;
		frame.width = boxWidth;
		frame.rect.setAttribute("x", left.toFixed(2));
		frame.rect.setAttribute("width", Math.max(0.05, boxWidth - Math.min(0.6, boxWidth / 4)).toFixed(2));
		label(frame);
	}

	function show(frame, isShown, isAbove) {
		if (frame.isShown !== isShown) {
			frame.isShown = isShown;
			if (isShown)
				frame.g.removeAttribute("display");
			else
				frame.g.setAttribute("display", "none");
		}
		if (frame.isAbove !== isAbove) {
			frame.isAbove = isAbove;
			frame.g.classList.toggle("above", isAbove);
		}
	}

	function layOut() {
		const root = zoomed(), plot = width - 2 * PAD;
		for (const frame of frames) {
			const isAbove = frame !== root && isInside(root, frame);
			const isBelow = isInside(frame, root);
			show(frame, isAbove || isBelow, isAbove);
			if (isAbove)
				put(frame, PAD, plot);
			else if (isBelow)
				put(frame, PAD + (frame.start - root.start) / root.value * plot,
					frame.value / root.value * plot);
		}
		fitLabels();
		drawRing();
	}

	// -- controls and head --

	const style = make("style", {}, svg);
	style.textContent = STYLE;
	const view = make("svg", {x: 0}); // clips the frames
	const ring = make("rect", {class: "ring", height: BOX, display: "none"});
	const thumb = make("rect", {class: "thumb", width: 6, rx: 3, display: "none"});
	const status = make("text", {"text-anchor": "end", role: "status", "aria-live": "polite"}, svg);
	const bar = make("foreignObject", {width: BAR, height: BAR_HEIGHT}, svg);
	const controls = makeHtml("div", {class: "bar", role: "toolbar", "aria-label": "Flame graph"}, bar);
	const input = makeHtml("input", {type: "search", placeholder: "Search (regular expression)",
		"aria-label": "Search by regular expression", spellcheck: "false"}, controls);
	const caseButton = makeHtml("button", {type: "button", "aria-pressed": "false",
		title: "Ignore case (i)"}, controls, "Aa");
	const turnButton = makeHtml("button", {type: "button", "aria-pressed": String(isIcicle),
		"aria-label": "Root on top", title: "Root on top, or at the bottom (o)"}, controls, "\u21c5");
	const resetButton = makeHtml("button", {type: "button",
		title: "Reset zoom and search (r)"}, controls, "Reset");
	const listButton = makeHtml("button", {type: "button",
		title: "Largest changes, or back to the graph (c)"}, controls, "Changes");
	const helpButton = makeHtml("button", {type: "button", "aria-label": "Help",
		title: "Help (?)"}, controls, "?");
	const tip = make("g", {class: "tip", display: "none", role: "tooltip"}, svg);
	const help = make("g", {class: "help", display: "none", role: "dialog", "aria-label": "Keys"}, svg);

	group.parentNode.insertBefore(view, group);
	view.appendChild(group);
	view.appendChild(ring);
	if (changes)
		view.appendChild(changes);
	const hasLists = changes && changes.children.length > 0;
	const barWidth = BAR + (hasLists ? 78 : 0);
	if (!hasLists)
		listButton.remove();
	svg.insertBefore(thumb, status);
	svg.setAttribute("role", "group");
	group.setAttribute("role", "tree");
	group.setAttribute("aria-label", "Frames");

	function fitText(text, full, room) {
		text.textContent = full;
		if (text.getComputedTextLength() <= room)
			return;
		let low = 0, high = full.length;
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			text.textContent = full.slice(0, middle) + "\u2026";
			if (text.getComputedTextLength() <= room)
				low = middle;
			else
				high = middle - 1;
		}
		text.textContent = full.slice(0, low) + "\u2026";
	}

	const headTexts = Array.from(head.children).filter((e) => e.localName === "text")
		.map((e) => ({text: e, full: e.textContent}));
	const legend = svg.querySelector("#legend");
	const trail = svg.querySelector("#trail");

	const items = Array.from(legend.children);
	const itemsTop = items.map((item) => item.transform.baseVal.getItem(0).matrix.f);

	// Returns the px that the legend's lines take in addition to those in the file.
	function layOutLegend() {
		let x = PAD, y = itemsTop[0];
		for (const item of items) {
			const itemWidth = item.lastElementChild.getComputedTextLength() + 34;
			if (x > PAD && x + itemWidth > width - PAD) {
				x = PAD;
				y += LINE;
			}
			item.setAttribute("transform", "translate(" + x + "," + y + ")");
			x += itemWidth;
		}
		return items.length ? y - itemsTop[items.length - 1] : 0;
	}

	function layOutHead() {
		const isBeside = width >= BESIDE;
		const shift = isBeside ? 0 : BAR_HEIGHT + 4;
		const more = layOutLegend();
		head.setAttribute("transform", "translate(0," + shift + ")");
		for (const line of headTexts)
			fitText(line.text, line.full, width - 2 * PAD - (isBeside ? barWidth + PAD : 0));
		bar.setAttribute("width", Math.min(barWidth, width - 2 * PAD));
		bar.setAttribute("x", isBeside ? width - barWidth - PAD : PAD);
		bar.setAttribute("y", 7);
		trail.setAttribute("transform", "translate(0," + more + ")");
		headHeight = headStatic + shift + more;
		status.setAttribute("x", width - PAD);
		status.setAttribute("y", headHeight - 8);
	}

	function graphHeight() {
		return rowCount * ROW + PAD;
	}

	function contentHeight() {
		return graphHeight() + listHeight;
	}

	function setScroll(wanted) {
		const most = Math.max(0, contentHeight() - viewHeight);
		scroll = Math.min(most, Math.max(0, wanted));
		group.setAttribute("transform", "translate(0," + (-headStatic - scroll) + ")");
		ring.setAttribute("transform", "translate(0," + (-headStatic - scroll) + ")");
		if (changes)
			changes.setAttribute("transform", "translate(0," + (graphHeight() - scroll) + ")");
		if (!most) {
			thumb.setAttribute("display", "none");
			return;
		}
		const size = Math.max(24, viewHeight * viewHeight / contentHeight());
		thumb.removeAttribute("display");
		thumb.setAttribute("x", width - 8);
		thumb.setAttribute("height", size);
		thumb.setAttribute("y", headHeight + (viewHeight - size) * scroll / most);
	}

	function resize() {
		if (isAlone && window.innerWidth > 0) {
			width = Math.max(320, window.innerWidth);
			layOutHead();
			layOutLists();
			viewHeight = Math.min(contentHeight(), Math.max(6 * ROW, window.innerHeight - headHeight));
		} else {
			layOutHead();
			layOutLists();
			viewHeight = contentHeight();
		}
		const height = Math.max(headHeight + viewHeight, isAlone ? window.innerHeight : 0);
		svg.setAttribute("width", width);
		svg.setAttribute("height", height);
		svg.setAttribute("viewBox", "0 0 " + width + " " + height);
		view.setAttribute("y", headHeight);
		view.setAttribute("width", width);
		view.setAttribute("height", viewHeight);
	}

	function topOf(frame) {
		return Number(frame.rect.getAttribute("y")) - headStatic;
	}

	// Scrolls the minimum that shows the frame with two rows around it.
	function reveal(frame) {
		const y = topOf(frame);
		if (y - 2 * ROW < scroll)
			setScroll(y - 2 * ROW);
		else if (y + 3 * ROW > scroll + viewHeight)
			setScroll(y + 3 * ROW - viewHeight);
	}

	function scrollToRoot() {
		setScroll(isIcicle ? 0 : graphHeight() - viewHeight);
	}

	// -- lists of changes --

	const lists = changes ? Array.from(changes.children) : [];
	const listRows = changes ? Array.from(changes.querySelectorAll(".row")) : [];

	function layOutRow(row, listWidth) {
		const line = row.querySelector(".path"), values = row.querySelector(".dim");
		const isWide = values && listWidth >= WIDE;
		line.setAttribute("x", isWide ? PATH : VALUES);
		if (values)
			values.setAttribute("visibility", isWide ? "visible" : "hidden");
		fitText(line, line.dataset.f, listWidth - (isWide ? PATH : VALUES));
	}

	// Places the lists as the file does, for the page's width.
	function layOutLists() {
		const columns = width >= TWO_COLUMNS ? 2 : 1;
		const listWidth = Math.floor((width - 2 * PAD - (columns - 1) * GAP) / columns);
		let y = 0, below = 0, column = 0;
		for (const list of lists) {
			list.setAttribute("transform", "translate(" +
				(PAD + column * (listWidth + GAP)) + "," + y + ")");
			below = Math.max(below, y + Number(list.dataset.height));
			column = (column + 1) % columns;
			y = column ? y : below;
		}
		listHeight = below;
		for (const row of listRows)
			layOutRow(row, listWidth);
	}

	function toggleLists() {
		if (!hasLists)
			return;
		hideTip();
		const most = Math.max(0, contentHeight() - viewHeight);
		if (scroll < Math.min(graphHeight(), most))
			setScroll(graphHeight());
		else
			scrollToRoot();
	}

	function goToListed(frame) {
		zoomTo(frame);
		focusFrame(frame);
	}

	// The rows of drawn frames lead to them.
	function readLists() {
		for (const row of listRows) {
			const line = row.querySelector(".path"), frame = frames[Number(row.dataset.i || -1)];
			line.dataset.f = line.dataset.f || line.textContent;
			if (!frame)
				continue;
			row.setAttribute("role", "link");
			row.setAttribute("tabindex", "0");
			row.addEventListener("click", () => goToListed(frame));
			row.addEventListener("keydown", (event) => {
				if (event.key !== "Enter" && event.key !== " ")
					return;
				event.preventDefault();
				event.stopPropagation();
				goToListed(frame);
			});
		}
	}

	// -- where the root is --

	function turn(wanted) {
		if (isIcicle === wanted)
			return;
		isIcicle = wanted;
		turnButton.setAttribute("aria-pressed", String(isIcicle));
		for (const frame of frames) {
			const y = headStatic + (isIcicle ? frame.depth : rowCount - 1 - frame.depth) * ROW;
			frame.rect.setAttribute("y", y);
			if (frame.text)
				frame.text.setAttribute("y", y + 12);
		}
		hideTip();
		scrollToRoot();
		if (zoomed())
			reveal(zoomed());
		drawRing();
		writeState(false);
	}

	// -- the path of zoomed frames --

	function addCrumb(x, frame, index, room) {
		const crumb = make("g", {class: "crumb", role: "link", tabindex: "0"}, trail);
		const text = make("text", {x: x, y: headStatic - 8}, crumb);
		fitText(text, frame.name, room);
		crumb.setAttribute("aria-label", "Zoom back to " + frame.name.slice(0, 200));
		crumb.addEventListener("click", () => zoomPath(path.slice(0, index)));
		crumb.addEventListener("keydown", (event) => {
			if (event.key !== "Enter" && event.key !== " ")
				return;
			event.preventDefault();
			event.stopPropagation();
			zoomPath(path.slice(0, index));
			focusFrame(zoomed());
		});
		return x + text.getComputedTextLength();
	}

	function addPlain(x, content, room) {
		const text = make("text", {x: x, y: headStatic - 8}, trail);
		fitText(text, content, room);
		return x + text.getComputedTextLength();
	}

	function drawTrail() {
		const room = width - 2 * PAD - (status.textContent ? status.getComputedTextLength() + 20 : 0);
		const root = zoomed();
		const names = Math.max(60, (room - 220) / 3);
		let x = PAD;
		trail.textContent = "";
		if (!root)
			return;
		if (!path.length) {
			addPlain(x, "all: " + both(root.exact), room);
			return;
		}
		x = addCrumb(x, frames[0], 0, 60);
		const first = Math.max(0, path.length - 3);
		if (first > 0)
			x = addPlain(x + 5, "\u203a \u2026", 60);
		for (let i = first; i < path.length - 1; i++)
			x = addCrumb(addPlain(x + 5, "\u203a", 30) + 5, path[i], i + 1, names / 2);
		x = addPlain(x + 5, "\u203a", 30) + 5;
		x = addPlain(x, root.name.slice(0, 400), Math.max(60, Math.min(names * 2, room - x - 170)));
		addPlain(x, ": " + human(root.value) + ", " + share(root.value, frames[0].value),
			Math.max(40, PAD + room - x));
	}

	function zoomPath(frameList) {
		path = frameList;
		hideTip();
		layOut();
		drawStatus();
		drawTrail();
		if (zoomed())
			reveal(zoomed());
		writeState(true);
	}

	// Zooms to a frame and keeps the zoomed frames that contain it.
	function zoomTo(frame) {
		const outer = path.filter((f) => f !== frame && isInside(frame, f));
		zoomPath(frame.parent ? outer.concat([frame]) : []);
	}

	function zoomBack() {
		zoomPath(path.slice(0, -1));
	}

	// -- search --

	function suffix(frame) {
		return WORDS.get(frame.letter)[1];
	}

	function mark() {
		// name with suffix -> whether it matches, with or without it
		const known = new Map();
		for (const frame of frames) {
			const full = frame.name + suffix(frame);
			let isMatch = false;
			if (expression && frame.parent) {
				isMatch = known.get(full);
				if (isMatch === undefined) {
					isMatch = expression.test(frame.name) || expression.test(full);
					known.set(full, isMatch);
				}
			}
			if (frame.isMatch !== isMatch) {
				frame.isMatch = isMatch;
				frame.rect.classList.toggle("m", isMatch);
			}
		}
		group.classList.toggle("searching", expression !== null);
	}

	// Counts each stack once: children of a matching frame are skipped.
	function tally() {
		const root = zoomed();
		let sum = 0n, hidden = 0n;
		for (let frame = root; frame; frame = frame.parent) {
			if (frame.isMatch)
				return [BigInt(root.exact), 0n];
		}
		for (let i = root.index; i < root.end;) {
			const frame = frames[i];
			sum += frame.isMatch ? BigInt(frame.exact) : 0n;
			hidden += frame.isMatch ? 0n : BigInt(frame.hiddenExact);
			i = frame.isMatch ? frame.end : i + 1;
		}
		return [sum, hidden];
	}

	function drawStatus() {
		const root = zoomed();
		if (!root || input.getAttribute("aria-invalid") === "true")
			return;
		if (!expression) {
			status.textContent = "";
			return;
		}
		const [sum, hidden] = tally();
		status.textContent =
			(sum ? "matched " + share(Number(sum), root.value) + ", " + both(sum) : "no match") +
			(hidden ? "; not drawn " + share(Number(hidden), root.value) : "");
	}

	function search(wanted) {
		pattern = wanted;
		input.removeAttribute("aria-invalid");
		status.classList.remove("bad");
		expression = null;
		try {
			expression = pattern ? new RegExp(pattern, isCaseless ? "i" : "") : null;
		} catch (error) {
			input.setAttribute("aria-invalid", "true");
			status.classList.add("bad");
			status.textContent = "";
			fitText(status, "bad expression: " +
				String(error.message).replace(/^.*\/: /, ""), width / 2);
		}
		mark();
		drawStatus();
		drawTrail();
		writeState(false);
	}

	function setCaseless(wanted) {
		isCaseless = wanted;
		caseButton.setAttribute("aria-pressed", String(wanted));
	}

	function reset() {
		input.value = "";
		setCaseless(false);
		search("");
		zoomPath([]);
	}

	function nextMatch(step) {
		const root = zoomed(), count = root ? root.end - root.index : 0;
		const from = current && isInside(current, root) ? current.index - root.index : 0;
		for (let i = 1; i <= count; i++) {
			const frame = frames[root.index + (from + step * i + count * 2) % count];
			if (frame.isMatch) {
				focusFrame(frame);
				return;
			}
		}
	}

	// -- state in the fragment --

	// A hash of 53 bits of the names from the root to the frame, so that a link also works for
	// a graph that is drawn again. Each step is that of cyrb53 (public domain).
	function hashOn(frame, h1, h2) {
		const text = frame.letter + frame.name;
		for (let i = 0; i < text.length; i++) {
			const code = text.charCodeAt(i);
			h1 = Math.imul(h1 ^ code, 2654435761);
			h2 = Math.imul(h2 ^ code, 1597334677);
		}
		frame.h1 = Math.imul(h1 ^ (h1 >>> 16), 2246822507) ^ Math.imul(h2 ^ (h2 >>> 13), 3266489909);
		frame.h2 = Math.imul(h2 ^ (h2 >>> 16), 2246822507) ^ Math.imul(h1 ^ (h1 >>> 13), 3266489909);
	}

	function hashAll() {
		if (hashesDone)
			return;
		for (const frame of frames)
			hashOn(frame, frame.parent ? frame.parent.h1 : 1, frame.parent ? frame.parent.h2 : 2);
		hashesDone = true;
	}

	function idOf(frame) {
		hashAll();
		return (4294967296 * (2097151 & frame.h2) + (frame.h1 >>> 0)).toString(36);
	}

	function fragment() {
		const parts = [];
		if (path.length)
			parts.push("z=" + path.map(idOf).join("."));
		if (pattern)
			parts.push("s=" + encodeURIComponent(pattern));
		if (isCaseless)
			parts.push("i=1");
		if (isIcicle !== isDrawnIcicle)
			parts.push("o=1");
		return parts.length ? "#" + parts.join("&") : "";
	}

	let isRestoring = false;

	// A zoom is a step that the browser's Back undoes; a search is not.
	function writeState(isStep) {
		const wanted = fragment();
		if (isRestoring || wanted === location.hash || !isAlone)
			return;
		try {
			if (isStep)
				history.pushState(null, "", wanted || "#");
			else
				history.replaceState(null, "", wanted || "#");
		} catch (error) {
			location.hash = wanted;
		}
	}

	function parameters(text) {
		const found = new Map();
		for (const part of text.slice(1).split("&")) {
			const at = part.indexOf("=");
			try {
				if (at > 0)
					found.set(part.slice(0, at), decodeURIComponent(part.slice(at + 1).replace(/\+/g, " ")));
			} catch (error) {
				// ignore a broken escape
			}
		}
		return found;
	}

	function readState() {
		if (!frames.length || !isAlone)
			return;
		const state = parameters(location.hash);
		const wanted = state.has("z") ? state.get("z").split(".") : [];
		const found = [];
		if (wanted.length) {
			const byId = new Map();
			for (const frame of frames)
				byId.set(idOf(frame), frame);
			for (const id of wanted) {
				const frame = byId.get(id);
				if (frame && frame.parent && (!found.length || isInside(frame, found[found.length - 1])))
					found.push(frame);
			}
		}
		isRestoring = true;
		setCaseless(state.get("i") === "1");
		turn((state.get("o") === "1") !== isDrawnIcicle);
		// links of flamegraph.pl use ?s=
		input.value = state.get("s") || parameters(location.search).get("s") || "";
		const isSame = found.length === path.length && found.every((frame, i) => frame === path[i]);
		search(input.value);
		if (!isSame)
			zoomPath(found);
		isRestoring = false;
	}

	// -- tooltip --

	function wrap(name, columns) {
		const lines = [];
		let line = "", used = 0;
		for (const character of name) {
			if (used + cells(character) > columns) {
				lines.push(line);
				line = "";
				used = 0;
			}
			line += character;
			used += cells(character);
		}
		lines.push(line);
		return lines;
	}

	// Wraps text between words.
	function wrapWords(text, columns) {
		const lines = [];
		let line = "";
		for (const word of text.split(" ")) {
			if (line && line.length + 1 + word.length > columns) {
				lines.push(line);
				line = word;
			} else {
				line += (line ? " " : "") + word;
			}
		}
		return line ? lines.concat(line) : lines;
	}

	// The value in the other recording; that of the widths is the frame's.
	function difference(frame) {
		const own = BigInt(frame.exact), other = BigInt(frame.other);
		const isOfBase = widthsOf === "base";
		return (isOfBase ? "NEW: " : "BASE: ") + (other ? both(frame.other) + "; " : "nothing; ") +
			change(isOfBase ? other : own, isOfBase ? own : other);
	}

	const MISSING = "stands for frames that are not known, or were left out of a very deep stack";

	function facts(frame) {
		const word = WORDS.get(frame.letter)[0], root = zoomed();
		const side = widthsOf ? " in " + widthsOf.toUpperCase() : "";
		const lines = [(word ? word + " frame" + side + ": " : side ? side.slice(4) + ": " : "") +
			both(frame.exact)];
		if (frame.letter === "t")
			lines.unshift(MISSING);
		if (frame.parent) {
			let shares = share(frame.value, frame.parent.value) + " of its parent, " +
				share(frame.value, frames[0].value) + " of the total";
			if (root.parent && frame !== root && isInside(frame, root))
				shares += ", " + share(frame.value, root.value) + " of the zoomed frame";
			lines.push(shares);
		}
		if (widthsOf)
			lines.splice(lines.length - (frame.parent ? 1 : 0), 0, difference(frame));
		let own = BigInt(frame.exact) - BigInt(frame.hiddenExact);
		for (const kid of frame.kids)
			own -= BigInt(kid.exact);
		if (own > 0n && (frame.kids.length || frame.hiddenCount))
			lines.push("itself: " + both(own) + ", " + share(Number(own), frame.value));
		if (frame.hiddenCount)
			lines.push("not drawn: " + frame.hiddenCount +
				(frame.depth >= DEEPEST ? " deeper" : " narrower") +
				(frame.hiddenCount === 1 ? " child, " : " children, ") + both(frame.hiddenExact) +
				", " + share(Number(frame.hiddenExact), frame.value) + " of this");
		return lines;
	}

	function drawPanel(panel, lines, x, y) {
		const rect = make("rect", {rx: 5}, panel);
		let widest = 0, bottom = 8;
		for (const line of lines) {
			bottom += 16;
			const text = make("text", {x: 10, y: bottom - 3, class: line.mono ? "mono" : ""}, panel);
			text.textContent = line.text;
			widest = Math.max(widest, text.getComputedTextLength());
		}
		const panelWidth = widest + 20, panelHeight = bottom + 7;
		rect.setAttribute("width", panelWidth);
		rect.setAttribute("height", panelHeight);
		return [panelWidth, panelHeight];
	}

	// Where a Python function is defined: all of its lines share the box.
	function definition(frame) {
		const place = frame.letter === "p" && !svg.dataset.lines && / \(([^()]+:\d+)\)$/.exec(frame.name);
		return place ? ["defined at " + place[1]] : [];
	}

	function showTip(frame, x, y, isBelow) {
		const pageHeight = Number(svg.getAttribute("height"));
		const columns = Math.max(20, Math.floor((Math.min(width - 2 * PAD, 900) - 24) / (advance + 0.4)));
		const rest = facts(frame).concat(definition(frame), wrapWords(frame.note, columns));
		const most = Math.max(2, Math.floor((pageHeight - 60) / 16) - rest.length - 1);
		let lines = wrap(frame.name, columns);
		if (lines.length > most) {
			const left = lines.slice(most).join("").length;
			lines = lines.slice(0, most);
			lines.push("\u2026 and " + left + " more characters");
		}
		tip.textContent = "";
		tip.removeAttribute("display");
		const [w, h] = drawPanel(tip, lines.map((text) => ({text: text, mono: true}))
			.concat(rest.map((text) => ({text: text, mono: false}))));
		const below = y + (isBelow ? 4 : 18);
		const left = Math.max(2, Math.min(x + 12, width - w - 2));
		const top = below + h < pageHeight ? below : Math.max(2, y - h - (isBelow ? BOX + 6 : 10));
		tip.setAttribute("transform", "translate(" + left + "," + top + ")");
	}

	function hideTip() {
		tip.setAttribute("display", "none");
	}

	// -- keyboard --

	let hasKeyboard = false; // whether the last input was a key

	function drawRing() {
		const isVisible = current && current.isShown && hasKeyboard &&
			document.activeElement === current.g;
		if (!isVisible) {
			ring.setAttribute("display", "none");
			return;
		}
		ring.removeAttribute("display");
		ring.setAttribute("x", current.left);
		ring.setAttribute("y", current.rect.getAttribute("y"));
		ring.setAttribute("width", Math.max(2, current.width));
	}

	function makeCurrent(frame) {
		if (current)
			current.g.setAttribute("tabindex", "-1");
		current = frame;
		frame.g.setAttribute("tabindex", "0");
		frame.g.setAttribute("role", "treeitem");
		frame.g.setAttribute("aria-level", frame.depth + 1);
		frame.g.setAttribute("aria-label", frame.name.slice(0, 300) + ", " + facts(frame).join(", "));
	}

	function focusFrame(frame) {
		if (!frame)
			return;
		makeCurrent(frame);
		frame.g.focus({preventScroll: true});
		reveal(frame);
		drawRing();
		showTip(frame, frame.left, headHeight + topOf(frame) - scroll + BOX, true);
	}

	function beside(frame, step) {
		const row = rows[frame.depth];
		for (let i = frame.place + step; i >= 0 && i < row.length; i += step) {
			if (row[i].isShown)
				return row[i];
		}
		return frame;
	}

	// The widest child; for a frame above the zoomed one, the child on the path to it.
	function inner(frame) {
		let best = frame;
		for (const kid of frame.kids) {
			if (kid.isShown && (best === frame || kid.value > best.value))
				best = kid;
		}
		return best;
	}

	function move(key) {
		const from = current && current.isShown ? current : zoomed();
		if (!from)
			return;
		if (document.activeElement !== from.g)
			focusFrame(from);
		else if (key === "ArrowLeft")
			focusFrame(beside(from, -1));
		else if (key === "ArrowRight")
			focusFrame(beside(from, 1));
		else if ((key === "ArrowUp") !== isIcicle)
			focusFrame(inner(from));
		else
			focusFrame(from.parent || from);
	}

	const helpRows = HELP.filter((row) => hasLists || row[0] !== "c");

	function toggleHelp(wanted) {
		if (!wanted) {
			help.setAttribute("display", "none");
			return;
		}
		help.textContent = "";
		help.removeAttribute("display");
		const rect = make("rect", {width: 400, height: helpRows.length * 20 + 24, rx: 6}, help);
		helpRows.forEach((row, i) => {
			make("text", {x: 16, y: 28 + i * 20, class: "key"}, help).textContent = row[0];
			make("text", {x: 160, y: 28 + i * 20}, help).textContent = row[1];
		});
		rect.setAttribute("stroke-width", 1.5);
		help.setAttribute("transform", "translate(" + Math.max(4, (width - 400) / 2) + "," +
			(headHeight + 8) + ")");
	}

	function isHelpOpen() {
		return !help.hasAttribute("display");
	}

	function goToSearch() {
		input.focus();
		input.select();
	}

	function onEscape() {
		if (isHelpOpen())
			toggleHelp(false);
		else if (path.length)
			zoomBack();
		else if (pattern)
			reset();
		hideTip();
	}

	const keys = new Map([
		["Escape", onEscape],
		["Backspace", zoomBack],
		["Home", () => zoomPath([])],
		["/", goToSearch],
		["?", () => toggleHelp(!isHelpOpen())],
		["n", () => nextMatch(1)],
		["N", () => nextMatch(-1)],
		["i", () => toggleCase()],
		["o", () => turn(!isIcicle)],
		["c", toggleLists],
		["r", reset],
		["PageUp", () => setScroll(scroll - viewHeight * 0.9)],
		["PageDown", () => setScroll(scroll + viewHeight * 0.9)],
		["ArrowLeft", () => move("ArrowLeft")],
		["ArrowRight", () => move("ArrowRight")],
		["ArrowUp", () => move("ArrowUp")],
		["ArrowDown", () => move("ArrowDown")]]);

	function onKey(event) {
		hasKeyboard = true;
		if ((event.ctrlKey || event.metaKey) && event.key === "f" && document.activeElement !== input) {
			event.preventDefault();
			goToSearch();
			return;
		}
		if (event.ctrlKey || event.metaKey || event.altKey || event.target === input)
			return;
		const frame = frameOf.get(document.activeElement);
		if (frame && (event.key === "Enter" || event.key === " ")) {
			event.preventDefault();
			zoomTo(frame);
			focusFrame(frame);
			return;
		}
		const action = keys.get(event.key);
		if (!action)
			return;
		event.preventDefault();
		action();
		drawRing();
	}

	function onInputKey(event) {
		if (event.key === "Enter") {
			search(input.value);
			focusFrame(zoomed());
		} else if (event.key === "Escape") {
			event.preventDefault();
			input.value = "";
			search("");
			focusFrame(zoomed());
		}
	}

	function toggleCase() {
		setCaseless(!isCaseless);
		search(input.value);
	}

	let searchTimer = 0;

	function listen() {
		group.addEventListener("click", (event) => {
			const frame = frameAt(event.target);
			if (!frame)
				return;
			makeCurrent(frame);
			frame.g.focus({preventScroll: true});
			zoomTo(frame);
		});
		group.addEventListener("mousemove", (event) => {
			const frame = frameAt(event.target);
			if (frame)
				showTip(frame, event.clientX, event.clientY, false);
			else
				hideTip();
		});
		group.addEventListener("mouseleave", hideTip);
		// not on the group: a click would focus an SVG element that listens for focus
		document.addEventListener("focusin", drawRing);
		document.addEventListener("focusout", () => {
			ring.setAttribute("display", "none");
			hideTip();
		});
		document.addEventListener("keydown", onKey);
		document.addEventListener("pointerdown", (event) => {
			hasKeyboard = false;
			drawRing();
			if (event.target !== helpButton)
				toggleHelp(false);
		}, true);
		input.addEventListener("keydown", onInputKey);
		input.addEventListener("input", () => {
			clearTimeout(searchTimer);
			searchTimer = setTimeout(() => search(input.value), frames.length > 20000 ? 250 : 60);
		});
		caseButton.addEventListener("click", toggleCase);
		turnButton.addEventListener("click", () => turn(!isIcicle));
		resetButton.addEventListener("click", reset);
		listButton.addEventListener("click", toggleLists);
		helpButton.addEventListener("click", () => toggleHelp(!isHelpOpen()));
		window.addEventListener("resize", start);
		window.addEventListener("popstate", readState);
		window.addEventListener("hashchange", readState);
		listenToScrolling();
	}

	function listenToScrolling() {
		let grip = null;
		svg.addEventListener("wheel", (event) => {
			if (event.ctrlKey || contentHeight() <= viewHeight)
				return;
			event.preventDefault();
			hideTip();
			setScroll(scroll + event.deltaY * (event.deltaMode === 1 ? ROW : 1));
		}, {passive: false});
		thumb.addEventListener("pointerdown", (event) => {
			grip = {y: event.clientY, scroll: scroll};
			thumb.setPointerCapture(event.pointerId);
		});
		thumb.addEventListener("pointermove", (event) => {
			const size = Number(thumb.getAttribute("height"));
			if (grip)
				setScroll(grip.scroll + (event.clientY - grip.y) *
					(contentHeight() - viewHeight) / (viewHeight - size));
		});
		thumb.addEventListener("pointerup", () => {
			grip = null;
		});
	}

	function start() {
		resize();
		if (frames.length) {
			layOut();
			drawStatus();
			drawTrail();
		}
		setScroll(scroll);
	}

	// Removed from the page while all of them change, because the browser computes the layout
	// for each measurement of a text.
	group.remove();
	readFrames();
	readLists();
	measure();
	start();
	view.insertBefore(group, ring);
	fitLabels();
	scrollToRoot();
	if (frames.length)
		makeCurrent(frames[0]);
	listen();
	readState();
})();
