/** Members that have no certificate and cannot be given one, and why. */
import { isGiven } from "../../core/config/flags.ts";
import type { NotMade } from "../../core/observation.ts";
import type { MemberRecord } from "../../core/record.ts";
import type { CertificateTime, Keeper } from "../../pki/keeper.ts";
import type { Plane } from "../../pki/plan.ts";

/** What a plane waits for that can be given no CA before the clock is right. */
export const CLOCK = "the clock";

export class Unissued {
  readonly #keeper: Keeper;
  readonly #time: CertificateTime;
  readonly #members = new Map<string, NotMade>();

  constructor(keeper: Keeper, time: CertificateTime) {
    this.#keeper = keeper;
    this.#time = time;
  }

  /** Undefined for one that has a certificate, or was not looked at. */
  get(member: string): NotMade | undefined {
    return this.#members.get(member);
  }

  forget(member: string): void {
    this.#members.delete(member);
  }

  note({ name, template: { tls } }: MemberRecord, why: string | undefined, plane: Plane): undefined {
    const { contradiction } = this.#time;
    // Without its authority a plane waits for the clock only where a new one could be made.
    const waitsForClock =
      this.#keeper.source(plane) !== undefined || this.#keeper.problemOf(plane)?.of === CLOCK;
    const byClock = contradiction !== undefined && waitsForClock;
    const given = isGiven(tls, plane);
    this.#members.set(name, {
      reason: given ? "CertificateNotGiven" : byClock ? "CertificateNotIssued" : "AuthorityMissing",
      message: given
        ? `it has no ${plane} certificate: ${why ?? "nothing was read yet"}`
        : `its certificate cannot be issued: ${why ?? `the ${plane} CA is missing`}`,
    });
    return undefined;
  }
}
