// What can be taken from a run: its report, its conversations in other formats, and the files of its dataset.

import { element } from "../../../soliloquy/web/element.js";
import { poll, refusalOf } from "./api.js";
import { choices } from "./choices.js";
import { bytes, isOver, isWriting, judged, whole } from "./format.js";
import { keyed, messageOf, say, toast, updatable } from "./widgets.js";

/** @import { Format, Run } from "./contract.d.ts" */

const NO_DATASET = "This gateway does not see the datasets: start it with --data or --store.";

/** @param {Run} run @param {string} path */
export function downloads(run, path) {
  const told = element("p", { class: "note" });
  const format = element("select", { id: "format" });
  const report = link("Report", `${path}/report`, `${run.id}-report.html`);
  const exported = link("Export", "", "");
  const tools = element("div", { class: "tools" }, report, element("label", { for: "format", class: "unseen" }, "Format of the export"), format, exported);
  const kept = element("ul");
  const summary = element("summary", null, "Files");
  const files = element("details", { class: "files", hidden: true }, summary, kept);
  const unseen = element("p", { class: "note", hidden: true }, NO_DATASET);
  const section = element("section", { class: "downloads", "aria-label": "Dataset" }, element("h2", null, "Dataset"), told, unseen, tools, files);
  let written = false;

  format.hidden = exported.hidden = true;
  choices().then(({ formats }) => {
    const fitting = formats.filter(({ recipe }) => !recipe || recipe === run.request.recipe);
    format.append(...fitting.map(({ name, title }) => element("option", { value: name }, `${name}: ${title}`)));
    const choose = () => {
      const { name, suffix } = /** @type {Format} */ (fitting.find((one) => one.name === format.value));
      exported.href = `${path}/exports/${encodeURIComponent(name)}`;
      exported.download = `${run.id}-${name}${suffix}`;
    };
    format.addEventListener("change", choose);
    if (!fitting.length) return;
    choose();
    format.hidden = exported.hidden = false;
  }, (error) => toast(messageOf(error), "fault"));
  const stop = poll(`${path}/files`, 5_000, (/** @type {{ files?: { name: string, size: number }[] }} */ { files: found = [] }) => {
    files.hidden = tools.hidden = !found.length;
    unseen.hidden = found.length > 0 || !written;
    say(summary, `Files (${found.length})`);
    keyed(kept, found, ({ name, size }) => `${name} ${size}`, ({ name, size }) => element("li", null,
      element("a", { href: `${path}/files/${encodeURIComponent(name)}`, download: name.split("/").pop() }, name), element("span", null, bytes(size))));
  }, () => null);
  const shown = updatable(section, (/** @type {Run} */ status) => {
    written = status.dataset === "DATASET_STATE_WRITTEN" && judged(status.progress || {}) > 0;
    say(told, stateOfDataset(status));
  });
  tools.hidden = true;
  return Object.assign(shown, { leave: stop });
}

/** @param {Run} run */
function stateOfDataset(run) {
  const count = judged(run.progress || {});
  if (!count) return "No conversation has finished yet.";
  if (run.dataset === "DATASET_STATE_INCOMPLETE") return "It lacks conversations that were lost. Downloads have those that are there.";
  if (run.dataset === "DATASET_STATE_WRITTEN") return `All ${whole(count)} conversations are written.`;
  if (isWriting(run)) return "The run is over, and the collector is writing its last conversations. Downloads lack those.";
  return isOver(run) ? "" : "The collector writes conversations in batches. Downloads have those that are written.";
}

/**
 * A link that says how its download goes: preparing a file may take a minute, and may be refused.
 * @param {string} text
 * @param {string} href
 * @param {string} name
 */
function link(text, href, name) {
  const made = element("a", { class: "quiet", href, download: name }, text);
  made.addEventListener("click", async (event) => {
    event.preventDefault();
    if (made.ariaBusy) return;
    made.ariaBusy = "true";
    made.textContent = "Preparing…";
    try {
      const answer = await fetch(made.href, { cache: "no-store" });
      if (!answer.ok) throw await refusalOf(answer);
      save(await answer.blob(), made.download);
    } catch (error) {
      toast(messageOf(error), "fault");
    } finally {
      made.ariaBusy = null;
      made.textContent = text;
    }
  });
  return made;
}

/** @param {Blob} content @param {string} name */
function save(content, name) {
  const address = URL.createObjectURL(content);
  element("a", { href: address, download: name }).click();
  // The browser reads the address after the click.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
