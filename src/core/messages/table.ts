/**
 * All messages that rules give: a wait or a step carries the name of a row and its parameters, and the words are made
 * here, when somebody is shown them. Nothing compares or takes apart the words: `sameMessage` compares the data.
 */
import { sameContent } from "../template/hash.ts";
import type { Approvable } from "./approvals.ts";
import { AUTHORITIES } from "./authorities.ts";
import { AUTH } from "./auth.ts";
import { ADOPTION } from "./adoption.ts";
import { BOOT } from "./boot.ts";
import { CORRUPTION } from "./corruption.ts";
import { FENCING } from "./fencing.ts";
import { HEALING } from "./healing.ts";
import { JOINS } from "./joins.ts";
import { LIFE } from "./life.ts";
import type { StepRow, WaitRow } from "./message.ts";
import type { HoldReason } from "./reasons.ts";
import { OPERATION_MESSAGES } from "./operations.ts";
import { REMOVALS } from "./removals.ts";
import { ROLLOUTS } from "./rollouts.ts";
import { SPACE } from "./space.ts";
import { TRANSITIONS } from "./transitions.ts";
import { VERSIONS } from "./versions.ts";

export const MESSAGES = {
  ...LIFE,
  ...BOOT,
  ...ADOPTION,
  ...JOINS,
  ...REMOVALS,
  ...HEALING,
  ...FENCING,
  ...CORRUPTION,
  ...SPACE,
  ...ROLLOUTS,
  ...VERSIONS,
  ...AUTHORITIES,
  ...TRANSITIONS,
  ...OPERATION_MESSAGES,
  ...AUTH,
} as const;

type Table = typeof MESSAGES;
type CodeOf<Kind extends "step" | "wait"> = {
  [Code in keyof Table]: Table[Code]["kind"] extends Kind ? Code : never;
}[keyof Table];
export type StepCode = CodeOf<"step">;
export type WaitCode = CodeOf<"wait">;
export type ParamsOf<Code extends keyof Table> = Parameters<Table[Code]["say"]> extends [infer P] ? P : Empty;
/** Of a row whose sentence needs none. */
type Empty = Readonly<Record<never, never>>;

/** A message as data. */
export interface Message<Code extends keyof Table = keyof Table> {
  readonly code: Code;
  readonly params: ParamsOf<Code>;
}

export function message<Code extends keyof Table>(code: Code, params: ParamsOf<Code>): Message<Code> {
  return { code, params };
}

export function sentenceOf({ code, params }: Message): string {
  return (MESSAGES[code] as StepRow<object> | WaitRow<object>).say(params);
}

export function reasonOf(code: WaitCode): HoldReason {
  return MESSAGES[code].reason;
}

/** What a person should do; undefined where waiting is enough. */
export function remedyOf({ code, params }: Message<WaitCode>): string | undefined {
  return rowOf(code).next?.(params);
}

/** What a person can approve to end the wait; undefined where nothing is to be approved. */
export function approvalIn({ code, params }: Message<WaitCode>): Approvable | undefined {
  return rowOf(code).approval?.(params);
}

export function needsPerson(code: WaitCode): boolean {
  return rowOf(code).next !== undefined;
}

/** Equal but for what changes by itself as time passes. */
export function sameMessage(a: Message<WaitCode>, b: Message<WaitCode>): boolean {
  return a.code === b.code && sameContent(lasting(a), lasting(b));
}

function lasting({ code, params }: Message<WaitCode>): object {
  const { volatile } = rowOf(code);
  if (volatile === undefined) return params;
  return Object.fromEntries(Object.entries(params).filter(([name]) => !volatile.includes(name as never)));
}

function rowOf(code: WaitCode): WaitRow<object> {
  return MESSAGES[code] as WaitRow<object>;
}
