/** TLS changed on the real operator: what holds while members serve clients in both ways, or reach each other so. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { secrets } from "../models/kube/kinds/simple.ts";
import { json } from "../models/kube/object.ts";
import { NAME, NAMESPACE } from "./environment.ts";
import { wrongWith } from "./judge.ts";
import { Moves } from "./moves.ts";
import { OperatorSimulation } from "./simulation.ts";

test("on the way to plaintext, clients' certificates are published and reissued until TLS has ended", async () => {
  const sim = new OperatorSimulation({ replicas: 3, version: "3.6.16" }, { seed: 51 });
  const moves = new Moves(sim);
  await sim.settle();
  moves.perform({ do: "edit", change: { tls: { mode: "Managed", client: { mode: "Disabled" } } } });
  await sim.settle();
  assert.ok(sim.latest?.decision.holds.some(({ code }) => code === "ClosingAwaitsApproval"));
  assert.equal(sim.cluster?.status?.clientSecret, `${NAME}-client-tls`);
  const names = [`${NAME}-client-tls`, `${NAME}-operator`];
  const certificates = () =>
    names.map((name) => json(sim.env.server.get(secrets, `${NAMESPACE}/${name}`)?.["data"])["tls.crt"]);
  const before = certificates();
  moves.perform({ do: "operate", task: "rotateCertificates", all: false, pick: 0 });
  await sim.settle();
  for (const [index, after] of certificates().entries()) {
    assert.ok(typeof after === "string");
    assert.notEqual(after, before[index], names[index]);
  }
});

const PEERS = { plain: { peer: { mode: "Disabled" } }, secure: { peer: { mode: "Managed" } } } as const;

/** How members listen for peers, and by which URLs etcd lists them. */
function peersOf({ env }: OperatorSimulation): string[] {
  const servers = env.world.network.all().filter(({ runs }) => runs);
  const urls = servers.flatMap(({ config, dir }) => [
    ...config.listenPeerURLs,
    ...[...dir.state.members.values()].flatMap(({ peerURLs }) => peerURLs),
  ]);
  return [...new Set(urls.map((url) => new URL(url).protocol))].toSorted();
}

test("peers from plaintext to TLS and back, by operators that end again and again", async () => {
  const spec = { replicas: 3, version: "3.6.16", tls: PEERS.plain } as const;
  const sim = new OperatorSimulation(spec, { seed: 52 });
  const moves = new Moves(sim);
  await sim.settle();
  assert.deepEqual(peersOf(sim), ["http:"]);
  for (const [tls, wanted] of [
    [PEERS.secure, "https:"],
    [PEERS.plain, "http:"],
  ] as const) {
    moves.perform({ do: "edit", change: { tls } });
    for (let life = 0; life < 10; life++) {
      await sim.pass(1_500 + 900 * life);
      moves.perform({ do: "operator", fault: "kill", pick: life, forMs: 0 });
    }
    await sim.settle();
    assert.deepEqual(peersOf(sim), [wanted]);
    assert.deepEqual(wrongWith(sim), []);
  }
});

test("a change of peers that is undone leads back, with a member lost and the cluster hibernated in between", async () => {
  for (const [index, between] of [
    { do: "edit", change: { replicas: 0 } } as const,
    { do: "member", fault: "wipe", pick: 0 } as const,
  ].entries()) {
    const spec = { replicas: 3, version: "3.5.35", tls: PEERS.plain } as const;
    const sim = new OperatorSimulation(spec, { seed: 53 + index });
    const moves = new Moves(sim);
    await sim.settle();
    moves.perform({ do: "edit", change: { tls: PEERS.secure } });
    await sim.pass(25_000);
    moves.perform(between);
    await sim.pass(10_000);
    moves.perform({ do: "edit", change: { replicas: 3, tls: PEERS.plain } });
    await sim.settle();
    assert.deepEqual(peersOf(sim), ["http:"]);
    assert.deepEqual(wrongWith(sim), []);
  }
});
