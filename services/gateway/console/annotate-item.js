// An item as annotators see it: the problem, what was said, the program, or two systems side by side.

import { element } from "../../../soliloquy/web/element.js";
import { highlighted } from "../../../soliloquy/web/python.js";

/** @import { ShownItem } from "./contract.d.ts" */

/** @param {ShownItem} shown */
export function shownItem({ question, solution, answer, messages, program, sides }) {
  return element("section", { class: "item", "aria-label": "The item", tabindex: "0" },
    element("h2", { class: "question" }, question || "No problem is shown."),
    solution || answer ? element("details", { class: "solution", open: !messages && !sides }, element("summary", null, "Its solution"),
      solution ? solution.startsWith("def ") ? highlighted(solution, 0) : element("p", { class: "written" }, solution) : null,
      answer ? element("p", { class: "written" }, `Answer: ${answer}`) : null) : null,
    messages ? talk(messages) : null,
    program ? element("div", { class: "attempt" }, element("h3", null, "The tutor's program"), highlighted(program.code, 0),
      element("p", { class: program.ran ? "written" : "failed" }, program.output)) : null,
    sides ? element("div", { class: "sides" }, sides.map((side, place) => element("section", { "aria-label": `Side ${place + 1}` },
      element("h3", null, `Side ${place + 1}`), talk(side)))) : null);
}

/** @param {{ role: "student" | "tutor", text: string }[]} messages */
function talk(messages) {
  return element("ol", { class: "turns" }, messages.map(({ role, text }) => element("li", null,
    element("div", { class: role }, element("p", { class: "who" }, role === "tutor" ? "Tutor" : "Student"), element("p", { class: "bubble" }, text)))));
}
