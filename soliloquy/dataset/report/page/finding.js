// Which conversations are listed: those that every filter and the search let through.

class Finding {
  constructor(index, changed) {
    this.index = index;
    this.changed = changed;
    this.chosen = {};
    this.needle = "";
    this.share = 1;
    this.round = 0;
    this.first = [0];
    for (const length of index.blocks) this.first.push(this.first.at(-1) + length);
    this.rows = this.filtered();
  }

  /** The block of a row, and its place there. */
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
    const chosen = Object.entries(this.chosen).map(([name, place]) => [this.index.filters[name], place]);
    const rows = [];
    for (let row = 0; row < this.index.id.length; row++) {
      if (chosen.every(([{ several, codes }, place]) => (several ? (codes[row] >> place) & 1 : codes[row] === place))) rows.push(row);
    }
    return rows;
  }

  choose(name, place) {
    if (place === null) delete this.chosen[name];
    else this.chosen[name] = place;
    return this.find();
  }

  search(text) {
    this.needle = text.trim().toLowerCase();
    return this.find();
  }

  /** First what the index knows, at once; then every text, block by block. */
  async find() {
    const round = ++this.round;
    const { needle } = this;
    const within = this.filtered();
    if (!needle) return this.tell(within, 1);
    const { id, question } = this.index;
    const found = new Set(within.filter((row) => id[row].startsWith(needle) || question[row].toLowerCase().includes(needle)));
    this.tell([...found], 0);
    const written = JSON.stringify(needle).slice(1, -1);
    let told = performance.now();
    for (let at = 0; at < within.length; ) {
      const [block] = this.blockOf(within[at]);
      const start = at;
      while (at < within.length && within[at] < this.first[block + 1]) at++;
      const text = await textOf(`block-${block}`);
      if (round !== this.round) return;
      if (text.toLowerCase().includes(written)) {
        const conversations = rows(JSON.parse(text));
        for (const row of within.slice(start, at)) {
          if (textsOf(conversations[row - this.first[block]]).includes(needle)) found.add(row);
        }
      }
      if (performance.now() - told > 200) {
        this.tell([...found].sort((one, other) => one - other), at / within.length);
        told = performance.now();
      }
    }
    this.tell([...found].sort((one, other) => one - other), 1);
  }

  tell(found, share) {
    this.rows = found;
    this.share = share;
    this.changed();
  }
}

/** All that was said, thought and run in a conversation. */
function textsOf(conversation) {
  const { plan, opinions, reasons } = conversation;
  const texts = [conversation.question, conversation.solution, conversation.source, conversation.confusion, ...(reasons || [])];
  for (const { question, answer } of plan || []) texts.push(question, answer);
  for (const { because } of opinions || []) texts.push(because);
  for (const turn of conversation.turns) {
    texts.push(turn.student, turn.thoughts, turn.tutor, turn.description);
    for (const { text, because } of turn.rejected || []) texts.push(text, because);
    for (const attempt of turn.attempts) texts.push(attempt.code, attempt.error, attempt.stdout);
  }
  return texts.join("\n").toLowerCase();
}
