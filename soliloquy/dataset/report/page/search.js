// Selects the conversations that match every filter and the search.

import { textOf } from "./blocks.js";
import { conversationsIn, textsOf } from "./columns.js";

/**
 * What is known of every conversation without unpacking it. A filter has one value for each conversation, or a bit
 * for each of several. `pairs` has the accepted row about the same problem for a rejected row.
 * @typedef {{ values: string[], codes: number[], several: boolean }} Filter
 * @typedef {{ id: string[], question: string[], turns: number[], blocks: number[], filters: Record<string, Filter>, pairs: Record<number, number> }} Index
 */

export class Search {
  /**
   * @param {Index} index
   * @param {() => void} changed Called whenever other rows match.
   * @param {(id: string) => Promise<string>} read Reads a block's text.
   */
  constructor(index, changed, read = textOf) {
    this.index = index;
    this.changed = changed;
    this.read = read;
    /** @type {Record<string, number>} */
    this.chosen = {};
    this.needle = "";
    // How much of what the filters let through is searched.
    this.share = 1;
    this.round = 0;
    this.first = [0];
    for (const [block, length] of index.blocks.entries()) this.first.push(this.first[block] + length);
    this.rows = this.filtered();
  }

  /** The block of a row, and its place there. @param {number} row */
  blockOf(row) {
    let low = 0;
    let high = this.first.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.first[middle] <= row) low = middle;
      else high = middle;
    }
    return [low, row - this.first[low]];
  }

  filtered() {
    const chosen = Object.entries(this.chosen).map(([name, place]) => ({ filter: this.index.filters[name], place }));
    const rows = [];
    for (let row = 0; row < this.index.id.length; row++) {
      if (chosen.every(({ filter: { several, codes }, place }) => (several ? (codes[row] >> place) & 1 : codes[row] === place))) rows.push(row);
    }
    return rows;
  }

  /** @param {string} name @param {number | null} place Of a value; null takes the filter away. */
  choose(name, place) {
    if (place === null) delete this.chosen[name];
    else this.chosen[name] = place;
    return this.find();
  }

  /** @param {string} text */
  search(text) {
    this.needle = text.trim().toLowerCase();
    return this.find();
  }

  /** Searches the index at once, and then every text block by block. */
  async find() {
    const round = ++this.round;
    const { needle } = this;
    const within = this.filtered();
    if (!needle) return this.show(within, 1);
    const { id, question } = this.index;
    const found = new Set(within.filter((row) => id[row].startsWith(needle) || question[row].toLowerCase().includes(needle)));
    this.show([...found], 0);
    const written = JSON.stringify(needle).slice(1, -1);
    let shown = performance.now();
    for (let at = 0; at < within.length; ) {
      const [block] = this.blockOf(within[at]);
      const start = at;
      while (at < within.length && within[at] < this.first[block + 1]) at++;
      const text = await this.read(`block-${block}`);
      if (round !== this.round) return;
      if (text.toLowerCase().includes(written)) {
        const conversations = conversationsIn(JSON.parse(text));
        for (const row of within.slice(start, at)) {
          if (textsOf(conversations[row - this.first[block]]).includes(needle)) found.add(row);
        }
      }
      if (performance.now() - shown > 200) {
        this.show([...found].sort((one, other) => one - other), at / within.length);
        shown = performance.now();
      }
    }
    this.show([...found].sort((one, other) => one - other), 1);
  }

  /** @param {number[]} found @param {number} share */
  show(found, share) {
    this.rows = found;
    this.share = share;
    this.changed();
  }
}
