// The conversations lie in compressed blocks further down in the file; each is unpacked when somebody reads it.

const unpacked = new Map();
const KEPT_UNPACKED = 24;

/** The text of a block that stands in the element of this id. */
async function textOf(id) {
  const { textContent } = await arrived(id);
  const stream = new Blob([bytesOf(textContent)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}

function bytesOf(base64) {
  // Ten times as fast, where the browser has it.
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const letters = atob(base64);
  const bytes = new Uint8Array(letters.length);
  for (let place = 0; place < letters.length; place++) bytes[place] = letters.charCodeAt(place);
  return bytes;
}

/** Resolves when the browser has read the file as far as this element. */
async function arrived(id) {
  for (;;) {
    const element = document.getElementById(id);
    // What follows an element is read after the whole of it.
    if (element && (element.nextSibling || document.readyState !== "loading")) return element;
    if (document.readyState !== "loading") throw new Error(`this file ends before ${id}: it was cut off`);
    await new Promise((resume) => setTimeout(resume, 30));
  }
}

/** The conversations of a block, in their order. */
async function conversationsOf(block) {
  if (!unpacked.has(block)) {
    unpacked.set(block, textOf(`block-${block}`).then((text) => rows(JSON.parse(text))));
    if (unpacked.size > KEPT_UNPACKED) unpacked.delete(unpacked.keys().next().value);
  }
  return unpacked.get(block);
}

/** Columns as the objects they were made from: `n` and `of` are a list's lengths and all its values. */
function rows(column) {
  if (column === null || Array.isArray(column)) return column;
  if ("n" in column) {
    const values = rows(column.of);
    let start = 0;
    return column.n.map((length) => values.slice(start, (start += length)));
  }
  const fields = Object.entries(column).map(([name, values]) => [name, rows(values)]);
  const length = fields[0][1].length;
  return Array.from({ length }, (_, row) => Object.fromEntries(fields.map(([name, all]) => [name, all ? all[row] : null])));
}
