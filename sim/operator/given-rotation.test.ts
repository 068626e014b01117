/** Another CA of certificates that somebody else makes: no member serves or drops what another one does not accept. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { certificatesIn, ModelPki } from "../machine/model-pki.ts";
import { secrets } from "../models/kube/kinds/simple.ts";
import { NAMESPACE } from "./environment.ts";
import { givenWorld, NAMES, put } from "./given-world.ts";

const DAY = 86_400_000;
const MINUTE = 60_000;

async function world() {
  const given = await givenWorld({ rotation: { soak: "1m" } });
  const { sim } = given;
  for (const name of Object.keys(NAMES)) put(sim, name, await given.issue(name));
  await sim.settle();
  const pki = new ModelPki(sim.env.clock, { last: 2_000_000 });
  const next = await pki.issueCa({ commonName: "Another company", lifeMs: 1000 * DAY });
  const serialOf = (text: string) => certificatesIn(text).map(({ serial }) => serial);
  const file = (member: string, name: string) => {
    const secret = sim.env.server.get(secrets, `${NAMESPACE}/${member}`);
    const data = secret?.["data"] as Record<string, string> | undefined;
    return Buffer.from(data?.[name] ?? "", "base64").toString();
  };
  const issuers = (name: string) =>
    ["demo-1", "demo-2", "demo-3"].map((member) => certificatesIn(file(member, name))[0]?.issuer);
  const trusts = (name: string) =>
    ["demo-1", "demo-2", "demo-3"].map((member) => serialOf(file(member, name)));
  return { ...given, next, issuers, trusts };
}

const phases = (world: Awaited<ReturnType<typeof givenWorld>>) =>
  world.sim.latest?.decision.holds.filter(({ reason }) => reason === "RotatingCA").map(({ code }) => code);

test("changed Secrets with another CA are taken over on both planes, and every member keeps quorum meanwhile", async () => {
  const w = await world();
  const { sim, ca, next, issue, tls, issuers, trusts } = w;
  const old = ca.serial;
  for (const name of Object.keys(NAMES)) put(sim, name, await issue(name, next));
  const seen = new Set<string>();
  const isThere = () => !issuers("peer.pem").includes(old) && !trusts("peer-ca.crt").flat().includes(old);
  for (let step = 0; step < 300 && !isThere(); step++) {
    await sim.pass(2_000);
    for (const code of phases(w) ?? []) seen.add(code);
    const { voters, healthy } = sim.oracle.truth();
    assert.ok(healthy.size > voters / 2, "quorum is kept");
  }
  await sim.settle();
  assert.deepEqual(
    [...seen].filter((code) => code !== "AuthorityWaits").toSorted(),
    ["BundleSoaks", "LeavesSoak", "LeavesUnseen", "TrustDropping", "TrustRolling"].toSorted(),
  );
  for (const name of ["server.pem", "peer.pem"])
    assert.deepEqual(new Set(issuers(name)), new Set([next.serial]));
  for (const name of ["client-ca.crt", "peer-ca.crt"])
    assert.deepEqual(trusts(name), [[next.serial], [next.serial], [next.serial]]);
  assert.equal(tls()?.status, "True", tls()?.message);
});

test("put back while members are restarted, or while certificates are taken over, the former CA stays", async () => {
  for (const phase of ["TrustRolling", "LeavesUnseen"] as const) {
    const w = await world();
    const { sim, ca, next, issue, tls, issuers, trusts } = w;
    for (const name of Object.keys(NAMES)) put(sim, name, await issue(name, next));
    for (let step = 0; step < 300 && !phases(w)?.includes(phase); step++) await sim.pass(1_000);
    assert.ok(phases(w)?.includes(phase), `${phase} was not reached: ${phases(w)?.join()}`);
    for (const name of Object.keys(NAMES)) put(sim, name, await issue(name));
    await sim.pass(6 * MINUTE);
    await sim.settle();
    for (const name of ["server.pem", "peer.pem"])
      assert.deepEqual(new Set(issuers(name)), new Set([ca.serial]));
    for (const name of ["client-ca.crt", "peer-ca.crt"])
      assert.deepEqual(trusts(name), [[ca.serial], [ca.serial], [ca.serial]], phase);
    assert.equal(tls()?.status, "True", tls()?.message);
  }
});
