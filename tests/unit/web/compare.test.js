import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.document = /** @type {any} */ ({ querySelectorAll: () => [] });
globalThis.setInterval = /** @type {any} */ (() => 0);
const { split } = await import("../../../services/gateway/console/compare.js");

test("settings that differ are kept apart from those that do not", () => {
  const request = { recipe: "soliloquy", problems: "physics", conversations: "20", seed: "0", in_flight: 64, max_turns: 20, max_attempts: 10, enrich: false };
  const runs = [{ request, model: "scripted" }, { request: { ...request, seed: "7", conversations: 1_000 }, model: "" }];
  const [differing, same] = split(/** @type {any} */ (runs));
  assert.deepEqual(Object.keys(differing), ["model", "conversations", "seed"]);
  assert.deepEqual(runs.map((run) => differing.conversations(/** @type {any} */ (run)).text), ["20", "1,000"]);
  assert.deepEqual(same, ["recipe", "language", "problems", "in flight", "maximum turns", "attempts", "solutions explained first"]);
});
