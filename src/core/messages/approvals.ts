/** How a person approves what the operator does not do by itself. */
import { sayManual, type ManualBecause } from "./automatic.ts";

/** What a person approves, and where: data, of which the sentence and the command line make what they need. */
export interface Approvable {
  /** What the approval is called: a hash, `replace-demo-3`, `accept-data-48211`. */
  readonly word: string;
  readonly cluster: string;
  readonly by:
    | { readonly platform: "kubernetes"; readonly namespace: string }
    /** `command` is the program as the user called it. */
    | { readonly platform: "machine"; readonly command: string; readonly dir: string };
}

/** For examples. */
export function onKubernetes(word: string): Approvable {
  return { word, cluster: "demo", by: { platform: "kubernetes", namespace: "default" } };
}

/** How an approval is given, as a part of a sentence. */
export function givenBy({ word, cluster, by }: Approvable): string {
  return by.platform === "machine"
    ? `run ${by.command} local approve ${word} --dir ${quoted(by.dir)}`
    : `run kubectl etcd approve ${cluster} ${word} -n ${by.namespace}, or annotate the EtcdCluster with etcd.quorate.dev/approve=${word}`;
}

/** Members serve without what they were seen to hold. */
export interface Loss {
  /** What shows it, of each of them. */
  readonly evidence: readonly string[];
  /** By which a person who put that data there accepts it. */
  readonly approval: Approvable;
}

/** What shows it, as the rest of a list of members; empty where nobody serves without its data. */
export function evidenceOf(loss: Loss | undefined): string {
  return loss === undefined ? "" : `; ${loss.evidence.join("; ")}`;
}

/** How the data that is served is accepted, as one more sentence. */
export function howToAccept(loss: Loss | undefined): string {
  if (loss === undefined) return "";
  return ` If you restored the data that is served now and want to keep it, ${givenBy(loss.approval)}.`;
}

/** The plan of a recovery, by which a person gives up what only lost members had. */
export interface Recovery {
  readonly survivor: string;
  /** It is good only if these are off, which a person has to say. */
  readonly nodesOff?: readonly string[] | undefined;
  /** What the spec prefers to it. */
  readonly instead?: { readonly is: "Snapshot" | "PointInTime"; readonly name: string } | undefined;
  readonly approval: Approvable;
  /** With automatic recovery: why it waits for a person, or how long. */
  readonly manual?: ManualBecause | undefined;
}

/** What can be done about a lost quorum, as a sentence. */
export function howToRecover(recovery: Recovery | undefined): string {
  if (recovery === undefined) return "Recover from a surviving member or restore a snapshot.";
  const { survivor, nodesOff = [], instead, approval, manual } = recovery;
  const { cluster, by } = approval;
  const command =
    by.platform === "machine"
      ? `${by.command} recover quorum ${cluster} --dir ${quoted(by.dir)}`
      : `kubectl etcd recover quorum ${cluster} -n ${by.namespace}`;
  const automatic = manual === undefined ? "" : ` ${sayManual(manual)}`;
  const from = `recover from the data of ${survivor}`;
  const ways = instead ? `${sayInstead(instead)}, or ${from}` : from;
  if (nodesOff.length > 0)
    return `If you have made sure that ${nodesOff.join(", ")} ${nodesOff.length === 1 ? "is" : "are"} off, and cannot bring what is there back, ${ways}: ${command}${nodesOff.map((node) => ` --node-off ${node}`).join("")} shows the plan and asks before it runs.${automatic}`;
  return `Bring lost data back, or ${ways}: ${command} shows the plan and asks before it runs.${automatic}`;
}

function sayInstead({ is, name }: NonNullable<Recovery["instead"]>): string {
  return is === "Snapshot"
    ? `restore EtcdSnapshot ${name}`
    : `restore what EtcdSnapshotSchedule ${name} has recorded`;
}

function quoted(dir: string): string {
  return /\s/.test(dir) ? JSON.stringify(dir) : dir;
}
