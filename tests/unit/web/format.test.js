import assert from "node:assert/strict";
import { test } from "node:test";

import { ago, bytes, cost, duration, faultOf, inWords, isOver, isSteered, isWriting, judged, named, number, outOf, percent, range, rate, reasonsOf, rejection, seconds, short, stateInWords, tokensOf, whole } from "../../../services/gateway/console/format.js";

const NO_RUN = { request: {}, state: "RUN_STATE_RUNNING" };

test("a duration has its two largest units", () => {
  const expected = { 0: "0 s", 59.4: "59 s", 59.6: "1 min 0 s", 161: "2 min 41 s", 3_600: "1 h 0 min", 90_061: "1 d 1 h" };
  for (const [seconds, text] of Object.entries(expected)) assert.equal(duration(seconds), text);
});

test("a missing number is 0, and 64-bit integers come as strings", () => {
  assert.deepEqual([undefined, null, "", "12", 3].map(number), [0, 0, 0, 12, 3]);
  assert.equal(whole("1234567"), "1,234,567");
  assert.deepEqual([short(9_999), short(12_345)], ["9,999", "12.3K"]);
});

test("100 % means all of them", () => {
  assert.equal(percent(999_999, 1_000_000), "99.9%");
  assert.equal(percent("7", "7"), "100%");
  assert.equal(percent(1, 3), "33.3%");
  assert.equal(percent(0, 0), "–");
});

test("what is not known is a dash", () => {
  assert.deepEqual([rate(0), rate(undefined), cost(0)], ["–", "–", "nothing"]);
  assert.deepEqual([rate(12.345), cost(0.01234), cost(1.5)], ["12.3/s", "$0.012", "$1.50"]);
});

test("bytes have three digits and a unit", () => {
  assert.deepEqual([0, 1, 1_500, 2_345_678].map(bytes), ["0 bytes", "1 byte", "1.5 kB", "2.35 MB"]);
});

test("a moment is told from now", () => {
  const now = Date.now() / 1_000;
  assert.equal(ago(now), "just now");
  assert.equal(ago(now + 60), "just now");
  assert.match(ago(now - 7_300), /^2 hr/);
});

test("enums lose their prefix, and an unset one is empty", () => {
  assert.equal(named("ENDING_TURN_LIMIT", "ENDING_"), "turn limit");
  assert.equal(named("ENDING_UNSPECIFIED", "ENDING_"), "");
  assert.equal(named(undefined, "ENDING_"), "");
});

test("a run is over, or can be steered, or is neither", () => {
  const states = ["RUNNING", "PAUSED", "FINISHED", "SHORT", "CANCELLED", "OPEN"].map((name) => ({ ...NO_RUN, state: `RUN_STATE_${name}` }));
  assert.deepEqual(states.map(isSteered), [true, true, false, false, false, false]);
  assert.deepEqual(states.map(isOver), [false, false, true, true, true, false]);
});

test("a run without a target shows only what it has", () => {
  assert.equal(outOf(5, { conversations: "50" }), "5 of 50");
  assert.equal(outOf(5, { conversations: "0" }), "5");
});

test("a rejection names the commonest rule, the first of several in the alphabet", () => {
  const progress = { accepted: "9", rejected: "3", reasons: { steps: "1", early_answer: 2, blind: "2" } };
  assert.deepEqual(reasonsOf(progress), [["blind", 2], ["early_answer", 2], ["steps", 1]]);
  assert.equal(rejection(progress), "3 of 12, mostly for “blind”");
  assert.equal(rejection({ accepted: 1, rejected: 1, reasons: { early_answer: "1" } }), "1 of 2, mostly for “early answer”");
  assert.equal(rejection({ accepted: 1, rejected: 1 }), "1 of 2");
  assert.equal(rejection({ accepted: "9" }), "");
  assert.equal(judged({ accepted: "9", rejected: "3" }), 12);
});

test("rules and endings are words", () => {
  assert.equal(inWords("three_wrong"), "three wrong");
  assert.equal(inWords("not solved: ENDING_TURN_LIMIT"), "not solved: turn limit");
  assert.equal(inWords("length: turn 2: a tutor's message of 130 words"), "length: turn 2: a tutor's message of 130 words");
});

test("tokens are summed over roles", () => {
  assert.deepEqual(tokensOf({ tokens: { tutor: { prompt: "10", completion: "5" }, student: { prompt: 1, completion: 0 } } }), { prompt: 11, cached: 0, completion: 5, reasoning: 0 });
  assert.deepEqual(tokensOf({}), { prompt: 0, cached: 0, completion: 0, reasoning: 0 });
});

test("a state whose name says too little has other words", () => {
  const words = ["RUNNING", "FINISHED", "SHORT", "OPEN"].map((name) => stateInWords({ state: `RUN_STATE_${name}` }));
  assert.deepEqual(words, ["running", "finished", "incomplete", "started elsewhere"]);
});

test("a run lasts until it is over, and its dataset may be written later", () => {
  const over = { ...NO_RUN, state: "RUN_STATE_FINISHED", requested_at: 100, changed_at: 161, dataset: "DATASET_STATE_WRITING" };
  assert.equal(seconds(over), 61);
  assert.ok(seconds({ ...over, state: "RUN_STATE_RUNNING" }) > 1_000);
  assert.deepEqual([isWriting(over), isWriting({ ...over, dataset: "DATASET_STATE_WRITTEN" }), isWriting({ ...over, state: "RUN_STATE_RUNNING" })], [true, false, false]);
});

test("a field takes whole numbers within its bounds, seeds of twenty digits too", () => {
  const bounds = { least: 1, most: 1_000 };
  const faults = { "": "Enter a number.", " 12 ": "", "1.5": "1.5 is not a whole number.", "-3": "-3 is not a whole number.", 0: "At least 1.", 1001: "At most 1,000." };
  for (const [text, fault] of Object.entries(faults)) assert.equal(faultOf(text, bounds), fault);
  assert.equal(faultOf("18446744073709551615", { least: 0, most: 2 ** 64 }), "");
  assert.equal(range(bounds), "1 to 1,000.");
});
