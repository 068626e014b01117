import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "node:test";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import type { EtcdClusterSpecInput } from "../../api/etcd-cluster-spec.ts";
import { healthy, specOf } from "../../core/testing/cluster.ts";
import { advanced, idOf, NO_ROTATION, noteOf, type Authority } from "../../pki/authority.ts";
import { createPki } from "../../pki/issue.ts";
import { PLANES, type Plane } from "../../pki/plan.ts";
import type { Sans, Usage } from "../../seams/pki.ts";
import { systemClock } from "../../seams/clock.ts";
import { systemRandom } from "../../seams/random.ts";
import { ANNOTATIONS, CLIENTS } from "../names.ts";
import { CA_FILES, FILES } from "../render/config.ts";
import { memberSecret } from "../render/secret.ts";
import { givenAuthority } from "./authority-secret.ts";
import { Certificates } from "./certificates.ts";
import { newcomersBlockedBy } from "./not-made.ts";
import type { ApplyContext } from "./outcomes.ts";
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
  const offering = (plane: Plane) =>
    givenSource({ places: placesOf(view, plane, [record], []), namespace: "default", found });
  const use = (plane: Plane, authority?: Secret) =>
    authority
      ? certificates.useAuthority(cluster, plane, authority, { offering: offering(plane) })
      : certificates.useGiven(plane, offering(plane));
  const useBoth = () => PLANES.map((plane) => use(plane));
  const files = async (present?: Secret) => await certificates.memberFiles(cluster, record, present);
  return { certificates, time, pki, cas, issue, found, offering, use, useBoth, files };
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
  assert.ok(
    use(
      "client",
      givenAuthority(cluster, "client", { certificate: cas.op.certificate, servers: cas.web.certificate }),
    ),
  );
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
      assert.match(w.certificates.keeper.problems[0]?.message ?? "", says);
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
      w.certificates.keeper.problems[0]?.message ?? "",
      /lacks the names demo-1\.demo-peers\.default\.svc, demo-client\.default\.svc$/,
    );
  });

  test("a certificate that is for all members and given no more is copied from one to another", async () => {
    const w = await world();
    w.useBoth();
    const made = (await w.files()) ?? {};
    const authority = givenAuthority(cluster, "peer", { certificate: w.cas.peers.certificate });
    w.found.delete("peers");
    const spare = () => ({ text: made[FILES.peerPem] ?? "", where: "demo-1" });
    w.certificates.useAuthority(cluster, "peer", authority, { offering: w.offering("peer"), spare });
    const newcomer = { ...record, name: "demo-2" };
    const given = await w.certificates.memberFiles(cluster, newcomer, undefined);
    assert.equal(given?.[FILES.peerPem], made[FILES.peerPem]);
    assert.equal(w.certificates.keeper.reason, "SecretMissing", "and it is told that none is given");
  });
});

describe("another CA than members run with", () => {
  const peers = async (phase: Authority["rotation"]["phase"] | undefined, third = false) => {
    const w = await world();
    w.useBoth();
    const made = (await w.files()) ?? {};
    const [first, second] = [w.cas.peers.certificate, w.cas.op.certificate];
    const steady: Authority = { signer: { certificate: first, key: "", given: true }, rotation: NO_ROTATION };
    const steps = phase === undefined ? [] : (["Bundle", "Reissue", "Drop"] as const);
    let authority = steady;
    for (const to of steps.slice(0, steps.findIndex((one) => one === phase) + 1))
      authority = await advanced(w.pki, authority, {
        cluster: "demo",
        plane: "peer",
        to,
        now: 1,
        current: idOf(w.pki, authority.signer, "it"),
        successor: { certificate: second, given: true },
      });
    w.found.set("peers", await w.issue("peers", undefined, third ? w.cas.web : w.cas.op));
    const given = w.found.get("peers")!;
    const isUsable = w.use("peer", authoritySecret(authority));
    const trust = [first, second].map((text) => idOf(w.pki, text, "it"));
    const trusting = { ...record.template.tls, effective: { peer: { trust } } };
    const named = { ...record, template: { ...record.template, tls: trusting } };
    const files =
      (await w.certificates.memberFiles(cluster, named, memberSecret(cluster, record, made))) ?? {};
    const leaf = text(given, "tls.crt") + text(given, "tls.key");
    return { ...w, made, files, leaf, isUsable, both: first + second };
  };

  test("before all trust it, members keep their certificates and are told to trust both", async () => {
    for (const phase of [undefined, "Bundle"] as const) {
      const { made, files, isUsable, certificates, both } = await peers(phase);
      assert.ok(isUsable);
      assert.equal(files[FILES.peerPem], made[FILES.peerPem]);
      assert.equal(files[FILES.peerClientPem], made[FILES.peerClientPem]);
      if (phase) assert.equal(files[FILES.peerCA], both);
      assert.deepEqual(certificates.keeper.problems, [], "it is on its way");
      assert.match(certificates.unusableFor(cluster, record, "peer") ?? "", /another CA than members trust/);
    }
  });

  test("once all trust it, members are given its certificates", async () => {
    const { files, leaf, certificates } = await peers("Reissue");
    assert.equal(files[FILES.peerPem], leaf);
    assert.equal(files[FILES.peerClientPem], leaf);
    assert.deepEqual(certificates.keeper.problems, []);
  });

  test("with a certificate that cannot be used it is not begun with", async () => {
    const w = await world();
    w.useBoth();
    w.found.set("peers", await w.issue("peers", ["clientAuth"], w.cas.op));
    const authority = givenAuthority(cluster, "peer", { certificate: w.cas.peers.certificate });
    const given = { offering: w.offering("peer"), records: [record] };
    w.certificates.useAuthority(cluster, "peer", authority, given);
    assert.equal(w.certificates.keeper.reason, "CertificateInvalid");
    assert.equal(w.certificates.offered("peer"), undefined);
  });

  test("before all trust it, what expires is told with what to do: none of the new CA can be used yet", async () => {
    const { made, certificates, time } = await peers("Bundle");
    time.now += 31 * DAY;
    assert.equal(
      await certificates.memberFiles(cluster, record, memberSecret(cluster, record, made)),
      undefined,
    );
    const told = certificates.keeper.problem(`${record.name} peer`) ?? "";
    assert.match(told, /expired.*put back a renewed one of the previous CA/);
    assert.equal(certificates.keeper.problemOf(`${record.name} peer`)?.reason, "CertificateInvalid");
  });

  test("a third one while they are taken over is not used, and told", async () => {
    const { made, files, certificates } = await peers("Reissue", true);
    assert.equal(files[FILES.peerPem], made[FILES.peerPem]);
    assert.equal(certificates.keeper.reason, "CAChanged");
  });
});

/** As it is stored. */
function authoritySecret(authority: Authority): Secret {
  const { signer, other } = authority;
  const base = givenAuthority(cluster, "peer", signer);
  const note = { [ANNOTATIONS.rotation]: noteOf(authority) };
  const files: Record<string, string> = other
    ? { [CA_FILES.other]: Buffer.from(other.certificate).toString("base64") }
    : {};
  return { ...base, metadata: { ...base.metadata, annotations: note }, data: { ...base.data, ...files } };
}

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

test("nobody is added whom a certificate that is only kept does not name, though the spec asks for ours by now", async () => {
  const only = { dns: ["demo-peers.default.svc", "demo-1-peer.default.svc"], ips: [] };
  for (const [peers, isBlocked] of [
    [only, true],
    [NAMES["peers"]!, false],
  ] as const) {
    const w = await world({ ...NAMES, peers });
    w.useBoth();
    const tls = specOf({ tls: { ...TLS, mode: "Managed", peer: { mode: "Managed" } } }).tls;
    const ours = { ...cluster, spec: { ...cluster.spec, tls } };
    const pair = w.found.get("peers")!;
    const files = { [FILES.peerPem]: text(pair, "tls.crt") + text(pair, "tls.key") };
    const secrets = [
      givenAuthority(cluster, "peer", { certificate: w.cas.peers.certificate }),
      memberSecret(cluster, record, files),
    ];
    const stores = { ownObjects: () => ({ secrets }) } as unknown as ApplyContext["stores"];
    const next = {
      ordinal: 4,
      address: { ...record.address, peerURL: "https://demo-4-peer.default.svc:2380" },
    };
    const around = { stores, certificates: w.certificates, key: "default/demo" };
    const blocked = newcomersBlockedBy(around, ours, [record], next);
    assert.equal(blocked?.reason, isBlocked ? "CertificateNotGiven" : undefined);
    if (isBlocked) assert.match(blocked?.message ?? "", /undo the edit of spec\.tls/);
  }
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
