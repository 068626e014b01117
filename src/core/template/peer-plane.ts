/**
 * How members reach each other, and the way from plaintext to TLS and back without cutting anybody off: with certificates
 * a member dials peers of both schemes, but it listens by one of them only (R52). So first every member gets
 * certificates and listens as before; then each listens in the other way, and etcd is told its new URL; or the reverse. A
 * pure function of the records and the spec.
 */
import { isSecure, modeOf, peerScheme } from "../config/flags.ts";
import type { MemberTemplate } from "../record.ts";
import type { MemberView } from "../view.ts";
import { asWritten } from "./client-ways.ts";

type TLS = MemberTemplate["tls"];
type Seen = Pick<MemberView, "record" | "upToDate">;

/** What members are to be given now; `members` are all that stay. */
export function withPeers(members: readonly Seen[], asked: TLS): TLS {
  const running = members.map(({ record }) => record.template.tls);
  const secure = running.filter((tls) => isSecure(tls, "peer"));
  const [first] = secure;
  if (isSecure(asked, "peer")) {
    if (running.length === 0) return asked;
    // Nobody who cannot dial it meets the first that listens with TLS; by then nobody is without certificates any more.
    const isBegun = running.some((tls) => peerScheme(tls) === "https");
    const mayListen = secure.length === running.length && (isBegun || members.every(isSettled));
    return mayListen ? asked : asWritten(inPlaintext(asked), running);
  }
  if (!first) return asked;
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
  const { listen: _plain, ...peer } = tls.effective.peer;
  return { ...tls, effective: { ...tls.effective, peer } };
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
