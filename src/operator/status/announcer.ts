/**
 * Kubernetes events of one cluster: each step that was taken or failed, and each wait that begins and needs a
 * person. What only keeps the books (permits, latches, marks) is reported in no event: it would be most of them.
 */
import type { Pass } from "../../control/loop.ts";
import type { TranscriptEntry } from "../../control/transcript.ts";
import type { Hold } from "../../core/action.ts";
import type { EventRecorder, EventWish } from "../../kube/events.ts";
import type { KubeObject } from "../../kube/resources.ts";

/** Steps, or purposes of steps, that change nothing that a user can see. */
const BOOKKEEPING = new Set([
  "UpdateMember/permit-start",
  "UpdateMember/latch-joined",
  "UpdateMember/rebuild-list",
  "MarkCluster/remember-member",
  "MarkCluster/remember-batch",
  "MarkCluster/remember-old-log",
  "MarkCluster/close-old-log",
  "MarkCluster/forget-old-log",
  "MarkCluster/forget-failed-target",
  "MarkCluster/note-token-key",
  "MarkCluster/forget-token-key",
  "CompareHashes",
  "AdvanceLog",
  "NudgeLog",
  "ChangeAuth/ReadBack",
  "UpdateAuthObject",
  "FinishDeletion",
]);

export class Announcer {
  readonly #recorder: Pick<EventRecorder, "record">;
  /** The cluster as it is now; events are about it. */
  readonly #regarding: () => KubeObject | undefined;
  #reported = new Set<string>();

  constructor(recorder: Pick<EventRecorder, "record">, regarding: () => KubeObject | undefined) {
    this.#recorder = recorder;
    this.#regarding = regarding;
  }

  step({ step, member, reason, error, rule }: TranscriptEntry): void {
    if (error === undefined && BOOKKEEPING.has(step)) return;
    // The first members come together, and the cluster that they form is reported.
    if (error === undefined && step === "CreateMember" && rule === "first-boot") return;
    const [kind = step, purpose] = step.split("/");
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
          note: `${hold.message}. ${hold.next}`,
        });
    }
    for (const problem of problems) {
      if (begins(problem))
        this.#record({ type: "Warning", reason: "Problem", action: "Apply", note: problem });
    }
    this.#reported = now;
  }

  /** Of a spec that nobody has seen before. */
  warn(warnings: readonly string[]): void {
    for (const note of warnings)
      this.#record({ type: "Warning", reason: "SpecWarning", action: "Read", note });
  }

  invalid(message: string): void {
    if (this.#reported.has(message)) return;
    this.#reported = new Set([message]);
    this.#record({ type: "Warning", reason: "InvalidSpec", action: "Read", note: message });
  }

  #record(wish: Omit<EventWish, "regarding">): void {
    const regarding = this.#regarding();
    if (regarding) this.#recorder.record({ ...wish, regarding });
  }
}

/** A cluster that sleeps or rests because it was told to needs nobody. */
function needsAnnouncement(hold: Hold): boolean {
  return hold.next !== undefined && hold.reason !== "Hibernated" && hold.reason !== "Paused";
}

function camelCase(words: string): string {
  return words.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
