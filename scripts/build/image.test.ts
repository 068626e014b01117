import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { bundleInParts } from "./bundle.ts";
import { buildImage, compileAhead } from "./image.ts";
import { NODE, NODE_FLAGS, OPERATOR_FLAGS, PROGRAM } from "./runtime.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const MOST_BYTES = 150e6;

/** Node keeps one for each user: that of the image becomes ours. */
function takeOver(cache: string): void {
  for (const own of readdirSync(cache))
    renameSync(join(cache, own), join(cache, own.replace(/-65532$/, `-${process.getuid?.() ?? 0}`)));
}

/** What Node says of the compile cache of an unpacked image, as its program runs with it. */
function cacheUse(folder: string, flags: readonly string[]): string {
  const cache = join(folder, "app/cache");
  const env = {
    NODE_COMPILE_CACHE: cache,
    NODE_COMPILE_CACHE_PORTABLE: "1",
    NODE_DEBUG_NATIVE: "COMPILE_CACHE",
  };
  const args = [...flags, join(folder, "app/quorate.mjs"), "--help"];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", env });
  return stdout + stderr;
}

test("the image has Node, its libraries, the program compiled ahead for its user, and stays small", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "quorate-image-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const parts = await bundleInParts(root, join(folder, "parts"));
  const image = await buildImage(parts, folder, "registry.example/quorate:1", () => {});
  const other = mkdtempSync(join(tmpdir(), "quorate-image-again-"));
  t.after(() => rmSync(other, { recursive: true, force: true }));
  const second = await buildImage(
    await bundleInParts(root, join(other, "parts")),
    other,
    "registry.example/quorate:1",
    () => {},
  );
  assert.equal(second.digest, image.digest, "from the same sources the same image");
  assert.ok(image.bytes < MOST_BYTES, `${image.bytes} bytes unpacked`);
  assert.ok(statSync(image.path).size < MOST_BYTES);
  const read = (...args: string[]) => spawnSync("tar", args, { encoding: "utf8", maxBuffer: 1 << 28 }).stdout;
  const index = JSON.parse(read("xOf", image.path, "index.json")) as {
    manifests: { digest: string; annotations: Record<string, string> }[];
  };
  assert.equal(index.manifests[0]?.digest, image.digest);
  assert.equal(index.manifests[0]?.annotations["io.containerd.image.name"], "registry.example/quorate:1");
  const blob = (digest: string) => `blobs/sha256/${digest.split(":")[1]}`;
  interface Blob {
    digest: string;
  }
  const manifest = JSON.parse(read("xOf", image.path, blob(image.digest))) as {
    config: Blob;
    layers: Blob[];
  };
  const { config } = JSON.parse(read("xOf", image.path, blob(manifest.config.digest))) as {
    config: { User: string; Entrypoint: string[]; Cmd: string[] };
  };
  assert.equal(config.User, "65532:65532");
  assert.deepEqual(config.Cmd, ["operator"]);
  assert.deepEqual(config.Entrypoint, [`/${NODE}`, ...NODE_FLAGS, `/${PROGRAM}`]);
  const [, dockerfile = "[]"] =
    /^ENTRYPOINT (.*)$/m.exec(readFileSync(join(root, "Dockerfile"), "utf8")) ?? [];
  assert.deepEqual(JSON.parse(dockerfile), config.Entrypoint, "the Dockerfile makes the same");
  const layer = blob(manifest.layers[0]?.digest ?? "");
  spawnSync("tar", ["xf", image.path, "-C", folder, layer]);
  const files = read("tf", join(folder, layer)).split("\n");
  for (const path of [config.Entrypoint[0]?.slice(1), config.Entrypoint.at(-1)?.slice(1), "etc/passwd"])
    assert.ok(files.includes(path ?? "?"), `${path} in ${files.join(" ")}`);
  assert.ok(files.some((path) => /^lib64\/ld-linux|ld-linux/.test(path)));
  assert.ok(files.some((path) => /^app\/cache\/v24[^/]*-65532\/\w+$/.test(path)));
  assert.ok(!files.some((path) => /\/(sh|bash|busybox)$/.test(path)), "no shell");
  assert.ok(!readdirSync(folder).includes("image"), "nothing is left of the work");
  spawnSync("tar", ["xf", join(folder, layer), "-C", folder, "app"]);
  // All else is copied: with this the same program gives the same image, wherever it is built.
  const elsewhere = mkdtempSync(join(tmpdir(), "quorate-image-elsewhere-"));
  t.after(() => rmSync(elsewhere, { recursive: true, force: true }));
  for (const file of parts.files) cpSync(join(parts.folder, file), join(elsewhere, "app", file));
  for (const path of await compileAhead(elsewhere))
    assert.deepEqual(readFileSync(join(elsewhere, path)), readFileSync(join(folder, path)));
  takeOver(join(folder, "app/cache"));
  for (const flags of [NODE_FLAGS, OPERATOR_FLAGS]) assert.match(cacheUse(folder, flags), /was accepted/);
});
