/** Auth tokens on the real operator: members whose tokens are of another kind or key refuse those of the others (R53). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { API_VERSION } from "../../src/api/metadata.ts";
import { secretNames } from "../../src/operator/names.ts";
import { secrets } from "../models/kube/kinds/simple.ts";
import { json } from "../models/kube/object.ts";
import { NAME, NAMESPACE } from "./environment.ts";
import { staysQuiet, wrongWith } from "./judge.ts";
import { Moves } from "./moves.ts";
import { OperatorSimulation } from "./simulation.ts";

const BY_PASSWORD = { replicas: 3, version: "3.6.16", tls: { mode: "Disabled" } } as const;
const ENABLED = { enabled: true, clientRoles: [] };
const JWT = { type: "JWT" } as const;

const serversOf = ({ env }: OperatorSimulation) =>
  env.members().flatMap(({ metadata }) => env.pods.server(metadata.name) ?? []);
const keysOf = (sim: OperatorSimulation) => [...new Set(serversOf(sim).map(({ tokenKey }) => tokenKey))];

function numbersOf({ env }: OperatorSimulation): string[] {
  const secret = env.server.get(secrets, `${NAMESPACE}/${secretNames(NAME).tokenKeys}`);
  return Object.keys(json(secret?.["data"] ?? {}));
}

function operate(sim: OperatorSimulation, name: string): void {
  const body = {
    apiVersion: API_VERSION,
    kind: "EtcdOperation",
    metadata: { name, namespace: NAMESPACE },
    spec: { cluster: NAME, rotateCertificates: { tokenKey: true } },
  };
  const path = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdoperations`;
  assert.equal(sim.user({ method: "POST", path, body }).status, 201);
}

/** Until it rests, with a look at every step. */
async function watched(sim: OperatorSimulation, look: () => void): Promise<void> {
  for (let passes = 0; passes < 400 && !(sim.converged && passes > 5); passes++) {
    await sim.pass(250);
    look();
  }
  await sim.settle();
}

test("an operator that logs in by password follows from Simple to JWT, to another key, and back", async () => {
  const sim = new OperatorSimulation(BY_PASSWORD, { seed: 61 });
  const moves = new Moves(sim);
  await sim.settle();
  moves.perform({ do: "edit", change: { auth: ENABLED } });
  await sim.settle();
  assert.deepEqual(keysOf(sim), [undefined]);
  moves.perform({ do: "edit", change: { auth: { ...ENABLED, token: JWT } } });
  await sim.settle();
  const [first] = keysOf(sim);
  assert.match(first ?? "", /^[0-9a-f]{96}$/);
  assert.deepEqual(numbersOf(sim), ["auth-token-1.key"]);
  operate(sim, "another-key");
  await sim.pass(1_000);
  await sim.settle();
  const [second] = keysOf(sim);
  assert.match(second ?? "", /^[0-9a-f]{96}$/);
  assert.notEqual(second, first);
  assert.deepEqual(numbersOf(sim), ["auth-token-2.key"], "nobody needs the first any more");
  assert.deepEqual(wrongWith(sim), []);
  await staysQuiet(sim);
  moves.perform({ do: "edit", change: { auth: { ...ENABLED, token: { type: "Simple" } } } });
  await sim.settle();
  assert.deepEqual([keysOf(sim), numbersOf(sim)], [[undefined], []]);
  assert.deepEqual(wrongWith(sim), []);
});

test("auth is enabled only once every member runs with the tokens of the spec", async () => {
  const sim = new OperatorSimulation(BY_PASSWORD, { seed: 62 });
  await sim.settle();
  new Moves(sim).perform({ do: "edit", change: { auth: { ...ENABLED, token: JWT } } });
  let early = 0;
  await watched(sim, () => {
    const servers = serversOf(sim).filter(({ phase }) => phase === "running");
    const isOn = servers.some(({ dir }) => dir.state.auth.enabled);
    if (isOn && servers.some(({ tokenKey }) => tokenKey === undefined)) early++;
  });
  assert.equal(early, 0);
  assert.ok(serversOf(sim).every(({ dir }) => dir.state.auth.enabled));
});

test("a key that is as old as it may be is replaced by itself, and its Secret may get lost meanwhile", async () => {
  const spec = {
    replicas: 3,
    version: "3.6.16",
    auth: { ...ENABLED, token: { ...JWT, keyLifetime: "15m" } },
  };
  const sim = new OperatorSimulation(spec, { seed: 63 });
  await sim.settle();
  const [first] = keysOf(sim);
  const name = secretNames(NAME).tokenKeys;
  sim.user({ method: "DELETE", path: `/api/v1/namespaces/${NAMESPACE}/secrets/${name}` });
  await sim.settle();
  assert.deepEqual(keysOf(sim), [first], "it is taken from the members, which nobody restarts for it");
  assert.deepEqual(wrongWith(sim), []);
  await sim.pass(15 * 60_000);
  await sim.settle();
  const [second, ...others] = keysOf(sim);
  assert.deepEqual(others, []);
  assert.ok(second !== undefined && second !== first);
  assert.deepEqual(wrongWith(sim), []);
});

test("however often the operator dies, members end up with one key, which is the newest", async () => {
  const spec = { ...BY_PASSWORD, auth: { ...ENABLED, token: JWT } };
  const sim = new OperatorSimulation(spec, { seed: 64, operators: 2 });
  await sim.settle();
  operate(sim, "another-key");
  for (let deaths = 0; deaths < 10; deaths++) {
    await sim.pass(40 + 90 * deaths);
    for (const { life } of sim.seats.slice(0, 1)) life?.cut("killed");
  }
  await sim.settle();
  assert.deepEqual(numbersOf(sim), ["auth-token-2.key"]);
  assert.deepEqual(wrongWith(sim), []);
});

test("a Secret of somebody else's with the name of the keys stops nobody, and members follow once it is gone", async () => {
  const sim = new OperatorSimulation(BY_PASSWORD, { seed: 65 });
  await sim.settle();
  const path = `/api/v1/namespaces/${NAMESPACE}/secrets`;
  const name = secretNames(NAME).tokenKeys;
  const body = { apiVersion: "v1", kind: "Secret", metadata: { name, namespace: NAMESPACE } };
  assert.equal(sim.user({ method: "POST", path, body }).status, 201);
  new Moves(sim).perform({ do: "edit", change: { auth: { enabled: false, token: JWT } } });
  for (let passes = 0; passes < 60; passes++) await sim.pass(250);
  const running = serversOf(sim).filter(({ phase }) => phase === "running");
  assert.deepEqual([running.length, keysOf(sim)], [3, [undefined]]);
  sim.user({ method: "DELETE", path: `${path}/${name}` });
  await sim.settle();
  assert.match(keysOf(sim).join(), /^[0-9a-f]{96}$/);
  assert.deepEqual(wrongWith(sim), []);
});

test("a key that is due again waits until every member has the present one", async () => {
  const auth = { ...ENABLED, token: { ...JWT, keyLifetime: "15m" } };
  const sim = new OperatorSimulation(
    { ...BY_PASSWORD, auth, update: { strategy: "OnApproval" } },
    { seed: 66 },
  );
  await sim.settle();
  assert.deepEqual(numbersOf(sim), ["auth-token-1.key"]);
  await sim.pass(35 * 60_000);
  assert.deepEqual(numbersOf(sim), ["auth-token-1.key", "auth-token-2.key"], "nobody approved the roll");
});
