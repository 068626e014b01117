import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "node:test";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import type { EtcdClusterSpecInput } from "../../api/etcd-cluster-spec.ts";
import { healthy, specOf } from "../../core/testing/cluster.ts";
import { createPki } from "../../pki/issue.ts";
import { PLANES, type Plane } from "../../pki/plan.ts";
import type { Sans, Usage } from "../../seams/pki.ts";
import { systemClock } from "../../seams/clock.ts";
import { systemRandom } from "../../seams/random.ts";
import { CLIENTS } from "../names.ts";
import { FILES } from "../render/config.ts";
import { memberSecret } from "../render/secret.ts";
import { Certificates } from "./certificates.ts";
import { givenSource, nameClash, placesOf } from "./given.ts";

const DAY = 24 * 3_600_000;
const TLS: EtcdClusterSpecInput["tls"] = {
  mode: "Secrets",
  client: { secrets: { server: "web", operator: "op" } },
  peer: { secrets: { member: "peers" } },
};
const { cluster: facts, members } = healthy({ tls: TLS });
const cluster = { ...facts, spec: specOf({ tls: TLS }) };
const record = members[0]!.record;
const view = { spec: cluster.spec, observation: { cluster } };
const NAMES: Record<string, Sans> = {
  web: { dns: ["demo-client.default.svc", "*.demo-peers.default.svc"], ips: [] },
  peers: { dns: ["demo-peers.default.svc", "*.default.svc", "*.demo"], ips: [] },
  op: { dns: [], ips: [] },
};

async function world(names = NAMES) {
  const time = { now: systemClock.now() };
  const pki = createPki({ ...systemClock, now: () => time.now }, systemRandom);
  const certificates = new Certificates(pki, { now: () => time.now });
  const authority = () => pki.issueCa({ commonName: "Our company", lifeMs: 100 * DAY });
  const cas = { web: await authority(), op: await authority(), peers: await authority() };
  const issue = async (
    name: keyof typeof cas,
    usages: Usage[] = name === "op" ? ["clientAuth"] : ["serverAuth", "clientAuth"],
    ca = cas[name],
  ) => {
    const leaf = { commonName: name, sans: names[name]!, usages, lifeMs: 30 * DAY };
    const { certificate, key } = await pki.issueLeaf({ ca, leaf });
    return secret(name, { "tls.crt": certificate, "tls.key": key, "ca.crt": ca.certificate });
  };
  const found = new Map<string, Secret>();
  for (const name of ["web", "op", "peers"] as const) found.set(name, await issue(name));
  const use = (plane: Plane, inUse?: { trust: string; accepts: string }) =>
    certificates.useGiven(
      plane,
      givenSource({ places: placesOf(view, plane, [record], []), namespace: "default", found, inUse }),
    );
  const useBoth = () => PLANES.map((plane) => use(plane));
  const files = async (present?: Secret) => await certificates.memberFiles(cluster, record, present);
  return { certificates, time, cas, issue, found, use, useBoth, files };
}

function secret(name: string, files: Record<string, string>): Secret {
  const data = Object.entries(files).map(([file, text]) => [file, Buffer.from(text).toString("base64")]);
  return {
    metadata: { name, namespace: "default" },
    data: Object.fromEntries(data) as Record<string, string>,
  };
}

const text = (from: Secret | undefined, file: string) =>
  Buffer.from(from?.data?.[file] ?? "", "base64").toString();

const without = (from: Secret, file: string): Secret => {
  const { [file]: _gone, ...data } = from.data ?? {};
  return { ...from, data };
};

test("certificates of the user are copied to a member as one file, with whom to trust on either side", async () => {
  const { certificates, cas, found, useBoth, files } = await world();
  assert.deepEqual(useBoth(), [true, true]);
  const made = (await files()) ?? {};
  assert.deepEqual(certificates.keeper.problems, []);
  assert.equal(made[FILES.serverPem], text(found.get("web"), "tls.crt") + text(found.get("web"), "tls.key"));
  assert.equal(
    made[FILES.peerPem],
    text(found.get("peers"), "tls.crt") + text(found.get("peers"), "tls.key"),
  );
  assert.equal(made[FILES.peerClientPem], made[FILES.peerPem]);
  assert.equal(made[FILES.clientCA], cas.op.certificate, "members trust the CA of clients");
  assert.equal(made[FILES.serverCA], cas.web.certificate);
  assert.equal(made[FILES.peerCA], cas.peers.certificate);
  const operator = await certificates.clientFiles(cluster, CLIENTS.operator, undefined);
  assert.equal(operator?.certificate, text(found.get("op"), "tls.crt"));
  assert.equal(operator?.ca, cas.web.certificate, "the operator trusts the CA of servers");
  assert.ok(certificates.areValid(record, memberSecret(cluster, record, made)));
  assert.deepEqual(await files(memberSecret(cluster, record, made)), made, "and stay");
});

test("a changed certificate of the same CA is taken over", async () => {
  const { certificates, cas, found, issue, use, useBoth, files } = await world();
  useBoth();
  const present = memberSecret(cluster, record, (await files()) ?? {});
  found.set("web", await issue("web"));
  assert.ok(use("client", { trust: cas.web.certificate, accepts: cas.op.certificate }));
  const renewed = (await files(present)) ?? {};
  assert.equal(
    renewed[FILES.serverPem],
    text(found.get("web"), "tls.crt") + text(found.get("web"), "tls.key"),
  );
  assert.deepEqual(certificates.keeper.problems, []);
});

describe("what cannot be used is told with its field, and the member keeps what it has", () => {
  const cases: Record<
    string,
    [change: (w: Awaited<ReturnType<typeof world>>) => Promise<void> | void, says: RegExp]
  > = {
    "no Secret": [
      ({ found }) => void found.delete("web"),
      /^spec\.tls\.client\.secrets\.server: Secret default\/web does not exist$/,
    ],
    "no key": [
      ({ found }) => void found.set("peers", without(found.get("peers")!, "tls.key")),
      /^spec\.tls\.peer\.secrets\.member: Secret default\/peers has no tls\.key$/,
    ],
    "the key of another certificate": [
      async ({ found, issue }) => {
        const other = await issue("web");
        const mixed = { ...found.get("web")!.data, "tls.key": other.data!["tls.key"]! };
        found.set("web", { ...other, data: mixed });
      },
      /spec\.tls\.client\.secrets\.server: Secret default\/web, tls\.crt: the certificate does not match its private key/,
    ],
    "a CA that is no certificate": [
      ({ found }) => {
        const peers = found.get("peers")!;
        const data = { ...peers.data, "ca.crt": Buffer.from("nonsense").toString("base64") };
        found.set("peers", { ...peers, data });
      },
      /spec\.tls\.peer\.secrets\.member: Secret default\/peers, ca\.crt: contains no PEM certificate/,
    ],
    "an expired CA": [
      ({ time }) => void (time.now += 101 * DAY),
      /web, tls\.crt: the certificate expired at .*; it is signed by a CA that expired at/,
    ],
    "a certificate that is for clients only": [
      async ({ found, issue }) => void found.set("web", await issue("web", ["clientAuth"])),
      /lacks the extended key usage serverAuth/,
    ],
    "a certificate of another CA than it comes with": [
      async ({ found, issue, cas }) => {
        const stranger = await issue("peers", undefined, cas.op);
        found.set("peers", {
          ...stranger,
          data: { ...stranger.data, "ca.crt": found.get("peers")!.data!["ca.crt"]! },
        });
      },
      /peers, tls\.crt: the certificate is not signed by a CA in ca\.crt/,
    ],
  };
  for (const [title, [change, says]] of Object.entries(cases))
    test(title, async () => {
      const w = await world();
      w.useBoth();
      const made = (await w.files()) ?? {};
      await change(w);
      for (const plane of PLANES) w.use(plane);
      const kept = await w.files(memberSecret(cluster, record, made));
      if (title !== "an expired CA") assert.deepEqual(kept, made);
      assert.match(w.certificates.keeper.problems[0] ?? "", says);
      assert.ok(["SecretMissing", "CertificateInvalid"].includes(w.certificates.keeper.reason ?? ""));
      assert.equal(
        await w.certificates.memberFiles(cluster, { ...record, name: "demo-9" }, undefined),
        undefined,
      );
      assert.equal(w.certificates.unissuedFor("demo-9")?.reason, "CertificateNotGiven");
    });

  test("names that are missing, all of them", async () => {
    const w = await world({ ...NAMES, web: { dns: ["localhost"], ips: [] } });
    w.useBoth();
    assert.equal(await w.files(), undefined);
    assert.match(
      w.certificates.keeper.problems[0] ?? "",
      /lacks the names demo-1\.demo-peers\.default\.svc, demo-client\.default\.svc$/,
    );
  });

  test("another CA than members trust", async () => {
    const w = await world();
    w.useBoth();
    const made = (await w.files()) ?? {};
    w.found.set("peers", await w.issue("peers", undefined, w.cas.op));
    assert.equal(w.use("peer", { trust: w.cas.peers.certificate, accepts: w.cas.peers.certificate }), false);
    assert.equal(w.certificates.keeper.reason, "CAChanged");
    assert.deepEqual(await w.files(memberSecret(cluster, record, made)), made);
  });
});

test("a member that does not exist yet is told when its name is missing in what was given", async () => {
  const w = await world({ ...NAMES, peers: { dns: ["demo-peers.default.svc"], ips: [] } });
  w.useBoth();
  const next = {
    name: "demo-4",
    address: { ...record.address, peerURL: "https://demo-4-peer.default.svc:2380" },
  };
  assert.equal(w.certificates.unusableFor(cluster, next, "client"), undefined);
  assert.match(
    w.certificates.unusableFor(cluster, next, "peer") ?? "",
    /lacks the names demo-4-peer\.default\.svc$/,
  );
});

test("a Secret cannot have the name of one that is written from it", () => {
  const named = (operator: string) => {
    const client = { mode: "Secrets", secrets: { server: "web", operator } } as const;
    const spec = specOf({ tls: { client } });
    return nameClash({ spec, observation: { cluster: { ...cluster, spec } } }, "client")?.message;
  };
  assert.equal(named("op"), undefined);
  assert.match(
    named("demo-operator") ?? "",
    /^spec\.tls\.client\.secrets\.operator: Secret default\/demo-operator has the name/,
  );
  for (const name of ["2", "snapshot-tls", "root", "operator-auth", "client-auth"])
    assert.match(named(`demo-${name}`) ?? "", /has the name/);
});
