// SPDX-License-Identifier: MIT
//
// node scope_stacks.mjs FILE.html FROM TO: the graph of cells [FROM, TO) of a heat map, as the page computes it:
// {"stacks": [[[name, class], …], value]}. TO -1: to the last.
import "./harness.mjs";
import {readFileSync} from "node:fs";
import {SectionStore} from "../../web/data.js";
import {ScopeModel} from "../../web/scope_model.js";

const [path, from, to] = process.argv.slice(2);
const sections = new Map(Array.from(readFileSync(path, "utf8").matchAll(/<script type="text\/plain" id="(\w+)">([^<]*)<\/script>/g),
	(found) => [found[1], found[2]]));
const store = new SectionStore({isWhole: () => true, has: (id) => sections.has(id), text: (id) => sections.get(id)});
const head = await store.loadJson("head");
const model = new ScopeModel(head, await store.loadJson("cells"));
const end = Number(to) < 0 ? head.cells : Number(to);
const stacks = [...model.stacksOf(Number(from), end)].filter(([, value]) => value).map(([stack, value]) =>
	[model.framesOf(stack).map((frame) => [head.frames.names[frame], head.frames.classes[frame]]), value]);
console.log(JSON.stringify({stacks, cell: model.totals.slice(Number(from), end).reduce((sum, total) => sum + total, 0)}));
