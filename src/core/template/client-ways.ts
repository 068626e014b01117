/**
 * How clients come to a member, and the way from what members run with to what the spec asks for without shutting out
 * anybody: first every member serves clients in the new way too, then, when a person or a time says so, the old one ends.
 * etcd does not report who still comes how (R56). A pure function of the records and the spec.
 */
import { clientScheme, clientSchemes, isSecure, modeOf } from "../config/flags.ts";
import { canonical } from "./hash.ts";
import type { MemberTemplate } from "../record.ts";

type TLS = MemberTemplate["tls"];

/** In plaintext, with TLS and no certificate of one's own, or with one. */
export type Way = "plaintext" | "anonymous" | "certificate";

export function waysOf(tls: TLS): readonly Way[] {
  if (!isSecure(tls, "client")) return ["plaintext"];
  const secure: Way[] = tls.clientAuth === "None" ? ["anonymous", "certificate"] : ["certificate"];
  return clientSchemes(tls).includes("http") ? ["plaintext", ...secure] : secure;
}

export interface Passage {
  /** What members are to be given now. */
  readonly now: TLS;
  /** What follows once these ways may end. */
  readonly closing?: { readonly ways: readonly Way[]; readonly then: TLS };
}

/** `running`: the TLS in the records of all members that stay. */
export function passage(running: readonly TLS[], asked: TLS): Passage {
  const wanted = waysOf(asked);
  const served = servedBy(running);
  const ways = endingWays(running, asked);
  if (ways === undefined) return { now: serving([...new Set([...served, ...wanted])], asked, running) };
  // Once the first member has closed them, those clients are shut out there, and waiting helps nobody.
  const isClosing = running.some((tls) => includes(wanted, waysOf(tls)));
  return ways.length === 0 || isClosing
    ? { now: asked }
    : { now: serving(served, asked, running), closing: { ways, then: asked } };
}

/** What some member serves and the spec does not ask for; undefined until every member serves what it asks for. */
export function endingWays(running: readonly TLS[], asked: TLS): readonly Way[] | undefined {
  const wanted = waysOf(asked);
  if (!running.every((tls) => includes(waysOf(tls), wanted))) return undefined;
  return servedBy(running).filter((way) => !wanted.includes(way));
}

/** What members serve now, all of it, whatever the spec asks for. */
export function asServed(running: readonly TLS[], asked: TLS): TLS {
  return running.length === 0 ? asked : serving(servedBy(running), asked, running);
}

function servedBy(running: readonly TLS[]): readonly Way[] {
  return [...new Set(running.flatMap(waysOf))];
}

export function sameWays(a: TLS, b: TLS): boolean {
  return isSame(waysOf(a), waysOf(b));
}

function serving(ways: readonly Way[], asked: TLS, running: readonly TLS[]): TLS {
  if (isSame(waysOf(asked), ways)) return asked;
  if (isSame(ways, ["plaintext"])) {
    // Of certificates nothing is said then, so that it is no reason to restart a member either.
    const { clientAuth = asked.clientAuth } = running[0] ?? {};
    return asWritten({ ...asked, clientAuth, client: { mode: "Disabled" } }, running);
  }
  const clientAuth = ways.includes("anonymous") ? "None" : "Required";
  const secure = [asked, ...running].find((tls) => isSecure(tls, "client")) ?? asked;
  const tls = { ...withSource(asked, secure), clientAuth } as const;
  if (!ways.includes("plaintext")) return asWritten(tls, running);
  const client = { listen: ["http", "https"], advertise: advertised(running) } as const;
  return asWritten({ ...tls, effective: { ...tls.effective, client } }, running);
}

/** The same in other words, as when an edit is undone, is no reason to restart a member: it is written as there. */
export function asWritten(tls: TLS, running: readonly TLS[]): TLS {
  const found = running.find((one) => meaning(one) === meaning(tls));
  if (!found) return tls;
  const { client: _client, peer: _peer, ...rest } = tls;
  const { mode, client, peer } = found;
  return { ...rest, mode, ...(client && { client }), ...(peer && { peer }) };
}

/**
 * With the mode of each plane written out, and without the CAs, which are named afterwards, and what leaves are made
 * with, which restarts nobody.
 */
function meaning({
  mode,
  client,
  peer,
  effective,
  managed: _lives,
  extraSANs: _names,
  ...rest
}: TLS): string {
  const { listen, advertise } = effective?.client ?? {};
  const peers = effective?.peer?.listen;
  return canonical({
    ...rest,
    listen,
    advertise,
    peers,
    client: { mode, ...client },
    peer: { mode, ...peer },
  });
}

/** With where the certificates for clients of `other` come from. */
function withSource(tls: TLS, other: TLS): TLS {
  const mode = modeOf(other, "client");
  return modeOf(tls, "client") === mode ? tls : { ...tls, client: { ...other.client, mode } };
}

/** By the scheme that every member serves before and after it restarts: so we, too, can always reach it. */
function advertised(running: readonly TLS[]): "http" | "https" {
  const only = running.find((tls) => clientSchemes(tls).length === 1) ?? running[0];
  return only ? clientScheme(only) : "http";
}

function isSame(a: readonly Way[], b: readonly Way[]): boolean {
  return includes(a, b) && includes(b, a);
}

function includes(all: readonly Way[], some: readonly Way[]): boolean {
  return some.every((way) => all.includes(way));
}
