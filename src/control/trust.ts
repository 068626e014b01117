/**
 * What members trust and show on planes whose CA is being rotated, seen from outside: a call with a certificate of the
 * new CA is answered, and the certificate that a new connection is shown is of the new CA. A process reads the CAs that
 * it trusts once (R45), so an answer holds for its life; what it shows is looked at until it is of the new CA.
 */
import type { MemberFacts, MemberTrust, Plane } from "../core/observation.ts";
import type { MemberRecord } from "../core/record.ts";
import { deadline, type Clock } from "../seams/clock.ts";
import type { EtcdProbe } from "../seams/etcd-probe.ts";
import type { Endpoint } from "../seams/etcd-transport.ts";
import { PkiError, type IssuedCertificate, type KeyPair, type Pki } from "../seams/pki.ts";
import type { PlatformMember } from "./platform.ts";

/** A plane whose CA is being rotated. */
export interface RotatingPlane {
  readonly plane: Plane;
  /** The new CA, as the decision names it. */
  readonly name: string;
  /** With its key, where it is ours. */
  readonly newerCa?: KeyPair;
  /** A certificate of it for calls to this member, where somebody else gives them. */
  readonly leafFor?: (member: string) => KeyPair | undefined;
  /** All CAs that may have issued what is shown, as PEM. */
  readonly bundle: string;
  /** How the decision names a CA of this fingerprint. */
  readonly nameOf: (fingerprint: string) => string;
  /** Where the member is asked; undefined where it does not listen with TLS on this plane. */
  readonly endpoint: (record: MemberRecord) => Endpoint | undefined;
}

/** A member that serves answers in milliseconds; one that does not is asked again on the next pass. */
const ANSWER_MS = 2_000;
/** Of the certificate that is offered; it is never stored. */
const OFFER_LIFE_MS = 60 * 60_000;

interface Seen extends Omit<MemberTrust, "seenAt"> {
  /** The process that it was seen of. */
  readonly run: string;
}

export class TrustWatch {
  readonly #pki: Pki;
  readonly #probe: EtcdProbe;
  readonly #clock: Clock;
  readonly #seen = new Map<string, Seen>();
  /** When something was first seen of a member, whichever process of it was seen. */
  readonly #firstSeen = new Map<string, number>();
  readonly #offers = new Map<string, IssuedCertificate>();

  constructor(around: { readonly pki: Pki; readonly probe: EtcdProbe; readonly clock: Clock }) {
    this.#pki = around.pki;
    this.#probe = around.probe;
    this.#clock = around.clock;
  }

  /** By member; nothing where no CA is being rotated. */
  async see(
    members: readonly PlatformMember[],
    planes: readonly RotatingPlane[],
  ): Promise<ReadonlyMap<string, NonNullable<MemberFacts["trust"]>>> {
    const found = new Map<string, NonNullable<MemberFacts["trust"]>>();
    if (planes.length === 0) {
      this.#seen.clear();
      this.#firstSeen.clear();
      this.#offers.clear();
      return found;
    }
    await Promise.all(
      members.map(async (member) => {
        const seen: Partial<Record<Plane, MemberTrust>> = {};
        for (const plane of planes) seen[plane.plane] = await this.#look(member, plane);
        found.set(member.record.name, seen);
      }),
    );
    return found;
  }

  async #look({ record, workload }: PlatformMember, plane: RotatingPlane): Promise<MemberTrust> {
    const endpoint = workload.state === "running" ? plane.endpoint(record) : undefined;
    if (!endpoint || workload.state !== "running") return {};
    const key = `${record.uid} ${plane.plane}`;
    const run = `${workload.since} ${workload.restarts} ${workload.startedFrom}`;
    const before = this.#seen.get(key);
    const { accepts, shows } = before?.run === run ? before : {};
    const { name } = plane;
    if (accepts === name && shows === name) return this.#withSeenAt(key, name, { accepts, shows });
    using limit = deadline(this.#clock, ANSWER_MS);
    const offer = plane.leafFor ? plane.leafFor(record.name) : await this.#offer(plane);
    const answer = offer && (await this.#probe.offer(endpoint, offer, limit.signal));
    const issuer = answer && this.#issuerOf(answer.shown, plane);
    const seen: Seen = {
      run,
      ...((answer?.served || accepts === name) && { accepts: name }),
      ...((issuer ?? shows) !== undefined && { shows: issuer ?? shows }),
    };
    this.#seen.set(key, seen);
    const { run: _process, ...trust } = seen;
    return this.#withSeenAt(key, name, trust);
  }

  /** With when it was first seen so. Another process has to be seen itself, but clients need no more time for it. */
  #withSeenAt(key: string, name: string, trust: Omit<MemberTrust, "seenAt">): MemberTrust {
    const seen = (["accepts", "shows"] as const).filter((what) => trust[what] === name);
    const times = seen.map((what) => {
      const first = `${key} ${name} ${what}`;
      const at = this.#firstSeen.get(first) ?? this.#clock.now();
      this.#firstSeen.set(first, at);
      return at;
    });
    return { ...trust, ...(times.length > 0 && { seenAt: Math.max(...times) }) };
  }

  /** A certificate without names: peers look those up that have some (R46). */
  async #offer({ plane, newerCa, name }: RotatingPlane): Promise<KeyPair | undefined> {
    if (!newerCa) return undefined;
    const known = this.#offers.get(`${plane} ${name}`);
    if (known && known.notAfter > this.#clock.now() + OFFER_LIFE_MS / 2) return known;
    const leaf = {
      commonName: "quorate-probe",
      sans: { dns: [], ips: [] },
      usages: ["clientAuth"],
      lifeMs: OFFER_LIFE_MS,
    } as const;
    try {
      const offer = await this.#pki.issueLeaf({ ca: newerCa, leaf });
      this.#offers.set(`${plane} ${name}`, offer);
      return offer;
    } catch (error) {
      // Its key is gone, say: what is wrong with a CA is told with the certificates; nothing is seen meanwhile.
      if (!(error instanceof PkiError)) throw error;
      return undefined;
    }
  }

  #issuerOf(shown: string, { bundle, nameOf }: RotatingPlane): string | undefined {
    try {
      const { issuedBy } = this.#pki.inspect({
        certificate: { text: shown, where: "what a member shows" },
        trust: { text: bundle, where: "the trust bundle" },
      });
      return issuedBy === undefined ? undefined : nameOf(issuedBy);
    } catch (error) {
      if (!(error instanceof PkiError)) throw error;
      return undefined;
    }
  }
}
