/** @import { ConversationView } from "../../../web/types.d.ts" */

/**
 * Turns columns into the conversations they were made from: in a list, `n` has the lengths and `of` all items.
 * @param {any} column
 * @returns {ConversationView[]}
 */
export function conversationsIn(column) {
  return unfolded(column);
}

/** @param {any} column @returns {any} */
function unfolded(column) {
  if (column === null || Array.isArray(column)) return column;
  if ("n" in column) {
    const values = unfolded(column.of);
    let start = 0;
    return column.n.map((/** @type {number} */ length) => values.slice(start, (start += length)));
  }
  const fields = Object.entries(column).map(([name, values]) => [name, unfolded(values)]);
  const { length } = fields[0][1];
  return Array.from({ length }, (_, row) => Object.fromEntries(fields.map(([name, all]) => [name, all ? all[row] : null])));
}

/** All that was said, thought and run in a conversation, in lower case. @param {ConversationView} conversation */
export function textsOf(conversation) {
  const { parts, reasons } = conversation;
  const texts = [conversation.question, conversation.solution, conversation.source, ...(reasons || [])];
  for (const { text } of parts || []) texts.push(text);
  for (const turn of conversation.turns) {
    texts.push(turn.student, turn.thoughts, turn.tutor, turn.description);
    for (const { text, because } of turn.rejected || []) texts.push(text, because);
    for (const attempt of turn.attempts) texts.push(attempt.code, attempt.error, attempt.stdout);
  }
  return texts.join("\n").toLowerCase();
}
