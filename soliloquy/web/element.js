/** @import { Content } from "./types.d.ts" */

/**
 * Makes an element. Text from the data is always set as text, never as markup.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number | boolean | null | undefined> | null} [attributes]
 * @param {...Content} children
 */
export function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, String(value));
  }
  const content = /** @type {any[]} */ (children).flat(Infinity);
  made.append(...content.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}
