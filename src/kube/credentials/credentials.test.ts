/** Credentials that a plugin gives. The clock is moved by hand. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Disk } from "../../seams/disk.ts";
import { systemPrograms, type ProgramRequest, type ProgramResult } from "../../seams/programs.ts";
import { Identity } from "../identity.ts";
import type { ExecPlugin } from "../kubeconfig/types.ts";
import { ManualClock } from "../testing.ts";
import { ExecCredentials } from "./exec.ts";

const PLUGIN: ExecPlugin = {
  apiVersion: "client.authentication.k8s.io/v1",
  command: "login",
  args: ["--token"],
  env: { A: "1" },
  interactiveMode: "IfAvailable",
  installHint: "Install login from https://example.org.",
};

function diskOf(files: Record<string, string>): Disk {
  return { read: (file: string) => Promise.resolve(files[file]) } as Disk;
}

function credential(status: object, apiVersion: string = PLUGIN.apiVersion): string {
  return JSON.stringify({ apiVersion, kind: "ExecCredential", status });
}

/** A plugin that answers with what it is told; tokens count up by default. */
function setup(plugin: Partial<ExecPlugin> = {}, terminal = false) {
  const clock = new ManualClock();
  const requests: ProgramRequest[] = [];
  const world = {
    lifeMs: 600_000,
    answer: (count: number): ProgramResult | string => {
      const expirationTimestamp = new Date(clock.now() + world.lifeMs).toISOString();
      return credential({ token: `token-${count}`, expirationTimestamp });
    },
    takesMs: 0,
  };
  const programs = {
    terminal,
    run: async (request: ProgramRequest): Promise<ProgramResult> => {
      requests.push(request);
      if (world.takesMs > 0) {
        const ended = await new Promise<boolean>((resolve) => {
          clock.timer(world.takesMs, () => resolve(false));
          request.signal.addEventListener("abort", () => resolve(true));
        });
        if (ended) return { kind: "aborted" };
      }
      const answer = world.answer(requests.length);
      return typeof answer === "string" ? { kind: "ended", code: 0, stdout: answer, stderr: "" } : answer;
    },
  };
  const disk = diskOf({ "/ca": "CA" });
  const exec = new ExecCredentials({ ...PLUGIN, ...plugin }, { clock, disk, programs });
  return { clock, requests, world, exec, programs, disk };
}

test("a plugin runs once for all who wait, and what it gave is used until shortly before its end", async () => {
  const { clock, requests, exec } = setup();
  const [a, b] = await Promise.all([exec.current(), exec.current()]);
  assert.equal(a, b);
  assert.equal(a.token, "token-1");
  await clock.advance(530_000);
  assert.equal((await exec.current()).token, "token-1");
  assert.equal(requests.length, 1);
  await clock.advance(20_000);
  assert.equal((await exec.current()).token, "token-1", "the next one is fetched meanwhile");
  await clock.advance(1);
  assert.equal((await exec.current()).token, "token-2");
  assert.equal(requests.length, 2);
});

test("once expired, calls wait for the new credentials", async () => {
  const { clock, exec, world } = setup();
  world.lifeMs = 10_000;
  await exec.current();
  await clock.advance(10_000);
  assert.equal((await exec.current()).token, "token-2");
});

test("a plugin that fails while the old credentials hold disturbs nobody; after that its words are told", async () => {
  const { clock, exec, world, requests } = setup();
  await exec.current();
  world.answer = () => ({ kind: "ended", code: 1, stdout: "", stderr: "warning\nnot logged in\n" });
  await clock.advance(590_000);
  assert.equal((await exec.current()).token, "token-1");
  await clock.advance(1);
  assert.equal((await exec.current()).token, "token-1");
  await clock.advance(10_000);
  await assert.rejects(exec.current(), {
    name: "KubeConfigError",
    problem: "plugin",
    message: /the credential plugin login exited with code 1: warning\nnot logged in; run it by hand/,
  });
  const ran = requests.length;
  await assert.rejects(exec.current());
  assert.equal(requests.length, ran, "not again at once");
  await clock.advance(4_000);
  await assert.rejects(exec.current());
  assert.equal(requests.length, ran + 1);
});

test("credentials that the server refuses are replaced, once for all who were refused", async () => {
  const { clock, requests, programs, disk } = setup();
  const identity = new Identity({ server: "https://x", exec: PLUGIN }, disk, clock, programs);
  const first = await identity.credentials();
  assert.equal(first.token, "token-1");
  await clock.advance(5_000);
  assert.deepEqual(await Promise.all([identity.refused(first), identity.refused(first)]), [true, true]);
  assert.equal((await identity.credentials()).token, "token-2");
  assert.equal(requests.length, 2);
});

test("a plugin that gives the same again is not asked in a loop", async () => {
  const { clock, requests, programs, disk, world } = setup();
  world.answer = () => credential({ token: "same" });
  const identity = new Identity({ server: "https://x", exec: PLUGIN }, disk, clock, programs);
  const first = await identity.credentials();
  await clock.advance(5_000);
  for (let i = 0; i < 10; i++) assert.equal(await identity.refused(first), false);
  assert.equal(requests.length, 2);
});

test("client certificates from a plugin take the place of none, beside a token or alone", async () => {
  const { clock, programs, disk, world } = setup();
  world.answer = () => credential({ clientCertificateData: "CERT", clientKeyData: "KEY" });
  const config = { server: "https://x", exec: PLUGIN, ca: { file: "/ca" } };
  const identity = new Identity(config, disk, clock, programs);
  assert.deepEqual(await identity.credentials(), { ca: "CA", cert: "CERT", key: "KEY", token: undefined });
});

test("the plugin is told the version, whether a person is there, and of the cluster with its CA as data", async () => {
  const { exec, requests } = setup(
    { cluster: { server: "https://x", "certificate-authority": "/ca" } },
    true,
  );
  await exec.current();
  const [request] = requests;
  assert.ok(request);
  assert.deepEqual([request.command, request.args, request.interactive], ["login", ["--token"], true]);
  assert.equal(request.env["A"], "1");
  assert.deepEqual(JSON.parse(request.env["KUBERNETES_EXEC_INFO"] ?? ""), {
    apiVersion: PLUGIN.apiVersion,
    kind: "ExecCredential",
    spec: {
      interactive: true,
      cluster: { server: "https://x", "certificate-authority-data": Buffer.from("CA").toString("base64") },
    },
  });
});

test("nobody is asked where the mode says never, and a plugin that must ask says that it cannot", async () => {
  const never = setup({ interactiveMode: "Never" }, true);
  await never.exec.current();
  assert.equal(never.requests[0]?.interactive, false);
  await assert.rejects(setup({ interactiveMode: "Always" }).exec.current(), /needs a terminal/);
});

test("a plugin that hangs is ended", async () => {
  const { clock, exec, world } = setup();
  world.takesMs = 10_000_000;
  const waiting = assert.rejects(exec.current(), /gave no credentials within 60 seconds/);
  await clock.advance(61_000);
  await waiting;
});

test("what is wrong with a plugin's answer is told, and never the answer itself", async () => {
  const failing = async (answer: ProgramResult | string, expected: RegExp) => {
    const { exec, world } = setup();
    world.answer = () => answer;
    await assert.rejects(exec.current(), (error: Error) => {
      assert.match(error.message, expected);
      assert.doesNotMatch(error.message, /hush/);
      return true;
    });
  };
  await failing(
    { kind: "not-found", message: "spawn login ENOENT" },
    /Install login from https:\/\/example.org/,
  );
  await failing({ kind: "ended", code: 127, stdout: "", stderr: "no aws" }, /Install login/);
  await failing("", /printed nothing/);
  await failing("hush-hush", /not JSON/);
  await failing("null", /ExecCredential/);
  await failing(credential({ token: "hush" }, "client.authentication.k8s.io/v1beta1"), /different versions/);
  await failing(credential({}), /neither a token nor a client certificate/);
  await failing(credential({ clientCertificateData: "hush" }), /not both/);
  await failing(credential({ token: "hush", expirationTimestamp: "soon" }), /not a time: soon/);
  await failing(
    credential({ token: "hush", expirationTimestamp: "2001-01-01T00:00:00Z" }),
    /expired at 2001/,
  );
});

test("a program runs with its environment and ends when it has to; one that is not there is said to be", async () => {
  const signal = new AbortController().signal;
  const run = (command: string, args: string[], until = signal) =>
    systemPrograms.run({ command, args, env: { SAID: "yes" }, interactive: false, signal: until });
  assert.deepEqual(await run("sh", ["-c", "echo $SAID; echo no >&2; exit 3"]), {
    kind: "ended",
    code: 3,
    stdout: "yes\n",
    stderr: "no\n",
  });
  assert.equal((await run("/no/such/program", [])).kind, "not-found");
  assert.deepEqual(await run("sleep", ["60"], AbortSignal.timeout(20)), { kind: "aborted" });
});
