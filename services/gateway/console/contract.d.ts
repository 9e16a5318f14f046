// The gateway's answers, as far as the console reads them; GET /openapi.json describes all of them.

import type { AttemptView, Words } from "../../../soliloquy/web/types.d.ts";

/** Protobuf's JSON writes 64-bit integers as strings. */
export type Numeric = number | string | null | undefined;

export interface RunRequest {
  recipe: string;
  problems: string;
  conversations: Numeric;
  seed: Numeric;
  in_flight: Numeric;
  max_turns: Numeric;
  max_attempts: Numeric;
  enrich: boolean;
  /** Empty for English. */
  language: string;
  name: string;
}

/** A run to start by name. */
export interface Template {
  name: string;
  request: RunRequest;
  /** Seconds since 1970; 0 if it does not start by itself. */
  next_at: number;
}

export interface Progress {
  accepted?: Numeric;
  rejected?: Numeric;
  under_way?: Numeric;
  held?: Numeric;
  flags?: Numeric;
  turns?: Numeric;
  python_turns?: Numeric;
  dead_letters?: Numeric;
  /** The rejected conversations that break each rule. */
  reasons?: Record<string, Numeric>;
  verdicts?: Numeric;
  unverified?: Numeric;
  tokens?: Record<string, { prompt?: Numeric; completion?: Numeric; cached?: Numeric; reasoning?: Numeric }>;
}

export interface Run {
  id: string;
  request: RunRequest;
  state: string;
  because: string;
  requested_by: string;
  /** Empty for the installation. */
  tenant: string;
  requested_at: number;
  changed_at: number;
  progress?: Progress;
  rate: number;
  eta_seconds: number;
  cost: number;
  /** The roles whose tokens have no known price. */
  unpriced?: string[];
  name: string;
  model: string;
  dataset: string;
  changed_prompts?: string[];
}

export interface Interval {
  expected: number;
  low: number;
  high: number;
}

export interface Forecast {
  basis: string;
  /** The run that tells it. */
  like: string;
  problems: Numeric;
  accepted: Numeric;
  calls?: Interval | null;
  prompt_tokens?: Interval | null;
  completion_tokens?: Interval | null;
  /** These are absent where they are unknown. */
  cached_tokens?: Interval | null;
  seconds?: Interval | null;
  dollars?: Interval | null;
  unpriced?: string[];
}

export interface FinishedConversation {
  id: string;
  accepted: boolean;
  ending: string;
  reasons?: string[];
  finished_at: number;
  summary?: { question?: string; topic?: string; turns?: Numeric; python_turns?: Numeric; failed_executions?: Numeric; flags?: Numeric; persona?: string };
}

export interface Letter {
  id: string;
  topic: string;
  run: string;
  conversation: string;
  made_at: number;
  attempt: Numeric;
  error: string;
}

export interface Cause {
  cause: string;
  letters: Numeric;
  error: string;
  topics?: string[];
  runs: Numeric;
  first_at: number;
  last_at: number;
}

export interface Stage {
  service: string;
  topic: string;
  events: Numeric;
  oldest_seconds: number;
}

export interface RecipeChoice {
  name: string;
  title: string;
  topics: string[];
  tutoring: boolean;
  words: Words;
  /** What breaks each rule. */
  rules: Record<string, string>;
}

export interface Format {
  name: string;
  title: string;
  suffix: string;
  /** The only recipe whose conversations it holds; empty for all. */
  recipe: string;
}

export interface Bounds {
  least: number;
  most: number;
}

export interface Choices {
  recipes: RecipeChoice[];
  problems: { name: string; kind: "bank" | "file" }[];
  /** The name of each language besides English. */
  languages: Record<string, string>;
  defaults: Record<string, string | number>;
  limits: Record<string, Bounds>;
  formats: Format[];
}

export interface ChatTutor {
  model: string;
  scripted: boolean;
  understands: string[];
  suggestions: string[];
}

export interface ChatOffer {
  recipes: { name: string; tutor: ChatTutor }[];
  model: string;
  scripted: boolean;
  endpoints: string[];
  loopback: boolean;
}

export interface Chat {
  id: string;
  recipe: string;
  tutor: ChatTutor;
  problem: { topic: string; question: string };
  messages: { role: "student" | "tutor"; text: string }[];
  over: boolean;
}

export interface AnnotationLabel {
  name: string;
  title: string;
  shortcut: string;
}

export interface AnnotationQuestion {
  name: string;
  title: string;
  asks: string;
  kind: "label" | "scale" | "span" | "text";
  labels: AnnotationLabel[];
  several: boolean;
  least: number;
  most: number;
  ends: string[];
  required: boolean;
}

export interface AnnotationScheme {
  name: string;
  title: string;
  guide: string;
  questions: AnnotationQuestion[];
}

export type AnnotationValues = Record<string, unknown>;

export interface AnnotationProject {
  id: string;
  name: string;
  scheme: AnnotationScheme;
  consent: string;
  consented: boolean;
  items: number;
  complete: number;
  own: number;
}

type Said = { role: "student" | "tutor"; text: string }[];

export interface ShownItem {
  question?: string;
  solution?: string;
  answer?: string;
  messages?: Said;
  program?: { code: string; ran: boolean; output: string };
  sides?: Said[];
}

export interface AnnotationItem {
  item: string;
  shown: ShownItem;
  values: AnnotationValues;
  own: number;
  items: number;
}

export interface TeachingProject {
  id: string;
  name: string;
  recipe: string;
  dialogues: number;
  done: number;
  own: number;
  run: string;
  consent: string;
  consented: boolean;
}

export interface TeacherSeat {
  /** Empty where no problem is left. */
  id: string;
  project: string;
  state: "preparing" | "comparing" | "teacher" | "student" | "rating" | "keeping" | "done" | "unfit" | "left";
  turn: number;
  question: string;
  solution: string;
  student: string;
  handed_in: string[];
  plan: string[];
  messages: { role: "student" | "tutor"; text: string; move: string }[];
  moves: { name: string; meaning: string }[];
  calculates: boolean;
  programs: AttemptView[];
  turns_left: number;
  seconds_left: number;
  fault: string;
  warnings: string[];
  scheme: AnnotationScheme | null;
  own: number;
}

export interface Dispute {
  item: string;
  shown: ShownItem;
  given: Record<string, AnnotationValues>;
  left: number;
}

export interface Adapter {
  name: string;
  digest: string;
  base_digest: string;
  active: boolean;
  active_since: string;
  note: string;
  metrics: Record<string, number>;
}

export interface Measure {
  value: number;
  low: number | null;
  high: number | null;
}

export interface Evaluation {
  name: string;
  protocol: string;
  model: string;
  at: number;
  metrics: Record<string, Measure | undefined>;
}

/** Fills a page, and returns what to do when it is left. */
export type ShowPage = (sheet: HTMLElement, path: string[], query: URLSearchParams) => Leave | Promise<Leave>;
export type Leave = (() => void) | null | undefined | void;

export interface AuditedCall {
  at: number;
  who: string;
  /** Empty for the installation. */
  tenant: string;
  what: string;
  target: string;
  outcome: string;
}
