// What a run would take, as the form for a new run shows it.

import { element } from "../../../soliloquy/web/element.js";
import { forecastFigures, whole } from "./format.js";
import { columns } from "./widgets.js";

/** @import { Content } from "../../../soliloquy/web/types.d.ts" */
/** @import { Forecast } from "./contract.d.ts" */

/** What the figures rest on. @param {Forecast} forecast @returns {Content[]} */
function basis(forecast) {
  const told = `${whole(forecast.accepted)} accepted conversations about ${whole(forecast.problems)} problems`;
  if (forecast.basis === "FORECAST_BASIS_FORMER_RUN") {
    return [`From ${told} of `, element("a", { href: `#/runs/${encodeURIComponent(forecast.like)}` }, "an earlier run"), "."];
  }
  return [`From ${told} that the scripted model played, because no run like this one is over. Another model's may be longer or shorter, and caches would make them cheaper: a run of 10 conversations tells more.`];
}

/** @param {Forecast} forecast */
export function forecastTable(forecast) {
  const rows = forecastFigures(forecast).map(([name, values]) => element("tr", null, element("th", { scope: "row" }, name),
    values.map((value) => element("td", values.length === 1 ? { colspan: 3, class: "blank" } : null, value))));
  return element("section", { class: "forecast", "aria-label": "Forecast" },
    element("table", null, columns(["", "Expected", "From", "To"]), element("tbody", null, rows)),
    element("p", { class: "hint" }, basis(forecast)));
}
