// Colours Python: comments, strings, numbers, keywords and calls.

import { element } from "./element.js";

const PYTHON = new RegExp(
  [
    "(?<comment>#[^\\n]*)",
    "(?<string>[rbfRBF]{0,2}(?:\"\"\"[\\s\\S]*?\"\"\"|'''[\\s\\S]*?'''|\"(?:\\\\.|[^\"\\\\\\n])*\"|'(?:\\\\.|[^'\\\\\\n])*'))",
    "(?<number>\\b\\d[\\d_]*(?:\\.\\d*)?(?:[eE][+-]?\\d+)?j?\\b|\\.\\d+)",
    "(?<word>\\b(?:and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield|True|False|None)\\b)",
    "(?<called>[\\p{L}_][\\p{L}\\p{N}_]*(?=\\())",
  ].join("|"),
  "gu",
);

/**
 * @param {string} code
 * @param {number | null} wrongLine From 1; 0 or null marks none.
 */
export function highlighted(code, wrongLine) {
  const lines = [/** @type {(Node | string)[]} */ ([])];
  /** @type {(text: string, kind?: string) => void} */
  const add = (text, kind) => {
    text.split("\n").forEach((part, number) => {
      if (number) lines.push([]);
      if (part) lines[lines.length - 1].push(kind ? element("span", { class: kind }, part) : part);
    });
  };
  let end = 0;
  for (const found of code.matchAll(PYTHON)) {
    add(code.slice(end, found.index));
    const group = Object.entries(found.groups || {}).find(([, text]) => text !== undefined);
    add(found[0], group?.[0]);
    end = found.index + found[0].length;
  }
  add(code.slice(end));
  const shown = lines.map((parts, number) => element("span", { class: number + 1 === wrongLine ? "line wrong" : "line" }, parts, "\n"));
  return element("pre", { class: "code", tabindex: "0", "aria-label": "Python" }, element("code", null, shown));
}
