/**
 * How the user called this program, so that every hint can be pasted as it is: `quorate`, `kubectl etcd`,
 * `npx quorate` or `npm run quorate --`.
 */
import path from "node:path";

export const DEFAULT_COMMAND = "quorate";

interface Called {
  /** The program and the script as they were called: a launcher passes its own name on in the first. */
  readonly programs: readonly (string | undefined)[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function calledAs({ programs, env }: Called): string {
  const names = programs.map((program = "") => path.basename(program).replace(/\.(?:exe|mjs|js|ts)$/, ""));
  if (names.includes("kubectl-etcd")) return "kubectl etcd";
  // npm passes the name of its script on to all it starts, also to programs that call this one.
  const script = env["npm_lifecycle_event"];
  if (names.includes("quorate")) return script === "npx" ? "npx quorate" : DEFAULT_COMMAND;
  return script === "quorate" || script === "start" ? "npm run quorate --" : DEFAULT_COMMAND;
}

/** The command in hints; a test that does not care gets the usual one. */
export function commandOf({ command }: { readonly command?: string | undefined }): string {
  return command ?? DEFAULT_COMMAND;
}

/** What errors begin with. */
export function programOf(io: { readonly command?: string | undefined }): string {
  return commandOf(io) === "kubectl etcd" ? "kubectl etcd" : DEFAULT_COMMAND;
}
