// Calls to the gateway: once, or repeatedly until the page is left.

const PAUSES = [500, 1_000, 2_000, 4_000, 8_000, 15_000];
// The gateway sends a line at least every 15 seconds.
const SILENCE = 40_000;

/** The gateway's refusal. */
export class Refused extends Error {
  /** @param {number} status @param {{ code: string, message: string }} error */
  constructor(status, { code, message }) {
    super(message);
    this.status = status;
    this.code = code;
  }

  /** Whether the same call may succeed in a moment. */
  get passes() {
    return this.status >= 500 || this.status === 429;
  }
}

/** Sends `lost` (with the milliseconds until the next try), `found`, `again` and `unknown` (nobody is signed in). */
export const line = new EventTarget();
/** When each interrupted call is tried again. @type {Map<symbol, number>} */
const waiting = new Map();

/** A path with the fields that are set. @param {string} path @param {Record<string, unknown>} fields */
export function withQuery(path, fields) {
  const set = Object.entries(fields).filter(([, value]) => value).map(([name, value]) => [name, String(value)]);
  return `${path}?${new URLSearchParams(set)}`;
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function call(method, path, body, signal) {
  return (await send(method, path, body, signal)).json();
}

/** @param {string} method @param {string} path @param {unknown} [body] @param {AbortSignal} [signal] */
async function send(method, path, body, signal) {
  /** @type {Record<string, string>} */
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  const response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store" });
  if (response.ok) return response;
  throw await refusalOf(response);
}

/** @param {Response} response */
export async function refusalOf(response) {
  // A proxy may answer too, and not in JSON.
  const { error } = await response.json().catch(() => ({ error: { code: "unavailable", message: `the gateway answers ${response.status}` } }));
  return refusal(response.status, error);
}

/** @param {number} status @param {{ code: string, message: string }} error */
function refusal(status, error) {
  if (status === 401) line.dispatchEvent(new Event("unknown"));
  return new Refused(status, error);
}

/**
 * The events of a stream as they come: a name and its data.
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<[string, any], void, void>}
 */
export async function* events(method, path, body, signal) {
  const silent = new AbortController();
  const response = await send(method, path, body, AbortSignal.any([silent.signal, ...(signal ? [signal] : [])]));
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const timer = setTimeout(() => silent.abort(new Error("the gateway has fallen silent")), SILENCE);
      const { value, done } = await reader.read().finally(() => clearTimeout(timer));
      if (done) return;
      const complete = (rest + value).split(/\r?\n\r?\n/);
      rest = complete.pop() || "";
      for (const text of complete) {
        const event = parsedEvent(text);
        if (event) yield [event.name, JSON.parse(event.data)];
      }
    }
  } finally {
    reader.cancel().catch(() => null);
  }
}

/** One server-sent event; null for a sign of life, which has no data. @param {string} text */
export function parsedEvent(text) {
  const fields = text.split(/\r?\n/).filter((row) => !row.startsWith(":")).map((row) => row.split(/: ?(.*)/s));
  const name = fields.find(([field]) => field === "event")?.[1] || "message";
  const data = fields.filter(([field]) => field === "data").map(([, content]) => content).join("\n");
  return data ? { name, data } : null;
}

/**
 * Receives a stream's events until `end`; what is returned stops it earlier.
 * @param {string} path
 * @param {(name: string, data: any) => void} receive
 * @param {(error: Refused) => unknown} [refused]
 */
export function watch(path, receive, refused) {
  return repeat(async (signal, reached) => {
    for await (const [name, data] of events("GET", path, undefined, signal)) {
      reached();
      if (name === "error") throw refusal(data.code === "unauthenticated" ? 401 : 503, data);
      receive(name, data);
      if (name === "end") return true;
    }
    return false;
  }, 300, refused);
}

/**
 * Receives an answer at once, and again after so many milliseconds; what is returned stops it.
 * @param {string} path
 * @param {number} every
 * @param {(answer: any) => void} receive
 * @param {(error: Refused) => unknown} [refused]
 */
export function poll(path, every, receive, refused) {
  return repeat(async (signal, reached) => {
    const answer = await call("GET", path, undefined, signal);
    reached();
    receive(answer);
    return false;
  }, every, refused);
}

/**
 * Repeats a call while the page is visible: a hidden page leaves the browser's few connections to others.
 * @param {(signal: AbortSignal, reached: () => void) => Promise<boolean>} once Resolves to whether it is over.
 * @param {number} every
 * @param {(error: Refused) => unknown} [refused]
 */
function repeat(once, every, refused) {
  const left = new AbortController();
  const name = Symbol("call");
  const reached = () => waiting.delete(name) && waiting.size === 0 && line.dispatchEvent(new Event("found"));
  const rounds = async () => {
    for (let failures = 0; !left.signal.aborted; ) {
      await visible(left.signal);
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
          refused?.(error);
          return;
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

/** Ends every pause at once. */
export function tryAgain() {
  line.dispatchEvent(new Event("again"));
}

/** @param {number} milliseconds @param {AbortSignal} signal @returns {Promise<void>} */
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

/** Resolves once the page is visible or the signal aborts. @param {AbortSignal} signal @returns {Promise<void>} */
function visible(signal) {
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
