import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { bench } from "../../kube/testing.ts";
import { createPki } from "../../pki/issue.ts";
import { clientLeaf } from "../../pki/plan.ts";
import type { KubeRequest } from "../../seams/kube-transport.ts";
import { systemRandom } from "../../seams/random.ts";
import type { Certificate } from "../cert-manager.ts";
import { Reissues, staleIn } from "./reissues.ts";

const HOUR = 3_600_000;
const NOW = 1_000 * HOUR;
const leaf = (name: string, ca: string, hoursAgo: number) => ({
  name,
  field: "spec.tls.peer.certManager.member",
  ca,
  notBefore: NOW - hoursAgo * HOUR,
});
const stale = (...leaves: ReturnType<typeof leaf>[]) => staleIn(leaves, NOW).map(({ name }) => name);

test("certificates of the CA that the issuer had before are stale, and only those", () => {
  assert.deepEqual(stale(), []);
  assert.deepEqual(stale(leaf("a", "old", 900), leaf("b", "old", 2)), [], "all of one CA");
  assert.deepEqual(stale(leaf("a", "old", 900), leaf("b", "new", 1), leaf("c", "old", 2)), ["a", "c"]);
  assert.deepEqual(stale(leaf("a", "old", 0), leaf("b", "new", 1)), ["b"], "the issuer went back");
});

test("they are not waited for without end: what is there is used while the old ones are valid", () => {
  assert.deepEqual(stale(leaf("a", "old", 900), leaf("b", "new", 4)), []);
  assert.deepEqual(stale(leaf("a", "old", 900), leaf("b", "new", 4), leaf("c", "new", 0)), []);
});

async function world() {
  const { client, clock, server } = bench();
  const pki = createPki(clock, systemRandom);
  const requests: KubeRequest[] = [];
  const answer = { status: 200 };
  server.intercept = (request) => {
    requests.push(request);
    return { status: answer.status, body: answer.status === 200 ? {} : { kind: "Status", message: "no" } };
  };
  const ca = (commonName: string) => pki.issueCa({ commonName, lifeMs: 100 * HOUR });
  const cas = { old: await ca("old"), new: await ca("new") };
  const written = async (name: string, by: keyof typeof cas) => {
    const { certificate } = await pki.issueLeaf({ ca: cas[by], leaf: clientLeaf(name) });
    const files = { "tls.crt": certificate, "ca.crt": cas[by].certificate };
    const data = Object.entries(files).map(([file, text]) => [file, Buffer.from(text).toString("base64")]);
    const secret: Secret = { data: Object.fromEntries(data) as Record<string, string> };
    return { name, field: "spec.tls.peer.certManager.member", secret };
  };
  const certificate = (name: string): Certificate => ({
    metadata: { name, namespace: "default", uid: `uid-${name}`, resourceVersion: "7", generation: 2 },
    spec: { secretName: name, issuerRef: { name: "peers" } },
    status: { conditions: [{ type: "Ready", status: "True" }] },
  });
  const reissues = new Reissues({ client, pki, now: () => clock.now() });
  return { reissues, requests, answer, written, certificate, clock };
}

test("cert-manager is asked once for each certificate of the previous CA, and it is told what is waited for", async () => {
  const { reissues, requests, written, certificate, clock } = await world();
  const known = ["a", "b"].map(certificate);
  const a = await written("a", "old");
  assert.equal(await reissues.ask([[a, await written("b", "old")]], known), undefined);
  await clock.advance(2_000);
  const groups = [[a, await written("b", "new")]];
  const problem = await reissues.ask(groups, known);
  assert.equal(problem?.reason, "CertificatePending");
  assert.match(problem?.message ?? "", /^spec\.tls\.peer\.certManager\.member: .* reissued a with it/);
  await reissues.ask(groups, known);
  assert.equal(requests.length, 1, "not on every pass");
  const [{ path, body } = { path: "", body: {} }] = requests;
  assert.equal(path, "/apis/cert-manager.io/v1/namespaces/default/certificates/a/status");
  const { metadata, status } = body as Certificate;
  assert.deepEqual(metadata, { uid: "uid-a", resourceVersion: "7" });
  assert.deepEqual(
    status?.conditions?.map((one) => [one.type, one.status]),
    [
      ["Ready", "True"],
      ["Issuing", "True"],
    ],
  );
});

test("an operator whose role lacks the right says so, and waits for cert-manager", async () => {
  const { reissues, answer, written, certificate, clock } = await world();
  answer.status = 403;
  const a = await written("a", "old");
  await clock.advance(2_000);
  const problem = await reissues.ask([[a, await written("b", "new")]], ["a", "b"].map(certificate));
  assert.equal(problem?.reason, "CertificatePending");
  assert.match(problem?.message ?? "", /certificates\/a\/status/);
});
