/** What is said about a verb, as data, and the types of what its command line gives. */
import type { ExitCode } from "./exit.ts";
import {
  COMMON_FLAGS,
  FLAG_GROUPS,
  type FlagGroup,
  type Flags,
  type SharedValues,
  type ValuesOf,
} from "./flag.ts";

export interface Argument {
  readonly name: string;
  readonly help: string;
  readonly optional?: boolean;
  /** Takes all that follow; only the last argument may. */
  readonly many?: boolean;
  /** What completion offers; a subject is a cluster, or members of one. */
  readonly complete?: "cluster" | "member" | "subject" | "file" | readonly string[];
}

/** A command line after the program's name, and what it does. */
export interface Example {
  readonly does: string;
  /** Without the program: `status demo -n prod`. */
  readonly line: string;
}

export interface VerbData {
  /** As called: `status`, `member replace`. */
  readonly name: string;
  /** One line for lists of verbs: lower case, no full stop. */
  readonly summary: string;
  /** More, in whole sentences. */
  readonly about?: string;
  readonly arguments?: readonly Argument[];
  readonly flags?: Flags;
  readonly groups?: readonly FlagGroup[];
  readonly examples: readonly [Example, ...Example[]];
  /** Beyond 0, 1 and 2; the meaning where it differs from the usual one. */
  readonly exitCodes?: readonly { readonly code: ExitCode; readonly meaning: string }[];
  /** What stands after `--` is passed on, under this name. */
  readonly rest?: string;
  /** Not listed. */
  readonly hidden?: boolean;
}

type ArgumentValue<A extends Argument> = A extends { readonly many: true }
  ? readonly string[]
  : A extends { readonly optional: true }
    ? string | undefined
    : string;

export interface Parsed<D extends VerbData = VerbData> {
  readonly flags: SharedValues &
    (D extends { readonly flags: infer F extends Flags } ? ValuesOf<F> : unknown);
  readonly args: D extends { readonly arguments: infer A extends readonly Argument[] }
    ? { readonly [One in A[number] as One["name"]]: ArgumentValue<One> }
    : Readonly<Record<never, never>>;
  /** What stood after `--`. */
  readonly rest: readonly string[];
}

/** All flags of a verb: its own, those of its groups, and those that every verb takes. */
export function flagsOf({ flags = {}, groups = [] }: VerbData): Flags {
  return { ...flags, ...Object.assign({}, ...groups.map((group) => FLAG_GROUPS[group])), ...COMMON_FLAGS };
}

/** `[cluster]`: may be left out where there is only one. */
export const CLUSTER = {
  name: "cluster",
  help: "name of the cluster; may be left out if there is only one",
  optional: true,
  complete: "cluster",
} as const satisfies Argument;

/** Of a word with verbs of its own. */
export interface GroupData {
  /** As called: `member`. */
  readonly name: string;
  readonly summary: string;
  readonly about?: string;
  readonly examples: readonly Example[];
}
