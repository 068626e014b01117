/**
 * `up` and `down` may be killed at any moment: the next one finishes the work, and the machine is as it was.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { eventually } from "../../../testbed/eventually.ts";
import { sweep, testBedName } from "../../../testbed/for-tests.ts";
import { imageTar, writeImage } from "../../../testbed/nodes/oci.ts";
import { ensurePackages } from "../../../testbed/nodes/packages.ts";
import { loadArchive } from "../../../testbed/nodes/verbs.ts";
import { bedPaths } from "../../../testbed/paths.ts";
import { ownedProcesses } from "../../../testbed/processes.ts";
import { down, up } from "../../../testbed/testbed.ts";
import type { Testbed } from "../../../testbed/testbed.ts";
import { EVERY_CASE } from "../../support/sample.ts";
import { kubectl, machine } from "./support.ts";

const NAME = testBedName();
const MAIN = join(import.meta.dirname, "../../../testbed/main.ts");

let untouched: Awaited<ReturnType<typeof machine>>;

before(async () => {
  await sweep();
  untouched = await machine();
});
after(() => down(NAME));

/** Each once: a containerd has as many shims as there are Pods. */
const roles = () => [...new Set(ownedProcesses(bedPaths(NAME).dir).map(({ role }) => role))];

/** Starts the testbed's command line and kills it as soon as the moment has come. */
async function killedWhen(args: string[], moment: () => boolean): Promise<void> {
  const child = spawn(process.execPath, [MAIN, ...args, "--name", NAME], { stdio: "ignore" });
  const exited = once(child, "exit");
  await eventually("the moment", () => moment() || child.exitCode !== null, {
    withinMs: 120_000,
    everyMs: 5,
  });
  child.kill("SIGKILL");
  await exited;
}

async function upAndRun(t: { diagnostic(text: string): void }, pod: string): Promise<Testbed> {
  const started = Date.now();
  const bed = await up({ name: NAME, nodes: 1 });
  t.diagnostic(`up --nodes 1: ${((Date.now() - started) / 1000).toFixed(1)} s`);
  await bed.client.create("/api/v1/namespaces/default/pods", {
    metadata: { name: pod },
    spec: {
      restartPolicy: "Never",
      containers: [{ name: "main", image: "busybox:1", command: ["echo", "it runs"] }],
    },
  });
  await eventually("the Pod's log", async () => (await kubectl(NAME, "logs", pod)).out.includes("it runs"), {
    withinMs: 60_000,
    everyMs: 200,
  });
  return bed;
}

for (const role of EVERY_CASE ? ["world", "kube-apiserver", "node-1", "node-1 kubelet"] : ["node-1"]) {
  test(`an up that is killed when it has started ${role} is finished by the next`, async (t) => {
    await killedWhen(["up", "--nodes", "1"], () => roles().includes(role));
    assert.ok(roles().length > 0, "the killed one left processes");
    const bed = await upAndRun(t, "first");
    bed.client.close();
    await down(NAME);
    assert.deepEqual(roles(), []);
  });
}

test("a down that is killed half way is finished by the next up, and the cluster is whole", async (t) => {
  const first = await upAndRun(t, "first");
  first.client.close();
  const all = roles().length;
  await killedWhen(["down", "--keep-data"], () => roles().length < all);
  const second = await upAndRun(t, "second");
  second.client.close();
});

test("an image from an archive runs on the nodes, whatever its pull policy says", async () => {
  const folder = mkdtempSync(join(tmpdir(), "image-"));
  try {
    const from = join(await ensurePackages(() => {}), "bin", "busybox");
    const digest = writeImage(folder, {
      files: [
        { path: "bin/busybox", kind: "copy", from },
        { path: "etc/own", kind: "file", content: "an image of its own" },
      ],
      entrypoint: ["/bin/busybox"],
    });
    const file = join(folder, "own.tar");
    writeFileSync(file, imageTar(folder, digest, "example.test/own:dev"));
    await loadArchive(NAME, file);
  } finally {
    rmSync(folder, { recursive: true });
  }
  const bed = await up({ name: NAME });
  await bed.client.create("/api/v1/namespaces/default/pods", {
    metadata: { name: "own" },
    spec: {
      restartPolicy: "Never",
      containers: [
        {
          name: "main",
          image: "example.test/own:dev",
          imagePullPolicy: "Never",
          args: ["cat", "/etc/own"],
        },
      ],
    },
  });
  bed.client.close();
  await eventually(
    "its log",
    async () => (await kubectl(NAME, "logs", "own")).out.includes("an image of its own"),
    {
      withinMs: 60_000,
      everyMs: 200,
    },
  );
});

test("a down that was killed is finished by the next, and the machine is as it was", async () => {
  const all = roles().length;
  await killedWhen(["down"], () => roles().length < all);
  await down(NAME);
  assert.deepEqual(roles(), []);
  await eventually("an untouched machine", async () => {
    assert.deepEqual(await machine(), untouched);
    return true;
  });
});
