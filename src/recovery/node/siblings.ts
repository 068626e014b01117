/**
 * The plan to start a member on its machine as it was, in its own directory and with its siblings: for a cluster of which
 * a majority of the directories is still there, and whose Pods nobody starts, since the API server is gone with it. Unlike
 * a start alone nothing is given up: cluster, members and revisions stay what they were.
 */
import { createHash } from "node:crypto";
import { isIP } from "node:net";
import type { ListedMember } from "../database.ts";
import type { MemberFound } from "./found.ts";
import type { DataFacts } from "./plan.ts";

export interface SiblingPlan {
  readonly hash: string;
  readonly version: string;
  readonly name: string;
  readonly dataDir: string;
  readonly peerURL: string;
  /** All that the data names, this one included. */
  readonly members: readonly { readonly name: string; readonly peerURL: string }[];
  /** Those that are started on their machines as well. */
  readonly siblings: readonly Sibling[];
  /** Voters that nobody starts. */
  readonly missing: readonly string[];
}

interface Sibling {
  readonly name: string;
  readonly peerURL: string;
  /** Of its machine, where its peer URL is a name that only Kubernetes resolves. */
  readonly address?: string;
}

/** What is there does not fit what was asked for. */
export class UnfitSiblings extends Error {
  override name = "UnfitSiblings";
}

/** `named`: each as `demo-2=10.0.0.12`, or only its name where its peer URL has an address. */
export function siblingPlan(
  { dataDir }: MemberFound,
  { log, database: { members } }: DataFacts,
  version: string,
  named: readonly string[],
): SiblingPlan {
  const { clusterID, memberID, last } = log;
  const own = members.find(({ id }) => id === memberID);
  if (!own)
    throw new UnfitSiblings(
      `member ${memberID} is not in the member list of its own data: it was removed, and the other members reject it. Start it alone, or use another directory`,
    );
  const unnamed = members.find(({ name, peerURLs }) => name === "" || peerURLs.length !== 1);
  if (unnamed)
    throw new UnfitSiblings(
      `the data names a member ${unnamed.id} without a name or with several peer URLs: this machine cannot know where it belongs`,
    );
  const siblings = named.map((one) => siblingOf(one, own, members));
  const twice = siblings.find(({ name }, at) => siblings.findIndex((one) => one.name === name) !== at);
  if (twice) throw new UnfitSiblings(`--siblings names ${twice.name} twice`);
  const voters = members.filter(({ isLearner }) => !isLearner);
  const isStarted = ({ name }: ListedMember) =>
    name === own.name || siblings.some((one) => one.name === name);
  const started = voters.filter(isStarted).length;
  const needed = Math.floor(voters.length / 2) + 1;
  if (started < needed)
    throw new UnfitSiblings(
      `${started} of the ${voters.length} voters that the data names would be started, and ${needed} are needed: name more of ${voters.map(({ name }) => name).join(", ")} with --siblings, or start this one alone`,
    );
  const listed = members.map((member) => ({ name: member.name, peerURL: urlOf(member) }));
  const { term, index } = last;
  return {
    hash: createHash("sha256")
      .update(JSON.stringify({ dataDir, clusterID, memberID, term, index, version, listed, siblings }))
      .digest("hex")
      .slice(0, 16),
    version,
    name: own.name,
    dataDir,
    peerURL: urlOf(own),
    members: listed,
    siblings,
    missing: voters.filter((voter) => !isStarted(voter)).map(({ name }) => name),
  };
}

function siblingOf(text: string, own: ListedMember, members: readonly ListedMember[]): Sibling {
  const [name = "", address] = text.split("=");
  const member = members.find((one) => one.name === name);
  if (!member || member === own)
    throw new UnfitSiblings(
      `${name} is no sibling of ${own.name}: the data names ${members.map((one) => one.name).join(", ")}`,
    );
  const peerURL = urlOf(member);
  const host = hostOf(peerURL);
  if (isIP(host) !== 0) {
    if (address !== undefined && address !== host)
      throw new UnfitSiblings(
        `the members dial ${name} at ${peerURL}, so it cannot be started at ${address}: give its machine that address`,
      );
    return { name, peerURL };
  }
  if (address === undefined || isIP(address) === 0)
    throw new UnfitSiblings(
      `the members dial ${name} at ${peerURL}, a name that is not known without Kubernetes: pass the address of its machine, as in --siblings ${name}=10.0.0.12`,
    );
  return { name, peerURL, address };
}

function urlOf({ peerURLs: [url = ""] }: ListedMember): string {
  return url;
}

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, "");
}

/** Where it listens for its siblings: at its own address, or at all of them where it is known by a name. */
export function listenPeerURL({ peerURL }: Pick<SiblingPlan, "peerURL">): string {
  if (isIP(hostOf(peerURL)) !== 0) return peerURL;
  const { protocol, port } = new URL(peerURL);
  return `${protocol}//0.0.0.0:${port}`;
}
