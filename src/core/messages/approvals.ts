/** How a person approves what the operator does not do by itself. */

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
    ? `run ${by.command} local approve ${word} --dir ${/\s/.test(by.dir) ? JSON.stringify(by.dir) : by.dir}`
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
