// What the viewer draws: the objects that soliloquy/dataset/view.py makes, and a recipe's labels in words.

/** What an element may hold; lists are flattened, and what is empty is left out. */
export type Content = Node | string | number | null | undefined | Content[];

export interface ConversationView {
  id: string;
  /** Where its id leads, if not to the conversation on the same page. */
  link?: string;
  attempt: number | null;
  persona: string | null;
  tutor_persona: string | null;
  ending: string | null;
  ending_reason: string | null;
  /** Why turns were taken back, once for each time. */
  rewinds: { rule: string; because: string }[] | null;
  /** Why it was rejected; null for an accepted one. */
  reasons: string[] | null;
  topic: string | null;
  source: string | null;
  question: string | null;
  solution: string | null;
  outline: string | null;
  /** What only some recipes have, such as a plan. */
  parts: { title: string; text: string }[] | null;
  turns: TurnView[];
}

/** An answer that a rule sent back to its role. */
export interface RejectedView {
  role: string;
  rule: string;
  text: string;
  because: string;
}

export interface TurnView {
  student: string | null;
  intent: string | null;
  /** What was drawn for the message, in words. */
  drawn: string;
  rejected: RejectedView[] | null;
  /** What is to be calculated; null where nothing is. */
  description: string | null;
  attempts: AttemptView[];
  thoughts: string | null;
  tutor: string | null;
  evaluation: string | null;
  /** How the tutor responds, in a word; null where a number says it. */
  verification: string | null;
  response: string | null;
  /** The recipe's labels of the turn and its reply, by their titles. */
  labels: Record<string, string | null> | null;
  model: string | null;
  /** Only the console shows model calls and flags. */
  calls?: { role: string; raw: string[]; thoughts: string[]; prompt: string; told: string }[];
  flags?: { claim: string; evidence: string }[];
}

export interface AttemptView {
  code: string;
  status: string | null;
  error: string | null;
  /** From 1; 0 where no line is to blame. */
  error_line: number | null;
  stdout: string | null;
  recomputed: string[];
  values: { name: string; shown: string }[];
}

/** What a recipe's codes and labels mean. */
export interface Words {
  letters: Record<string, string>;
  evaluations: Record<string, string>;
  /** The meanings of a label's values, by its title. */
  labels: Record<string, Record<string, string>>;
  /** The evaluations that agree with each verdict of a program. */
  agreeing: Record<"right" | "wrong", string[]>;
}
