// What can be chosen when something is started: asked for once.

import { call } from "./calls.js";

let asked = null;

export function choices() {
  asked ||= call("GET", "/v1/choices").catch((error) => {
    asked = null;
    throw error;
  });
  return asked;
}

/** A recipe's labels in words; empty where the recipe is not known here. */
export async function wordsOf(recipe) {
  const { recipes } = await choices();
  const none = { letters: {}, state_letters: {}, evaluations: {}, actions: {}, states: {}, agreeing: { right: [], wrong: [] } };
  return { ...none, ...recipes.find(({ name }) => name === recipe)?.words };
}
