// Audited calls: who changed what, and who was refused.

import { element } from "../../../soliloquy/web/element.js";
import { poll, withQuery } from "./api.js";
import { columns, heading, keyed, nothing, pager, time } from "./widgets.js";

/** @import { AuditedCall } from "./contract.d.ts" */

const PAGE = 100;
const NOTE = "The latest calls that changed something, and those that were refused for their caller. The log and the topic call.audited have all of them.";

/** @param {HTMLElement} main */
export function audit(main) {
  const body = element("tbody");
  const table = element("table", { class: "topics" }, columns(["Time", "Caller", "Call", "Of", "Outcome"]), body);
  const empty = nothing("No call has changed anything yet, and none was refused.");
  empty.hidden = true;
  const pages = pager(load);
  main.append(heading("Audit", { note: NOTE }), table, empty, pages);
  let stop = () => {};

  function load() {
    stop();
    const path = withQuery("/v1/audit", { page_size: PAGE, page_token: pages.token() });
    stop = poll(path, 5_000, (/** @type {{ calls?: AuditedCall[], next_page_token: string }} */ { calls = [], next_page_token }) => {
      keyed(body, calls, ({ at, who, what, target }) => [at, who, what, target].join(" "), row);
      table.hidden = !calls.length;
      empty.hidden = calls.length > 0;
      pages.shows(next_page_token);
    }, (error) => main.append(nothing(error.message)));
  }

  load();
  return () => stop();
}

/** @param {AuditedCall} call */
function row({ at, who, tenant, what, target, outcome }) {
  const caller = tenant ? `${who} (${tenant})` : who;
  return element("tr", null, element("td", null, time(at)), element("th", { scope: "row" }, caller), element("td", null, what),
    element("td", null, target), element("td", null, outcome.replaceAll("_", " ")));
}
