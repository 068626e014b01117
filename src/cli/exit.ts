/** How a command ends: its exit codes, and the error that carries one. */

export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  denied: 4,
  conflict: 5,
  notConfirmed: 6,
  timedOut: 7,
  damaged: 8,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** For help and the reference page. */
export const EXIT_CODES: readonly { readonly code: ExitCode; readonly meaning: string }[] = [
  { code: EXIT.done, meaning: "done" },
  { code: EXIT.failed, meaning: "failed; the message says why and what to do" },
  { code: EXIT.usage, meaning: "the command line is wrong" },
  {
    code: EXIT.notFound,
    meaning: "the cluster or member does not exist, or the API server cannot be reached",
  },
  { code: EXIT.denied, meaning: "your credentials were rejected, or you lack the right" },
  { code: EXIT.conflict, meaning: "the object changed in the meantime; nothing was written" },
  { code: EXIT.notConfirmed, meaning: "you did not confirm the change; nothing was changed" },
  { code: EXIT.timedOut, meaning: "the time limit passed before the change was complete; it continues" },
  { code: EXIT.damaged, meaning: "a step of a verification found the snapshot damaged" },
  { code: EXIT.interrupted, meaning: "interrupted with Ctrl-C" },
];

/** An expected failure: printed without a stack, with its own exit code. */
export class CommandError extends Error {
  override name = "CommandError";
  readonly code: ExitCode;
  constructor(code: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
