import assert from "node:assert/strict";
import { test } from "node:test";

import { forecastFigures } from "../../../services/gateway/console/format.js";

const ONE = { expected: 12_345, low: 10_000, high: 15_000 };
const KNOWN = { basis: "FORECAST_BASIS_FORMER_RUN", like: "a", problems: "12", accepted: "10", calls: ONE, prompt_tokens: ONE, cached_tokens: ONE, completion_tokens: ONE };

test("each figure has its expected value and its bounds", () => {
  const shown = Object.fromEntries(forecastFigures({ ...KNOWN, dollars: { expected: 1.5, low: 0.012, high: 2 }, seconds: { expected: 90, low: 30, high: 3_600 } }));
  assert.deepEqual(shown.Calls, ["12.3K", "10K", "15K"]);
  assert.deepEqual(shown.Cost, ["$1.50", "$0.012", "$2.00"]);
  assert.deepEqual(shown.Time, ["1 min 30 s", "30 s", "1 h 0 min"]);
});

test("what nobody knows is said to be unknown, and money without some prices to be more", () => {
  const shown = Object.fromEntries(forecastFigures({ ...KNOWN, cached_tokens: null, dollars: { expected: 2, low: 1, high: 3 }, unpriced: ["tutor"] }));
  assert.deepEqual([shown["of them cached"], shown.Time, shown.Cost], [["unknown"], ["unknown"], ["$2.00 +", "$1.00 +", "$3.00 +"]]);
  assert.deepEqual(Object.fromEntries(forecastFigures(KNOWN)).Cost, ["unknown"]);
});
