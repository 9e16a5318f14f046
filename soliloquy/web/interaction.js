// What both pages do in the same way.

/**
 * The element of this id, which the page's own markup holds.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function at(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found;
}

/**
 * Runs an action once its calls have paused for so long.
 * @param {() => unknown} action
 * @param {number} milliseconds
 * @returns {() => void}
 */
export function debounced(action, milliseconds) {
  let waiting = 0;
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(action, milliseconds);
  };
}

/** Unfolds all soliloquies of a conversation, or folds them where all are open. @param {HTMLElement} reader */
export function toggleSoliloquies(reader) {
  const folded = /** @type {NodeListOf<HTMLDetailsElement>} */ (reader.querySelectorAll("details.soliloquy"));
  const opening = [...folded].some((details) => !details.open);
  for (const details of folded) details.open = opening;
}

/** Whether a key is meant for a field, or for the browser. @param {KeyboardEvent} event */
export function isTyping(event) {
  return Boolean(/** @type {Element} */ (event.target).closest("input, textarea, select, dialog"));
}

/** Follows the system's colour scheme until a reader chooses one with this button. @param {HTMLElement} button */
export function colourSchemeSwitch(button) {
  const root = document.documentElement;
  const stored = remembered(() => localStorage.getItem("theme"));
  if (stored) root.dataset.theme = stored;
  button.addEventListener("click", () => {
    const current = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    const chosen = current === "dark" ? "light" : "dark";
    root.dataset.theme = chosen;
    remembered(() => localStorage.setItem("theme", chosen));
  });
}

/**
 * Some browsers refuse storage to a page that is a file.
 * @template T
 * @param {() => T} access
 * @returns {T | null}
 */
function remembered(access) {
  try {
    return access();
  } catch (error) {
    if (error instanceof DOMException) return null;
    throw error;
  }
}
