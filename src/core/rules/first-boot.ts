/**
 * First boot: all members at once, with a static list and a token that no other life ever had (R5, R6). The
 * first record holds the plan; the others follow it, also after a crash. Before a founder may start, its
 * record says on which volume (H2); when such a volume is lost before the cluster was seen, the attempt is
 * abandoned as a whole and begun anew under another token.
 */
import { exitOf } from "../assess/exit-causes.ts";
import { awaitVolume, noAddress, offer } from "../assess/newcomer.ts";
import { hiddenQuorum } from "../assess/out-of-reach.ts";
import type { Obstacle } from "../messages/boot.ts";
import { act, hold, holdFor, update } from "../outcome.ts";
import type { NewMemberRecord, Outcome } from "../action.ts";
import { HOLDS } from "../hold-classes.ts";
import type { Rule } from "../rule.ts";
import { memberName, ordinalOf, type MemberTemplate } from "../record.ts";
import { targetOf } from "../template/target.ts";
import { transition } from "../template/template.ts";
import { namesOf, type MemberView, type View } from "../view.ts";

export const firstBoot: Rule = (view) => {
  const founders = view.staying.filter((member) => member.record.boot === "New");
  if (view.established) return permit(founders);
  if (founders.length === 0) return begin(view);

  // The others may serve already, and only we do not see it: then this life has begun (H16).
  const mayBeginAnew = hiddenQuorum(view).length === 0;
  const lost = founders.filter(hasLostItsVolume);
  if (lost.length > 0 && mayBeginAnew) {
    return [foundAgain(view, "FounderLostVolume", lost)];
  }
  const { template } = targetOf(view);
  const waiting = founders.filter(({ record, volume }) => !record.volumeUID && volume.state !== "ready");
  if (
    template &&
    mayBeginAnew &&
    waiting.some(({ record }) => transition(record.template, template, { hasData: false }) === "swap")
  ) {
    return [foundAgain(view, "FounderAwaitsOldVolume", waiting)];
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
    hold(HOLDS.allButHealing, "FoundersStarting", {
      members: namesOf(starting),
      obstacle: obstacle(view, starting),
    }),
  ];
};

/** What a start usually passes through is not told; what lasts is. */
const LASTS_MS = 5_000;

function obstacle(view: View, starting: readonly MemberView[]): Obstacle {
  for (const { name: member, workload } of starting) {
    if (workload.state === "exited") return { kind: "ended", member, why: workload.detail || workload.cause };
    if (workload.state === "absent" && workload.notMade)
      return { kind: "not-made", member, why: workload.notMade.message };
    if (workload.state === "waiting" && view.now - workload.since >= LASTS_MS)
      return { kind: "waiting", member, why: workload.reason };
  }
  return undefined;
}

function foundAgain(
  view: View,
  code: "FounderLostVolume" | "FounderAwaitsOldVolume",
  founders: readonly MemberView[],
): Outcome {
  const change = { life: view.observation.cluster.marks.life + 1, highestOrdinal: view.nextOrdinal - 1 };
  const action = { kind: "MarkCluster", purpose: "new-life", change } as const;
  return act("heal", code, { members: namesOf(founders) }, action);
}

/**
 * The volume it was permitted to start on is gone, or is there and empty although it was used: the platform says so,
 * or its peers do, who know a member of its name that had begun already (R6). Or its data cannot be read any more.
 */
function hasLostItsVolume(member: MemberView): boolean {
  const { record, volume } = member;
  if (record.volumeUID === undefined) return false;
  if (volume.state === "absent") return true;
  if (volume.state === "ready" && volume.uid !== record.volumeUID) return true;
  return (exitOf(member)?.data ?? "kept") !== "kept";
}

/**
 * Also after the latch: the others may have been quicker than this one's volume. etcd lists a founder from
 * the start and need not admit it, so this is no join.
 */
function permit(founders: readonly MemberView[]): readonly Outcome[] {
  for (const founder of founders) {
    if (founder.record.volumeUID !== undefined) continue;
    if (founder.volume.state !== "ready") return [awaitVolume(founder)];
    const change = { volumeUID: founder.volume.uid };
    return [
      act("heal", "FounderPermitted", { member: founder.name }, update(founder, "permit-start", change)),
    ];
  }
  return [];
}

function begin(view: View): readonly Outcome[] {
  const { cluster } = view.observation;
  const { step, template } = targetOf(view);
  if (step.kind === "refused") return [holdFor(HOLDS.everything, step.why)];
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
  const record: NewMemberRecord = {
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
  };
  const why = { member: name, count: plan.length };
  return act("join", "FounderCreated", why, { kind: "CreateMember", member: name, record });
}
