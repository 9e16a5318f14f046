// The conversations lie in compressed blocks further down in the file; each is unpacked when somebody reads it.

import { conversationsIn } from "./columns.js";

/** @import { ConversationView } from "../../../web/types.d.ts" */

/** @type {Map<number, Promise<ConversationView[]>>} */
const unpacked = new Map();
const MOST_UNPACKED = 24;

/** The text of the block in the element of this id. @param {string} id */
export async function textOf(id) {
  const { textContent } = await arrived(id);
  const stream = new Blob([bytesOf(textContent || "")]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}

/** @param {string} base64 @returns {Uint8Array<ArrayBuffer>} */
function bytesOf(base64) {
  // Ten times as fast, in browsers that have it.
  const native = /** @type {{ fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }} */ (/** @type {unknown} */ (Uint8Array));
  if (native.fromBase64) return native.fromBase64(base64);
  const letters = atob(base64);
  const bytes = new Uint8Array(letters.length);
  for (let place = 0; place < letters.length; place++) bytes[place] = letters.charCodeAt(place);
  return bytes;
}

/** Resolves when the browser has read the file as far as this element. @param {string} id */
async function arrived(id) {
  for (;;) {
    const element = document.getElementById(id);
    // An element with a successor has been read to its end.
    if (element && (element.nextSibling || document.readyState !== "loading")) return element;
    if (document.readyState !== "loading") throw new Error(`the file was cut off: it ends before ${id}`);
    await new Promise((resume) => setTimeout(resume, 30));
  }
}

/** The conversations of a block, in their order. @param {number} block */
export function conversationsOf(block) {
  let conversations = unpacked.get(block);
  if (!conversations) {
    conversations = textOf(`block-${block}`).then((text) => conversationsIn(JSON.parse(text)));
    unpacked.set(block, conversations);
    if (unpacked.size > MOST_UNPACKED) unpacked.delete(/** @type {number} */ (unpacked.keys().next().value));
  }
  return conversations;
}
