// What a run would take, as the form for a new run shows it.

import { element } from "../../../soliloquy/web/element.js";
import { cost, duration, short, whole } from "./format.js";
import { columns } from "./widgets.js";

/** @import { Content } from "../../../soliloquy/web/types.d.ts" */
/** @import { Forecast, Interval } from "./contract.d.ts" */

const UNKNOWN = "unknown";

/** Each figure's name, and its expected value, lower and upper bound in words. @param {Forecast} forecast @returns {[string, string[]][]} */
export function figures(forecast) {
  const { calls, prompt_tokens, cached_tokens, completion_tokens, dollars, seconds } = forecast;
  const shown = (/** @type {Interval | null | undefined} */ interval, /** @type {(value: number) => string} */ text) =>
    interval ? [interval.expected, interval.low, interval.high].map(text) : [UNKNOWN];
  const money = (/** @type {number} */ value) => (forecast.unpriced?.length ? `${cost(value)} +` : cost(value));
  return [
    ["Calls", shown(calls, short)], ["Tokens read", shown(prompt_tokens, short)], ["of them cached", shown(cached_tokens, short)],
    ["Tokens written", shown(completion_tokens, short)], ["Cost", shown(dollars, money)], ["Time", shown(seconds, duration)],
  ];
}

/** What the figures rest on. @param {Forecast} forecast @returns {Content[]} */
export function basis(forecast) {
  const told = `${whole(forecast.accepted)} accepted conversations about ${whole(forecast.problems)} problems`;
  if (forecast.basis === "FORECAST_BASIS_FORMER_RUN") {
    return [`From ${told} of `, element("a", { href: `#/runs/${encodeURIComponent(forecast.like)}` }, "an earlier run"), "."];
  }
  return [`From ${told} that the scripted model played, because no run like this one is over. Another model's may be longer or shorter, and caches would make them cheaper: a run of 10 conversations tells more.`];
}

/** @param {Forecast} forecast */
export function forecastTable(forecast) {
  const rows = figures(forecast).map(([name, values]) => element("tr", null, element("th", { scope: "row" }, name),
    values.map((value) => element("td", values.length === 1 ? { colspan: 3, class: "blank" } : null, value))));
  return element("section", { class: "forecast", "aria-label": "Forecast" },
    element("table", null, columns(["", "Expected", "From", "To"]), element("tbody", null, rows)),
    element("p", { class: "hint" }, basis(forecast)));
}
