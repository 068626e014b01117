import assert from "node:assert/strict";
import { test } from "node:test";
import { completeLock } from "../lock/stubs.ts";
import { lock } from "./lock.ts";
import { memoryRepo } from "./repo.ts";

const manifest = { name: "x", version: "1.0.0", devDependencies: { tool: "2.0.0" } };

function lockText(packages: Record<string, unknown>): string {
  const root = { name: "x", version: "1.0.0", devDependencies: { tool: "2.0.0" } };
  const all = {
    name: "x",
    version: "1.0.0",
    lockfileVersion: 3,
    requires: true,
    packages: { "": root, ...packages },
  };
  return `${JSON.stringify(all, null, 2)}\n`;
}

const tool = {
  version: "2.0.0",
  integrity: "sha512-y",
  dev: true,
  optionalDependencies: { "@tool/linux-x64-gnu": "2.0.0", "@tool/darwin-arm64": "2.0.0" },
};
const linux = {
  version: "2.0.0",
  integrity: "sha512-x",
  cpu: ["x64"],
  dev: true,
  optional: true,
  os: ["linux"],
};
const incomplete = lockText({ "node_modules/@tool/linux-x64-gnu": linux, "node_modules/tool": tool });

function findings(text: string, asked: unknown = manifest): string[] {
  return lock.run(
    memoryRepo({ "package-lock.json": text, "package.json": JSON.stringify(asked) }),
  ) as string[];
}

test("a lock that lacks another platform's package is found, and npm run lock completes it", () => {
  assert.match(findings(incomplete).join("\n"), /node_modules\/@tool\/darwin-arm64 is missing/);
  const complete = completeLock(incomplete);
  assert.deepEqual(findings(complete), []);
  assert.deepEqual(JSON.parse(complete).packages["node_modules/@tool/darwin-arm64"], {
    version: "2.0.0",
    cpu: ["arm64"],
    dev: true,
    optional: true,
    os: ["darwin"],
  });
  assert.equal(completeLock(complete), complete, "a second run changes nothing");
});

test("a nested tool of another version gets stubs of its own version beside it", () => {
  const nested = { ...tool, version: "1.0.0", optionalDependencies: { "@tool/linux-arm64-musl": "1.0.0" } };
  const text = lockText({
    "node_modules/@tool/linux-arm64-musl": { version: "2.0.0", optional: true },
    "node_modules/other/node_modules/tool": nested,
  });
  const stub = JSON.parse(completeLock(text)).packages[
    "node_modules/other/node_modules/@tool/linux-arm64-musl"
  ];
  assert.deepEqual(stub, {
    version: "1.0.0",
    cpu: ["arm64"],
    dev: true,
    libc: ["musl"],
    optional: true,
    os: ["linux"],
  });
});

test("an address of a registry in the lock is found", () => {
  const text = completeLock(incomplete).replace(
    '"version": "2.0.0",\n      "integrity"',
    '"version": "2.0.0",\n      "resolved": "https://mirror/x.tgz",\n      "integrity"',
  );
  assert.match(findings(text).join("\n"), /resolved addresses/);
});

test("a version that is not exact, and a lock behind package.json, are found", () => {
  const complete = completeLock(incomplete);
  const found = findings(complete, { ...manifest, devDependencies: { tool: "^2.0.0" } }).join("\n");
  assert.match(found, /tool "\^2\.0\.0" is not an exact version/);
  assert.match(found, /tool differs from package\.json/);
  assert.match(
    findings(complete, { ...manifest, dependencies: { more: "1.0.0" } }).join("\n"),
    /more differs/,
  );
});

test("a stub for Linux on our machines needs its checksum, one for another platform does not", () => {
  const musl = { version: "2.0.0", cpu: ["x64"], dev: true, libc: ["musl"], optional: true, os: ["linux"] };
  const text = completeLock(
    lockText({
      "node_modules/@tool/linux-x64-gnu": linux,
      "node_modules/@tool/linux-x64-musl": musl,
      "node_modules/tool": tool,
    }),
  );
  assert.deepEqual(findings(text), [
    "package-lock.json: node_modules/@tool/linux-x64-musl has no integrity: run npm install and npm run lock, and commit what they add",
  ]);
});

test("a package that may be installed without its checksum is found, and a stub is not", () => {
  const { integrity: _, ...bare } = tool;
  const text = completeLock(
    lockText({ "node_modules/@tool/linux-x64-gnu": linux, "node_modules/tool": bare }),
  );
  assert.match(
    findings(text).join("\n"),
    /^package-lock.json: node_modules\/tool has no integrity: run npm install and npm run lock/,
  );
});
