import assert from "node:assert/strict";
import { test } from "node:test";
import type { Action } from "../core/action.ts";
import type { Observation } from "../core/observation.ts";
import { predict } from "../core/plan/predict.ts";
import { settle } from "../core/plan/settle.ts";
import { change, edit, exited, healthy, leaderOf } from "../core/testing/cluster.ts";
import { closingWord } from "../core/template/effective.ts";
import { templateFor } from "../core/template/template.ts";
import { asking } from "../core/testing/operations.ts";
import { viewOf } from "../core/view.ts";
import { assertSafe, InvariantViolation } from "./invariants.ts";

const three = healthy({ replicas: 3 });
const idOf = (world: Observation, name: string) =>
  viewOf(world).members.find((member) => member.name === name)?.entry?.id ?? "";

function refused(
  world: Observation,
  action: Action,
  invariant: InvariantViolation["invariant"],
  message = /./,
): void {
  assert.throws(
    () => assertSafe(viewOf(world), action),
    (error: unknown) => {
      assert.ok(error instanceof InvariantViolation);
      assert.equal(error.invariant, invariant);
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /\b[HIR]\d+\b/, "users read it in the status");
      return true;
    },
  );
}
const allowed = (world: Observation, action: Action) => assertSafe(viewOf(world), action);

test("I1: a voter is not removed when the others would have no quorum", () => {
  const remove = (name: string): Action => ({
    kind: "RemoveFromEtcd",
    member: name,
    memberID: idOf(three, name),
  });
  allowed(three, remove("demo-1"));
  const down = exited(three, "demo-2");
  allowed(down, remove("demo-2"));
  refused(down, remove("demo-1"), "quorum");
});

test("R52: no member gets a URL by which another one cannot reach it, and no learner any", () => {
  const url = (world: Observation, peerURL: string): Action => ({
    kind: "UpdatePeerURL",
    member: "demo-2",
    memberID: idOf(world, "demo-2"),
    peerURL,
  });
  allowed(three, url(three, "http://demo-2.demo:2380"));
  refused(three, url(three, "https://elsewhere:2380"), "peers", /another place/);
  const plain = healthy({ tls: { peer: { mode: "Disabled" } } });
  refused(plain, url(plain, "https://demo-2.demo:2380"), "peers", /no certificates/);
  const { list } = three.etcd;
  const members = list?.members.map((entry) => ({ ...entry, isLearner: entry.name === "demo-2" })) ?? [];
  const learner = { ...three, etcd: { ...three.etcd, list: list && { ...list, members } } };
  refused(learner, url(three, "http://demo-2.demo:2380"), "peers", /not a voter/);
});

test("I1: a healthy voter is not stopped while another one is down, unless all are to stop", () => {
  const follower = ["demo-1", "demo-2", "demo-3"].find((name) => name !== leaderOf(three)) ?? "";
  const other = ["demo-1", "demo-2", "demo-3"].find((name) => name !== follower) ?? "";
  const stop: Action = { kind: "StopWorkload", member: follower };
  allowed(three, stop);
  refused(exited(three, other), stop, "quorum");
  allowed(edit(exited(three, other), { replicas: 0 }), stop);
  allowed(exited(three, follower), stop);
});

test("I1: all are stopped for a restore that was approved and whose snapshot is at hand, and for no other", () => {
  const down = exited(healthy(), "demo-1");
  const stop: Action = { kind: "StopWorkload", member: "demo-2" };
  const source = { file: { path: "/a.db" } };
  const fetched = { plan: "0123456789abcdef", source: { file: { path: "/b.db" } }, sha256: "", revision: 1 };
  const asked = (approve: string, phase: "Pending" | "Running", more: Partial<Observation["platform"]>) => ({
    ...asking(down, { kind: "restore", source, approve }, { status: { phase } }),
    platform: { ...down.platform, ...more },
  });
  allowed(asked(fetched.plan, "Running", { fetched }), stop);
  refused(asked(fetched.plan, "Running", {}), stop, "quorum");
  refused(asked(fetched.plan, "Pending", { fetched }), stop, "quorum");
  refused(asked("f".repeat(16), "Running", { fetched }), stop, "quorum");
  const begun = asked(fetched.plan, "Running", { fetched });
  const recovered = { plan: fetched.plan, operation: "uid-of-task", revision: 1, restore: { source } };
  const cluster = { ...begun.cluster, marks: { ...begun.cluster.marks, recovered } };
  refused({ ...begun, cluster }, stop, "quorum");
});

test("I1: a voter that only we do not see counts as one that serves (H16)", () => {
  const stop: Action = { kind: "StopWorkload", member: "demo-1" };
  let unreachable: Observation = { ...three, etcd: { ...three.etcd, list: undefined } };
  const silent = (name: string, ready: boolean) => {
    unreachable = change(unreachable, name, ({ workload }) => ({
      workload: workload.state === "running" ? { ...workload, ready } : workload,
      answer: { reachable: false, error: "connection timed out" },
    }));
  };
  for (const name of ["demo-1", "demo-2", "demo-3"]) silent(name, true);
  allowed(unreachable, stop);
  silent("demo-2", false);
  refused(unreachable, stop, "quorum");
});

test("H16: a template that nobody was seen well with goes to one running member only", () => {
  const ill = (o: Observation, name: string) =>
    change(o, name, { answer: { reachable: false, error: "connection timed out" } });
  const template = { ...three.members[0]!.record.template, version: "3.6.17" };
  const give: Action = {
    kind: "UpdateMember",
    member: "demo-2",
    resourceVersion: "1",
    purpose: "revert",
    change: { template },
  };
  const down = ill(ill(ill(three, "demo-1"), "demo-2"), "demo-3");
  allowed(down, give);
  const tried = change(down, "demo-1", ({ record }) => ({ record: { ...record, template } }));
  refused(tried, give, "untried-template");
  const approved = { ...tried, cluster: { ...tried.cluster, approved: "restart-demo-2" } };
  const downFor = (ms: number) => change(approved, "demo-2", { unhealthySince: approved.now - ms });
  refused(downFor(1_000), give, "untried-template");
  allowed(downFor(120_000), give);
  allowed(exited(tried, "demo-2"), give);
});

test("I3: once the cluster exists no member is recorded that would start it anew", () => {
  const [member] = three.members;
  assert.ok(member);
  const { uid: _uid, resourceVersion: _version, createdAt: _created, ...record } = member.record;
  refused(
    three,
    { kind: "CreateMember", member: "demo-9", record: { ...record, boot: "New" } },
    "bootstrap-once",
  );
});

test("I4: a member never gets another volume", () => {
  const change = { volumeUID: "another" };
  const update = {
    kind: "UpdateMember",
    member: "demo-1",
    resourceVersion: "1",
    purpose: "permit-start",
    change,
  } as const;
  refused(three, update, "one-volume");
});

test("I5: no volume is deleted of a member that etcd lists, that stays, or that runs", () => {
  const remove: Action = { kind: "DeleteVolume", member: "demo-1", volumeUID: "volume-of-demo-1" };
  refused(three, remove, "volume-in-use", /member list/);
  const unlisted = {
    ...three,
    etcd: {
      ...three.etcd,
      list: three.etcd.list && {
        ...three.etcd.list,
        members: three.etcd.list.members.filter((entry) => entry.name !== "demo-1"),
      },
    },
  };
  refused(unlisted, remove, "volume-in-use", /not leaving/);
  const leaving = change(unlisted, "demo-1", ({ record }) => ({
    record: { ...record, leaving: { reason: "test", volume: "Delete" as const } },
  }));
  refused(leaving, remove, "volume-in-use", /still runs/);
  allowed(change(leaving, "demo-1", { workload: { state: "absent" } }), remove);
});

test("leadership is not moved to a member that is down, is a learner, or has another ID", () => {
  const world = healthy({ replicas: 3, learners: 1 });
  const move = (member: string, memberID = idOf(world, member)): Action => ({
    kind: "MoveLeader",
    member,
    memberID,
  });
  allowed(world, move("demo-2"));
  refused(exited(world, "demo-2"), move("demo-2"), "healthy-leader", /not healthy/);
  refused(world, move("demo-4"), "healthy-leader", /not a voter/);
  refused(world, move("demo-2", "f00"), "healthy-leader");
  refused(world, move("demo-9"), "healthy-leader");
});

test("R45: a CA signs, and another is dropped, only when every member was seen to be ready for it", () => {
  const at = (phase: "Bundle" | "Reissue", accepts: string, shows: string): Observation => {
    const [current, other] = phase === "Bundle" ? ["old", "new"] : ["new", "old"];
    const authority = { current, other, phase, expiresAt: Infinity, rotateAt: Infinity };
    const members = three.members.map((facts) => ({ ...facts, trust: { peer: { accepts, shows } } }));
    return { ...three, members, platform: { ...three.platform, authorities: { peer: authority } } };
  };
  const to = (phase: "Reissue" | "Drop" | "Steady"): Action => ({
    kind: "RotateAuthority",
    plane: "peer",
    to: phase,
    current: "old",
  });
  allowed(at("Bundle", "new", "old"), to("Reissue"));
  refused(at("Bundle", "old", "old"), to("Reissue"), "trust", /demo-1 was not seen to accept/);
  allowed(at("Reissue", "new", "new"), to("Drop"));
  refused(at("Reissue", "new", "old"), to("Drop"), "trust", /demo-1 was not seen to serve/);
  const named = change(at("Reissue", "new", "new"), "demo-2", (facts) => {
    const { template } = facts.record;
    const tls = { ...template.tls, effective: { peer: { trust: ["old", "new"] } } };
    return { ...facts, record: { ...facts.record, template: { ...template, tls } } };
  });
  refused(named, to("Steady"), "trust", /demo-2 still trusts the old peer CA/);
  const leaving = change(named, "demo-2", ({ record }) => ({
    record: { ...record, leaving: { reason: "it goes", volume: "Retain" } },
  }));
  refused(leaving, to("Steady"), "trust", /demo-2 still trusts the old peer CA/);
  const { list } = leaving.etcd;
  const members = (list?.members ?? []).filter(({ name }) => name !== "demo-2");
  allowed({ ...leaving, etcd: { ...leaving.etcd, list: list && { ...list, members } } }, to("Steady"));
});

test("auth is not enabled where root or the operator logs in by a password that was not set or checked", () => {
  const etcd = {
    enabled: false,
    users: { root: ["root"], "quorate-operator": ["root"] },
    roles: {},
    passwords: { root: 1, "quorate-operator": 2 },
    predicted: false,
  };
  const auth = {
    self: "quorate-operator",
    byCertificate: false,
    users: [],
    roles: [],
    passwords: {},
    ownSecrets: { root: "demo-root", operator: "demo-operator-auth" },
    canActAsRoot: false,
    etcd,
  };
  const enable: Action = { kind: "ChangeAuth", change: { do: "EnableAuth", secret: "demo-root" } };
  allowed({ ...three, auth }, enable);
  const unset = { ...etcd, passwords: { root: 1 } };
  refused({ ...three, auth: { ...auth, etcd: unset } }, enable, "auth-lockout", /quorate-operator/);
  const managed = { ...auth, etcd: unset, byCertificate: true, canActAsRoot: true };
  allowed({ ...three, auth: managed }, enable);
  refused(
    { ...three, auth: { ...managed, canActAsRoot: false } },
    enable,
    "auth-lockout",
    /quorate-operator/,
  );
  const again: Action = { kind: "ChangeAuth", change: { do: "DeleteUser", user: "quorate-operator" } };
  allowed({ ...three, auth }, again);
  refused(
    { ...three, auth: { ...auth, etcd: { ...etcd, enabled: true } } },
    again,
    "auth-lockout",
    /administer/,
  );
});

test("R56: the first member that shuts out clients does so only when that was approved, or its time has come", () => {
  const open = healthy({ tls: { clientAuth: "None" } });
  const asked = edit(open, { tls: { transition: { proceed: "After", after: "1m" } } });
  const template = templateFor(asked.cluster.spec, "3.6.16");
  const close: Action = {
    kind: "UpdateMember",
    member: "demo-1",
    resourceVersion: "1",
    change: { template },
    purpose: "roll",
  };
  refused(asked, close, "clients", /demo-1 by anonymous/);
  const since = (clientsChooseSince: number): Observation => ({
    ...asked,
    platform: { ...asked.platform, clientsChooseSince },
  });
  refused(since(asked.now - 59_999), close, "clients", /before that was approved/);
  allowed(since(asked.now - 60_000), close);
  const approved = {
    ...asked,
    cluster: { ...asked.cluster, approved: closingWord(asked.cluster, template) },
  };
  allowed(approved, close);
  const later = { ...approved.cluster, generation: asked.cluster.generation + 2 };
  refused({ ...approved, cluster: later }, close, "clients", /before that was approved/);
  const first = predict(
    change(asked, "demo-2", (facts) => ({ record: { ...facts.record, template } })),
    { kind: "StopWorkload", member: "demo-2" },
  );
  allowed(settle(first), close);
});

test("I4, I9: a member begins with data only as it was settled, and no volume is taken that holds another's", () => {
  const [member] = three.members;
  assert.ok(member);
  const { uid: _, resourceVersion: __, createdAt: ___, ...record } = member.record;
  const create: Action = { kind: "CreateMember", member: "demo-1", record: { ...record, boot: "Join" } };
  refused(three, create, "one-volume");
  const { memberID = "", volumeUID = "" } = record;
  const adopting = { clusterID: "abc", members: [{ name: "demo-1", memberID, peerURL: "", volumeUID }] };
  const { cluster, platform } = three;
  allowed({ ...three, cluster: { ...cluster, marks: { ...cluster.marks, adopting } } }, create);
  const mark: Action = { kind: "MarkCluster", purpose: "adopt", change: { adopting } };
  const holding = (clusterID: string): Observation => {
    const directory = {
      state: "data",
      clusterID,
      memberID,
      term: 1,
      index: 1,
      revision: 1,
      replay: 0,
    } as const;
    const volume = {
      object: "claim",
      member: "demo-1",
      uid: volumeUID,
      identity: {},
      storage: {},
      directory,
    };
    return {
      ...three,
      platform: { ...platform, adoption: { volumes: [volume], absent: [], remains: [], addresses: [] } },
    };
  };
  allowed(holding("abc"), mark);
  refused(holding("def"), mark, "one-volume");
});
