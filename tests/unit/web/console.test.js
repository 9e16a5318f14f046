import assert from "node:assert/strict";
import { test } from "node:test";

import { Refused, parsedEvent, withQuery } from "../../../services/gateway/console/api.js";
import { programVerdict } from "../../../soliloquy/web/conversation.js";

test("a filter that is not set is left out of the query", () => {
  const filter = { page_size: 40, verdict: "", flagged: false, text: "a & b", page_token: undefined };
  assert.equal(withQuery("/v1/runs/r/conversations", filter), "/v1/runs/r/conversations?page_size=40&text=a+%26+b");
  assert.equal(withQuery("/v1/runs", { flagged: true }), "/v1/runs?flagged=true");
});

test("an event has a name and its data, and a comment has neither", () => {
  assert.deepEqual(parsedEvent('event: run\ndata: {"id":\ndata: "x: y"}'), { name: "run", data: '{"id":\n"x: y"}' });
  assert.deepEqual(parsedEvent("data: 1"), { name: "message", data: "1" });
  assert.equal(parsedEvent(": still here"), null);
  assert.equal(parsedEvent("retry: 1000"), null);
});

test("only a fault of the gateway or a limit passes by itself", () => {
  const passes = [400, 401, 404, 429, 500, 503].map((status) => new Refused(status, { code: "", message: "" }).passes);
  assert.deepEqual(passes, [false, false, false, true, true, true]);
});

test("the verdict is the one truth value of the last program that ran", () => {
  const attempt = (status, ...shown) => ({ status, values: shown.map((value) => ({ name: "x", shown: value })) });
  const verdict = (...attempts) => programVerdict({ attempts });
  assert.equal(verdict(attempt("ok", "5.0", "True")), "right");
  assert.equal(verdict(attempt("ok", "True"), attempt("ok", "False")), "wrong");
  assert.equal(verdict(attempt("ok", "True", "False")), null);
  assert.equal(verdict(attempt("error", "True")), null);
  assert.equal(verdict(), null);
});
