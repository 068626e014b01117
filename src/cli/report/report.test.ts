/** Keys and passwords are planted in every part of a report, and none is found in the archive. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { collected } from "./collect.ts";
import { redactedObject, redactedText } from "./redact.ts";
import { tarGz } from "./tar.ts";

const PEM = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIplanted\nplanted==\n-----END EC PRIVATE KEY-----";
const JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJwbGFudGVkIn0.planted-signature";

const TEXTS = [
  PEM,
  JSON.stringify({ log: PEM }),
  Buffer.from(PEM).toString("base64"),
  JWT,
  "Authorization: Bearer planted-0123456789",
  "authorization: basic cGxhbnRlZDpwbGFudGVk",
  "connecting to https://root:planted@etcd:2379/x",
  "proxy=http://user:pl%40nted-planted@proxy:3128",
  "--password planted",
  "--password=planted",
  '["--password", "planted planted", "--user"]',
  JSON.stringify({ log: JSON.stringify(["--token", "planted"]) }),
  "- --root-password\n- planted",
  "etcdctl --user root:planted get x",
  "etcdctl --user=root:planted get x",
  'curl -u "root:planted" http://x',
  "- --user\n- root:planted",
  '["etcdctl", "--user", "root:planted"]',
  JSON.stringify({ log: JSON.stringify(["--user", "root:planted"]) }),
  "password: planted",
  '"password":"planted"',
  "ETCD_ROOT_PASSWORD=planted",
  "AWS_SECRET_ACCESS_KEY=planted/planted+planted",
  "aws_access_key_id = AKIAPLANTED012345",
  "client-secret: planted",
  "refresh_token=planted&x=1",
  "apiKey: 'planted'",
  'token="planted"',
  'password: "planted with planted blanks"',
  "passphrase='planted, planted'",
  JSON.stringify({ log: JSON.stringify({ password: "planted planted", x: 1 }) }),
  `${Buffer.from(PEM.repeat(3))
    .toString("base64")
    .replaceAll(/(.{76})/g, "$1\n")}`,
];

const signal = new AbortController().signal;

test("texts lose keys, tokens and passwords, in whatever way they are written", () => {
  for (const text of TEXTS) {
    const clean = redactedText(`before ${text} after`);
    assert.doesNotMatch(clean, /planted/i, clean);
    assert.match(clean, /^before .* after$/s);
    if (text.includes("cGxhbnRlZ")) assert.doesNotMatch(clean, /cGxhbnRlZ/);
  }
});

test("texts keep what a reader needs", () => {
  const kept = [
    "etcd-1 elected leader at term 7",
    "https://demo-1.demo-peers.prod.svc:2380",
    "initial-cluster-token: [redacted]",
    "the Secret demo-client-tls does not exist",
    "etcdctl --user root endpoint status --cluster",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "2030-01-01T00:00:00.000Z member 8e9e05c52164694d, revision 120000",
  ];
  for (const text of kept) assert.equal(redactedText(text), text);
});

test("objects lose values of the environment, applied configurations and fields that are named like secrets", () => {
  const pod = {
    metadata: {
      name: "demo-1",
      managedFields: [{ planted: true }],
      annotations: { "kubectl.kubernetes.io/last-applied-configuration": "planted" },
    },
    spec: {
      containers: [
        {
          args: [
            "--password=planted",
            "--password",
            "planted",
            "--auth-token",
            "-planted",
            "--name",
            "kept-word",
          ],
          command: ["etcdctl", "-password", "planted", "--user", "root:planted planted"],
          env: [
            { name: "HARMLESS", value: "planted" },
            { name: "B", valueFrom: { secretKeyRef: { name: "kept-name", key: "kept-key" } } },
          ],
        },
      ],
      volumes: [{ secret: { secretName: "kept-secret" } }],
      serviceAccountName: "kept-account",
    },
    status: { clientSecret: "demo-client-tls", rootPassword: "planted" },
  };
  const text = JSON.stringify(redactedObject(pod));
  assert.doesNotMatch(text, /planted/);
  for (const kept of [
    "demo-1",
    "HARMLESS",
    "kept-name",
    "kept-key",
    "kept-secret",
    "kept-account",
    "demo-client-tls",
    "kept-word",
  ])
    assert.ok(text.includes(kept), kept);
});

test("an archive has every part that could be read, names the others, and holds nothing that was planted", async () => {
  const parts = [
    ...TEXTS.map((text, index) => ({
      path: `logs/${index}.log`,
      read: () => Promise.resolve(`a\n${text}\nb\n`),
    })),
    {
      path: "pods.yaml",
      read: () =>
        Promise.resolve({
          items: TEXTS.map((text) => ({ spec: { note: text, env: [{ name: "A", value: "planted" }] } })),
        }),
    },
    { path: "nothing.txt", read: () => Promise.resolve(undefined) },
    { path: "denied.yaml", read: () => Promise.reject(new Error("forbidden, token=planted")) },
  ];
  const { files, missing } = await collected(parts, signal);
  assert.deepEqual(missing, [{ path: "denied.yaml", reason: "forbidden, token=[redacted]" }]);
  const folder = mkdtempSync(join(tmpdir(), "quorate-report-"));
  try {
    writeFileSync(join(folder, "report.tar.gz"), tarGz(files, 1_700_000_000_000));
    execFileSync("tar", ["-xzf", "report.tar.gz"], { cwd: folder });
    for (const { path } of files) {
      const text = readFileSync(join(folder, path), "utf8");
      assert.doesNotMatch(text, /planted|cGxhbnRlZ|LS0tLS1CRUdJTi/i, path);
    }
    assert.match(readFileSync(join(folder, "not-collected.txt"), "utf8"), /^denied\.yaml: forbidden/);
    assert.equal(files.length, TEXTS.length + 2);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
