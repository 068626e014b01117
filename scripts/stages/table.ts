/**
 * The stages of `npm test`, quickest first. A stage is listed when it has test files. To add one: a line
 * here, and files with tests. Folders go by subject; what the tests in them need is said here.
 */
import { systemClock } from "../../src/seams/clock.ts";

export interface Stage {
  /** For `npm test -- --stage <id>`. */
  readonly id: string;
  readonly title: string;
  /** Part of `npm run test:fast`. */
  readonly fast: boolean;
  /** Globs from the root. */
  readonly files: readonly string[];
  /**
   * "together": all files in one process, which takes a second for a thousand tests, but one open handle
   * hangs the run. "apart": a process per file, one after the other, for tests with real servers.
   */
  readonly processes: "together" | "apart";
  /**
   * Runs at the same time as the stage before it: both mostly wait for servers, and neither uses ports or addresses
   * of the other's.
   */
  readonly beside?: boolean;
  /** How long one test may take, unless it says otherwise. */
  readonly testLimitMs: number;
  /** How long one process may take before it is ended and counted as failed. */
  readonly processLimitMs: number;
  /** Fetches or builds what the tests need. The answer, if any, is why the stage cannot run and what to do. */
  readonly prepare?: (tell: (text: string) => void, signal: AbortSignal) => Promise<string | undefined>;
}

const MINUTE = 60_000;

export const stages: readonly Stage[] = [
  {
    id: "unit",
    title: "unit",
    fast: true,
    files: ["src/**/*.test.ts", "scripts/**/*.test.ts", "testbed/**/*.test.ts", "test/linear/*.test.ts"],
    processes: "together",
    testLimitMs: MINUTE,
    processLimitMs: 5 * MINUTE,
  },
  {
    id: "sim",
    title: "simulation",
    fast: true,
    files: ["sim/{engine,guided,machine,models,oracles,proof,rules}/**/*.test.ts"],
    processes: "together",
    testLimitMs: 2 * MINUTE,
    processLimitMs: 10 * MINUTE,
  },
  {
    id: "sim-operator",
    title: "simulated operator",
    fast: false,
    files: ["sim/{operator,schema}/**/*.test.ts", "test/scenarios/*.test.ts"],
    processes: "together",
    testLimitMs: 5 * MINUTE,
    processLimitMs: 15 * MINUTE,
  },
  {
    id: "etcd",
    title: "real etcd",
    fast: false,
    files: [
      "test/{etcd,local}/**/*.test.ts",
      "test/linear/on-etcd/*.test.ts",
      "test/conformance/etcd.test.ts",
    ],
    processes: "apart",
    testLimitMs: 5 * MINUTE,
    processLimitMs: 15 * MINUTE,
    prepare: prepareEtcd,
  },
  {
    id: "apiserver",
    title: "real API server",
    fast: false,
    files: ["test/{kube,operator,testbed}/*.test.ts", "test/conformance/kube*.test.ts"],
    processes: "apart",
    beside: true,
    testLimitMs: 5 * MINUTE,
    processLimitMs: 15 * MINUTE,
    prepare: prepareApiServer,
  },
  {
    id: "nodes",
    title: "real nodes",
    fast: false,
    files: ["test/{operator,testbed}/on-nodes/*.test.ts"],
    processes: "apart",
    testLimitMs: 5 * MINUTE,
    processLimitMs: 15 * MINUTE,
    prepare: prepareNodes,
  },
];

/** The newest patch of each minor; a test that needs another installs it itself. */
async function prepareEtcd(tell: (text: string) => void, signal: AbortSignal): Promise<string | undefined> {
  const { ensureEtcd } = await import("../../src/etcd/install/ensure.ts");
  const { EtcdInstallError } = await import("../../src/etcd/install/errors.ts");
  const { etcdPins } = await import("../../src/etcd/versions.ts");
  try {
    for (const { version } of etcdPins.filter(({ role }) => role === "newest")) {
      const progress = ({ text }: { text: string }) => tell(`etcd ${version}: ${text}`);
      await ensureEtcd(version, { env: process.env, clock: systemClock, progress, signal });
    }
    return undefined;
  } catch (error) {
    if (error instanceof EtcdInstallError) return error.message;
    throw error;
  }
}

async function prepareApiServer(tell: (text: string) => void): Promise<string | undefined> {
  const { missing, prepare } = await import("../../testbed/prepare.ts");
  const lacking = missing();
  if (lacking.length > 0) return lacking.join("; ");
  await prepare({ progress: tell });
  return undefined;
}

async function prepareNodes(tell: (text: string) => void): Promise<string | undefined> {
  const { missingNodes, prepareNodes: prepare } = await import("../../testbed/prepare.ts");
  const lacking = missingNodes();
  if (lacking.length > 0) return lacking.join("; ");
  await prepare({ progress: tell });
  return undefined;
}
