/** The source of certificates changed on the real operator: nobody is shown or drops what another one does not accept. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { findCondition } from "../../src/core/status/condition.ts";
import { certificatesIn } from "../machine/model-pki.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import { secrets } from "../models/kube/kinds/simple.ts";
import { NAMESPACE } from "./environment.ts";
import { give, GIVEN_TLS } from "./given-world.ts";
import { Moves } from "./moves.ts";
import { OperatorSimulation } from "./simulation.ts";

const MANAGED = { mode: "Managed", client: null, peer: null };
const MEMBERS = ["demo-1", "demo-2", "demo-3"];

async function world(seed: number) {
  const tls = { rotation: { soak: "5s" } };
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
