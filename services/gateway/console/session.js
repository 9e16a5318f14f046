// The session: the reader's name and role, where the gateway asks for a token.

import { element } from "../../../soliloquy/web/element.js";
import { at } from "../../../soliloquy/web/interaction.js";
import { Refused, call, line, withQuery } from "./api.js";
import { button, messageOf } from "./widgets.js";

// The names of those whom the provider signs in begin so.
const PROVIDED = "oidc:";
let session = { name: "", role: "", tenant: "", needed: false, sign_in: "" };

export const mayRead = () => !session.needed || Boolean(session.role);
/** Whether the reader sees tasks for people and nothing else. */
export const annotatesOnly = () => session.role === "annotator";
export const maySteer = () => !session.needed || session.role === "operator";
/** Whether the reader sees the work of all tenants. */
export const seesAll = () => !session.tenant;

/** Resolves once the reader is known; calls `changed` whenever the reader changes. @param {() => void} changed */
export async function begin(changed) {
  line.addEventListener("unknown", () => {
    if (!mayRead() || !session.needed) return;
    // The provider's token has expired: the provider, which still knows the reader, gives another.
    if (session.name.startsWith(PROVIDED)) location.assign(signInWith());
    leaveSession();
    changed();
  });
  take(await call("GET", "/v1/session"));
  at("session").addEventListener("left", changed);
}

/** @param {{ name?: string, role?: string, tenant?: string, needed: boolean, sign_in: string }} answer */
function take({ name = "", role = "", tenant = "", ...gateway }) {
  session = { name, role, tenant, ...gateway };
  const leave = async () => {
    await call("DELETE", "/v1/session").catch((error) => {
      // Only the gateway can delete the cookie: the reader is not signed out before it has.
      if (!(error instanceof Refused && error.status === 401)) throw error;
    });
    leaveSession();
    at("session").dispatchEvent(new Event("left"));
  };
  at("session").replaceChildren(...(session.needed && session.role
    ? [element("span", { class: "who-reads" }, session.name, element("small", null, [session.role, session.tenant].filter(Boolean).join(", "))), button("Sign out", {}, leave)]
    : []));
}

/** What remains is how to sign in again. */
const leaveSession = () => take({ needed: session.needed, sign_in: session.sign_in });

/** Leads back to the page that is shown. */
const signInWith = () => withQuery(session.sign_in, { page: location.hash.slice(2) });

/** Shows the form for a token until one is accepted. @param {HTMLElement} main @param {() => void} signedIn */
export function signIn(main, signedIn) {
  const hidden = { type: "password", autocomplete: "current-password", spellcheck: "false" };
  const input = element("input", { id: "token", ...hidden, required: true, "aria-describedby": "token-fault" });
  const fault = element("p", { id: "token-fault", class: "fault", role: "alert" });
  const form = element("form", { class: "sign-in" },
    element("h1", null, "Sign in"),
    session.sign_in && element("a", { class: "primary", href: signInWith() }, "Sign in with your account"),
    element("p", { class: "note" }, "Your token becomes a cookie that no script can read; this page does not store it."),
    element("label", { for: "token" }, "Token"), input, fault,
    element("button", { class: "primary" }, "Sign in"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    fault.textContent = "";
    try {
      await call("POST", "/v1/session", { token: input.value.trim() });
      take(await call("GET", "/v1/session"));
      signedIn();
    } catch (error) {
      fault.textContent = error instanceof Refused && error.status === 401 ? "This token is not known." : messageOf(error);
      input.select();
    }
  });
  main.replaceChildren(form);
  input.focus();
}
