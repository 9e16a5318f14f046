// The chat, in which a person is the student: the form that chooses who tutors, and the problem.

import { element } from "../../../soliloquy/web/element.js";
import { Refused, call } from "./api.js";
import { tutorNote } from "./chat-tutor.js";
import { choices, wordsOf } from "./choices.js";
import { dialogue } from "./dialogue.js";
import { maySteer } from "./session.js";
import { choice, field, heading, languageChoice, messageOf, nothing, recipeChoice } from "./widgets.js";

/** @import { ChatOffer, Choices, RecipeChoice } from "./contract.d.ts" */

const [OWN, OTHER] = ["own", "other"];
const NOTE = `You are the student. The tutor decides, calculates in the sandbox and replies, as it does in every run; the
  conversation is kept only if you agree at the end.`;

/** @param {HTMLElement} main @param {string[]} path */
export async function chat(main, [id]) {
  let offered, offer;
  try {
    offered = await choices();
    if (id) {
      const begun = await call("GET", `/v1/chats/${encodeURIComponent(id)}`);
      return dialogue(main, begun, await wordsOf(begun.recipe));
    }
    offer = await call("GET", "/v1/chats");
  } catch (error) {
    main.append(heading("Chat", { back: id ? { href: "#/chat", text: "Another chat" } : undefined }), nothing(messageOf(error)));
    return null;
  }
  if (!maySteer()) {
    main.append(heading("Chat"), nothing("Talking with the tutor requires an operator's token; yours is a reader's."));
    return null;
  }
  const banks = offered.problems.filter(({ kind }) => kind === "bank");
  main.append(heading("Chat", { note: NOTE }));
  main.append(offer.recipes.length ? form(offer, offered, banks) : nothing("No recipe here has a tutor."));
  return null;
}

/** @param {ChatOffer} offer @param {Choices} offered @param {Choices["problems"]} banks */
function form(offer, { recipes, languages }, banks) {
  const tutoring = recipes.filter(({ tutoring }) => tutoring);
  const usual = offer.recipes.flatMap(({ name }) => tutoring.filter((recipe) => recipe.name === name));
  const recipe = recipeChoice("chat-recipe", usual);
  const bank = element("select", { id: "chat-bank" }, banks.map(({ name }) => element("option", { value: name }, name)));
  const seed = element("input", { id: "chat-seed", inputmode: "numeric", value: String(1 + Math.floor(Math.random() * 999)), autocomplete: "off" });
  const placeholder = "A stone falls from a tower of 20 m. How long does it fall?";
  const question = element("textarea", { id: "chat-question", rows: "4", maxlength: "4000", placeholder });
  const solution = element("textarea", { id: "chat-solution", rows: "3", maxlength: "4000" });
  const fromBank = element("div", { class: "pair" }, field("Bank", bank), field("Seed", seed, "Another seed, another problem."));
  const language = languageChoice("chat-language", languages);
  const written = element("div", { hidden: true }, field("Language", language, "Of the problem, and of the tutor."), field("Your problem", question),
    field("Its solution", solution, "Optional; the tutor is more reliable with one."));
  const other = otherModel(offer);
  const note = element("div", { class: "tutoring" });
  const sources = element("div");
  const fault = element("p", { class: "fault", role: "alert" });
  const go = element("button", { class: "primary" }, "Begin");
  let [source, by] = [banks.length ? "bank" : OWN, ""];

  const show = () => {
    other.fields.hidden = by !== OTHER;
    const scripted = by !== OTHER && offer.scripted;
    const tutor = offer.recipes.find(({ name }) => name === recipe.value)?.tutor;
    note.replaceChildren(...(tutor && by !== OTHER ? [tutorNote(tutor)] : []));
    // The stand-in knows no other problems.
    if (scripted) source = "bank";
    sources.hidden = scripted;
    fromBank.hidden = source === OWN;
    written.hidden = source !== OWN;
  };
  const whoTutors = (/** @type {string} */ value) => {
    by = value;
    recipe.replaceChildren(...recipeChoice("", value === OTHER ? tutoring.toSorted(byUsual(offer)) : usual).children);
    recipe.selectedIndex = 0;
    show();
  };
  sources.append(choice("Problem", [...(banks.length ? [["bank", "From a bank"]] : []), [OWN, "My own"]], source, (value) => {
    source = value;
    show();
  }));
  recipe.addEventListener("change", show);
  const made = element("form", { class: "card beginning", novalidate: true },
    other.allowed ? choice("Tutor", [["", offer.scripted ? "Scripted stand-in" : offer.model], [OTHER, "Another model"]], "", whoTutors) : null,
    note, other.fields, field("Recipe", recipe), sources, fromBank, written, fault, element("footer", null, go));
  show();

  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    fault.textContent = "";
    const unfit = (by === OTHER && other.fault()) || faultOfProblem(source, question, seed);
    if (unfit) {
      fault.textContent = unfit.words;
      unfit.place.focus();
      return;
    }
    go.disabled = true;
    go.textContent = by === OTHER ? "Asking the model…" : "Begin";
    try {
      const problem = source === OWN ? { question: question.value.trim(), solution: solution.value.trim(), language: language.value } : { bank: bank.value, seed: Number(seed.value) };
      const { id } = await call("POST", "/v1/chats", { recipe: recipe.value, ...problem, ...(by === OTHER ? other.values() : {}) });
      location.hash = `#/chat/${encodeURIComponent(id)}`;
    } catch (error) {
      fault.textContent = error instanceof Refused ? error.message : "The gateway cannot be reached. Try again in a moment.";
    } finally {
      go.disabled = false;
      go.textContent = "Begin";
    }
  });
  return made;
}

/** @param {string} source @param {HTMLTextAreaElement} question @param {HTMLInputElement} seed */
function faultOfProblem(source, question, seed) {
  if (source === OWN && !question.value.trim()) return { words: "Write the problem first.", place: question };
  if (source !== OWN && !/^\d{1,19}$/.test(seed.value.trim())) return { words: `Invalid seed "${seed.value}": write a whole number.`, place: seed };
  return null;
}

/** The fields for a model of the person's own choice. @param {ChatOffer} offer */
function otherModel({ endpoints, loopback }) {
  const plain = { autocomplete: "off", spellcheck: "false" };
  const listed = element("datalist", { id: "chat-endpoints" }, endpoints.map((value) => element("option", { value })));
  const [first = "http://127.0.0.1:11434/v1"] = endpoints;
  const endpoint = element("input", { id: "chat-endpoint", type: "url", inputmode: "url", list: "chat-endpoints", placeholder: first, value: endpoints[0] || "", "aria-describedby": "chat-endpoint-hint", ...plain });
  const model = element("input", { id: "chat-model", placeholder: "qwen2.5:7b", ...plain });
  const key = element("input", { id: "chat-key", type: "password", autocomplete: "off", "aria-describedby": "chat-key-hint" });
  const reach = [endpoints.join(", "), loopback ? "any on this machine: Ollama, vLLM, llama.cpp" : ""].filter(Boolean).join("; or ");
  const fields = element("div", { hidden: true }, listed,
    field("Endpoint", endpoint, `OpenAI-compatible, with /v1. Allowed: ${reach}.`), field("Model", model),
    field("Key", key, "Only if the endpoint asks for one. It stays in memory until the chat ends, and goes to the endpoint only."));
  const fault = () => {
    if (!/^https?:\/\/\S+$/.test(endpoint.value.trim())) return { words: "Write the endpoint as http://127.0.0.1:11434/v1.", place: endpoint };
    return model.value.trim() ? null : { words: "Name the model that the endpoint serves.", place: model };
  };
  const values = () => ({ endpoint: endpoint.value.trim(), model: model.value.trim(), key: key.value.trim() });
  return { fields, fault, values, allowed: loopback || endpoints.length > 0 };
}

/** Orders recipes as the gateway offers them; the others follow. @param {ChatOffer} offer */
function byUsual({ recipes }) {
  const place = (/** @type {RecipeChoice} */ { name }) => (recipes.findIndex((one) => one.name === name) + recipes.length + 1) % (recipes.length + 1);
  return (/** @type {RecipeChoice} */ one, /** @type {RecipeChoice} */ another) => place(one) - place(another);
}
