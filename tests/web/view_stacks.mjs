// SPDX-License-Identifier: MIT
//
// node view_stacks.mjs FILE.html [FROM TO]: the graph of each device's time as the page of duet view computes it, idle time alone and
// all of it: {"idle": [[[name, class], …], value], "total": …}, all devices together. FROM, TO: ns, of a part.
import {sourceOf} from "./harness.mjs";
import {ChunkStore, SectionStore} from "../../web/data.js";
import {Model} from "../../web/model.js";
import {accountOf, Watch} from "../../web/account.js";

const [path, from, to] = process.argv.slice(2);
const sections = new SectionStore(sourceOf(path));
const model = new Model(await sections.loadJson("head")), store = new ChunkStore(sections, () => null);
const range = from === undefined ? [model.fromNs, model.toNs] : [Number(from), Number(to)];
const result = {idle: [], total: []};

function collect(node, frames, list) {
	if (node.self)
		list.push([frames, node.self]);
	for (const inner of node.children.values())
		collect(inner, [...frames, [inner.text, inner.kind]], list);
}

for (const track of model.ofKind("device")) {
	const graph = await model.loadGraph(sections, track);
	if (!graph)
		continue;
	const account = await accountOf(model, store, track, ...range, new Watch());
	collect(graph.flameOf(model, account, ...range, false), [], result.idle);
	collect(graph.flameOf(model, account, ...range, true), [], result.total);
}
console.log(JSON.stringify(result));
