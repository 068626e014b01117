/** Images must be what other tools read: the machine's own tar, and digests that name what they say. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { blobPath, imageTar, writeImage } from "./oci.ts";
import { tar } from "./tar.ts";

test("the archive is read by tar, with its modes, links and contents", () => {
  const archive = tar([
    { path: "tmp", kind: "directory", mode: 0o1777 },
    { path: "tmp/hello", kind: "file", content: "hello\n", mode: 0o640 },
    { path: "tmp/link", kind: "link", to: "hello" },
    { path: "empty", kind: "file", content: "" },
  ]);
  assert.equal(archive.length % 512, 0);
  const listed = spawnSync("tar", ["tvf", "-"], { input: archive, encoding: "utf8" });
  assert.equal(listed.status, 0, listed.stderr);
  assert.match(listed.stdout, /^drwxrwxrwt .* tmp\/$/m);
  assert.match(listed.stdout, /^-rw-r----- .* 6 .* tmp\/hello$/m);
  assert.match(listed.stdout, /^l.* tmp\/link -> hello$/m);
  const content = spawnSync("tar", ["xOf", "-", "tmp/hello"], { input: archive, encoding: "utf8" });
  assert.equal(content.stdout, "hello\n");
});

test("an image's manifest leads by digests to its configuration and its layer, the same each time", () => {
  const store = mkdtempSync(join(tmpdir(), "oci-"));
  try {
    const spec = {
      files: [{ path: "a/b/c", kind: "file" as const, content: "x" }],
      entrypoint: ["/a/b/c"],
    };
    const digest = writeImage(store, spec);
    assert.equal(writeImage(store, spec), digest);
    interface Manifest {
      config: { digest: string };
      layers: { digest: string; size: number }[];
    }
    const manifest = JSON.parse(readFileSync(blobPath(store, digest), "utf8")) as Manifest;
    const layer = manifest.layers[0];
    assert.ok(layer);
    for (const one of [digest, manifest.config.digest, layer.digest]) {
      const content = readFileSync(blobPath(store, one));
      assert.equal(one, `sha256:${createHash("sha256").update(content).digest("hex")}`);
    }
    const files = spawnSync("tar", ["tf", blobPath(store, layer.digest)], { encoding: "utf8" });
    assert.equal(files.stdout, "a/\na/b/\na/b/c\n");
    const packed = imageTar(store, digest, "example.test/own:dev");
    const index = spawnSync("tar", ["xOf", "-", "index.json"], { input: packed, encoding: "utf8" });
    assert.match(index.stdout, /"io.containerd.image.name":"example.test\/own:dev"/);
  } finally {
    rmSync(store, { recursive: true });
  }
});
