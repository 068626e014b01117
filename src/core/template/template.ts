/**
 * From spec to member template, and what it takes to bring a member from one template to another.
 * Only the rollout writes a template into a record; an edited spec by itself restarts nobody.
 */
import type { EtcdClusterSpec } from "../../api/etcd-cluster-spec.ts";
import { bytesOf, quotaOf } from "../../api/quantity.ts";
import { tokenFor } from "../auth/token.ts";
import { namesGateway } from "../config/gateway.ts";
import { canonical, shortHash, shortHashes } from "./hash.ts";
import { asBefore } from "./later-fields.ts";
import type { InitialPeer, MemberRecord, MemberTemplate } from "../record.ts";
import { readStart, writeStart, type Start } from "./start.ts";

/**
 * Raised when our own rendering changes in a way that would restart members. 2: etcd's HTTP gateway has a certificate of
 * its own (R51), and that of a server is none of a client any more. 3: so it is where cert-manager issues them.
 */
export const RENDER_VERSION = 3;

/** The newest template of each spec object: passes over an unchanged spec share it, and with it its text. */
const rendered = new WeakMap<EtcdClusterSpec, MemberTemplate>();

export function templateFor(spec: EtcdClusterSpec, version: string): MemberTemplate {
  const known = rendered.get(spec);
  if (known?.version === version) return known;
  const template = render(spec, version);
  rendered.set(spec, template);
  return template;
}

function render(spec: EtcdClusterSpec, version: string): MemberTemplate {
  const { medium, size, className, hostPath, accessModes, selector } = spec.storage;
  // How a CA is rotated, and how another TLS is reached, changes no member.
  const { rotation: _pace, transition: _gate, ...tls } = spec.tls;
  const token = tokenFor(spec);
  return {
    version,
    image: spec.image,
    options: { ...spec.options, quotaBackendBytes: quotaOf(spec) },
    storage: { medium, size, className, hostPath, accessModes, selector },
    tls,
    pod: spec.pod,
    ...(token && { auth: { token } }),
    renderVersion: RENDER_VERSION,
  };
}

/** Templates are frozen objects that live long, and every pass asks for their text again. */
const texts = new WeakMap<object, string>();

function text(template: MemberTemplate): string {
  let known = texts.get(template);
  if (known === undefined) {
    const { renderVersion: _ours, ...asked } = template;
    known = canonical(asBefore(asked));
    texts.set(template, known);
  }
  return known;
}

/** Equal in everything a user asked for. Our own render version alone is no reason to restart a member. */
export function sameTemplate(a: MemberTemplate, b: MemberTemplate): boolean {
  return a === b || text(a) === text(b);
}

export function templateHash(template: MemberTemplate): string {
  return shortHash(text(template));
}

type Started = Pick<MemberRecord, "template" | "joined" | "initialCluster" | "restart">;

const starts = new WeakMap<MemberTemplate, Start>();

/** What a workload of this record is started from. */
export function startOf(record: Started): Start {
  let start = starts.get(record.template);
  if (start === undefined) {
    const { process, resources } = startPartsOf(record.template);
    start = { process: shortHash(canonical(process)), resources: shortHash(canonical(resources)) };
    starts.set(record.template, start);
  }
  // A record without a stamp starts as ever: an operator that knows stamps restarts nobody.
  if (record.restart !== undefined) start = { ...start, process: restarted(start.process, record.restart) };
  // Once joined, etcd ignores the list (R4) and the file holds only the member itself (H3).
  return record.joined ? start : { ...start, peers: peersHash(record.initialCluster) };
}

/**
 * The volume is not part of it: a grown volume needs no restart, another one is another member (I4). Nor are names in
 * certificates: etcd reads its leaves anew at every handshake (R45). Labels and annotations of a Pod change in place.
 */
function startPartsOf(template: MemberTemplate) {
  const { storage: _volume, renderVersion: _ours, tls, pod, ...process } = asBefore(template);
  const { labels: _labels, annotations: _annotations, resources, ...workload } = pod;
  return { process: { ...process, tls: planesOf(tls), pod: workload }, resources };
}

function restarted(process: string, stamp: string): string {
  return shortHash(`${process} restarted by ${stamp}`);
}

const beginnings = new WeakMap<MemberTemplate, (rest: string) => string>();

/** The process of `startOf` with another TLS or version. All that is long comes before these in the text. */
export function processWith(
  { template, restart }: Pick<MemberRecord, "template" | "restart">,
  other: Pick<MemberTemplate, "tls" | "version">,
): string {
  const fields = Object.entries(startPartsOf({ ...template, ...other }).process);
  const textOf = (part: typeof fields) => canonical(Object.fromEntries(part)).slice(1, -1);
  let hash = beginnings.get(template);
  if (hash === undefined) {
    hash = shortHashes(`{${textOf(fields.filter(([name]) => name < "tls"))},`);
    beginnings.set(template, hash);
  }
  const process = hash(`${textOf(fields.filter(([name]) => name >= "tls"))}}`);
  return restart === undefined ? process : restarted(process, restart);
}

/** What of them etcd is started with. Where leaves come from is not part of it: they are read anew (R45). */
function planesOf(tls: MemberTemplate["tls"]) {
  const { extraSANs: _names, managed: _lives, client, peer, ...rest } = tls;
  const withoutSource = ({
    secrets: _source,
    certManager: _issuers,
    ...plane
  }: NonNullable<MemberTemplate["tls"]["client" | "peer"]>) => plane;
  return {
    ...rest,
    ...(client && {
      client: { ...withoutSource(client), ...(namesGateway(tls) && { gateway: true }) },
    }),
    ...(peer && { peer: withoutSource(peer) }),
  };
}

const startTexts = new WeakMap<MemberTemplate, string>();

/** The same as text. A running workload with another one is out of date. */
export function startHash(record: Started): string {
  if (!record.joined || record.restart !== undefined) return writeStart(startOf(record));
  let known = startTexts.get(record.template);
  if (known === undefined) startTexts.set(record.template, (known = writeStart(startOf(record))));
  return known;
}

const peers = new WeakMap<readonly InitialPeer[], string>();

function peersHash(list: readonly InitialPeer[]): string {
  let hash = peers.get(list);
  if (hash === undefined) peers.set(list, (hash = shortHash(canonical(sortPeers(list)))));
  return hash;
}

/** Started from what its record says. That a member has joined since restarts nobody. */
export function sameStart(startedFrom: string, record: MemberRecord): boolean {
  if (startedFrom === startHash(record)) return true;
  const started = record.joined ? readStart(startedFrom) : undefined;
  if (started?.peers === undefined || started.resizing) return false;
  const { process, resources } = startOf(record);
  return started.process === process && started.resources === resources;
}

/** Its workload lacks nothing but the resources that its record asks for. */
export function lacksOnlyResources(startedFrom: string, record: MemberRecord): boolean {
  if (!record.joined || sameStart(startedFrom, record)) return false;
  return readStart(startedFrom)?.process === startOf(record).process;
}

export function sortPeers(peers: readonly InitialPeer[]): InitialPeer[] {
  return peers.toSorted((a, b) => (a.peerURL < b.peerURL ? -1 : 1));
}

/** The template for a record: our newer rendering is only for a process that is started anew. */
export function renderedFor(from: MemberTemplate, to: MemberTemplate): MemberTemplate {
  if (from.renderVersion === to.renderVersion) return to;
  const processOf = (template: MemberTemplate) =>
    startOf({ template, joined: true, initialCluster: [] }).process;
  return processOf(from) === processOf(to) ? { ...to, renderVersion: from.renderVersion } : to;
}

export type TransitionKind =
  | "none"
  /** Only the record changes. */
  | "record"
  /** The workload gets other resources while it runs. */
  | "resize"
  /** The workload is made anew on the same volume. */
  | "restart"
  /** The volume cannot follow: a newcomer takes the member's place (H4, H6). */
  | "swap";

/** Its data ends with the workload, so that a restart is a loss of data (H4). */
export function isVolatile({ storage: { medium } }: MemberTemplate): boolean {
  return medium === "Memory" || medium === "Ephemeral";
}

/** Whether the volume that a member has cannot be given the size that is asked for. */
function needsOtherSize(from: MemberTemplate, to: MemberTemplate): boolean {
  const [before, after] = [bytesOf(from.storage.size), bytesOf(to.storage.size)];
  switch (from.storage.medium) {
    // Claims grow in place and never shrink.
    case "Persistent":
      return after < before;
    // The limit of an emptyDir is a part of its Pod, and no Pod changes it while it runs.
    case "Memory":
    case "Ephemeral":
      return after !== before;
    // A directory on a node has no size.
    case "HostPath":
      return false;
  }
}

/** What of a volume is for ever as it was made; its size is looked at apart. */
function claimText(template: MemberTemplate): string {
  const { size: _size, ...volume } = asBefore(template).storage;
  return canonical(volume);
}

export interface Follower {
  /** It has joined, and so holds something that a restart could lose. */
  readonly hasData?: boolean;
  /** The platform can change the resources of its workload while it runs. */
  readonly resizable?: boolean;
}

export function transition(
  from: MemberTemplate,
  to: MemberTemplate,
  { hasData = true, resizable = false }: Follower = {},
): TransitionKind {
  if (sameTemplate(from, to)) return "none";
  if (needsOtherSize(from, to) || claimText(from) !== claimText(to)) return "swap";
  const joined = (template: MemberTemplate) => startOf({ template, joined: true, initialCluster: [] });
  const [before, after] = [joined(from), joined(to)];
  const sameResources = before.resources === after.resources;
  if (before.process !== after.process || (!sameResources && !resizable))
    return hasData && isVolatile(from) ? "swap" : "restart";
  return sameResources ? "record" : "resize";
}
