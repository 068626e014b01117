/** How a person approves what the operator does not do by itself. */

/** How an approval is given, as a part of a sentence. */
export function givenBy(approval: string): string {
  return `annotate the cluster with etcd.quorate.dev/approve=${approval}, or run quorate local approve ${approval}`;
}

/** Members serve without what they were seen to hold. */
export interface Loss {
  /** What shows it, of each of them. */
  readonly evidence: readonly string[];
  /** By which a person who put that data there accepts it. */
  readonly approval: string;
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
