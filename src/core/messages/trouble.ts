/** What ails a member, as data and in a few words. */
export type Trouble =
  | { readonly kind: "ended"; readonly detail: string }
  | { readonly kind: "waiting"; readonly why: string }
  | { readonly kind: "not-made"; readonly why: string }
  | { readonly kind: "not-running" }
  | { readonly kind: "node-lost"; readonly node: LostNode }
  | { readonly kind: "stopping" }
  /** It runs and does not serve; `error` where it does not even answer, `lastEnd` where it restarts again and again. */
  | { readonly kind: "not-serving"; readonly error?: string; readonly lastEnd?: string };

/** That nothing runs there any more is known only of a node that was deleted or declared out of service. */
export interface LostNode {
  readonly name: string;
  readonly is: "gone" | "silent";
}

export function sayLostNode({ name, is }: LostNode): string {
  return is === "gone" ? `its node ${name} is gone` : `its node ${name} does not report`;
}

export function sayTrouble(trouble: Trouble): string {
  switch (trouble.kind) {
    case "ended":
      return trouble.detail;
    case "waiting":
    case "not-made":
      return trouble.why;
    case "not-running":
      return "it is not running";
    case "node-lost":
      return sayLostNode(trouble.node);
    case "stopping":
      return "it is being stopped";
    case "not-serving": {
      const now = trouble.error ?? "it is not serving";
      return trouble.lastEnd === undefined ? now : `${now}; its last run ended: ${trouble.lastEnd}`;
    }
  }
}
