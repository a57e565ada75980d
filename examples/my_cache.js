// A KV cache of one row and one head behind the adapter protocol (docs/protocol.md), for Node; docs/tutorial-own-cache.md explains it.
"use strict";
const lines = require("readline").createInterface({ input: process.stdin });

const spec = {
  like: "builtin:full", ops: ["append", "crop", "reset"], dtypes: ["float32"], params: { batch: [1, 1], heads: [1, 1] },
};
const hello = { protocol: 1, subject: "my_node_cache", version: "1.0", environment: {}, variants: ["Full"], specs: { Full: spec } };

// One token by the value formula, for row 0 and head 0.
function vector(token, salt, channels) {
  const out = Buffer.alloc(4 * channels);
  for (let c = 0; c < channels; c++) {
    const digit = c % 8 < 6 ? Math.floor(token / 7 ** (c % 8)) % 7 : 0;
    out.writeFloatLE(1 + ((digit + 3 * salt + 5 * c) % 7), 4 * c);
  }
  return out;
}

// One sequence on a new cache: adds its steps to the reply and its raw data to the list.
function perform({ key_dim, value_dim }, ops, numbers, reply, data) {
  const cache = { keys: [], values: [] }; // for each token its bytes
  const steps = [];
  let fed = 0;
  for (const [name, n] of ops) {
    const refused = name === "crop" && n > 0;
    if (name === "append") {
      for (const end = fed + n; fed < end; fed++) {
        const token = numbers ? numbers[fed] : fed;
        cache.keys.push(vector(token, 0, key_dim));
        cache.values.push(vector(token, 1, value_dim));
      }
    } else if (!refused) {
      const kept = name === "crop" ? Math.max(0, cache.keys.length + n) : 0;
      cache.keys.length = cache.values.length = kept;
    }
    const length = cache.keys.length;
    const shown = [];
    for (const returned of name === "append" ? ["", "returned."] : [""])
      for (const [tensor, width] of [["keys", key_dim], ["values", value_dim]]) {
        const index = reply.tensors.push([returned + tensor, "float32", [1, 1, length, width]]) - 1;
        shown.push(returned ? [index, shown.length - 2] : index); // what is returned has the same bytes
      }
    data.push(...cache.keys, ...cache.values);
    steps.push([refused ? 1 : 0, [length], name === "append" ? [null] : [], [null], null, shown, refused ? 0 : -1]);
  }
  reply.results.push(steps);
}

function answer(request) {
  const data = [];
  let reply = { error: "this adapter writes no scripts" };
  if (request.request === "hello") reply = { ...hello };
  if (request.request === "run") {
    reply = { tensors: [], errors: [["RangeError", "crop takes no positive number"]], results: [] };
    request.sequences.forEach((ops, at) => perform(request.params, ops, request.numbers && request.numbers[at], reply, data));
    reply.bytes = data.reduce((sum, piece) => sum + piece.length, 0);
  }
  reply.id = request.id;
  return Buffer.concat([Buffer.from(JSON.stringify(reply) + "\n"), ...data]);
}

lines.on("line", (line) => process.stdout.write(answer(JSON.parse(line))));
