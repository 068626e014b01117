/** A key or a password is found where it does not belong, also in an object that the API server has deleted since. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { gzipSync } from "node:zlib";
import { passwordOf } from "../../test/support/passwords.ts";
import { searchFolder, type Searched } from "./folder.ts";

const key = String(generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" }));
const MADE = "l8xQ0m2-a_password-that-was-made";

function searched(t: TestContext, files: Readonly<Record<string, string | Buffer>>): Searched {
  const dir = mkdtempSync(path.join(tmpdir(), "quorate-search-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const root = path.join(dir, "planted-leaks");
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }
  const { found, ...rest } = searchFolder(root);
  return { ...rest, found: found.map((one) => one.replace(`${root}/`, "")) };
}

test("keys are found in logs and in archives, with file and line, and not in the files that are for them", (t) => {
  const { found, files } = searched(t, {
    "demo/pki/ca-client.key": key,
    "demo/logs/etcd-1.log": `{"msg":"fine"}\n${JSON.stringify({ key })}\n`,
    "demo/tls/etcd.log": `{"key":${JSON.stringify(key)}}`,
    "kubeconfig-of-alice.txt": key,
    "report.tar.gz": gzipSync(`a file\n${key}`),
    "bed/kubelet/pods/uid/volumes/tls/..data/peer.pem": key,
    "etcd-1/member/wal/0.wal": key,
    "etcd-1.log": "nothing",
    "program.bin": `\x7fELF${key}`,
  });
  assert.deepEqual(found, [
    "demo/logs/etcd-1.log:2: a private key",
    "demo/tls/etcd.log:1: a private key",
    "kubeconfig-of-alice.txt:1: a private key",
    "kubeconfig-of-alice.txt:2: a private key",
    "report.tar.gz:2: a private key",
    "report.tar.gz:3: a private key",
  ]);
  assert.equal(files, 5);
});

test("a password that the product made is known by the file that it belongs in", (t) => {
  const { found, secrets } = searched(t, {
    "demo/secrets/demo-root/password": `${MADE}\n`,
    "demo/story.txt": `logged in\nwith ${MADE}\n`,
    "demo/members.json": JSON.stringify({ spec: Buffer.from(MADE).toString("base64") }),
    "demo/state.json": passwordOf("alice"),
  });
  assert.deepEqual(secrets, [MADE]);
  assert.deepEqual(found.toSorted(), [
    "demo/members.json:1: a password or a key that belongs elsewhere",
    "demo/state.json:1: a password of a test",
    "demo/story.txt:2: a password or a key that belongs elsewhere",
  ]);
});

/** A put as it is in the log of etcd. */
const put = (object: string, value: string) => `\x08\x01\x12\x20/registry/${object}\x12\x90\x04${value}\x1a`;
const LOG = "testbed/test-1/etcd/member/wal/0000000000000000-0000000000000000.wal";

test("of what was ever written to the API server only Secrets may hold keys and passwords", (t) => {
  const secret = `k8s\0\x0a\x08password\x12${String.fromCharCode(MADE.length)}${MADE}\x0a\x07tls.key\x12\x20${key}`;
  const writes = [
    put("secrets/default/demo-root", secret),
    put("etcd.quorate.dev/etcdclusters/default/demo", `{"status":{"message":"as ${MADE}"}}`),
    put("events/default/demo.1", `k8s\0\x12\x40cannot read ${key}`),
    put("configmaps/default/settings", "k8s\0 nothing"),
  ];
  const { found, files } = searched(t, {
    [LOG]: Buffer.from(`${writes.join("")}${"\0".repeat(9_000)}`, "latin1"),
  });
  assert.equal(files, 3);
  assert.deepEqual(
    [...new Set(found.map((one) => one.replace(/:\d+:/, ":")))],
    [
      "object etcd.quorate.dev/etcdclusters/default/demo: a password or a key that belongs elsewhere",
      "object events/default/demo.1: a private key",
    ],
  );
});
