/**
 * What a member's planes are to be like now, where the spec alone does not say: which CAs it trusts while one of them
 * is rotated, and how clients come while that changes. A pure function of the records and of the CAs, so that any
 * operator goes on from where another ended.
 */
import { millisecondsOf } from "../../api/duration.ts";
import type { EtcdClusterSpec } from "../../api/etcd-cluster-spec.ts";
import { withKey, withoutKey } from "../auth/token.ts";
import { isSecure, modeOf, peerScheme } from "../config/flags.ts";
import { shortHash } from "./hash.ts";
import type { AuthorityFacts, ClusterFacts, EtcdMemberEntry, Plane } from "../observation.ts";
import type { EffectiveTLS, MemberRecord, MemberTemplate } from "../record.ts";
import type { View } from "../view.ts";
import { asServed, passage, sameWays, type Way } from "./client-ways.ts";
import { templateFor, templateHash } from "./template.ts";
import { peerPhase, withPeers } from "./peer-plane.ts";
import { sourceState, withSources } from "./tls-source.ts";

export const PLANES: readonly Plane[] = ["client", "peer"];

/** Whether a member checks certificates by a CA on this plane. Servers that ask no client for one have none (R56). */
export function needsTrust({ tls }: Pick<MemberTemplate, "tls">, plane: Plane): boolean {
  return isSecure(tls, plane) && (plane === "peer" || tls.clientAuth === "Required");
}

/** The CAs that a record names; undefined where it names none, which is the only one that there was. */
export function trustOf({ tls }: Pick<MemberTemplate, "tls">, plane: Plane): readonly string[] | undefined {
  return tls.effective?.[plane]?.trust;
}

const asked = new WeakMap<MemberTemplate, MemberTemplate>();

/** The template as a spec asks for it, without the CAs and the key that a record names since a rotation. */
export function withoutEffective(recorded: MemberTemplate): MemberTemplate {
  const template = withoutKey(recorded);
  if (template.tls.effective === undefined) return template;
  let plain = asked.get(template);
  if (!plain) {
    const { effective: _named, ...tls } = template.tls;
    asked.set(template, (plain = { ...template, tls }));
  }
  return plain;
}

/** Templates are compared and hashed by identity where they can be: the same answer is the same object. */
const known = new WeakMap<MemberTemplate, Map<string, MemberTemplate>>();

type Seen = Pick<View, "staying" | "observation" | "unrecorded">;

/** Why members are not given the TLS of the spec yet: clients that come in these ways would be shut out. */
export interface Closing {
  readonly ways: readonly Way[];
  /** What a person approves by. */
  readonly word: string;
  /** The hash of the template that ends them. */
  readonly then: string;
  /** When it ends by itself; undefined where a person decides. */
  readonly until?: number;
}

/**
 * The word by which a person ends ways of clients with this template. It stays on the cluster and must not speak for a
 * later change to the same: the generation makes it one edit's, the UID one cluster's. Another edit asks again.
 */
export function closingWord({ uid, generation }: ClusterFacts, then: MemberTemplate): string {
  return shortHash(`${templateHash(forClients(then))} at generation ${generation} of ${uid}`);
}

/** Without how far peers are, which changes while a person decides. */
function forClients({ tls, ...template }: MemberTemplate): MemberTemplate {
  const { peer: _peers, effective, ...rest } = tls;
  const client = effective?.client;
  return {
    ...template,
    tls: { ...rest, mode: modeOf(tls, "client"), ...(client && { effective: { client } }) },
  };
}

/** With auth enabled, etcd reads names of users from what clients show: nothing of that is changed. */
export interface Locked {
  /** Not known to be enabled, since it was not read: it may be. */
  readonly unread: boolean;
  /** The change had begun. To serve all that any member serves would be a change too: nobody is restarted. */
  readonly begun: boolean;
}

/** Whether members serve clients otherwise than the spec asks for. */
export function isChangingTLS(
  members: readonly { readonly record: MemberRecord }[],
  spec: EtcdClusterSpec,
): boolean {
  const { tls } = templateFor(spec, spec.version);
  return members.some(({ record }) => !sameWays(record.template.tls, tls));
}

/** Members that others added, and that could not reach peers which listen with TLS: a person lets that begin. */
export interface CutOff {
  readonly members: readonly EtcdMemberEntry[];
  readonly word: string;
}

export interface Effective {
  readonly template: MemberTemplate;
  readonly closing?: Closing;
  readonly locked?: Locked;
  readonly cutOff?: CutOff;
  /** Clients are served as before until the source that is asked for has certificates for every member. */
  readonly awaitsClient?: true;
}

export function effective(view: Seen, template: MemberTemplate): MemberTemplate {
  return effectiveTLS(view, template).template;
}

export function effectiveTLS(view: Seen, template: MemberTemplate): Effective {
  const keyed = withKey(view, template);
  const { authorities } = view.observation.platform;
  const peersWith = (mayListen: boolean) =>
    withTLS(keyed, withPeers(view.staying, keyed.tls, { authorities, mayListen }));
  const then = clientsOf(view, peersWith(true), keyed.tls);
  const members = cutOffBy(view, then.template);
  if (members.length === 0) return then;
  const { cluster } = view.observation;
  const ids = members.map(({ id }) => id).toSorted();
  const word = shortHash(`TLS without ${ids.join()} at generation ${cluster.generation} of ${cluster.uid}`);
  // A rollout that waits for approval has one word for all of it, and only the newest is there.
  if ([word, templateHash(then.template)].includes(cluster.approved ?? "")) return then;
  return { ...clientsOf(view, peersWith(false), keyed.tls), cutOff: { members, word } };
}

/** Only the first that listens with TLS shuts anybody out: afterwards it has happened. */
function cutOffBy({ staying, unrecorded }: Seen, { tls }: MemberTemplate): EtcdMemberEntry[] {
  const isBegun = staying.some(({ record }) => peerScheme(record.template.tls) === "https");
  if (isBegun || staying.length === 0 || peerScheme(tls) === "http") return [];
  return unrecorded.filter(({ ours, peerURLs }) => !ours && peerURLs.some((url) => url.startsWith("http:")));
}

/** `asked` with how clients come meanwhile; `wanted` is what the spec asks for. */
function clientsOf(view: Seen, asked: MemberTemplate, wanted: MemberTemplate["tls"]): Effective {
  const running = view.staying.map(({ record }) => record.template.tls);
  const { authorities } = view.observation.platform;
  const isFirst =
    isSecure(asked.tls, "client") && running.length > 0 && running.every((tls) => !isSecure(tls, "client"));
  if (isFirst && sourceState(asked.tls, "client", authorities) !== "ready")
    return { template: withTrust(view, withTLS(asked, asServed(running, asked.tls))), awaitsClient: true };
  const { now, closing } = passage(running, asked.tls);
  const isChanging = running.some((tls) => !sameWays(tls, now)) || closing !== undefined;
  const unread = isAuthUnread(view.observation);
  if (isChanging && (unread || view.observation.auth?.etcd?.enabled)) {
    const begun = running.some((tls) => running[0] && !sameWays(tls, running[0]));
    const served = withTrust(view, withTLS(asked, asServed(running, asked.tls)));
    return { template: served, locked: { unread, begun } };
  }
  if (!closing) return { template: withTrust(view, withTLS(asked, now)) };
  const then = withTrust(view, withTLS(asked, closing.then));
  const word = closingWord(view.observation.cluster, then);
  const until = closesAt(view.observation);
  const { cluster, now: time } = view.observation;
  if (until !== undefined && until <= time) return { template: then };
  // Where rollouts wait for approval, this word is for what clients use alone: peers have their own, and come first.
  const isTooEarly =
    cluster.spec.update.strategy === "OnApproval" &&
    running.some((tls) => peerPhase(tls, wanted) !== undefined);
  if (isTooEarly) return { template: withTrust(view, withTLS(asked, now)) };
  if (cluster.approved === word) return { template: then };
  return {
    template: withTrust(view, withTLS(asked, now)),
    closing: { ways: closing.ways, word, then: templateHash(then), ...(until !== undefined && { until }) },
  };
}

/** Without a quorum nobody can read it; then only members that fail are given anything, and that must not wait. */
function isAuthUnread({ auth, etcd }: View["observation"]): boolean {
  return auth !== undefined && auth.etcd === undefined && etcd.list?.linearizable === true;
}

/** Until it was seen how long clients have had the choice, they have all the time. */
function closesAt({ cluster: { spec }, platform, now }: View["observation"]): number | undefined {
  const { proceed = "Approval", after } = spec.tls.transition ?? {};
  if (proceed === "Approval" || after === undefined) return undefined;
  return (platform.clientsChooseSince ?? now) + Math.max(1, millisecondsOf(after));
}

function withTLS(template: MemberTemplate, tls: MemberTemplate["tls"]): MemberTemplate {
  return tls === template.tls ? template : variantOf(template, tls);
}

function withTrust(view: Seen, asked: MemberTemplate): MemberTemplate {
  const running = view.staying.map(({ record }) => record.template.tls);
  const template = withTLS(asked, withSources(asked.tls, running, view.observation.platform.authorities));
  const { effective } = template.tls;
  const trustIn = (plane: Plane) => (needsTrust(template, plane) ? wantedTrust(view, plane) : undefined);
  const [client, peer] = [trustIn("client"), trustIn("peer")];
  if (!client && !peer) return template;
  const planes: EffectiveTLS = {
    ...effective,
    ...(client && { client: { ...effective?.client, trust: client } }),
    ...(peer && { peer: { ...effective?.peer, trust: peer } }),
  };
  return variantOf(template, { ...template.tls, effective: planes });
}

function variantOf(template: MemberTemplate, tls: MemberTemplate["tls"]): MemberTemplate {
  let variants = known.get(template);
  if (!variants) known.set(template, (variants = new Map()));
  const key = JSON.stringify(tls);
  let variant = variants.get(key);
  if (!variant) {
    variant = { ...template, tls };
    // Changes of TLS are rare: what an earlier one needed is not needed again.
    if (variants.size >= 8) variants.clear();
    variants.set(key, variant);
  }
  return variant;
}

function wantedTrust(
  { staying, observation }: Pick<View, "staying" | "observation">,
  plane: Plane,
): readonly string[] | undefined {
  const authority = observation.platform.authorities?.[plane];
  const recorded = staying.flatMap(({ record }) => trustOf(record.template, plane) ?? []);
  if (!authority) return unknownAuthority(staying.map(({ record }) => trustOf(record.template, plane)));
  switch (authority.phase) {
    // Records from before the first rotation name no CA, and need not: nobody restarts for it.
    case "Steady":
      return recorded.length > 0 ? [authority.current] : undefined;
    case "Bundle":
      return asRecorded(staying, plane, [authority.current, ...otherOf(authority)]);
    case "Reissue":
      return asRecorded(staying, plane, [...otherOf(authority), authority.current]);
    case "Drop":
      return [authority.current];
  }
}

/** The order says nothing to etcd, and is no reason to restart a member when a rotation turns around. */
function asRecorded(
  staying: readonly { readonly record: MemberRecord }[],
  plane: Plane,
  both: readonly string[],
): readonly string[] {
  const isSame = (trust: readonly string[]) =>
    trust.length === both.length && both.every((id) => trust.includes(id));
  return staying.map(({ record }) => trustOf(record.template, plane) ?? []).find(isSame) ?? both;
}

function otherOf({ other }: AuthorityFacts): string[] {
  return other === undefined ? [] : [other];
}

/** The CA cannot be read: members stay as they are, and where they differ, the one that trusts most is right with all. */
function unknownAuthority(trusts: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  return trusts.toSorted((a, b) => (b?.length ?? 0) - (a?.length ?? 0))[0];
}
