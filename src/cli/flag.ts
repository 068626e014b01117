/** Flags as data: parser, help, completion and the reference page are made from these. */

interface FlagBase {
  readonly short?: string;
  /** One line, lower case, no full stop. */
  readonly help: string;
}

export type Flag =
  /** Given or not. */
  | (FlagBase & { readonly kind: "switch" })
  /** `value` is the placeholder in help: `file` is shown as `<file>`. */
  | (FlagBase & { readonly kind: "text"; readonly value: string; readonly default?: string })
  /** May be repeated, or given as `a,b`. */
  | (FlagBase & { readonly kind: "list"; readonly value: string })
  | (FlagBase & { readonly kind: "number"; readonly value: string; readonly default?: number })
  /** `90s`, `5m`, `2h`, `1d`: milliseconds. */
  | (FlagBase & { readonly kind: "duration"; readonly value: string; readonly default?: string })
  | (FlagBase & { readonly kind: "choice"; readonly choices: readonly string[]; readonly default?: string });

export type Flags = Readonly<Record<string, Flag>>;

type Given<F extends Flag, T> = F extends { readonly default: string | number } ? T : T | undefined;

export type ValueOf<F extends Flag> = F extends { readonly kind: "switch" }
  ? boolean
  : F extends { readonly kind: "list" }
    ? readonly string[]
    : F extends { readonly kind: "number" | "duration" }
      ? Given<F, number>
      : F extends { readonly kind: "choice"; readonly choices: readonly (infer C)[] }
        ? Given<F, C>
        : Given<F, string>;

export type ValuesOf<F extends Flags> = { readonly [Name in keyof F]: ValueOf<F[Name]> };

export const OUTPUTS = ["table", "wide", "json", "yaml"] as const;
export type OutputFormat = (typeof OUTPUTS)[number];

/** Flags that several verbs share, in groups; a verb names the groups that it takes. */
export const FLAG_GROUPS = {
  /** Which cluster: on Kubernetes, or on this machine. */
  target: {
    namespace: {
      kind: "text",
      short: "n",
      value: "namespace",
      help: "namespace of the cluster (default: that of the context)",
    },
    context: { kind: "text", value: "name", help: "context of the kubeconfig (default: the current one)" },
    kubeconfig: {
      kind: "text",
      value: "file",
      help: "kubeconfig file (default: $KUBECONFIG, then ~/.kube/config)",
    },
    local: { kind: "switch", help: "a cluster on this machine instead of Kubernetes" },
    dir: {
      kind: "text",
      value: "directory",
      help: "directory of a cluster on this machine; implies --local",
    },
    name: { kind: "text", value: "name", help: "name of a cluster on this machine; implies --local" },
  },
  everywhere: {
    "all-namespaces": { kind: "switch", short: "A", help: "clusters of all namespaces" },
  },
  output: {
    output: { kind: "choice", short: "o", choices: OUTPUTS, default: "table", help: "format of the output" },
  },
  watch: {
    watch: { kind: "switch", short: "w", help: "show changes until Ctrl-C" },
  },
  confirm: {
    yes: { kind: "switch", short: "y", help: "do not ask for confirmation" },
  },
  /** Of verbs that change something: whether they wait until it is so. */
  wait: {
    "no-wait": { kind: "switch", help: "return as soon as the change is written" },
    timeout: { kind: "duration", value: "duration", default: "10m", help: "how long to wait" },
  },
  dry: {
    "dry-run": { kind: "switch", help: "check the change and show it; write nothing" },
  },
} as const satisfies Record<string, Flags>;

export type FlagGroup = keyof typeof FLAG_GROUPS;

/** Taken by every verb. */
export const COMMON_FLAGS = {
  "no-color": { kind: "switch", help: "no colours; also: NO_COLOR in the environment, or no terminal" },
  debug: { kind: "switch", help: "show stack traces of errors" },
  help: { kind: "switch", short: "h", help: "show this help" },
} as const satisfies Flags;

type Union<T> = (T extends unknown ? (value: T) => void : never) extends (value: infer I) => void ? I : never;

/** The flags of all groups. Those of a group that a verb does not take are rejected, and unset. */
export type SharedFlags = Union<(typeof FLAG_GROUPS)[FlagGroup]> & typeof COMMON_FLAGS;
export type SharedValues = ValuesOf<SharedFlags>;
