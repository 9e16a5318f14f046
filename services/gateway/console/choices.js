// What a run or a chat can be started with; fetched once.

import { call } from "./api.js";

/** @import { Words } from "../../../soliloquy/web/types.d.ts" */
/** @import { Choices } from "./contract.d.ts" */

/** @type {Promise<Choices> | null} */
let fetched = null;

/** @returns {Promise<Choices>} */
export function choices() {
  fetched ||= call("GET", "/v1/choices").catch((error) => {
    fetched = null;
    throw error;
  });
  return fetched;
}

/** A recipe's labels in words; empty for a recipe that this gateway does not know. @param {string} recipe @returns {Promise<Words>} */
export async function wordsOf(recipe) {
  const { recipes } = await choices();
  const none = { letters: {}, evaluations: {}, labels: {}, agreeing: { right: [], wrong: [] } };
  return { ...none, ...recipes.find(({ name }) => name === recipe)?.words };
}
