/**
 * Any size from any size while an application writes, reads and watches: nothing acknowledged is lost, and
 * there is always a quorum. With the leader removed, with a dead member on the way, in and out again.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { quorum } from "../../src/core/quorum.ts";
import { viewOf } from "../../src/core/view.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import { systemClock } from "../../src/seams/clock.ts";
import type { Endpoint } from "../../src/seams/etcd-transport.ts";
import { Checker, type CheckReport } from "../support/checker.ts";
import { EtcdStore } from "../support/checker-store.ts";
import { etcdOf } from "../support/etcd-cluster.ts";
import { inOrder, LocalCluster } from "../support/local-cluster.ts";

const VERSION = "3.6.16";
const TIMEOUT_MS = 90_000;

/** An application that learns of new members as they serve, and of the quorum at every look. */
class Application implements AsyncDisposable {
  readonly #local: LocalCluster;
  readonly #transport = new GrpcTransport({ clock: systemClock });
  readonly #quorumLost: string[] = [];
  #checker: Checker | undefined;
  #timer: NodeJS.Timeout | undefined;
  #seen = 0;

  private constructor(local: LocalCluster) {
    this.#local = local;
  }

  static async of(local: LocalCluster): Promise<Application> {
    const application = new Application(local);
    const endpoints = await application.#endpoints();
    const store = new EtcdStore({ transport: application.#transport, endpoints });
    application.#checker = await Checker.start(store);
    application.#timer = setInterval(() => application.#look(store), 20);
    return application;
  }

  async #endpoints(): Promise<Endpoint[]> {
    return (await this.#local.records())
      .filter((record) => record.joined && !record.leaving)
      .map((record) => this.#local.controller.platform.endpoint(record));
  }

  #look(store: EtcdStore): void {
    void this.#endpoints().then((now) => (now.length > 0 ? store.setEndpoints(now) : undefined));
    const pass = this.#local.controller.loop.latest;
    if (!pass || pass.number === this.#seen) return;
    this.#seen = pass.number;
    const view = viewOf(pass.observation);
    const running = view.members.filter(
      ({ isVoter, workload }) => isVoter && workload.state === "running",
    ).length;
    if (running < quorum(view.voters))
      this.#quorumLost.push(`${running} of ${view.voters} voters ran at pass ${this.#seen}`);
  }

  /** Ends the work: nothing acknowledged was lost, and a quorum ran whenever anybody looked. */
  async judged(): Promise<CheckReport> {
    clearInterval(this.#timer);
    assert.ok(this.#checker);
    const report = await this.#checker.stop();
    this.#checker = undefined;
    assert.deepEqual(report.violations, []);
    assert.deepEqual(report.lost, []);
    assert.deepEqual(this.#quorumLost, []);
    assert.ok(report.writes.acknowledged > 0);
    return report;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#checker?.stop().catch(() => undefined);
    await this.#transport.close();
  }
}

test("1, 3, 5, 3, 1: the data stays, the quorum stays, and no acknowledged write is lost", async (t) => {
  await etcdOf(VERSION);
  await using local = await LocalCluster.start({ version: VERSION, replicas: 1 });
  await using application = await Application.of(local);
  for (const replicas of [3, 5, 3, 1]) {
    const began = performance.now();
    await local.edit({ replicas });
    const view = await local.settled(TIMEOUT_MS);
    assert.equal(view.voters, replicas);
    assert.equal(view.members.length, replicas);
    t.diagnostic(`${replicas} voters after ${Math.round(performance.now() - began)} ms`);
  }
  const report = await application.judged();
  t.diagnostic(
    `${report.writes.acknowledged} writes, longest gap ${Math.round(report.longestWriteGapMs)} ms`,
  );
});

test("an edit in the other direction takes effect at once: in and out again, out and in again", async () => {
  await etcdOf(VERSION);
  await using local = await LocalCluster.start({ version: VERSION, replicas: 3 });
  await using application = await Application.of(local);
  await local.edit({ replicas: 1 });
  await local.until("one has left", (view) => view.voters < 3, TIMEOUT_MS);
  await local.edit({ replicas: 3 });
  assert.equal((await local.settled(TIMEOUT_MS)).voters, 3);
  await local.edit({ replicas: 5 });
  await local.until("one more is known", (view) => view.members.length > 3, TIMEOUT_MS);
  await local.edit({ replicas: 3 });
  assert.equal((await local.settled(TIMEOUT_MS)).voters, 3);
  await application.judged();
});

test("a member that is dead when the cluster shrinks goes first", async () => {
  await etcdOf(VERSION);
  await using local = await LocalCluster.start({ version: VERSION, replicas: 5 });
  await using application = await Application.of(local);
  const victim = local.view().members.find((member) => !member.isLeader)?.name ?? "";
  // Nobody looks between the loss and the edit: else its replacement may have begun, and is one more to remove.
  await local.halt();
  // Dead for good, as far as the cluster can tell: its volume is gone too.
  await local.loseVolume(victim);
  const from = local.steps.length;
  await local.edit({ replicas: 3 });
  local.run();
  const view = await local.settled(TIMEOUT_MS);
  assert.equal(view.voters, 3);
  const removed = local.done(from).filter((step) => step.startsWith("RemoveFromEtcd"));
  assert.equal(removed[0], `RemoveFromEtcd ${victim}`);
  assert.equal(removed.length, 2, "one dead and one more: nobody was put in its place");
  await application.judged();
});

test("a leader that is replaced hands over first", async () => {
  await etcdOf(VERSION);
  await using local = await LocalCluster.start({ version: VERSION, replicas: 3 });
  await using application = await Application.of(local);
  const led = await local.until("somebody leads", (view) => view.leader !== undefined, TIMEOUT_MS);
  const leader = led.leader?.name ?? "";
  const from = local.steps.length;
  await local.store.markDeleting(leader);
  local.controller.loop.wake();
  let electedMeanwhile = false;
  const view = await local.until(
    "replaced",
    ({ members, leader: now }, { decision }) => {
      const there = members.some(({ name }) => name === leader);
      electedMeanwhile ||= there && now !== undefined && now.name !== leader;
      return decision.converged && !there;
    },
    TIMEOUT_MS,
  );
  assert.equal(view.voters, 3);
  // Not only what was done: a leader that is removed may end before it has answered.
  const steps = local.tried(from);
  assert.ok(
    inOrder(steps, /^Promote\b/, `RemoveFromEtcd ${leader}`),
    `the newcomer votes first\n${local.story()}`,
  );
  assert.ok(
    electedMeanwhile || inOrder(steps, /^MoveLeader\b/, `RemoveFromEtcd ${leader}`),
    `it led when it was removed\n${local.story()}`,
  );
  await application.judged();
});

test("all members wiped at once: status says that the data is gone, and no empty cluster takes its place (I3)", async () => {
  await etcdOf(VERSION);
  await using local = await LocalCluster.start({ version: VERSION, replicas: 3 });
  await (await local.client()).kv.put("precious", "yes");
  const starts = () => local.children.length;
  const names = await local.names();
  await local.halt();
  await Promise.all(names.map((name) => local.wipe(name)));
  const before = starts();
  local.run();
  await local.until(
    "told",
    (_view, { decision }) => decision.holds.some(({ reason }) => reason === "DataGone"),
    TIMEOUT_MS,
  );
  const { status } = local.controller.loop.latest ?? {};
  assert.match(status?.message ?? "", /all 3 voters lost their data/);
  const quorate = status?.conditions?.find(({ type }) => type === "Quorate");
  assert.equal(quorate?.status, "False");
  assert.equal(starts(), before, "nothing was started on an empty directory");
  assert.deepEqual(await local.names(), names);
});
