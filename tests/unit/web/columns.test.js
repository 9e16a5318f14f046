import assert from "node:assert/strict";
import { test } from "node:test";

import { conversationsIn, textsOf } from "../../../soliloquy/dataset/report/page/columns.js";

test("columns become the conversations they were made from", () => {
  const columns = {
    id: ["a", "b"],
    plan: null,
    turns: { n: [2, 0], of: { tutor: ["Hm?", "Yes."], attempts: { n: [1, 0], of: { code: ["x = 1"] } } } },
  };
  assert.deepEqual(conversationsIn(columns), [
    { id: "a", plan: null, turns: [{ tutor: "Hm?", attempts: [{ code: "x = 1" }] }, { tutor: "Yes.", attempts: [] }] },
    { id: "b", plan: null, turns: [] },
  ]);
});

test("every text of a conversation can be searched", () => {
  const turn = {
    student: "STUDENT", thoughts: "thoughts", tutor: "tutor", description: "description",
    rejected: [{ text: "earlier", because: "too short" }], attempts: [{ code: "code", error: "error", stdout: "stdout" }],
  };
  const texts = textsOf({
    question: "question", solution: "solution", source: "source", reasons: ["reason"],
    parts: [{ title: "The plan", text: "1. step 5 m" }], turns: [turn],
  });
  for (const text of ["student", "thoughts", "tutor", "description", "earlier", "too short", "code", "error", "stdout", "question",
    "solution", "source", "reason", "1. step 5 m"]) assert.ok(texts.includes(text), text);
});
