/** An issuer of cert-manager that goes over to another CA, and another source in place of cert-manager or before it. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { findCondition } from "../../src/core/status/condition.ts";
import { ANNOTATIONS } from "../../src/operator/names.ts";
import { certificatesIn, ModelPki } from "../machine/model-pki.ts";
import { ModelCertManager } from "../models/kube/cert-manager.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import { secrets } from "../models/kube/kinds/simple.ts";
import { NAMESPACE } from "./environment.ts";
import { give, GIVEN_TLS } from "./given-world.ts";
import { OperatorSimulation } from "./simulation.ts";

const DAY = 86_400_000;
const MINUTE = 60_000;
const ISSUED_TLS = {
  mode: "CertManager",
  client: { certManager: { server: { name: "web" }, operator: { name: "web" } } },
  peer: { certManager: { member: { name: "peers" } } },
} as const;
const MEMBERS = ["demo-1", "demo-2", "demo-3"];

async function world(tls: typeof ISSUED_TLS | typeof GIVEN_TLS = ISSUED_TLS) {
  const spec = { replicas: 3, version: "3.6.16", tls: { ...tls, rotation: { soak: "5s" } } };
  const sim = new OperatorSimulation(spec, { seed: 5 });
  const { server, scheduler, clock } = sim.env;
  const pki = new ModelPki(clock, { last: 3_000_000 });
  const ca = (commonName: string) => pki.issueCa({ commonName, lifeMs: 1000 * DAY });
  const issuers = new Map([
    ["web", await ca("Issuer 1")],
    ["peers", await ca("Issuer 1")],
  ]);
  const certManager = new ModelCertManager({ server, scheduler, pki, issuers });
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
  const rotations = () =>
    ["demo-client-ca", "demo-peer-ca"].map((name) => {
      const { metadata } = server.get(secrets, `${NAMESPACE}/${name}`) ?? {};
      const note = metadata?.annotations?.[ANNOTATIONS.rotation] ?? "";
      return (JSON.parse(note) as { generation: number }).generation - 1;
    });
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
  return { sim, ca, issuers, certManager, file, trusts, rotations, tlsReady, pass, starts };
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
