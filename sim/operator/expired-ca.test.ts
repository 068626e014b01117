/** A CA that expires while nothing replaces it: paused, without an operator, asleep. Certificates of it open nothing then. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { findCondition } from "../../src/core/status/condition.ts";
import { certificatesIn } from "../machine/model-pki.ts";
import { secrets } from "../models/kube/kinds/simple.ts";
import { json } from "../models/kube/object.ts";
import { NAME, NAMESPACE } from "./environment.ts";
import { givenWorld, issued, NAMES, put } from "./given-world.ts";
import { wrongWith } from "./judge.ts";
import { OperatorSimulation } from "./simulation.ts";

const MINUTE = 60_000;
const LIVES = { leafLifetime: "10m", caLifetime: "20m" };

function world(seed: number) {
  const sim = new OperatorSimulation({ replicas: 3, version: "3.6.16", tls: { managed: LIVES } }, { seed });
  const ca = (plane: string) => {
    const data = json(sim.env.server.get(secrets, `${NAMESPACE}/${NAME}-${plane}-ca`)?.["data"]);
    return certificatesIn(Buffer.from(String(data["tls.crt"]), "base64").toString())[0];
  };
  return {
    sim,
    ca,
    condition: (type: string) => findCondition(sim.cluster?.status?.conditions, type),
    kill: () => {
      for (const { life } of sim.seats) life?.cut("killed");
    },
    isExpired: () => ["client", "peer"].every((plane) => (ca(plane)?.notAfter ?? 0) < sim.env.clock.now()),
  };
}

/** The judge knows leaves of 90 days. */
const isWrong = (sim: OperatorSimulation) =>
  wrongWith(sim).filter((what) => !what.endsWith("due and not renewed"));

test("members whose CA expired while the cluster was paused are left as they are, and hibernation replaces it", async () => {
  const { sim, ca, condition, isExpired } = world(71);
  await sim.settle();
  const [before, uid] = [ca("peer")?.serial, sim.env.pods.server("demo-1")];
  assert.ok(sim.edit({ paused: true }));
  await sim.pass(25 * MINUTE);
  assert.ok(isExpired());
  assert.ok(sim.edit({ paused: false, options: { snapshotCount: 20_000 } }));
  await sim.pass(3 * MINUTE);
  assert.equal(condition("Ready")?.reason, "CAExpired", condition("Ready")?.message);
  assert.match(
    condition("Ready")?.message ?? "",
    /client CA expired on .* Set spec\.replicas to 0, wait for/,
  );
  assert.equal(sim.env.pods.server("demo-1"), uid, "nobody was restarted who could not come back");
  assert.equal(ca("peer")?.serial, before);
  assert.ok(sim.edit({ replicas: 0 }));
  await sim.pass(MINUTE);
  assert.equal(condition("Ready")?.reason, "Hibernated");
  assert.ok(!isExpired());
  assert.ok(sim.edit({ replicas: 3 }));
  await sim.settle();
  assert.equal(condition("TLSReady")?.status, "True", condition("TLSReady")?.message);
  assert.deepEqual(isWrong(sim), []);
});

test("a CA that expires while the cluster sleeps is replaced there, however often the operator dies", async () => {
  const { sim, kill, condition, isExpired } = world(72);
  await sim.settle();
  assert.ok(sim.edit({ replicas: 0 }));
  await sim.pass(MINUTE);
  kill();
  await sim.pass(25 * MINUTE);
  for (let deaths = 0; deaths < 8; deaths++) {
    kill();
    await sim.pass(40 + 90 * deaths);
  }
  await sim.pass(MINUTE);
  assert.ok(!isExpired());
  assert.ok(sim.edit({ replicas: 3 }));
  await sim.settle();
  assert.equal(condition("Ready")?.status, "True", condition("Ready")?.message);
  assert.deepEqual(isWrong(sim), []);
});

test("where the CA of somebody else expired, one that is there is taken while nothing runs, and members wait for one", async () => {
  const { sim, pki, tls } = await givenWorld({}, 73);
  const giveBy = async (lifeMs: number) => {
    const ca = await pki.issueCa({ commonName: `Company ${lifeMs}`, lifeMs });
    for (const name of Object.keys(NAMES)) put(sim, name, await issued(pki, name, ca));
  };
  const ready = () => findCondition(sim.cluster?.status?.conditions, "Ready");
  await giveBy(5 * MINUTE);
  await sim.settle();
  await sim.pass(6 * MINUTE);
  assert.equal(ready()?.reason, "CAExpired", ready()?.message);
  assert.match(ready()?.message ?? "", /Put certificates of a valid CA into the Secrets/);
  await giveBy(1_000 * 86_400_000);
  await sim.pass(2 * MINUTE);
  assert.equal(ready()?.reason, "CAExpired", "members run");
  assert.ok(sim.edit({ replicas: 0 }));
  await sim.pass(MINUTE);
  assert.ok(sim.edit({ replicas: 3 }));
  await sim.settle();
  assert.equal(tls()?.status, "True", tls()?.message);
  assert.deepEqual(wrongWith(sim), []);
});
