// The form that adds an annotation project: a scheme, the tasks' file, and the terms.

import { element } from "../../../soliloquy/web/element.js";
import { call } from "./api.js";
import { field, messageOf } from "./widgets.js";

/** @import { AnnotationProject } from "./contract.d.ts" */

const SCHEMES = ["mathwell", "mathdial", "soliloquy", "scaffold", "mrbench"];

/** @param {(project: AnnotationProject) => void} added */
export function projectForm(added) {
  const plain = { autocomplete: "off" };
  const name = element("input", { id: "project-name", maxlength: "80", ...plain });
  const scheme = element("select", { id: "project-scheme" }, SCHEMES.map((one) => element("option", { value: one }, one)));
  const file = element("input", { id: "project-file", type: "file", accept: ".jsonl,.ndjson,.json" });
  const each = element("input", { id: "project-each", inputmode: "numeric", value: "2", ...plain });
  const terms = element("textarea", { id: "project-terms", rows: "3", maxlength: "8000" });
  const fault = element("p", { class: "fault", role: "alert" });
  const form = element("form", { class: "card beginning", novalidate: true }, element("h2", null, "Add a project"),
    field("Name", name), field("Scheme", scheme), field("Tasks", file, "A file of `soliloquy annotations sample`."),
    field("Annotators for each item", each), field("Terms", terms, "What an annotator agrees to first; empty for nothing."),
    fault, element("footer", null, element("button", { class: "primary" }, "Add")));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const text = (await file.files?.[0]?.text()) || "";
      const tasks = text.split("\n").filter((line) => line.trim()).map(parsed);
      if (!tasks.length) throw new Error("Choose a file with tasks.");
      const project = { name: name.value.trim() || file.files?.[0]?.name, scheme: scheme.value, tasks, annotators_per_item: Number(each.value), consent: terms.value.trim() };
      added(await call("POST", "/v1/annotation/projects", project));
    } catch (error) {
      fault.textContent = messageOf(error);
    }
  });
  return form;
}

/** @param {string} line @param {number} place */
function parsed(line, place) {
  try {
    return JSON.parse(line);
  } catch {
    throw new Error(`Line ${place + 1} of the file is not JSON.`);
  }
}
