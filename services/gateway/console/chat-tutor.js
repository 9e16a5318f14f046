// Who tutors in a chat, and what to say to it.

import { element } from "../../../soliloquy/web/element.js";

/** @import { ChatTutor } from "./contract.d.ts" */

const STAND_IN = `It works by rule, knows the banks' problems only, checks every number and formula by a calculation, and asks
  where it cannot read you.`;

/** @param {ChatTutor} tutor */
export function tutorNote({ model, scripted, understands }) {
  if (!scripted) return element("p", { class: "note" }, element("b", null, "Tutor: "), `the model ${model}.`);
  return element("div", { class: "note" },
    element("p", null, element("b", null, "The tutor is the scripted stand-in: a guided demo, no language model. "), STAND_IN),
    element("p", null, "It understands:"),
    element("ul", null, understands.map((kind) => element("li", null, kind))));
}

/** The tutor in a line, unfolding to what it understands. @param {ChatTutor} tutor */
export function tutorLine(tutor) {
  if (!tutor.scripted) return tutorNote(tutor);
  return element("details", { class: "told" },
    element("summary", null, element("b", null, "Scripted stand-in"), ": a guided demo, no language model"), tutorNote(tutor));
}

/** Messages to begin with; a press puts one into the field. @param {string[]} texts @param {HTMLTextAreaElement} into */
export function suggestions(texts, into) {
  return element("div", { class: "suggested", role: "group", "aria-label": "Suggestions" }, texts.map((text) => {
    const chip = element("button", { type: "button", class: "quiet" }, text);
    chip.addEventListener("click", () => {
      into.value = text;
      into.focus();
    });
    return chip;
  }));
}
