/**
 * Which source of certificates a member's template names while the CA of a plane is being replaced by that of another
 * source. The two rolls of that rotation carry the change of the source, so that it costs no further one. With a CA of
 * somebody else's, peers have to show a name (R49) that those of ours do not: it is asked for only once all show it.
 */
import { isGiven, isSecure, modeOf } from "../config/flags.ts";
import type { TLSMode } from "../../api/tls.ts";
import type { AuthorityFacts, Plane } from "../observation.ts";
import type { MemberTemplate } from "../record.ts";
import { asWritten } from "./client-ways.ts";

type TLS = MemberTemplate["tls"];
type Authorities = Readonly<Partial<Record<Plane, AuthorityFacts>>> | undefined;

/** `running`: the TLS in the records of all members that stay. */
export function withSources(asked: TLS, running: readonly TLS[], authorities: Authorities): TLS {
  const client = planeOf("client", asked, running, authorities?.client);
  const peer = planeOf("peer", asked, running, authorities?.peer);
  if (!client && !peer) return asked;
  return asWritten({ ...asked, ...(client && { client }), ...(peer && { peer }) }, running);
}

/** Undefined where it is as asked. */
function planeOf<P extends Plane>(
  plane: P,
  asked: TLS,
  running: readonly TLS[],
  authority: AuthorityFacts | undefined,
): TLS[P] | undefined {
  const secure = running.filter((tls) => modeOf(tls, plane) !== "Disabled");
  const wanted = modeOf(asked, plane);
  if (wanted === "Disabled" || secure.every((tls) => modeOf(tls, plane) === wanted)) return undefined;
  const mode = sourceNow(
    wanted,
    secure.map((tls) => modeOf(tls, plane)),
    authority,
  );
  if (mode === wanted) return undefined;
  const named = secure.find((tls) => modeOf(tls, plane) === mode)?.[plane];
  return { ...named, mode } as TLS[P];
}

function sourceNow(
  asked: TLSMode,
  recorded: readonly TLSMode[],
  authority: AuthorityFacts | undefined,
): TLSMode {
  const stays = recorded[0] ?? asked;
  if (!authority) return stays;
  const { phase, given = false, otherGiven = false, turn, awaited } = authority;
  if (phase === "Bundle" || phase === "Reissue") {
    if (!given || !otherGiven) return "Managed";
    return isTheirs(asked) ? asked : stays;
  }
  // Of which CA they will be is not known: a rotation to it carries the change.
  const isOpen = phase === "Steady" && awaited === true && !recorded.includes(asked);
  if (given === isTheirs(asked) && turn !== "Begin" && !isOpen) return asked;
  return recorded.find((mode) => isTheirs(mode) === given) ?? asked;
}

function isTheirs(mode: TLSMode): boolean {
  return isGiven({ mode } as TLS, "client");
}

/**
 * Whether the source that is asked for has certificates for everybody: yes; not yet; or the CA of the plane is still that
 * of another source, or on its way to another one.
 */
export type SourceState = "ready" | "awaited" | "other";

export function sourceState(asked: TLS, plane: Plane, authorities: Authorities): SourceState {
  const authority = authorities?.[plane];
  const isGivenTo = isGiven(asked, plane);
  // Where nobody tells of CAs, ours is made when it is needed.
  if (!authority) return isGivenTo || authorities ? "awaited" : "ready";
  const { given = false, phase, turn, awaited } = authority;
  if (!isGivenTo) return given ? "other" : "ready";
  if (!given || phase !== "Steady" || turn) return "other";
  return awaited ? "awaited" : "ready";
}

/**
 * The plane of which somebody has certificates and others do not, while nobody gives them any: everybody stays as they
 * are. Peers need none of another source before all have some, so that they can give those up. Clients may use them: all
 * members get some of that source before it is changed, where it is ours.
 */
export function strandedPlane(
  running: readonly TLS[],
  asked: TLS,
  authorities: Authorities,
): Plane | undefined {
  const isStranded = (plane: Plane) => {
    const secure = running.filter((tls) => isSecure(tls, plane)).length;
    const isPartial = isSecure(asked, plane) && secure > 0 && secure < running.length;
    const state = sourceState(asked, plane, authorities);
    const isLeft = plane === "client" && state === "other" && authorities?.client?.given === true;
    return isPartial && (state === "awaited" || isLeft);
  };
  return (["client", "peer"] as const).find(isStranded);
}
