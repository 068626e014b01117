/**
 * Kubernetes events of one cluster: each step that was taken or failed, and each wait that begins and needs a
 * person. What only keeps the books (permits, latches, marks) is reported in no event: it would be most of them.
 */
import type { ApiError } from "../../api/validate.ts";
import type { Pass } from "../../control/loop.ts";
import type { StepPurpose, TranscriptEntry } from "../../control/transcript.ts";
import type { Hold } from "../../core/action.ts";
import { sayHold } from "../../core/status/readiness.ts";
import type { EventReason } from "../../core/messages/event-reasons.ts";
import type { EventRecorder, EventWish } from "../../kube/events.ts";
import type { KubeObject } from "../../kube/resources.ts";

/** Steps that change nothing that a user can see: whatever they are for, or for these purposes. */
const BOOKKEEPING: Partial<Record<TranscriptEntry["kind"], "always" | readonly StepPurpose[]>> = {
  UpdateMember: ["permit-start", "latch-joined", "rebuild-list"],
  MarkCluster: [
    "remember-member",
    "remember-batch",
    "remember-old-log",
    "close-old-log",
    "forget-old-log",
    "forget-failed-target",
    "note-token-key",
    "forget-token-key",
  ],
  CompareHashes: "always",
  AdvanceLog: "always",
  NudgeLog: "always",
  ChangeAuth: ["ReadBack"],
  UpdateAuthObject: "always",
  FinishDeletion: "always",
};

export class Announcer {
  readonly #recorder: Pick<EventRecorder, "record">;
  /** The cluster as it is now; events are about it. */
  readonly #regarding: () => KubeObject | undefined;
  #reported = new Set<string>();

  constructor(recorder: Pick<EventRecorder, "record">, regarding: () => KubeObject | undefined) {
    this.#recorder = recorder;
    this.#regarding = regarding;
  }

  step({ kind, purpose, member, reason, error, rule }: TranscriptEntry): void {
    if (error === undefined && isBookkeeping(kind, purpose)) return;
    // The first members come together, and the cluster that they form is reported.
    if (error === undefined && kind === "CreateMember" && rule === "first-boot") return;
    const word = purpose === undefined ? kind : camelCase(purpose);
    const about = member === undefined ? "" : `${member}: `;
    const failed = error === undefined ? "" : `; it failed: ${error}`;
    this.#record({
      type: error === undefined ? "Normal" : "Warning",
      reason: error === undefined ? word : `${word}Failed`,
      action: kind,
      note: `${about}${reason}${failed}`,
    });
  }

  /** Waits that were not there before, if a person has to do something about them. */
  pass({ decision, problems }: Pick<Pass, "decision" | "problems">): void {
    const now = new Set<string>();
    const begins = (key: string): boolean => {
      now.add(key);
      return !this.#reported.has(key);
    };
    for (const hold of decision.holds.filter(needsAnnouncement)) {
      if (begins(`${hold.rule} ${hold.reason}`))
        this.#record({
          type: "Warning",
          reason: hold.reason,
          action: "Wait",
          note: sayHold(hold),
        });
    }
    for (const { key, message } of problems) {
      // Several parts may have the same one.
      const isKnown = now.has(`problem ${key}`);
      if (begins(`problem ${key}`) && !isKnown)
        this.#record({
          type: "Warning",
          reason: "Problem" satisfies EventReason,
          action: "Apply",
          note: message,
        });
    }
    this.#reported = now;
  }

  /** Of a spec that nobody has seen before. */
  warn(warnings: readonly string[]): void {
    for (const note of warnings)
      this.#record({ type: "Warning", reason: "SpecWarning" satisfies EventReason, action: "Read", note });
  }

  /** Of this generation of the spec; its annotations may be at fault as well. */
  invalid(
    { message, errors }: { readonly message: string; readonly errors: readonly ApiError[] },
    generation: number,
  ): void {
    const key = `invalid ${generation} ${errors.map(({ path }) => path).join()}`;
    if (this.#reported.has(key)) return;
    this.#reported = new Set([key]);
    this.#record({ type: "Warning", reason: "InvalidSpec", action: "Read", note: message });
  }

  #record(wish: Omit<EventWish, "regarding">): void {
    const regarding = this.#regarding();
    if (regarding) this.#recorder.record({ ...wish, regarding });
  }
}

function isBookkeeping(kind: TranscriptEntry["kind"], purpose: StepPurpose | undefined): boolean {
  const purposes = BOOKKEEPING[kind] ?? [];
  return purposes === "always" || (purpose !== undefined && purposes.includes(purpose));
}

/** A cluster that sleeps or rests because it was told to needs nobody. */
function needsAnnouncement(hold: Hold): boolean {
  return hold.next !== undefined && hold.reason !== "Hibernated" && hold.reason !== "Paused";
}

function camelCase(words: string): string {
  return words.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
