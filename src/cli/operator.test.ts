import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { systemClock } from "../seams/clock.ts";
import { systemRandom } from "../seams/random.ts";
import { UsageError, type CliIo } from "./io.ts";
import { run, usage } from "./operator.ts";

const io: CliIo = {
  stdin: Readable.from([]),
  stdout: { write: () => undefined },
  stderr: { write: () => undefined },
  env: {},
  cwd: ".",
  isTTY: false,
  signal: new AbortController().signal,
  clock: systemClock,
  random: systemRandom,
};

const wrong: readonly [args: string[], says: RegExp][] = [
  [["--log-level", "loud"], /--log-level "loud": use one of debug, info, warn, error/],
  [["--metrics-address", "nowhere"], /--metrics-address nowhere/],
  [["--namespace", "Not A Name"], /--namespace "Not A Name"/],
  [["--exclude-namespace", "a,B"], /--exclude-namespace "B": not a valid namespace name/],
  [
    ["--namespace", "a", "--exclude-namespace", "b"],
    /--exclude-namespace cannot be combined with --namespace: leave the namespace out/,
  ],
  [["--cluster-domain", "cluster.local."], /--cluster-domain "cluster.local.": must be a DNS domain/],
  [
    ["--cluster-domain", Array(11).fill("abcdefghi").join(".")],
    /--cluster-domain: may have at most 87 characters/,
  ],
  [["--etcd-image-repository", "mirror/etcd:v3.6.16"], /--etcd-image-repository "mirror.*without tag/],
  [["--metrics-certificates", "/tls"], /--metrics-certificates is for --metrics-secure/],
  [
    ["--metrics-secure", "--metrics-certificates", "/nowhere"],
    /--metrics-certificates \/nowhere: \/nowhere\/tls.crt: there is no such file; mount a Secret/,
  ],
  [["--no-such-option"], /no-such-option/],
];

for (const [args, says] of wrong) {
  test(`${args.join(" ")}: refused before anything is begun`, async () => {
    await assert.rejects(run(args, io), (error) => error instanceof UsageError && says.test(error.message));
  });
}

test("the levels of the log are in the usage", () => {
  assert.match(usage, /--log-level <level> +debug, info, warn, error; default: info/);
});

test("without a kubeconfig and outside a Pod it says how to give one", async () => {
  let told = "";
  const stderr = { write: (text: string) => void (told += text) };
  const env = { KUBECONFIG: "/nowhere/config", HOME: "/nowhere" };
  const args = ["--health-address", "off", "--metrics-address", "off"];
  assert.equal(await run(args, { ...io, env, stderr }), 1);
  assert.match(told, /no kubeconfig at \/nowhere\/config\. Pass --kubeconfig <file>; in a Pod, its service/);
});
