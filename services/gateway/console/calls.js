// What is asked of the gateway: once, or again and again until somebody leaves the page.

const PAUSES = [500, 1_000, 2_000, 4_000, 8_000, 15_000];
// The gateway sends a line every 15 seconds, whatever happens.
const SILENCE = 40_000;

/** The gateway answered, and the answer is no. */
export class Refused extends Error {
  constructor(status, { code, message }) {
    super(message);
    this.status = status;
    this.code = code;
  }

  /** Whether the same may be answered otherwise in a moment. */
  get passes() {
    return this.status >= 500 || this.status === 429;
  }
}

/** Tells who listens of `lost` (with the milliseconds until the next try), `found` and `unknown` (nobody is signed in). */
export const line = new EventTarget();
const waiting = new Map();

/** A path with the fields that hold something. */
export function asking(path, fields) {
  const query = new URLSearchParams(Object.entries(fields).filter(([, value]) => value));
  return `${path}?${query}`;
}

export async function call(method, path, body, signal) {
  return (await asked(method, path, body, signal)).json();
}

async function asked(method, path, body, signal) {
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  const response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store" });
  if (response.ok) return response;
  // What stands between may answer too, and not in JSON.
  const told = await response.json().catch(() => ({ error: { code: "unavailable", message: `the gateway answers ${response.status}` } }));
  throw refusal(response.status, told.error);
}

function refusal(status, error) {
  if (status === 401) line.dispatchEvent(new Event("unknown"));
  return new Refused(status, error);
}

/** The events of a stream as they come: `[name, what it carries]`. */
export async function* events(method, path, body, signal) {
  const silent = new AbortController();
  const response = await asked(method, path, body, AbortSignal.any([silent.signal, ...(signal ? [signal] : [])]));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const timer = setTimeout(() => silent.abort(new Error("the gateway has fallen silent")), SILENCE);
      const { value, done } = await reader.read().finally(() => clearTimeout(timer));
      if (done) return;
      const whole = (rest + value).split(/\r?\n\r?\n/);
      rest = whole.pop();
      for (const text of whole) {
        const fields = text.split(/\r?\n/).filter((told) => !told.startsWith(":")).map((told) => told.split(/: ?(.*)/s));
        const name = fields.find(([field]) => field === "event")?.[1] || "message";
        const data = fields.filter(([field]) => field === "data").map(([, content]) => content).join("\n");
        // What has no data is a sign of life.
        if (data) yield [name, JSON.parse(data)];
      }
    }
  } finally {
    reader.cancel().catch(() => null);
  }
}

/** Receives a stream's events until it tells `end`; whoever holds what is returned can leave earlier. */
export function watch(path, receive, refused) {
  return kept(async (signal, reached) => {
    for await (const [name, told] of events("GET", path, undefined, signal)) {
      reached();
      if (name === "error") throw refusal(told.code === "unauthenticated" ? 401 : 503, told);
      receive(name, told);
      if (name === "end") return true;
    }
    return false;
  }, 300, refused);
}

/** Receives an answer at once, and again every so many milliseconds. */
export function poll(path, every, receive, refused) {
  return kept(async (signal, reached) => {
    const told = await call("GET", typeof path === "function" ? path() : path, undefined, signal);
    reached();
    receive(told);
    return false;
  }, every, refused);
}

/** Goes on while the page can be seen: a hidden one takes no connection from those that are read. */
function kept(once, every, refused) {
  const left = new AbortController();
  const name = Symbol("kept");
  const reached = () => waiting.delete(name) && waiting.size === 0 && line.dispatchEvent(new Event("found"));
  const rounds = async () => {
    for (let failures = 0; !left.signal.aborted; ) {
      await seen(left.signal);
      const hidden = new AbortController();
      const hide = () => document.hidden && hidden.abort();
      document.addEventListener("visibilitychange", hide);
      try {
        if (await once(AbortSignal.any([left.signal, hidden.signal]), () => { failures = 0; reached(); })) return;
        await pause(every, left.signal);
      } catch (error) {
        if (left.signal.aborted) return;
        if (hidden.signal.aborted) continue;
        if (error instanceof Refused && !error.passes) {
          reached();
          return refused?.(error);
        }
        const next = PAUSES[Math.min(failures++, PAUSES.length - 1)] * (0.8 + 0.4 * Math.random());
        waiting.set(name, Date.now() + next);
        line.dispatchEvent(new CustomEvent("lost", { detail: Math.min(...waiting.values()) - Date.now() }));
        await pause(next, left.signal);
      } finally {
        document.removeEventListener("visibilitychange", hide);
      }
    }
  };
  rounds().finally(reached);
  return () => {
    left.abort();
    reached();
  };
}

/** Every pause ends at once. */
export function tryAgain() {
  line.dispatchEvent(new Event("again"));
}

function pause(milliseconds, signal) {
  return new Promise((resume) => {
    const over = () => {
      clearTimeout(timer);
      line.removeEventListener("again", over);
      signal.removeEventListener("abort", over);
      resume();
    };
    const timer = setTimeout(over, milliseconds);
    line.addEventListener("again", over);
    signal.addEventListener("abort", over);
  });
}

function seen(signal) {
  return new Promise((resume) => {
    if (!document.hidden || signal.aborted) return resume();
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      resume();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
  });
}
