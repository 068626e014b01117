/** With what the HTTP gateway of a member dials it, where the certificates are a person's (R51, R55). */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { sentencesOf } from "../../control/problem.ts";
import { healthy, specOf } from "../../core/testing/cluster.ts";
import { createPki } from "../../pki/issue.ts";
import { systemClock } from "../../seams/clock.ts";
import type { LeafSpec } from "../../seams/pki.ts";
import { systemRandom } from "../../seams/random.ts";
import { FILES } from "../render/config.ts";
import { Certificates } from "./certificates.ts";
import { givenSource, placesOf } from "./given.ts";

const DAY = 24 * 3_600_000;

/** The files of a member, with a Secret for its gateway that has this common name. */
async function filesWith(commonName: string, isNamed = true) {
  const pki = createPki(systemClock, systemRandom);
  const certificates = new Certificates(pki, systemClock);
  const ca = await pki.issueCa({ commonName: "Our company", lifeMs: 100 * DAY });
  const found = new Map<string, Secret>();
  const put = async (name: string, leaf: Pick<LeafSpec, "commonName" | "usages">, dns: readonly string[]) => {
    const made = await pki.issueLeaf({ ca, leaf: { ...leaf, sans: { dns, ips: [] }, lifeMs: 30 * DAY } });
    const files = { "tls.crt": made.certificate, "tls.key": made.key, "ca.crt": ca.certificate };
    const data = Object.entries(files).map(([file, text]) => [file, Buffer.from(text).toString("base64")]);
    found.set(name, { metadata: { name }, data: Object.fromEntries(data) as Record<string, string> });
    return made.certificate + made.key;
  };
  await put("web", { commonName: "web", usages: ["serverAuth", "clientAuth"] }, [
    "demo-client.default.svc",
    "*.demo-peers.default.svc",
  ]);
  await put("op", { commonName: "op", usages: ["clientAuth"] }, []);
  const given = await put("gate", { commonName, usages: ["clientAuth"] }, []);
  const secrets = { server: "web", operator: "op", ...(isNamed && { gateway: "gate" }) };
  const tls = specOf({ tls: { client: { mode: "Secrets", secrets }, peer: { mode: "Disabled" } } }).tls;
  const { cluster: facts, members } = healthy();
  const cluster = { ...facts, spec: { ...facts.spec, tls } };
  const record = { ...members[0]!.record, template: { ...members[0]!.record.template, tls } };
  const placed = { spec: cluster.spec, observation: { cluster } };
  const places = placesOf(placed, "client", [record], []);
  certificates.useGiven("client", givenSource({ places, namespace: "default", found }));
  const files = (await certificates.memberFiles(cluster, record, undefined)) ?? {};
  return { files, given, problems: certificates.keeper.problems };
}

test("a gateway dials with the certificate that is named for it", async () => {
  const { files, given, problems } = await filesWith("");
  assert.equal(files[FILES.gatewayPem], given);
  assert.deepEqual(problems, []);
});

test("it has none of its own where none is named, and nobody misses one", async () => {
  const { files, problems } = await filesWith("", false);
  assert.ok(files[FILES.serverPem]);
  assert.equal(files[FILES.gatewayPem], undefined);
  assert.deepEqual(problems, []);
});

test("it is given none with a common name, as which requests of others would act", async () => {
  const { files, problems } = await filesWith("somebody");
  assert.equal(files[FILES.gatewayPem], files[FILES.serverPem], "the member starts all the same");
  assert.match(
    sentencesOf(problems).join(),
    /^spec\.tls\.client\.secrets\.gateway: Secret default\/gate, tls\.crt: the certificate has the common name somebody/,
  );
});
