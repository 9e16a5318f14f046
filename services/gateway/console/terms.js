// The terms of a project, which a person agrees to before anything else.

import { element } from "../../../soliloquy/web/element.js";
import { call } from "./api.js";
import { button } from "./widgets.js";

/** @param {{ consent: string }} project @param {string} path */
export function terms({ consent }, path) {
  const agree = button("I agree", { kind: "primary" }, async () => {
    await call("POST", `${path}/consent`, {});
    // The page is drawn anew, as those who have agreed see it.
    dispatchEvent(new Event("hashchange"));
  });
  return element("section", { class: "card terms", "aria-label": "Terms" }, element("p", null, consent), agree);
}
