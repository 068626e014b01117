/** Why a round of the comparison ends before its calls do. */

/** An election that nobody asked for, on a busy machine, or another race of etcd's own: nothing to compare any more. */
export class Unsettled extends Error {
  override name = "Unsettled";
}

/** The sides went apart: what follows in the round would only repeat it. */
export class Apart extends Error {
  override name = "Apart";
}
