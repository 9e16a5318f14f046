// The chat, in which a person is the student: the form that chooses a recipe and a problem.

import { element } from "../../../soliloquy/web/element.js";
import { Refused, call } from "./api.js";
import { choices, wordsOf } from "./choices.js";
import { dialogue } from "./dialogue.js";
import { maySteer } from "./session.js";
import { choice, field, heading, messageOf, nothing, recipeChoice } from "./widgets.js";

/** @import { Choices, RecipeChoice } from "./contract.d.ts" */

const OWN = "own";
const NOTE = `You are the student. The tutor decides, calculates in the sandbox and replies, as it does in every run; the
  conversation is kept only if you agree at the end.`;

/** @param {HTMLElement} main @param {string[]} path */
export async function chat(main, [id]) {
  let offered;
  try {
    offered = await choices();
    if (id) {
      const begun = await call("GET", `/v1/chats/${encodeURIComponent(id)}`);
      return dialogue(main, begun, await wordsOf(begun.recipe));
    }
  } catch (error) {
    main.append(heading("Chat", { back: id ? { href: "#/chat", text: "Another chat" } : undefined }), nothing(messageOf(error)));
    return null;
  }
  if (!maySteer()) {
    main.append(heading("Chat"), nothing("Talking with the tutor requires an operator's token; yours is a reader's."));
    return null;
  }
  const recipes = offered.recipes.filter(({ tutoring }) => tutoring);
  const banks = offered.problems.filter(({ kind }) => kind === "bank");
  main.append(heading("Chat", { note: NOTE }));
  main.append(recipes.length ? form(recipes, banks) : nothing("No recipe here has a tutor."));
  return null;
}

/** @param {RecipeChoice[]} recipes @param {Choices["problems"]} banks */
function form(recipes, banks) {
  const recipe = recipeChoice("chat-recipe", recipes);
  const bank = element("select", { id: "chat-bank" }, banks.map(({ name }) => element("option", { value: name }, name)));
  const seed = element("input", { id: "chat-seed", inputmode: "numeric", value: String(1 + Math.floor(Math.random() * 999)), autocomplete: "off" });
  const placeholder = "A stone falls from a tower of 20 m. How long does it fall?";
  const question = element("textarea", { id: "chat-question", rows: "4", maxlength: "4000", placeholder });
  const solution = element("textarea", { id: "chat-solution", rows: "3", maxlength: "4000" });
  const fromBank = element("div", { class: "pair" }, field("Bank", bank), field("Seed", seed));
  const written = element("div", { hidden: true }, field("Your problem", question),
    field("Its solution", solution, "Optional; the tutor is more reliable with one."));
  const fault = element("p", { class: "fault", role: "alert" });
  const go = element("button", { class: "primary" }, "Begin");
  let source = banks.length ? "bank" : OWN;
  const chosen = (/** @type {string} */ value) => {
    source = value;
    fromBank.hidden = value === OWN;
    written.hidden = value !== OWN;
  };
  chosen(source);
  const made = element("form", { class: "card beginning", novalidate: true },
    field("Tutor", recipe),
    choice("Problem", [...(banks.length ? [["bank", "From a bank"]] : []), [OWN, "My own"]], source, chosen),
    fromBank, written, fault, element("footer", null, go));
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    fault.textContent = "";
    if (source === OWN && !question.value.trim()) {
      fault.textContent = "Write the problem first.";
      question.focus();
      return;
    }
    if (source !== OWN && !/^\d{1,19}$/.test(seed.value.trim())) {
      fault.textContent = `Invalid seed "${seed.value}": write a whole number.`;
      seed.focus();
      return;
    }
    go.disabled = true;
    try {
      const problem = source === OWN ? { question: question.value.trim(), solution: solution.value.trim() } : { bank: bank.value, seed: Number(seed.value) };
      const { id } = await call("POST", "/v1/chats", { recipe: recipe.value, ...problem });
      location.hash = `#/chat/${encodeURIComponent(id)}`;
    } catch (error) {
      fault.textContent = error instanceof Refused ? error.message : "The gateway cannot be reached. Try again in a moment.";
      go.disabled = false;
    }
  });
  return made;
}
