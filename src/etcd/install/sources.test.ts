import assert from "node:assert/strict";
import { test } from "node:test";
import { parseVersionOutput, programsOf } from "./binaries.ts";
import { mirrorFrom, upstreamVersion } from "./debian.ts";
import { buildArguments, goMod } from "./go.ts";
import { archiveName } from "./release.ts";

test("each program's version is read from what it prints", () => {
  assert.equal(parseVersionOutput("etcd Version: 3.6.16\nGit SHA: abc\nGo Version: go1.26.8\n"), "3.6.16");
  assert.equal(parseVersionOutput("etcdctl version: 3.4.23\nAPI version: 3.4\n"), "3.4.23");
  assert.equal(parseVersionOutput("etcdutl version: 3.7.3\nAPI version: 3.7\n"), "3.7.3");
  assert.equal(parseVersionOutput("Segmentation fault"), undefined);
});

test("a version has etcdutl where there is one", () => {
  assert.deepEqual(programsOf("3.4.23"), ["etcd", "etcdctl"]);
  assert.deepEqual(programsOf("3.5.35"), ["etcd", "etcdctl", "etcdutl"]);
});

test("archives are named as etcd names them", () => {
  assert.equal(archiveName("3.6.16", "linux", "x64"), "etcd-v3.6.16-linux-amd64.tar.gz");
  assert.equal(archiveName("3.6.16", "linux", "arm64"), "etcd-v3.6.16-linux-arm64.tar.gz");
  assert.equal(archiveName("3.6.16", "darwin", "arm64"), "etcd-v3.6.16-darwin-arm64.zip");
});

test("the generated Go module requires all three programs at the one version", () => {
  const text = goMod("3.6.16");
  for (const name of ["server", "etcdctl", "etcdutl"]) {
    assert.ok(text.includes(`\tgo.etcd.io/etcd/${name}/v3 v3.6.16\n`), text);
  }
});

test("a build leaves out paths and symbols, and tells the version", () => {
  const args = buildArguments("3.6.16", "etcdctl", "/out/etcdctl");
  assert.ok(args.includes("-trimpath"));
  assert.ok(args.includes("-s -w -X go.etcd.io/etcd/api/v3/version.GitSHA=v3.6.16"));
  assert.deepEqual(args.slice(-3), ["-o", "/out/etcdctl", "go.etcd.io/etcd/etcdctl/v3"]);
});

test("a Debian version is etcd's own version and Debian's additions", () => {
  assert.equal(upstreamVersion("3.4.23-4+b4\n"), "3.4.23");
  assert.equal(upstreamVersion("1:3.5.16-4"), "3.5.16");
});

test("the mirror is the one this machine has for Debian's main archive", () => {
  const printed = [
    "'https://packages.example.test/apt/dists/cloud-bookworm/main/binary-amd64/Packages.xz' a 0 ",
    "'http://mirror.example.test/debian-security/dists/bookworm-security/main/binary-amd64/Packages.xz' b 0 ",
    "'http://mirror.example.test/debian/dists/bookworm/InRelease' c 0 ",
    "'http://mirror.example.test/debian/dists/bookworm/main/binary-amd64/Packages.xz' d 0 ",
  ].join("\n");
  assert.equal(mirrorFrom(printed), "http://mirror.example.test/debian");
  assert.equal(
    mirrorFrom("'http://x.example.test/ubuntu/dists/noble/main/binary-amd64/Packages.xz' a 0 "),
    undefined,
  );
});
