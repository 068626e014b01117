/**
 * First boot: all members at once, with a static list and a token that no other life ever had (R5, R6). The
 * first record holds the plan; the others follow it, also after a crash. Before a founder may start, its
 * record says on which volume (H2); when such a volume is lost before the cluster was seen, the attempt is
 * abandoned as a whole and begun anew under another token.
 */
import { hiddenQuorum } from "../assess/out-of-reach.ts";
import { act, hold, update } from "../outcome.ts";
import type { NewMemberRecord, Outcome } from "../action.ts";
import type { Rule } from "../rule.ts";
import { memberName, ordinalOf, type MemberAddress, type MemberTemplate } from "../record.ts";
import { refusal, targetOf } from "../template/target.ts";
import { transition } from "../template/template.ts";
import { names, type MemberView, type View } from "../view.ts";

export const firstBoot: Rule = (view) => {
  const founders = view.staying.filter((member) => member.record.boot === "New");
  if (view.established) return permit(founders);
  if (founders.length === 0) return begin(view);

  // The others may serve already, and only we do not see it: then this life has begun (H16).
  const mayBeginAnew = hiddenQuorum(view).length === 0;
  const lost = founders.filter(hasLostItsVolume);
  if (lost.length > 0 && mayBeginAnew) {
    return [beginAnew(view, `${names(lost)} lost its volume or what was in it during the first boot`)];
  }
  const { template } = targetOf(view);
  const waiting = founders.filter(({ record, volume }) => !record.volumeUID && volume.state !== "ready");
  if (
    template &&
    mayBeginAnew &&
    waiting.some(({ record }) => transition(record.template, template, { hasData: false }) === "swap")
  ) {
    return [beginAnew(view, `${names(waiting)} waits for a volume that the spec does not ask for any more`)];
  }
  const [first] = founders;
  const plan = first?.record.initialCluster ?? [];
  const absent = plan.find((peer) => !founders.some((founder) => founder.name === peer.name));
  if (first && absent) {
    const ordinal = ordinalOf(view.observation.cluster.name, absent.name) ?? 0;
    return [create(view, ordinal, first.record.template, plan)];
  }
  const permits = permit(founders);
  if (permits.length > 0) return permits;
  const starting = founders.filter((founder) => !founder.healthy);
  return [
    hold({
      classes: ["join", "promote", "shrink", "roll", "maintain"],
      reason: "Booting",
      message: `the first members start: waiting for ${names(starting)}${obstacle(view, starting)}`,
    }),
  ];
};

/** What a start usually passes through is not told; what lasts is. */
const LASTS_MS = 5_000;

function obstacle(view: View, starting: readonly MemberView[]): string {
  for (const { name, workload } of starting) {
    if (workload.state === "exited") return ` (${name} ended: ${workload.detail || workload.cause})`;
    if (workload.state === "absent" && workload.notMade)
      return ` (${name} cannot be started: ${workload.notMade.message})`;
    if (workload.state === "waiting" && view.now - workload.since >= LASTS_MS)
      return ` (${name} cannot start: ${workload.reason})`;
  }
  return "";
}

function beginAnew(view: View, why: string): Outcome {
  const change = { life: view.observation.cluster.marks.life + 1, highestOrdinal: view.nextOrdinal - 1 };
  const action = { kind: "MarkCluster", purpose: "new-life", change } as const;
  return act("heal", `${why}: begin anew under another token`, action);
}

/**
 * The volume it was permitted to start on is gone, or is there and empty although it was used: the platform says so,
 * or its peers do, who know a member of its name that had begun already (R6).
 */
function hasLostItsVolume({ record, volume, workload }: MemberView): boolean {
  if (record.volumeUID === undefined) return false;
  if (volume.state === "absent") return true;
  if (volume.state === "ready" && volume.uid !== record.volumeUID) return true;
  return (
    workload.state === "exited" &&
    (workload.cause === "data-missing" || workload.cause === "already-bootstrapped")
  );
}

/**
 * Also after the latch: the others may have been quicker than this one's volume. etcd lists a founder from
 * the start and need not admit it, so this is no join.
 */
function permit(founders: readonly MemberView[]): readonly Outcome[] {
  for (const founder of founders) {
    if (founder.record.volumeUID !== undefined) continue;
    if (founder.volume.state !== "ready") {
      const message = waitsForVolume(founder);
      return [hold({ classes: ["join", "roll", "maintain"], reason: "VolumePending", message })];
    }
    const change = { volumeUID: founder.volume.uid };
    return [act("heal", `${founder.name} may start on its volume`, update(founder, "permit-start", change))];
  }
  return [];
}

export function waitsForVolume({ name, volume }: MemberView): string {
  return `${name} waits for its volume${volume.state === "pending" ? `: ${volume.reason}` : ""}`;
}

function begin(view: View): readonly Outcome[] {
  const { cluster } = view.observation;
  const { step, template } = targetOf(view);
  if (step.kind === "refused") return [hold(refusal(step, "all"))];
  const ordinals = Array.from({ length: view.spec.replicas }, (_, i) => view.nextOrdinal + i);
  const plan = ordinals.flatMap((ordinal) => {
    const address = offer(view, ordinal);
    return address ? [{ name: memberName(cluster.name, ordinal), peerURL: address.peerURL }] : [];
  });
  const [first] = ordinals;
  if (first === undefined || !template || plan.length < ordinals.length) return [noAddress()];
  return [create(view, first, template, plan)];
}

function create(
  view: View,
  ordinal: number,
  template: MemberTemplate,
  plan: NewMemberRecord["initialCluster"],
): Outcome {
  const name = memberName(view.observation.cluster.name, ordinal);
  const address = offer(view, ordinal);
  if (!address || !template || !plan.some((peer) => peer.name === name && peer.peerURL === address.peerURL))
    return noAddress();
  return act("join", `${name} is one of the ${plan.length} first members`, {
    kind: "CreateMember",
    member: name,
    record: {
      name,
      ordinal,
      role: "Voter",
      token: view.token,
      boot: "New",
      address,
      initialCluster: plan,
      joined: false,
      run: true,
      template,
    },
  });
}

export function offer(view: View, ordinal: number): MemberAddress | undefined {
  return view.observation.platform.offers.find((candidate) => candidate.ordinal === ordinal)?.address;
}

export function noAddress(): Outcome {
  return hold({
    classes: ["join"],
    reason: "NoAddress",
    message: "the platform has no address for another member",
    next: "Free some ports, or choose another port range for this cluster.",
  });
}
