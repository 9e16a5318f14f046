import assert from "node:assert/strict";
import { test } from "node:test";

import { Search } from "../../../soliloquy/dataset/report/page/search.js";

// Two blocks of columns, as the report packs them: which words only the second turn of a conversation says.
const SAID = [["a lever"], ["a pulley", "a LEVER arm"], ["a \"quoted\" word"]];
const BLOCKS = [SAID.slice(0, 2), SAID.slice(2)].map((conversations) => JSON.stringify({
  question: conversations.map(() => "?"), solution: conversations.map(() => ""), parts: null, reasons: null,
  turns: {
    n: conversations.map(({ length }) => length),
    of: { tutor: conversations.flat(), rejected: null, attempts: { n: conversations.flat().map(() => 0), of: { code: [] } } },
  },
}));
const INDEX = {
  id: ["aa1", "ab2", "b3"],
  question: ["How far?", "How fast?", "How far and fast?"],
  turns: [1, 2, 1],
  blocks: [2, 1],
  filters: {
    topic: { values: ["motion", "machines"], codes: [0, 1, 1], several: false },
    outcome: { values: ["kept", "rejected", "too long"], codes: [0b001, 0b110, 0b010], several: true },
  },
};

function searched() {
  const read = [];
  const search = new Search(INDEX, () => {}, async (id) => {
    read.push(id);
    return BLOCKS[Number(id.replace("block-", ""))];
  });
  return { search, read };
}

test("a filter has one value for each conversation, or several", async () => {
  const { search } = searched();
  assert.deepEqual(search.rows, [0, 1, 2]);
  await search.choose("topic", 1);
  assert.deepEqual(search.rows, [1, 2]);
  await search.choose("outcome", 2);
  assert.deepEqual(search.rows, [1]);
  await search.choose("topic", null);
  await search.choose("outcome", 1);
  assert.deepEqual(search.rows, [1, 2]);
});

test("a search finds ids, questions and every text, whatever its case", async () => {
  const { search } = searched();
  for (const [text, rows] of [["ab", [1]], ["FAR", [0, 2]], ["lever", [0, 1]], ["\"quoted\"", [2]], ["nowhere", []], ["", [0, 1, 2]]]) {
    await search.search(text);
    assert.deepEqual([search.rows, search.share], [rows, 1], text);
  }
});

test("a search reads only the blocks that the filters let through", async () => {
  const { search, read } = searched();
  await search.choose("topic", 0);
  await search.search("lever");
  assert.deepEqual([search.rows, read], [[0], ["block-0"]]);
});

test("a newer search replaces one under way", async () => {
  const { search } = searched();
  const older = search.search("lever");
  await search.search("pulley");
  await older;
  assert.deepEqual(search.rows, [1]);
});

test("a row is found in its block", () => {
  const { search } = searched();
  assert.deepEqual([0, 1, 2].map((row) => search.blockOf(row)), [[0, 0], [0, 1], [1, 0]]);
});
