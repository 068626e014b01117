/** Certificates that somebody else makes: a cluster waits for them, takes them over, and keeps what it has without. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { findCondition } from "../../src/core/status/condition.ts";
import { ModelPki } from "../machine/model-pki.ts";
import { ModelCertManager } from "../models/kube/cert-manager.ts";
import { certificates } from "../models/kube/kinds/certificate.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import { secrets } from "../models/kube/kinds/simple.ts";
import { json } from "../models/kube/object.ts";
import { NAMESPACE } from "./environment.ts";
import { GIVEN_TLS, givenWorld, issued, NAMES, put } from "./given-world.ts";
import { wrongWith } from "./judge.ts";
import { OperatorSimulation } from "./simulation.ts";

const CA = { commonName: "Our company", lifeMs: 1000 * 86_400_000 };
const PATH = `/api/v1/namespaces/${NAMESPACE}/secrets`;

async function world() {
  const given = await givenWorld();
  const { sim } = given;
  const file = (name: string) => {
    const secret = sim.env.server.list(secrets).find(({ metadata }) => metadata.name === "demo-1");
    const data = secret?.["data"] as Record<string, string> | undefined;
    return Buffer.from(data?.[name] ?? "", "base64").toString();
  };
  const running = () => sim.env.server.list(pods).map(({ metadata }) => metadata.uid);
  const replace = (name: string, files: Record<string, string>) => put(sim, name, files);
  return { ...given, put: replace, file, running };
}

test("a cluster waits for its Secrets, comes up with them, and takes over what is renewed without a restart", async () => {
  const { sim, issue, put, tls, file, running } = await world();
  await sim.pass(30_000);
  assert.equal(running().length, 0);
  assert.equal(tls()?.reason, "SecretMissing");
  assert.match(tls()?.message ?? "", /spec\.tls\.client\.secrets\.server: Secret \S+\/web does not exist/);
  for (const name of Object.keys(NAMES)) put(name, await issue(name));
  await sim.settle();
  const started = running();
  assert.equal(started.length, 3);
  assert.equal(tls()?.status, "True", tls()?.message);
  assert.equal(sim.cluster?.status?.clientSecret, undefined);

  const renewed = await issue("web");
  put("web", renewed);
  await sim.pass(60_000);
  assert.equal(file("server.pem"), `${renewed["tls.crt"]}${renewed["tls.key"]}`);
  assert.equal(tls()?.status, "True", tls()?.message);

  const unnamed = await issue("op");
  put("web", unnamed);
  await sim.pass(60_000);
  assert.match(tls()?.message ?? "", /lacks the names demo-1\.demo-peers\.default\.svc, demo-client/);
  assert.equal(file("server.pem"), `${renewed["tls.crt"]}${renewed["tls.key"]}`, "the last good one stays");
  put("web", renewed);
  await sim.pass(60_000);

  const [before, peers] = [file("peer.pem"), await issue("peers")];
  const { "tls.key": _lost, ...keyless } = peers;
  put("peers", keyless);
  await sim.pass(60_000);
  assert.equal(tls()?.reason, "CertificateInvalid");
  assert.match(tls()?.message ?? "", /spec\.tls\.peer\.secrets\.member: Secret \S+ has no tls\.key/);
  sim.user({ method: "DELETE", path: `${PATH}/peers` });
  await sim.pass(60_000);
  assert.equal(tls()?.reason, "SecretMissing");
  assert.equal(file("peer.pem"), before, "the last good one stays");

  put("peers", peers);
  await sim.settle();
  assert.equal(tls()?.status, "True", tls()?.message);
  assert.equal(file("peer.pem"), `${peers["tls.crt"]}${peers["tls.key"]}`);
  assert.deepEqual(running(), started, "no member was restarted");
});

test("with cert-manager, which may come later, each member has a certificate of its own; an issuer that is missing is told", async () => {
  const certManager = { server: { name: "web" }, operator: { name: "clients" } };
  const tls = {
    mode: "CertManager",
    client: { certManager },
    peer: { certManager: { member: { name: "nobody" } } },
  } as const;
  const sim = new OperatorSimulation({ replicas: 3, version: "3.6.16", tls }, { seed: 5 });
  const reported = () => findCondition(sim.cluster?.status?.conditions, "TLSReady");
  await sim.pass(30_000);
  assert.equal(reported()?.reason, "CertManagerMissing", reported()?.message);

  const { server, scheduler, clock } = sim.env;
  const pki = new ModelPki(clock, { last: 1_000_000 });
  const [web, clients] = [await pki.issueCa(CA), await pki.issueCa(CA)];
  const issuers = new Map([
    ["web", web],
    ["clients", clients],
  ]);
  const certManagerModel = new ModelCertManager({ server, scheduler, pki, issuers });
  await sim.pass(60_000);
  assert.equal(reported()?.reason, "CertificatePending");
  assert.match(
    reported()?.message ?? "",
    /spec\.tls\.peer\.certManager\.member: .*by Issuer nobody \(Issuing/,
  );
  issuers.set("nobody", await pki.issueCa(CA));
  await sim.settle();
  assert.equal(reported()?.status, "True", reported()?.message);
  assert.equal(sim.cluster?.status?.clientSecret, "demo-client-tls");
  const made = server.list(certificates).map(({ metadata }) => metadata.name);
  assert.deepEqual(made.toSorted(), [
    "demo-1-gateway-issued",
    "demo-1-peer-issued",
    "demo-1-server-issued",
    "demo-2-gateway-issued",
    "demo-2-peer-issued",
    "demo-2-server-issued",
    "demo-3-gateway-issued",
    "demo-3-peer-issued",
    "demo-3-server-issued",
    "demo-client-issued",
    "demo-operator-issued",
  ]);
  const secret = (name: string) => server.list(secrets).find(({ metadata }) => metadata.name === name);
  const pem = (name: string, file: string) =>
    Buffer.from(String(json(secret(name)?.["data"])[file] ?? ""), "base64").toString();
  const gateway = pem("demo-1-gateway-issued", "tls.crt") + pem("demo-1-gateway-issued", "tls.key");
  assert.equal(pem("demo-1", "gateway.pem"), gateway);
  assert.deepEqual(wrongWith(sim), []);
  const started = server.list(pods).map(({ metadata }) => metadata.uid);
  await certManagerModel.renew("demo-1-server-issued");
  await sim.pass(10_000);
  const renewed = pem("demo-1-server-issued", "tls.crt") + pem("demo-1-server-issued", "tls.key");
  assert.equal(pem("demo-1", "server.pem"), renewed, "at once, by its label");
  assert.equal(reported()?.status, "True", reported()?.message);
  assert.deepEqual(
    server.list(pods).map(({ metadata }) => metadata.uid),
    started,
  );

  const since = reported()?.lastTransitionTime;
  for (const { life } of sim.seats) life?.cut("killed");
  await sim.pass(60_000);
  assert.equal(
    reported()?.lastTransitionTime,
    since,
    "the next operator has not missed cert-manager for a moment",
  );

  sim.user({
    method: "DELETE",
    path: `/apis/etcd.quorate.dev/v1alpha1/namespaces/${NAMESPACE}/etcdclusters/demo`,
  });
  await sim.pass(120_000);
  const left = [...server.list(secrets), ...server.list(certificates)].map(({ metadata }) => metadata.name);
  assert.deepEqual(left, [], "what cert-manager wrote goes with the cluster");
});

test("what gateways dial with is nobody to etcd, and members take only peers by the name of their cluster", async () => {
  const client = { secrets: { ...GIVEN_TLS.client.secrets, gateway: "gateway" } };
  const { sim, issue, ca, pki, tls } = await givenWorld({ client });
  for (const name of Object.keys(NAMES)) put(sim, name, await issue(name));
  put(sim, "gateway", await issued(pki, "", ca));
  await sim.settle();
  assert.equal(tls()?.status, "True", tls()?.message);
  const dialling = () => {
    const secret = sim.env.server.list(secrets).find(({ metadata }) => metadata.name === "demo-1");
    return Buffer.from(String(json(secret?.["data"])["gateway.pem"]), "base64").toString();
  };
  const before = dialling();
  put(sim, "gateway", await issued(pki, "root", ca));
  await sim.pass(60_000);
  assert.equal(tls()?.reason, "CertificateInvalid", tls()?.message);
  assert.match(tls()?.message ?? "", /secrets\.gateway: .* has the common name root, and must have none/);
  assert.equal(dialling(), before, "a request of anybody would act as root");
  const server = sim.env.pods.server("demo-1");
  assert.match(server?.start.configText ?? "", /"allowed-hostname": \[\s*"demo-peers\.default\.svc"/);
});
