/**
 * Faults that operators of etcd have had, or might: each one replacement in one file, which must match exactly
 * once. One that does not match any more has to be written anew; one that nobody catches is a gap in the oracles.
 */

export interface PlantedBug {
  readonly name: string;
  /** The label of what it breaks, as in docs/rules.md. */
  readonly breaks: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** A second line of defence that has to be broken too, or nothing bad comes of it. */
  readonly also?: Edit;
  /** The simulated situation of an operator that it should show in, which is tried first: sim/operator/<name>.test.ts. */
  readonly situation?: Situation;
}

/** Simulated lives of the operator that were written for a situation, and not for a line. */
export const situations = [
  "refused",
  "blind",
  "tampered",
  "marks",
  "clocks",
  "empty-start",
  "take-over",
  "foreign",
  "quota",
  "peer-services",
  "given",
  "given-rotation",
  "issuer-rotation",
  "auth",
  "operator-name",
  "expired-ca",
  "tokens",
  "restore",
  "network-policy",
  "restore-in-place",
  "automatic",
  "adopt",
  "snapshots",
  "recover",
  "nodes-off",
  "followers",
] as const;

export type Situation = (typeof situations)[number];

export interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export const plantedBugs: readonly PlantedBug[] = [
  {
    name: "a learner votes before it has caught up",
    breaks: "R18",
    file: "src/core/rules/learners.ts",
    find: "(lag(member) ?? Infinity) <= closeEnough(view)",
    replace: "member.healthy",
  },
  {
    name: "a learner is promoted while a voter is down",
    breaks: "I2",
    file: "src/core/rules/learners.ts",
    find: "if (down.length > 0 || ghosts.length > 0 || !survivesPromotion(view.voters, view.healthyVoters)) {",
    replace: "if (down.length > 1) {",
    also: {
      file: "src/core/rules/replace-broken.ts",
      find: "return isVoter ? HOLDS.needingAllVoters : HOLDS.disruptions;",
      replace: "return isVoter ? HOLDS.disruptions : HOLDS.disruptions;",
    },
  },
  {
    name: "a learner is promoted beside a voter of ours that no record stands for",
    breaks: "I2",
    file: "src/core/rules/learners.ts",
    find: "const ghosts = view.unrecorded.filter(({ ours, isLearner }) => ours && !isLearner);",
    replace: "const ghosts = view.unrecorded.filter(({ ours }) => ours && !ours);",
  },
  {
    name: "a member is removed before the newcomer that replaces it votes",
    breaks: "H6",
    file: "src/core/rules/scale-in.ts",
    find: "if (old && (serving >= wanted || isNoLoss))",
    replace: "if (old)",
  },
  {
    name: "one of two is removed before the one that replaces it is added",
    breaks: "I1",
    file: "src/core/rules/scale-in.ts",
    find: "if (old && (serving >= wanted || isNoLoss))",
    replace: "if (old && (serving >= wanted || isNoLoss || wanted === 2))",
  },
  {
    name: "a founder starts as new after the latch",
    breaks: "I3",
    file: "src/core/config/flags.ts",
    find: 'record.boot === "New" && !record.joined && !established',
    replace: 'record.boot === "New"',
  },
  {
    name: "an existing cluster is bootstrapped again when a volume is lost",
    breaks: "I3",
    file: "src/core/rules/first-boot.ts",
    find: "if (view.established) return [...permit(founders), ...tooLate(view)];",
    replace: "",
  },
  {
    name: "a member starts on whatever volume is there",
    breaks: "I4",
    file: "src/core/assess/should-run.ts",
    find: " || record.volumeUID !== volume.uid",
    replace: "",
  },
  {
    name: "a member that has joined restarts with the list of its first day",
    breaks: "H3",
    file: "src/core/config/flags.ts",
    find: "record.joined ? [self] : record.initialCluster",
    replace: "record.initialCluster",
  },
  {
    name: "a member is marked as joined before it serves",
    breaks: "H3",
    file: "src/core/rules/establish.ts",
    find: "(member) => !member.record.joined && serves(member) && isOfThisCluster(view, member),",
    replace: "(member) => !member.record.joined && member.entry !== undefined,",
  },
  {
    name: "the volume of a member is deleted while its process runs",
    breaks: "I5",
    file: "src/core/rules/finish-removals.ts",
    find: 'if (workload.state !== "absent" && workload.state !== "stopping") {',
    replace: 'if (workload.state === "exited") {',
  },
  {
    name: "a member is deleted that etcd still counts",
    breaks: "I5",
    file: "src/core/rules/finish-removals.ts",
    find: "if (member.entry) return [removeFromEtcd(view, member, why)].flat();",
    replace: "if (member.entry && member.healthy) return [removeFromEtcd(view, member, why)].flat();",
  },
  {
    name: "volumes outlive nobody: retention is not read",
    breaks: "I5",
    file: "src/core/rules/deletion.ts",
    find: 'const isDeleted = view.spec.storage.retention.onDelete === "Delete";',
    replace: "const isDeleted = true;",
  },
  {
    name: "a controller without the lease changes the cluster",
    breaks: "H10",
    file: "src/core/rules/hold-all.ts",
    find: "if (platform.fenced) {",
    replace: "if (platform.fenced && view.spec.paused) {",
  },
  {
    name: "a healthy voter is removed while another is down",
    breaks: "I1",
    file: "src/core/rules/finish-removals.ts",
    find: "if (!survivesRemoval(view.voters, healthyVotersBut(view, member))) {",
    replace: "if (view.voters === 1) {",
  },
  {
    name: "quorum is half of the voters",
    breaks: "R3",
    file: "src/core/quorum.ts",
    find: "return Math.floor(voters / 2) + 1;",
    replace: "return Math.ceil(voters / 2);",
  },
  {
    name: "two learners at once on 3.5",
    breaks: "H1",
    file: "src/core/assess/size.ts",
    find: "(allTakeManyLearners(view) ? MAX_LEARNERS : 1)",
    replace: "MAX_LEARNERS",
    also: {
      file: "src/core/assess/size.ts",
      find: "    allTakeManyLearners(view) &&\n",
      replace: "",
    },
  },
  {
    name: "that two learners joined together is not remembered",
    breaks: "H1",
    file: "src/core/rules/scale-out.ts",
    find: "if (coming.length > 0 && !view.observation.cluster.marks.batchJoined) {",
    replace: "if (coming.length > 9 && !view.observation.cluster.marks.batchJoined) {",
  },
  {
    name: "all members that look unhealthy are given an untried template",
    breaks: "H16",
    file: "src/core/assess/trial.ts",
    find: "const others = othersWith(view, member, template);",
    replace: "const others = othersWith(view, member, template).slice(0, 0);",
  },
  {
    name: "a leader is restarted without handing over",
    breaks: "R20",
    file: "src/core/rules/restart-outdated.ts",
    find: "const nextLeader = member.isLeader ? successor(view, member) : undefined;",
    replace: "const nextLeader = member.isLeader ? undefined : successor(view, member);",
  },
  {
    name: "the leader is rolled first",
    breaks: "R10",
    file: "src/core/rules/rollout.ts",
    find: "outdated.filter((member) => !member.isLeader).toReversed();",
    replace: "outdated.filter((member) => member.isLeader);",
  },
  {
    name: "an upgrade skips a minor",
    breaks: "R10",
    file: "src/core/version/upgrade.ts",
    find: "return distance === 1\n",
    replace: "return distance >= 1\n",
  },
  {
    name: "the next member is rolled although the last one is not back",
    breaks: "R10",
    file: "src/core/rules/rollout.ts",
    find: "if (unhealthy.length > 0) {",
    replace: "if (unhealthy.length > 9) {",
    also: {
      file: "src/core/rules/replace-broken.ts",
      find: "isVoter ? HOLDS.needingAllVoters : HOLDS.disruptions;",
      replace: 'isVoter ? ["join", "promote"] : ["join", "promote"];',
    },
  },
  {
    name: "a downgrade that etcd was not told of",
    breaks: "R15",
    file: "src/core/version/upgrade.ts",
    find: 'return { kind: "enable-downgrade", to: target };',
    replace: 'return { kind: "run", to: target, final: true };',
  },
  {
    name: "a member that is down is given another minor version before the snapshot",
    breaks: "R10",
    file: "src/core/template/target.ts",
    find: "if (!crosses(view, step.to)) return { step, ...tls };",
    replace:
      "if (!crosses(view, step.to) || view.staying.some(({ healthy }) => !healthy)) return { step, ...tls };",
  },
  {
    name: "a snapshot that failed counts as one that was taken before an upgrade",
    breaks: "R10",
    file: "src/core/assess/snapshot-before.ts",
    find: 'if (own.some(({ status }) => status.phase === "Succeeded")) return UNNEEDED;',
    replace: "if (own.some(isFinal)) return UNNEEDED;",
  },
  {
    name: "members are defragmented while another is down",
    breaks: "R29",
    file: "src/core/rules/defragment.ts",
    find: "if (members.some((member) => !member.healthy || !member.record.joined || member.record.leaving)) return [];",
    replace: "if (members.every((member) => !member.healthy)) return [];",
    also: {
      file: "src/core/rules/replace-broken.ts",
      find: "isVoter ? HOLDS.needingAllVoters : HOLDS.disruptions;",
      replace: 'isVoter ? ["join", "promote", "roll"] : ["join", "promote", "roll"];',
    },
  },
  {
    name: "a name is given twice",
    breaks: "H11",
    file: "src/core/rules/finish-removals.ts",
    find: "if (marks.highestOrdinal < ordinal || uncounted) {",
    replace: "if (uncounted) {",
  },
  {
    name: "somebody else's member is removed",
    breaks: "I9",
    file: "src/core/rules/unrecorded-members.ts",
    find: "if (!entry.ours) continue;",
    replace: 'if (!entry.ours && entry.name === "") continue;',
  },
  {
    name: "a node drain may take a quorum",
    breaks: "I1",
    file: "src/operator/render/budget.ts",
    find: "minAvailable: quorum(",
    replace: "minAvailable: -1 + quorum(",
  },
  {
    name: "a record is written whatever its version is by now",
    breaks: "H10",
    file: "src/local/store.ts",
    find: "if (resourceVersion !== undefined && version !== resourceVersion) {",
    replace: "if (resourceVersion !== undefined && Number(version) < Number(resourceVersion)) {",
  },
  {
    name: "an EtcdMember is written under the version of the cache, not of the decision",
    breaks: "H10",
    file: "src/operator/records/member-object.ts",
    find: "metadata: { ...metadata, resourceVersion, annotations },",
    replace: "metadata: { resourceVersion, ...metadata, annotations },",
  },
  {
    name: "not found after a removal is an error",
    breaks: "H10",
    file: "src/control/execute.ts",
    find: 'return await done(remove, "member-not-found");',
    replace: "return void (await remove);",
  },
  {
    name: "status is written only when nothing is done",
    breaks: "I6",
    file: "src/control/loop.ts",
    find: "await platform.report(status, view, step.done || applied.changed);",
    replace: "if (!step.done) await platform.report(status, view, applied.changed);",
  },
  {
    name: "it is not checked again before the effect",
    breaks: "I1",
    file: "src/control/execute.ts",
    find: "  assertSafe(view, action);\n",
    replace: "",
  },
];
