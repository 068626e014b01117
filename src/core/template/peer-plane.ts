/**
 * How members reach each other, and the way from plaintext to TLS and back without cutting anybody off: with certificates
 * a member dials peers of both schemes, but it listens by one of them only (R52). So first every member gets
 * certificates and listens as before; then each listens in the other way, and etcd is told its new URL; or the reverse. A
 * pure function of the records and the spec.
 */
import { isSecure, modeOf, peerScheme } from "../config/flags.ts";
import type { PlatformFacts } from "../observation.ts";
import type { MemberTemplate } from "../record.ts";
import type { MemberView } from "../view.ts";
import { asWritten } from "./client-ways.ts";
import { sourceState } from "./tls-source.ts";

type TLS = MemberTemplate["tls"];
type Seen = Pick<MemberView, "record" | "upToDate">;

interface Around {
  readonly authorities: PlatformFacts["authorities"];
  /** Nobody is in the way of the first that listens with TLS. */
  readonly mayListen: boolean;
}

/** What members are to be given now; `members` are all that stay. */
export function withPeers(members: readonly Seen[], asked: TLS, { authorities, mayListen }: Around): TLS {
  const running = members.map(({ record }) => record.template.tls);
  const secure = running.filter((tls) => isSecure(tls, "peer"));
  const [first] = secure;
  if (isSecure(asked, "peer")) {
    if (running.length === 0) return asked;
    // Nobody is stopped who would wait for certificates then. Who has some of another source gives them up: nobody needs
    // them, since nobody listens with TLS before all have certificates.
    if (secure.length < running.length && sourceState(asked, "peer", authorities) !== "ready")
      return asWritten({ ...asked, peer: { mode: "Disabled" } }, running);
    // Nobody who cannot dial it meets the first that listens with TLS; by then nobody is without certificates any more.
    const isBegun = running.some((tls) => peerScheme(tls) === "https");
    const mayBegin = mayListen && members.every(isSettled);
    const listens = secure.length === running.length && (isBegun || mayBegin);
    return listens ? asked : asWritten(inPlaintext(asked), running);
  }
  if (!first) return asked;
  // Others dial a founder as it was planned: whatever else it needs to start is given to it before.
  const isFounding = members.some(({ record }) => record.boot === "New" && !record.joined);
  if (isFounding && running.some((tls) => peerScheme(tls) === "https"))
    return asWritten({ ...asked, peer: { ...first.peer, mode: modeOf(first, "peer") } }, running);
  // Nobody gives up what it dials others with while one of them listens with TLS.
  const isBegun = secure.length < running.length;
  const mayDrop = running.every((tls) => peerScheme(tls) === "http") && (isBegun || members.every(isSettled));
  if (mayDrop) return asked;
  const peer = { ...first.peer, mode: modeOf(first, "peer") };
  return asWritten(inPlaintext({ ...asked, peer }), running);
}

/** Whether its peers reach a member that is given this template by another URL than before. */
export function movesPeer(from: MemberTemplate, to: MemberTemplate): boolean {
  return peerScheme(from.tls) !== peerScheme(to.tls);
}

/** It runs with what its record says, in its cluster. */
function isSettled({ record, upToDate }: Seen): boolean {
  return upToDate && record.joined;
}

function inPlaintext(tls: TLS): TLS {
  return { ...tls, effective: { ...tls.effective, peer: { ...tls.effective?.peer, listen: "http" } } };
}

/** The same with certificates to dial by, and listening by the scheme of this URL, which etcd's list has. */
export function listeningAs(tls: TLS, peerURL: string): TLS {
  if (peerURL.startsWith("http:")) return isSecure(tls, "peer") ? inPlaintext(tls) : tls;
  if (tls.effective?.peer?.listen === undefined) return tls;
  const { effective: { peer = {}, ...others } = {}, ...rest } = tls;
  const { listen: _plain, ...kept } = peer;
  // Nothing is left of it that a record without a change would not have: the same in other words is a restart.
  const planes = { ...others, ...(Object.keys(kept).length > 0 && { peer: kept }) };
  return Object.keys(planes).length > 0 ? { ...rest, effective: planes } : rest;
}

/** How far the change is: what a member lacks on the way to what the spec asks for. */
export type PeerPhase = "certificates" | "https" | "http" | "plaintext";

/** Undefined where it listens and dials as it is asked to in the end. */
export function peerPhase(tls: TLS, asked: TLS): PeerPhase | undefined {
  if (isSecure(asked, "peer")) {
    if (!isSecure(tls, "peer")) return "certificates";
    return peerScheme(tls) === "https" ? undefined : "https";
  }
  if (peerScheme(tls) === "https") return "http";
  return isSecure(tls, "peer") ? "plaintext" : undefined;
}
