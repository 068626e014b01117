/**
 * How the user called this program, so that every hint can be pasted as it is: `quorate`, `kubectl etcd`,
 * `npx quorate` or `npm run quorate --`.
 */
import path from "node:path";

export const DEFAULT_COMMAND = "quorate";

interface Called {
  /** The path of the script or executable, as it was called. */
  readonly program: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function calledAs({ program, env }: Called): string {
  const name = path.basename(program ?? "").replace(/\.(?:exe|mjs|js|ts)$/, "");
  if (name === "kubectl-etcd") return "kubectl etcd";
  // npm passes the name of its script on to all it starts, also to programs that call this one.
  if (name === "main" || name === "run") {
    const script = env["npm_lifecycle_event"];
    if (script === "quorate" || script === "start") return "npm run quorate --";
  }
  if (name === "quorate" && env["npm_lifecycle_event"] === "npx") return "npx quorate";
  return DEFAULT_COMMAND;
}

/** The command in hints; a test that does not care gets the usual one. */
export function commandOf({ command }: { readonly command?: string | undefined }): string {
  return command ?? DEFAULT_COMMAND;
}

/** What errors begin with. */
export function programOf(io: { readonly command?: string | undefined }): string {
  return commandOf(io) === "kubectl etcd" ? "kubectl etcd" : DEFAULT_COMMAND;
}
