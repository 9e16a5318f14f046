import assert from "node:assert/strict";
import test from "node:test";

import { flagged } from "../../../soliloquy/dataset/report/page/compare.js";

test("a reason marks the turn that it names, and one without a turn marks none", () => {
  const reasons = ["verdict: turn 2: said right: it is wrong", "unfinished", "steps: turn 2: out of order"];
  const { turns } = flagged(/** @type {any} */ ({ reasons, turns: [{ tutor: "a" }, { tutor: "b" }] }));
  assert.deepEqual(turns.map(({ flags }) => flags), [
    [],
    [{ claim: "verdict", evidence: "said right: it is wrong" }, { claim: "steps", evidence: "out of order" }],
  ]);
});

test("an accepted conversation has no marks", () => {
  const { turns } = flagged(/** @type {any} */ ({ reasons: null, turns: [{ tutor: "a" }] }));
  assert.deepEqual(turns[0].flags, []);
});
