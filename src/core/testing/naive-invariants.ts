/**
 * The invariants I1–I5 and I9 said once more, in the plainest words: straight from the observation, without
 * the view and the arithmetic that the rules use, so that a mistake there is not made here again.
 */
import assert from "node:assert/strict";
import type { Action } from "../action.ts";
import type { EtcdMemberEntry, MemberFacts, MemberTrust, Observation } from "../observation.ts";
import { assertNobodyShutOut } from "./naive-clients.ts";
import { assertSeenFault } from "./naive-evidence.ts";
import { assertDiallable, assertMayBeAdded, placeOf } from "./naive-peers.ts";
import { assertSnapshotBefore } from "./naive-snapshots.ts";
import {
  assertAllEnded,
  assertApproved,
  assertNothingGivenUp,
  assertEnded,
  isGivenUp,
} from "./recovery-invariants.ts";

/** What the naive eye sees. */
export function look(o: Observation) {
  const list = o.etcd.list?.members ?? [];
  const voters = list.filter((entry) => !entry.isLearner);
  const entryOf = ({ record }: MemberFacts): EtcdMemberEntry | undefined =>
    record.memberID === undefined
      ? list.find((entry) => entry.peerURLs.map(placeOf).includes(placeOf(record.address.peerURL)))
      : list.find((entry) => entry.id === record.memberID);
  const isHealthy = (facts: MemberFacts): boolean => {
    const entry = entryOf(facts);
    const { answer, workload, forgot } = facts;
    // It came back empty: its vote is without its memory (H3).
    if (forgot !== undefined) return false;
    if (!entry || !answer.reachable || workload.state !== "running") return false;
    if (answer.memberID !== entry.id || answer.clusterID !== o.etcd.list?.clusterID) return false;
    return answer.leaderID !== "0" && (entry.isLearner || answer.linearizable);
  };
  const healthyVoters = (but?: string): number =>
    new Set(
      o.members
        .filter(isHealthy)
        .map((facts) => entryOf(facts)?.id)
        .filter((id) => id !== but && voters.some((voter) => voter.id === id)),
    ).size;
  const token = `${o.cluster.uid}-${o.cluster.marks.life}`;
  // Nobody but us would say that it is down (H16); one that was seen to have lost its memory is not intact.
  const isVouchedFor = ({ answer, workload, seenByPeers, forgot }: MemberFacts): boolean =>
    forgot === undefined &&
    workload.state === "running" &&
    workload.ready === true &&
    seenByPeers !== false &&
    (!answer.reachable || answer.refused === true);
  const votes = (facts: MemberFacts): boolean => {
    if (o.etcd.list) return voters.some((entry) => entry.id === entryOf(facts)?.id);
    const { record, answer } = facts;
    return record.joined && record.role === "Voter" && !(answer.reachable && answer.isLearner);
  };
  return {
    isVouchedFor,
    votes,
    list,
    voters,
    entryOf,
    isHealthy,
    healthyVoters,
    token,
    established:
      o.cluster.marks.established?.token === token ||
      o.members.some(({ record }) => record.joined && record.token === token),
    linearizable: o.etcd.list?.linearizable === true,
    member: (name: string) => o.members.find((facts) => facts.record.name === name),
  };
}

const majorityOf = (count: number) => Math.floor(count / 2) + 1;

/** Fails when the act would break an invariant as far as the observation can tell. */
export function assertInvariants(o: Observation, action: Action): void {
  const seen = look(o);
  const { cluster, platform } = o;
  assert.ok(!platform.fenced, "nothing is done while fenced");
  if (cluster.deleting) {
    const allowed = ["StopWorkload", "DeleteVolume", "DeleteMember", "FinishDeletion"];
    assert.ok(allowed.includes(action.kind), "a deletion only ends things");
  } else {
    assert.ok(!cluster.spec.paused, "nothing is done while paused");
    const whole = platform.clashes.filter(({ concerns }) => concerns === "cluster");
    assert.equal(whole.length, 0, "nothing is done beside another's objects");
    if (cluster.spec.replicas === 0) {
      const sleeps = action.kind === "UpdateMember" && action.purpose === "hibernate";
      assert.ok(sleeps || action.kind === "StopWorkload", "hibernation only stops");
    }
  }
  const isQuorate = seen.linearizable && seen.healthyVoters() >= majorityOf(seen.voters.length);
  assertSnapshotBefore(o, action, seen.established && isQuorate);
  switch (action.kind) {
    case "RemoveFromEtcd": {
      const entry = seen.list.find((candidate) => candidate.id === action.memberID);
      assert.ok(entry && seen.linearizable && seen.established, "removed is only who is listed by quorum");
      const mine = o.members.find((facts) => seen.entryOf(facts)?.id === entry.id);
      assert.ok(mine?.record.leaving || (!mine && entry.ours), "I9: and only by intent, or a ghost of ours");
      if (!entry.isLearner) {
        const rest = seen.voters.length - 1;
        assert.ok(rest > 0 && seen.healthyVoters(entry.id) >= majorityOf(rest), "I1: the rest keeps quorum");
      }
      return;
    }
    case "Promote": {
      const entry = seen.list.find((candidate) => candidate.id === action.memberID);
      assert.ok(entry?.isLearner && seen.linearizable, "only a learner is promoted, with quorum");
      assert.equal(seen.member(action.member)?.record.role, "Voter", "a standing learner stays one");
      // Somebody else's voter is nothing that we changed, and one more of ours costs no tolerance.
      const known = new Set(o.members.map((facts) => seen.entryOf(facts)?.id));
      const ours = seen.voters.filter(({ id, ours: isOurs }) => isOurs || known.has(id));
      assert.equal(seen.healthyVoters(), ours.length, "I2: one change at a time, all healthy before");
      return assert.ok(
        seen.healthyVoters() + 1 >= majorityOf(seen.voters.length + 1),
        "I1: with it there is quorum",
      );
    }
    case "AddLearner": {
      assert.ok(seen.established && seen.linearizable, "nobody joins what has no quorum");
      assert.equal(seen.healthyVoters(), seen.voters.length, "R19: nobody joins while a voter is down");
      return assertMayBeAdded(o, action.peerURL);
    }
    case "UpdatePeerURL":
      return assertDiallable(o, action);
    case "StopWorkload": {
      const facts = seen.member(action.member);
      const entry = facts && seen.entryOf(facts);
      // What replaces all data was approved, and is at hand.
      if (o.platform.fetched && o.operations.some(({ task }) => task.kind === "restore"))
        return assertApproved(o, o.platform.fetched.plan);
      const serves = seen.established && !cluster.deleting && cluster.spec.replicas > 0;
      const votes =
        entry !== undefined && !entry.isLearner && seen.isHealthy(facts!) && !isGivenUp(o, facts!);
      if (serves && votes && seen.voters.length > 2) {
        assert.ok(
          seen.healthyVoters(entry.id) >= majorityOf(seen.voters.length),
          "I1: the others keep quorum",
        );
      }
      if (serves && facts?.record.token === seen.token && !isGivenUp(o, facts)) assertOthersServe(o, facts);
      const volatile = ["Memory", "Ephemeral"].includes(facts?.record.template.storage.medium ?? "");
      if (
        serves &&
        volatile &&
        facts?.record.joined &&
        !facts.record.leaving &&
        facts.record.token === seen.token
      )
        assert.ok(!seen.isHealthy(facts), "H4: nobody's data is thrown away who serves");
      return;
    }
    case "MoveLeader": {
      const facts = seen.member(action.member);
      const entry = facts && seen.entryOf(facts);
      return assert.ok(
        entry?.id === action.memberID && !entry.isLearner && seen.isHealthy(facts!),
        "to a healthy voter",
      );
    }
    case "CreateMember":
      return assertNewcomer(o, action.record);
    case "UpdateMember":
      return assertChange(o, action);
    case "DeleteVolume": {
      const facts = seen.member(action.member);
      assert.ok(
        facts && "uid" in facts.volume && facts.volume.uid === action.volumeUID,
        "exactly that volume",
      );
      assertNotRunning(facts);
      if (cluster.deleting) return assert.equal(cluster.spec.storage.retention.onDelete, "Delete", "I5");
      assert.equal(facts.record.leaving?.volume, "Delete", "I5: only of who leaves, and as was decided");
      assert.ok([undefined, action.volumeUID].includes(facts.record.volumeUID), "I9: and its own");
      assertOut(o, facts);
      return;
    }
    case "DeleteMember": {
      const facts = seen.member(action.member);
      assert.ok(facts, "a record that exists");
      assertNotRunning(facts);
      if (cluster.deleting) return;
      assert.ok(facts.record.leaving, "only of who leaves");
      assertOut(o, facts);
      return;
    }
    case "MarkCluster":
      if (action.purpose === "new-life")
        assert.ok(!seen.established, "I3: an existing cluster is not begun anew");
      if (action.purpose === "recover") {
        assert.ok(!seen.linearizable, "what has quorum is not recovered");
        assertAllEnded(o);
        assert.equal(action.change.life, cluster.marks.life + 1, "H11: former members are no siblings");
        const { rescued, fetched } = o.platform;
        const atHand = [rescued?.plan, fetched?.plan].includes(action.change.recovered?.plan);
        assert.ok(atHand, "I10: with the data at hand");
        assertApproved(o, action.change.recovered?.plan);
      }
      if (action.purpose === "establish") assert.equal(action.change.established?.token, seen.token);
      assert.ok((action.change.highestOrdinal ?? Infinity) >= cluster.marks.highestOrdinal, "H11");
      return;
    case "Defragment": {
      const facts = seen.member(action.member);
      const entry = facts && seen.entryOf(facts);
      assert.ok(entry && !entry.isLearner, "H8: a learner cannot be defragmented");
      // Where nobody can write any more, there is nothing to lose by it.
      const cure = o.etcd.alarms.some(({ alarm }) => alarm === "NOSPACE");
      assert.ok(cure || o.members.every(seen.isHealthy), "R29: only one is silent at a time");
      return;
    }
    case "RescueData": {
      assert.ok(seen.established && seen.healthyVoters() === 0, "it is of a cluster that has stopped");
      assertAllEnded(o);
      const { directory } = seen.member(action.member) ?? {};
      assert.equal(directory?.state, "data", "R54: from data that is there");
      return assertApproved(o, action.plan);
    }
    case "FetchSnapshot":
      assert.ok(seen.established, "there is a cluster whose data is replaced");
      return assertApproved(o, action.plan);
    case "BindVolume":
    case "FinishDeletion":
      return assert.equal(o.members.length, 0, "nothing else is there, or not yet");
    case "RotateAuthority": {
      // Between phases in which everybody trusts both; or nobody was given anything of the new CA.
      if (action.turn === "Reverse" || action.turn === "Abort") return;
      if (action.turn === "Replace") return assertAllEnded(o);
      const { other, current } = platform.authorities?.[action.plane] ?? {};
      for (const facts of o.members) {
        const { record, trust } = facts;
        // Removed, as a quorum says: nobody takes its calls.
        if (record.leaving && seen.linearizable && !seen.entryOf(facts)) continue;
        const seenOn: MemberTrust | undefined = trust?.[action.plane];
        const { tls } = record.template;
        const asks = action.plane === "peer" || tls.clientAuth === "Required";
        if ((tls[action.plane]?.mode ?? tls.mode) === "Disabled") continue;
        if (action.to === "Reissue" && asks)
          assert.equal(seenOn?.accepts, other, "R45: it accepts the new CA");
        if (action.to === "Drop") assert.equal(seenOn?.shows, current, "R45: it shows the new CA");
      }
      return;
    }
    case "ReissueCertificates":
      return;
    case "CreateOperation":
      return assertNothingGivenUp(o, o.members.filter(seen.votes));
    case "DeleteOperation":
      return assertEnded(o, action.uid);
    case "UpdateOperation":
      // Whether quorum can be recovered is judged just where there is none.
      return assert.ok(
        seen.linearizable ||
          o.operations.some(({ task }) => task.kind === "recoverQuorum" || task.kind === "restore"),
        "a task that needs quorum",
      );
    case "ChangeAuth":
      // Whoever is refused sees no quorum, and that is what is to be mended.
      return assert.ok(
        seen.linearizable || action.change.do === "RegainAccess",
        "users are changed with quorum",
      );
    case "UpdateAuthObject":
    case "Compact":
    case "Disarm":
    case "CompareHashes":
    case "EnableDowngrade":
    case "CancelDowngrade":
    case "AdvanceLog":
    case "NudgeLog":
      return assert.ok(seen.linearizable, "a call that needs quorum");
  }
}

/** I1, by more than our own sight: who is Ready and connected serves, whether we see it or not (H16). */
function assertOthersServe(o: Observation, facts: MemberFacts): void {
  const seen = look(o);
  if (!seen.votes(facts) || !seen.isVouchedFor(facts)) return;
  const voters = o.members.filter(seen.votes);
  const size = seen.voters.length || voters.length;
  const others = voters.filter((one) => one !== facts && (seen.isHealthy(one) || seen.isVouchedFor(one)));
  assert.ok(
    size <= 2 || others.length >= majorityOf(size),
    "H16: it may serve, and the others keep no quorum",
  );
  const approved = o.cluster.approved === `restart-${facts.record.name}`;
  const isOut = facts.record.leaving && seen.linearizable && !seen.entryOf(facts);
  assert.ok(
    isOut || approved || others.filter(seen.isHealthy).length >= majorityOf(size),
    "H16: nobody is stopped whom only we do not see",
  );
}

/** H16: a template that nobody was seen well with goes to one running member, not to two. */
function assertTriedFirst(o: Observation, facts: MemberFacts, template: object): void {
  const seen = look(o);
  if (!seen.established || facts.workload.state !== "running") return;
  if (o.cluster.approved === `restart-${facts.record.name}`) return;
  const same = (one: MemberFacts) => JSON.stringify(one.record.template) === JSON.stringify(template);
  const others = o.members.filter(
    (one) =>
      one !== facts && one.record.token === seen.token && !one.record.leaving && one.record.run && same(one),
  );
  const isUp = (one: MemberFacts) =>
    seen.isHealthy(one) || seen.isVouchedFor(one) || one.answer.reachable || one.alive || one.seenByPeers;
  const isDataLost = ({ workload, record }: MemberFacts) =>
    record.retiring !== undefined ||
    (workload.state === "exited" &&
      ["data-missing", "data-corrupt", "removed", "already-bootstrapped"].includes(workload.cause));
  assert.ok(
    others.every(isDataLost) || others.some(isUp),
    "H16: the one that tries a template first is waited for",
  );
}

function assertNotRunning({ workload }: MemberFacts): void {
  const gone = workload.state === "absent" || (workload.state === "stopping" && workload.lostNode);
  assert.ok(gone, "its workload has ended, or its node has");
}

/** In this life's cluster, etcd itself has confirmed that the member is out. */
function assertOut(o: Observation, facts: MemberFacts): void {
  const seen = look(o);
  if (!seen.established || facts.record.token !== seen.token) return;
  assert.ok(seen.linearizable && !seen.entryOf(facts), "I5: etcd does not list it any more");
}

function assertNewcomer(o: Observation, record: Extract<Action, { kind: "CreateMember" }>["record"]): void {
  const seen = look(o);
  assert.equal(record.token, seen.token, "H11: of this life");
  const settled = o.cluster.marks.adopting?.members.find(({ name }) => name === record.name);
  if (settled) {
    assert.ok(record.joined && record.boot === "Join", "I3: it exists, and starts with its own data alone");
    assert.equal(record.memberID, settled.memberID, "the ID that its data has");
    assert.equal(record.volumeUID, settled.volumeUID ?? "none", "I4: the volume that was settled");
    assert.ok(!o.members.some((facts) => facts.record.name === record.name), "I4: a name that nobody has");
    return;
  }
  assert.equal(record.boot, seen.established ? "Join" : "New", "I3: founded once, joined ever after");
  assert.ok(
    !record.joined && record.volumeUID === undefined && record.memberID === undefined,
    "a blank record",
  );
  assert.ok(!o.members.some((facts) => facts.record.name === record.name), "I4: a name that nobody has");
  const planned = o.members.some(
    ({ record: other }) =>
      other.boot === "New" && other.initialCluster.some((peer) => peer.name === record.name),
  );
  if (planned && record.boot === "New") return;
  const ordinals = o.members.map((facts) => facts.record.ordinal);
  const highest = Math.max(0, o.cluster.marks.highestOrdinal, o.platform.highestLeftover, ...ordinals);
  assert.ok(record.ordinal > highest, "H11: and that nobody ever had");
  assert.ok(!seen.list.some((entry) => entry.name === record.name), "not even in etcd's list");
}

function assertChange(o: Observation, action: Extract<Action, { kind: "UpdateMember" }>): void {
  const seen = look(o);
  const facts = seen.member(action.member);
  assert.ok(facts, "a record that exists");
  const { record, volume } = facts;
  const { change } = action;
  assert.equal(action.resourceVersion, record.resourceVersion, "H10: under the version that was read");
  if (change.volumeUID !== undefined) {
    assert.equal(record.volumeUID, undefined, "I4: one volume for life");
    assert.ok(volume.state === "ready" && volume.uid === change.volumeUID, "that is there");
  }
  if (change.joined !== undefined) assert.ok(change.joined, "I4: joined is for ever");
  if (change.memberID !== undefined)
    assert.equal(seen.entryOf(facts)?.id, change.memberID, "the ID etcd gave");
  if (change.initialCluster)
    assert.ok(!record.joined && record.boot === "Join", "only a joiner's list is rebuilt");
  if (change.leaving && seen.established && record.token === seen.token) {
    const entry = seen.entryOf(facts);
    const rest = seen.voters.length - 1;
    if (entry && !entry.isLearner)
      assert.ok(
        rest > 0 && seen.healthyVoters(entry.id) >= majorityOf(rest),
        "I1: the rest will keep quorum",
      );
  }
  if (action.purpose === "roll") {
    const staying = o.members.filter((other) => !other.record.leaving && other.record.token === seen.token);
    assert.ok(staying.every(seen.isHealthy), "R10: everybody is healthy before the next is rolled");
  }
  if (change.leaving?.broken && seen.isVouchedFor(facts) && seen.votes(facts)) assertSeenFault(o, facts);
  if (change.template) {
    assertNobodyShutOut(o, facts, change.template, seen);
    assertTriedFirst(o, facts, change.template);
    assert.equal(change.template.storage.medium, record.template.storage.medium, "I4: the volume can follow");
    assert.equal(change.template.storage.className, record.template.storage.className);
    const minor = (text: string) => Number(text.split(".")[1]);
    const speaks = o.etcd.clusterVersion;
    // A template may change in other ways and keep the version that the member runs.
    const moves = change.template.version !== record.template.version;
    if (moves && seen.established && speaks !== undefined) {
      const distance = minor(change.template.version) - minor(speaks);
      assert.ok(distance === 0 || distance === 1, `R10, R13: ${speaks} → ${change.template.version}`);
    }
  }
}
