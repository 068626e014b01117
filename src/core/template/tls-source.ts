/**
 * Which source of certificates a member's template names while the CA of a plane is being replaced by that of another
 * source. The two rolls of that rotation carry the change of the source, so that it costs no further one. With a CA of
 * somebody else's, peers have to show a name (R49) that those of ours do not: it is asked for only once all show it.
 */
import { isGiven, modeOf } from "../config/flags.ts";
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
