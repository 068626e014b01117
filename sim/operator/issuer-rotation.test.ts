/** An issuer of cert-manager that goes over to another CA, and another source in place of cert-manager or before it. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { findCondition } from "../../src/core/status/condition.ts";
import { ANNOTATIONS } from "../../src/operator/names.ts";
import { certificatesIn } from "../machine/model-pki.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import { secrets } from "../models/kube/kinds/simple.ts";
import { NAMESPACE } from "./environment.ts";
import { certManagerIn, give, GIVEN_TLS, ISSUED_APART_TLS, ISSUED_TLS } from "./given-world.ts";
import { Moves } from "./moves.ts";
import { OperatorSimulation } from "./simulation.ts";

const MINUTE = 60_000;
const MEMBERS = ["demo-1", "demo-2", "demo-3"];

async function world(tls: EtcdClusterSpecInput["tls"] = ISSUED_TLS) {
  const soaking = tls?.mode === "Disabled" ? {} : { rotation: { soak: "5s" } };
  const spec = { replicas: 3, version: "3.6.16", tls: { ...tls, ...soaking } };
  const sim = new OperatorSimulation(spec, { seed: 5 });
  const { server } = sim.env;
  const { ca, issuers, certManager } = await certManagerIn(sim);
  if (tls === GIVEN_TLS) await give(sim, 1);
  await sim.settle();
  const dataOf = (name: string) =>
    server.get(secrets, `${NAMESPACE}/${name}`)?.["data"] as Record<string, string>;
  const file = (secret: string, name: string) =>
    certificatesIn(Buffer.from(dataOf(secret)[name] ?? "", "base64").toString());
  const trusts = () =>
    MEMBERS.flatMap((member) => ["client-ca.crt", "peer-ca.crt"].map((name) => file(member, name)))
      .flat()
      .map(({ serial }) => serial);
  const rotation = (name: string) => {
    const { metadata } = server.get(secrets, `${NAMESPACE}/${name}`) ?? {};
    const note = metadata?.annotations?.[ANNOTATIONS.rotation] ?? "";
    return JSON.parse(note) as { readonly generation: number; readonly phase: string };
  };
  const rotations = () => ["demo-client-ca", "demo-peer-ca"].map((name) => rotation(name).generation - 1);
  const phase = () => rotation("demo-client-ca").phase;
  const tlsReady = () => findCondition(sim.cluster?.status?.conditions, "TLSReady");
  const seen = new Map(MEMBERS.map((name) => [name, new Set<string | undefined>()]));
  const note = () => {
    for (const { metadata } of server.list(pods)) seen.get(metadata.name)?.add(metadata.uid);
  };
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 2_000) {
      await sim.pass(2_000);
      note();
      const { voters, healthy } = sim.oracle.truth();
      assert.ok(healthy.size > voters / 2, "quorum is kept");
    }
  };
  note();
  const starts = () => MEMBERS.map((name) => seen.get(name)?.size);
  return { sim, ca, issuers, certManager, file, trusts, rotations, phase, tlsReady, pass, starts, dataOf };
}

test("an issuer that goes over to another CA is followed once, although cert-manager issues only what is due", async () => {
  const w = await world();
  const [web, peers] = [await w.ca("Issuer 2"), await w.ca("Issuer 2")];
  w.issuers.set("web", web);
  w.issuers.set("peers", peers);
  await w.certManager.renew("demo-2-peer-issued");
  await w.certManager.renew("demo-1-server-issued");
  await w.pass(6 * MINUTE);
  await w.sim.settle();
  assert.deepEqual(new Set(w.trusts()), new Set([web.serial, peers.serial]), "no member trusts the old ones");
  assert.deepEqual(w.rotations(), [1, 1], "each CA is rotated once");
  assert.deepEqual(w.starts(), [3, 3, 3], "by two restarts");
  const published = w.file("demo-client-tls", "tls.crt");
  assert.equal(published[0]?.issuer, web.serial, "what clients are given is accepted");
  assert.equal(w.tlsReady()?.status, "True", w.tlsReady()?.message);
});

test("while cert-manager does not reissue the others, members stay with the CA that they have", async () => {
  const w = await world();
  w.issuers.set("peers", await w.ca("Issuer 2"));
  await w.certManager.renew("demo-2-peer-issued");
  w.issuers.delete("peers");
  await w.pass(MINUTE);
  assert.deepEqual(w.rotations(), [0, 0]);
  assert.equal(w.tlsReady()?.reason, "CertificatePending", w.tlsReady()?.message);
  assert.match(w.tlsReady()?.message ?? "", /spec\.tls\.peer\.certManager\.member: .*demo-1-peer-issued/);
  assert.deepEqual(w.starts(), [1, 1, 1]);
});

test("an issuer that does not exist is told, and members keep their certificates until there is one", async () => {
  const w = await world();
  const before = w.dataOf("demo-2")["peer.pem"];
  const by = (name: string) => ({ tls: { peer: { certManager: { member: { name } } } } });
  assert.ok(w.sim.edit(by("nowhere")));
  await w.pass(MINUTE);
  assert.equal(w.tlsReady()?.reason, "CertificatePending", w.tlsReady()?.message);
  assert.match(w.tlsReady()?.message ?? "", /^spec\.tls\.peer\.certManager\.member: .*Issuer nowhere/);
  assert.equal(w.dataOf("demo-2")["peer.pem"], before);
  assert.ok(w.sim.edit({ replicas: 2 }));
  await w.pass(MINUTE);
  assert.equal(w.sim.env.members().length, 2, "what needs no certificate goes on");
  assert.ok(w.sim.edit({ ...by("peers"), replicas: 2 }));
  await w.pass(MINUTE);
  await w.sim.settle();
  assert.equal(w.tlsReady()?.status, "True", w.tlsReady()?.message);
  assert.deepEqual(w.rotations(), [0, 0]);
});

test("from the user's Secrets to cert-manager takes the two restarts of its rotation, and none before", async () => {
  const w = await world(GIVEN_TLS);
  const { client, peer, mode } = ISSUED_TLS;
  const tls = {
    mode,
    client: { secrets: null, ...client },
    peer: { secrets: null, ...peer },
  };
  assert.ok(w.sim.edit({ tls }));
  await w.pass(6 * MINUTE);
  await w.sim.settle();
  assert.deepEqual(w.rotations(), [1, 1]);
  assert.deepEqual(w.starts(), [3, 3, 3]);
  assert.equal(w.tlsReady()?.status, "True", w.tlsReady()?.message);
});

test("peers from plaintext to certificates of cert-manager and back, each member by two restarts", async () => {
  const w = await world({ peer: { mode: "Disabled" } });
  assert.ok(w.sim.edit({ tls: { peer: { mode: "CertManager", ...ISSUED_TLS.peer } } }));
  await w.pass(2 * MINUTE);
  await w.sim.settle();
  assert.equal(w.tlsReady()?.status, "True", w.tlsReady()?.message);
  assert.deepEqual(
    w.file("demo-2", "peer-ca.crt").map(({ commonName }) => commonName),
    ["Issuer 1"],
  );
  assert.deepEqual(w.starts(), [3, 3, 3]);
  assert.ok(w.sim.edit({ tls: { peer: { mode: "Disabled", certManager: null } } }));
  await w.pass(2 * MINUTE);
  await w.sim.settle();
  assert.equal(w.tlsReady()?.status, "True", w.tlsReady()?.message);
  assert.deepEqual(w.file("demo-2", "peer-ca.crt"), []);
  assert.deepEqual(w.starts(), [5, 5, 5]);
});

test("both planes from plaintext to certificates of cert-manager and back, by operators that end again and again", async () => {
  const transition = { proceed: "After", after: "5s" } as const;
  const w = await world({ mode: "Disabled", transition });
  const moves = new Moves(w.sim);
  const over = async (tls: object) => {
    assert.ok(w.sim.edit({ tls: { transition, ...tls } }));
    for (let life = 0; life < 6; life++) {
      await w.pass(2_000 + 2_000 * life);
      moves.perform({ do: "operator", fault: "kill", pick: life, forMs: 0 });
    }
    await w.sim.settle();
  };
  const trusted = () =>
    ["client-ca.crt", "peer-ca.crt"].map((name) =>
      w.file("demo-2", name).map(({ commonName }) => commonName),
    );
  await over({ ...ISSUED_TLS, rotation: { soak: "5s" } });
  assert.equal(w.tlsReady()?.status, "True", w.tlsReady()?.message);
  assert.deepEqual(trusted(), [["Issuer 1"], ["Issuer 1"]]);
  await over({ mode: "Disabled", client: null, peer: null, rotation: null });
  assert.equal(w.tlsReady()?.reason, "Disabled");
  assert.deepEqual(trusted(), [[], []]);
});

test("from cert-manager to CAs of the operator and back, each time by the two restarts of a rotation", async () => {
  const w = await world();
  const trusted = () =>
    ["client-ca.crt", "peer-ca.crt"].map((name) =>
      w.file("demo-2", name).map(({ commonName }) => commonName),
    );
  assert.ok(w.sim.edit({ tls: { mode: "Managed", client: null, peer: null } }));
  await w.pass(6 * MINUTE);
  await w.sim.settle();
  assert.equal(w.tlsReady()?.status, "True", w.tlsReady()?.message);
  assert.deepEqual(trusted(), [["demo client CA 2"], ["demo peer CA 2"]]);
  assert.deepEqual(w.rotations(), [1, 1]);
  assert.deepEqual(w.starts(), [3, 3, 3]);
  assert.equal(w.file("demo-client-tls", "tls.crt")[0]?.commonName, "quorate-user");
  assert.ok(w.sim.edit({ tls: ISSUED_TLS }));
  await w.pass(6 * MINUTE);
  await w.sim.settle();
  assert.equal(w.tlsReady()?.status, "True", w.tlsReady()?.message);
  assert.deepEqual(trusted(), [["Issuer 1"], ["Issuer 1"]]);
  assert.deepEqual(w.starts(), [5, 5, 5]);
});

test("from cert-manager with an issuer for servers and one for clients: clients keep their own, and trust the next CA in time", async () => {
  const w = await world(ISSUED_APART_TLS);
  await give(w.sim, 1);
  const { client, peer, mode } = GIVEN_TLS;
  const tls = { mode, client: { certManager: null, ...client }, peer: { certManager: null, ...peer } };
  assert.ok(w.sim.edit({ tls }));
  const company = w.file("web", "ca.crt")[0]?.serial ?? "";
  const trusted = new Map<string, boolean>();
  for (let left = 600; w.phase() !== "Reissue"; left--) {
    assert.ok(left > 0, "members are given certificates of the user");
    for (const [name, owner] of [
      ["demo-client-tls", "quorate-user"],
      ["demo-operator", "quorate-operator"],
    ] as const) {
      assert.equal(w.file(name, "tls.crt")[0]?.commonName, owner);
      assert.ok(w.dataOf(name)["tls.key"], `${name} has a key`);
      trusted.set(
        name,
        w.file(name, "ca.crt").some(({ serial }) => serial === company),
      );
    }
    await w.sim.pass(500);
  }
  assert.deepEqual([...trusted.values()], [true, true], "before members are given other certificates");
  await w.sim.settle();
  assert.equal(w.tlsReady()?.status, "True", w.tlsReady()?.message);
});
