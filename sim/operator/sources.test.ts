/** The source of certificates changed on the real operator: nobody is shown or drops what another one does not accept. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { findCondition } from "../../src/core/status/condition.ts";
import { certificatesIn } from "../machine/model-pki.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import { secrets } from "../models/kube/kinds/simple.ts";
import { NAMESPACE } from "./environment.ts";
import { give, GIVEN_TLS } from "./given-world.ts";
import { wrongWith } from "./judge.ts";
import { Moves } from "./moves.ts";
import { OperatorSimulation } from "./simulation.ts";

const MANAGED = { mode: "Managed", client: null, peer: null };
const MEMBERS = ["demo-1", "demo-2", "demo-3"];

async function world(seed: number, more: EtcdClusterSpecInput["tls"] = {}) {
  const tls = more.mode === "Disabled" ? more : { rotation: { soak: "5s" }, ...more };
  const sim = new OperatorSimulation({ replicas: 3, version: "3.6.16", tls }, { seed });
  await give(sim, 1);
  await sim.settle();
  const file = (member: string, name: string) => {
    const data = sim.env.server.get(secrets, `${NAMESPACE}/${member}`)?.["data"] as Record<string, string>;
    return certificatesIn(Buffer.from(data[name] ?? "", "base64").toString());
  };
  const issuers = (name: string) => [...new Set(MEMBERS.map((member) => file(member, name)[0]?.issuer))];
  const trusts = (name: string) => [
    ...new Set(MEMBERS.flatMap((member) => file(member, name).map(({ commonName }) => commonName))),
  ];
  const condition = () => findCondition(sim.cluster?.status?.conditions, "TLSReady");
  const starts = () => sim.env.server.list(pods).map(({ metadata }) => metadata.uid);
  return { sim, issuers, trusts, condition, starts };
}

test("from Managed to the user's Secrets and back, by the phases of a CA rotation", async () => {
  const { sim, trusts, issuers, condition, starts } = await world(3);
  const before = starts();
  assert.ok(sim.edit({ tls: GIVEN_TLS }));
  await sim.settle();
  assert.equal(condition()?.status, "True", condition()?.message);
  for (const name of ["client-ca.crt", "peer-ca.crt"]) assert.deepEqual(trusts(name), ["Company 1"]);
  assert.deepEqual(issuers("peer.pem"), issuers("server.pem"));
  assert.ok(starts().every((uid) => !before.includes(uid)));
  assert.ok(sim.edit({ tls: MANAGED }));
  await sim.settle();
  assert.equal(condition()?.status, "True", condition()?.message);
  assert.deepEqual(trusts("peer-ca.crt"), ["demo peer CA 3"]);
  assert.deepEqual(trusts("client-ca.crt"), ["demo client CA 3"]);
});

test("an operator that ends again and again changes the source all the same", async () => {
  const { sim, trusts, condition } = await world(5);
  const moves = new Moves(sim);
  sim.edit({ tls: GIVEN_TLS });
  for (let life = 0; life < 12; life++) {
    await sim.pass(3_000 + 1_700 * life);
    moves.perform({ do: "operator", fault: "kill", pick: life, forMs: 0 });
  }
  await sim.settle();
  assert.equal(condition()?.status, "True", condition()?.message);
  assert.deepEqual(trusts("peer-ca.crt"), ["Company 1"]);
});

test("undone at any point, every member ends with the source that is asked for", async () => {
  for (const seconds of [3, 40]) {
    const { sim, trusts, condition } = await world(4);
    sim.edit({
      tls: {
        ...GIVEN_TLS,
        client: { mode: "Managed", secrets: null },
        mode: "Managed",
        peer: { mode: "Secrets", ...GIVEN_TLS.peer },
      },
    });
    await sim.pass(seconds * 1000);
    sim.edit({ tls: MANAGED });
    await sim.settle();
    assert.equal(condition()?.status, "True", condition()?.message);
    assert.match(trusts("peer-ca.crt").join(), /^demo peer CA( \d)?$/, `after ${seconds} s`);
  }
});

const PLAIN = { mode: "Managed", peer: { mode: "Disabled", secrets: null } } as const;
const OWN = { mode: "Managed", peer: { mode: "Secrets", ...GIVEN_TLS.peer } } as const;

test("peers from plaintext to the user's Secrets and back, and to another CA of theirs, by operators that end again and again", async () => {
  const { sim, trusts, condition, starts } = await world(7, { peer: { mode: "Disabled" } });
  const moves = new Moves(sim);
  const over = async (tls: typeof PLAIN | typeof OWN) => {
    assert.ok(sim.edit({ tls }));
    for (let life = 0; life < 6; life++) {
      await sim.pass(2_000 + 1_900 * life);
      moves.perform({ do: "operator", fault: "kill", pick: life, forMs: 0 });
    }
    await sim.settle();
    assert.equal(condition()?.status, "True", condition()?.message);
    assert.deepEqual(wrongWith(sim), []);
  };
  await over(OWN);
  assert.deepEqual(trusts("peer-ca.crt"), ["Company 1"]);
  await over(PLAIN);
  assert.deepEqual(trusts("peer-ca.crt"), []);
  await give(sim, 2);
  const before = starts();
  await over(OWN);
  assert.deepEqual(trusts("peer-ca.crt"), ["Company 2"], "the CA that nobody used any more is not trusted");
  assert.ok(starts().every((uid) => !before.includes(uid)));
});

test("peers stay in plaintext until their certificates can be used, and whatever is undone ends as asked", async () => {
  const { sim, trusts, condition, starts } = await world(8, { peer: { mode: "Disabled" } });
  const before = starts();
  const wrong = { mode: "Managed", peer: { mode: "Secrets", secrets: { member: "web" } } };
  assert.ok(sim.edit({ tls: wrong }));
  await sim.pass(60_000);
  assert.equal(condition()?.reason, "CertificateInvalid", "it lacks the names of peers");
  assert.deepEqual(starts(), before, "nobody is restarted for it");
  assert.ok(sim.latest?.decision.holds.some(({ code }) => code === "CertificatesAwaited"));
  assert.ok(sim.edit({ tls: PLAIN }));
  await sim.settle();
  assert.equal(condition()?.status, "True", condition()?.message);
  assert.ok(sim.edit({ tls: OWN }));
  await sim.pass(6_000);
  assert.ok(sim.edit({ tls: { mode: "Managed", peer: { mode: "Managed", secrets: null } } }));
  await sim.settle();
  assert.equal(condition()?.status, "True", condition()?.message);
  assert.match(trusts("peer-ca.crt").join(), /^demo peer CA( \d)?$/);
  assert.deepEqual(wrongWith(sim), []);
});

test("both planes from plaintext to the user's Secrets and back, by operators that end again and again", async () => {
  const transition = { proceed: "After", after: "5s" } as const;
  const { sim, trusts, condition } = await world(9, { mode: "Disabled", transition });
  const moves = new Moves(sim);
  const over = async (tls: object) => {
    assert.ok(sim.edit({ tls: { transition, ...tls } }));
    for (let life = 0; life < 6; life++) {
      await sim.pass(2_000 + 1_900 * life);
      moves.perform({ do: "operator", fault: "kill", pick: life, forMs: 0 });
    }
    await sim.settle();
    // What was made for a plane stays when it is used no more.
    const wrong = wrongWith(sim).filter((one) => !one.startsWith("secrets "));
    assert.deepEqual(wrong, []);
  };
  await over(GIVEN_TLS);
  assert.equal(condition()?.status, "True", condition()?.message);
  for (const name of ["client-ca.crt", "peer-ca.crt"]) assert.deepEqual(trusts(name), ["Company 1"]);
  await over({ mode: "Disabled", client: null, peer: null });
  assert.equal(condition()?.reason, "Disabled");
  for (const name of ["client-ca.crt", "peer-ca.crt"]) assert.deepEqual(trusts(name), []);
});
