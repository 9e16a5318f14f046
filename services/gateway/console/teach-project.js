// The form that adds a project for teachers: the problems, and how many dialogues are wanted.

import { element } from "../../../soliloquy/web/element.js";
import { call } from "./api.js";
import { field, messageOf, recipeChoice } from "./widgets.js";

/** @import { Choices, TeachingProject } from "./contract.d.ts" */

/** @param {Choices} offered @param {(project: TeachingProject) => void} added */
export function projectForm({ problems: sources, recipes }, added) {
  const plain = { autocomplete: "off" };
  const name = element("input", { id: "teaching-name", maxlength: "80", ...plain });
  const banks = sources.filter(({ kind }) => kind === "bank");
  const bank = element("select", { id: "teaching-bank" }, banks.map((one) => element("option", { value: one.name, selected: one.name === "arithmetic" }, one.name)));
  const recipe = recipeChoice("teaching-recipe", recipes.filter(({ tutoring }) => tutoring));
  const file = element("input", { id: "teaching-file", type: "file", accept: ".jsonl,.ndjson" });
  const dialogues = element("input", { id: "teaching-dialogues", inputmode: "numeric", value: "20", ...plain });
  const terms = element("textarea", { id: "teaching-terms", rows: "3", maxlength: "8000" });
  const fault = element("p", { class: "fault", role: "alert" });
  const form = element("form", { class: "card beginning", novalidate: true }, element("h2", null, "Add a project"),
    field("Name", name), field("Recipe", recipe), field("Problems", bank), field("Or your own", file, "Lines of JSON, each with a question and its solution."),
    field("Dialogues", dialogues), field("Terms", terms, "What a teacher agrees to first; empty for nothing."), fault, element("footer", null, element("button", { class: "primary" }, "Add")));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const text = (await file.files?.[0]?.text()) || "";
      const problems = text.split("\n").filter((line) => line.trim()).map((line) => {
        const { question, solution } = JSON.parse(line);
        return { question, solution };
      });
      const source = problems.length ? { problems } : { bank: bank.value, dialogues: Number(dialogues.value) };
      added(await call("POST", "/v1/teaching/projects", { name: name.value.trim() || "Teaching", recipe: recipe.value, consent: terms.value.trim(), ...source }));
    } catch (error) {
      fault.textContent = messageOf(error);
    }
  });
  return form;
}
