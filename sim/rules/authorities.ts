/**
 * Certificates as facts: which CA signs on each plane and which rotation it is in, whom a process trusts since its start,
 * and which CA issued what it shows, which changes a while after the file was written. Peers of which one does not accept
 * the other are apart.
 */
import type { TLS } from "../../src/api/tls.ts";
import type { Action } from "../../src/core/action.ts";
import { isGiven, isSecure, modeOf } from "../../src/core/config/flags.ts";
import type { AuthorityFacts, MemberTrust, Plane, RotationPhase } from "../../src/core/observation.ts";
import type { MemberTemplate } from "../../src/core/record.ts";
import { PLANES, trustOf } from "../../src/core/template/effective.ts";
import type { Server } from "../models/etcd/server.ts";

/** A kubelet writes a changed Secret into a running Pod when it next looks at it. */
const WRITTEN_AFTER_MS = 2_000;

const BEFORE: Readonly<Record<RotationPhase, RotationPhase>> = {
  Bundle: "Steady",
  Reissue: "Bundle",
  Drop: "Reissue",
  Steady: "Drop",
};

interface Leaf {
  readonly issuer: string;
  readonly before: string;
  readonly at: number;
}

type OfPlanes<T> = Record<Plane, T>;

export class ModelAuthorities {
  readonly #now: () => number;
  readonly #planes: OfPlanes<AuthorityFacts>;
  readonly #made: OfPlanes<number> = { client: 1, peer: 1 };
  /** Back in phase Bundle from the one that follows. */
  readonly #reversed = new Set<Plane>();
  readonly #leaves = new Map<string, OfPlanes<Leaf>>();
  readonly #trusts = new WeakMap<Server, OfPlanes<readonly string[]>>();
  readonly #startedAt = new WeakMap<Server, number>();
  /** What is shown changes so long from now. */
  onReissue: (afterMs: number) => void = () => {};

  constructor(now: () => number) {
    this.#now = now;
    const first = (plane: Plane): AuthorityFacts => ({
      current: `${plane}-1`,
      phase: "Steady",
      expiresAt: Infinity,
      rotateAt: Infinity,
    });
    this.#planes = { client: first("client"), peer: first("peer") };
  }

  /** As a spec with this TLS asks for it. Somebody else gives certificates at once, each source of a CA of its own. */
  facts(tls: TLS): Readonly<OfPlanes<AuthorityFacts>> {
    return { client: this.#asked("client", tls), peer: this.#asked("peer", tls) };
  }

  #asked(plane: Plane, tls: TLS): AuthorityFacts {
    const facts = this.#planes[plane];
    const { current, other, phase } = facts;
    const successor = isGiven(tls, plane) ? `${plane} of ${modeOf(tls, plane)}` : undefined;
    if (!isSecure(tls, plane) && isTheirs(current)) return facts;
    const isRight = (ca: string) => (successor === undefined ? !isTheirs(ca) : ca === successor);
    if (phase === "Steady" && !isRight(current))
      return { ...facts, turn: "Begin", ...(successor !== undefined && { successor }) };
    if (phase === "Bundle" && other !== undefined && !isRight(other))
      return { ...facts, turn: this.#reversed.has(plane) ? "Reverse" : "Abort" };
    const isLeft = phase === "Reissue" && !isRight(current) && other !== undefined && isRight(other);
    return isLeft ? { ...facts, turn: "Reverse" } : facts;
  }

  /** From now on it is due. */
  expire(plane: Plane): void {
    this.#planes[plane] = { ...this.#planes[plane], rotateAt: this.#now() };
  }

  /** False where the step was decided on another state. */
  advance(step: Extract<Action, { kind: "RotateAuthority" }>, now: number): boolean {
    const { plane, to, operation, turn, successor } = step;
    const { other, operation: asked, given: _given, otherGiven: _theirs, ...rest } = this.#planes[plane];
    const before = this.#planes[plane];
    if (turn === "Replace") {
      if (before.current !== step.current) return true;
      const current = successor ?? `${plane}-${++this.#made[plane]}`;
      const lasting = { expiresAt: Infinity, rotateAt: Infinity };
      this.#planes[plane] = {
        ...rest,
        ...lasting,
        phase: to,
        since: now,
        current,
        ...theirs(current, undefined),
      };
      return true;
    }
    if (before.phase === to) return true;
    const from =
      turn === "Abort" ? "Bundle" : turn !== "Reverse" ? BEFORE[to] : to === "Bundle" ? "Reissue" : "Bundle";
    if (before.phase !== from || before.current !== step.current) return false;
    this.#reversed.delete(plane);
    if (turn === "Reverse" && to === "Bundle") this.#reversed.add(plane);
    if (turn === "Reverse" || turn === "Abort") {
      this.#planes[plane] = { ...before, phase: to, since: now };
      return true;
    }
    const kept = { ...rest, phase: to, since: now, ...(asked !== undefined && { operation: asked }) };
    const next = successor ?? `${plane}-${this.#made[plane] + 1}`;
    if (to === "Bundle") {
      if (successor === undefined) this.#made[plane]++;
      this.#planes[plane] = {
        ...rest,
        phase: to,
        since: now,
        other: next,
        rotateAt: Infinity,
        ...theirs(rest.current, next),
        ...(operation !== undefined && { operation }),
      };
    } else if (to === "Reissue")
      this.#planes[plane] = {
        ...kept,
        current: other ?? rest.current,
        other: rest.current,
        ...theirs(other ?? rest.current, rest.current),
      };
    else if (to === "Drop")
      this.#planes[plane] = {
        ...kept,
        ...(other !== undefined && { other }),
        ...theirs(rest.current, other),
      };
    else this.#planes[plane] = { ...kept, ...theirs(rest.current, undefined) };
    return true;
  }

  /** The files of a member; true when they were written. */
  reissue(member: string): boolean {
    const known = this.#leaves.get(member);
    const isDue = (plane: Plane) => known?.[plane].issuer !== this.#planes[plane].current;
    if (known && !PLANES.some(isDue)) return false;
    const leaf = (plane: Plane): Leaf => {
      const issuer = this.#planes[plane].current;
      const was = known?.[plane];
      return was && was.issuer === issuer ? was : { issuer, before: was?.issuer ?? issuer, at: this.#now() };
    };
    this.#leaves.set(member, { client: leaf("client"), peer: leaf("peer") });
    if (known) this.onReissue(WRITTEN_AFTER_MS);
    return known !== undefined;
  }

  forget(member: string): void {
    this.#leaves.delete(member);
  }

  /** A process reads its CAs once (R45). A record that names none is of the one that signs. */
  started(server: Server, template: MemberTemplate): void {
    const trust = (plane: Plane) => trustOf(template, plane) ?? [this.#planes[plane].current];
    this.#startedAt.set(server, this.#now());
    this.#trusts.set(server, { client: trust("client"), peer: trust("peer") });
  }

  seen(server: Server): Readonly<OfPlanes<MemberTrust>> {
    const on = (plane: Plane): MemberTrust => {
      if (plane === "peer" && !listensWithTLS(server)) return {};
      const { phase, current, other } = this.#planes[plane];
      const newcomer = phase === "Bundle" ? other : current;
      const shows = this.#shown(server, plane);
      const accepts = newcomer !== undefined && this.#trusts.get(server)?.[plane].includes(newcomer) === true;
      // As if somebody had looked at once.
      const times = [
        ...(accepts ? [this.#startedAt.get(server) ?? 0] : []),
        ...(shows !== undefined && shows === newcomer ? [this.#shownAt(server, plane)] : []),
      ];
      return {
        ...(accepts && { accepts: newcomer }),
        ...(shows !== undefined && { shows }),
        ...(times.length > 0 && { seenAt: Math.max(...times) }),
      };
    };
    return { client: on("client"), peer: on("peer") };
  }

  apart(a: Server, b: Server): boolean {
    const isEncrypted = listensWithTLS(a) || listensWithTLS(b);
    return isEncrypted && (!this.#accepts(a, b) || !this.#accepts(b, a));
  }

  #accepts(server: Server, other: Server): boolean {
    const shown = this.#shown(other, "peer");
    return shown === undefined || (this.#trusts.get(server)?.peer.includes(shown) ?? true);
  }

  #shownAt(server: Server, plane: Plane): number {
    const { at = 0 } = this.#leaves.get(server.config.name)?.[plane] ?? {};
    return Math.min(this.#now(), at + WRITTEN_AFTER_MS);
  }

  #shown(server: Server, plane: Plane): string | undefined {
    const leaf = this.#leaves.get(server.config.name)?.[plane];
    return leaf && (this.#now() >= leaf.at + WRITTEN_AFTER_MS ? leaf.issuer : leaf.before);
  }
}

function isTheirs(ca: string): boolean {
  return ca.includes(" of ");
}

function theirs(current: string, other: string | undefined): Pick<AuthorityFacts, "given" | "otherGiven"> {
  const isOther = other !== undefined && isTheirs(other);
  return { ...(isTheirs(current) && { given: true }), ...(isOther && { otherGiven: true }) };
}

function listensWithTLS({ config }: Server): boolean {
  return config.listenPeerURLs.some((url) => url.startsWith("https:"));
}
