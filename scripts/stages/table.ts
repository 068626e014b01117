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
  /** Of its files, those that only the whole `npm test` runs: seconds of packing and of other programs, seldom changed. */
  readonly notFast?: readonly string[];
  /** Globs from the root. */
  readonly files: readonly string[];
  /**
   * "together": all files in one process or a few, which takes a second for a thousand tests, but one open handle
   * hangs the run. "apart": a process per file, for tests with real servers. Stages of one kind run beside each
   * other, first those without servers.
   */
  readonly processes: "together" | "apart";
  /** Over how many processes files that run together are dealt; one unless said otherwise. */
  readonly shares?: number;
  /** Files that take long, with seconds on a quiet machine: they begin first, so that none is waited for in the end. */
  readonly long?: Readonly<Record<string, number>>;
  /** What only one test file on a machine can have at a time, and which files need it. */
  readonly needs?: { readonly what: string; readonly files: readonly string[] };
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
    shares: 2,
    // What they pack and judge, the checks and the test of the bundle do each time.
    notFast: [
      "scripts/build/bundle.test.ts",
      "scripts/build/executable.test.ts",
      "scripts/build/image.test.ts",
      "scripts/check/tools.test.ts",
    ],
    long: {
      "src/snapshot/store/faults.test.ts": 8,
      "src/snapshot/store/contract.test.ts": 6,
      "scripts/stages/test-process.test.ts": 8,
      "scripts/check/tools.test.ts": 8,
      "src/core/decide.test.ts": 4,
      "src/core/snapshots/year.test.ts": 3,
      "src/snapshot/store/encryption.test.ts": 3,
      "src/snapshot/changes/follow.test.ts": 3,
      "scripts/build/image.test.ts": 7,
      "scripts/build/executable.test.ts": 6,
      "scripts/run.test.ts": 5,
      "test/linear/search.test.ts": 4,
      "test/linear/check.test.ts": 4,
      "scripts/build/bundle.test.ts": 6,
    },
    // A busy machine may need minutes before the first test has ended.
    testLimitMs: 3 * MINUTE,
    processLimitMs: 10 * MINUTE,
  },
  {
    id: "sim",
    title: "simulation",
    fast: true,
    files: ["sim/{engine,guided,machine,models,oracles,proof,rules}/**/!(killed).test.ts"],
    processes: "together",
    shares: 2,
    long: {
      "sim/rules/enumerate.test.ts": 8,
      "sim/machine/simulation.test.ts": 8,
      "sim/guided/guided.test.ts": 4,
      "sim/rules/random-run.test.ts": 3,
      "sim/rules/exhaustive/exhaustive.test.ts": 3,
      "sim/models/etcd/conformance/run.test.ts": 2,
    },
    testLimitMs: 3 * MINUTE,
    processLimitMs: 10 * MINUTE,
  },
  {
    id: "sim-operator",
    title: "simulated operator",
    fast: false,
    files: ["sim/{operator,schema}/**/*.test.ts", "sim/machine/killed.test.ts", "test/scenarios/*.test.ts"],
    processes: "together",
    shares: 2,
    long: {
      "sim/operator/random-run.test.ts": 75,
      "sim/operator/nodes-off.test.ts": 70,
      "sim/operator/clocks.test.ts": 50,
      "sim/schema/schema.test.ts": 46,
      "sim/operator/automatic.test.ts": 30,
      "sim/operator/auth.test.ts": 25,
      "sim/operator/auth-quorum.test.ts": 12,
      "sim/operator/adopt.test.ts": 25,
      "sim/operator/snapshots.test.ts": 23,
      "sim/schema/time.test.ts": 21,
      "sim/operator/unreachable-etcd.test.ts": 20,
      "sim/operator/recover.test.ts": 19,
      "sim/operator/restore-in-place.test.ts": 17,
      "sim/operator/tampered.test.ts": 15,
      "sim/operator/operations.test.ts": 15,
      "sim/operator/sources.test.ts": 14,
      "sim/machine/killed.test.ts": 14,
      "sim/operator/refused.test.ts": 13,
      "sim/operator/given-rotation.test.ts": 12,
      "sim/schema/dependents.test.ts": 12,
      "sim/operator/peer-services.test.ts": 12,
      "sim/operator/issuer-rotation.test.ts": 18,
      "sim/operator/followers.test.ts": 10,
      "test/scenarios/simulated.test.ts": 8,
      "sim/operator/erase.test.ts": 8,
      "sim/operator/empty-start.test.ts": 8,
      "sim/operator/transitions.test.ts": 8,
      "sim/operator/simulation.test.ts": 6,
    },
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
      "test/conformance/{auth,etcd}.test.ts",
    ],
    processes: "apart",
    long: {
      "test/local/crash.test.ts": 115,
      "test/local/rotation.test.ts": 60,
      "test/local/auth.test.ts": 40,
      "test/local/operations.test.ts": 30,
      "test/local/recover.test.ts": 30,
      "test/local/reach.test.ts": 30,
      "test/local/command.test.ts": 25,
      "test/local/command-act.test.ts": 60,
      "test/local/broken-data.test.ts": 55,
      "test/local/upgrade.test.ts": 70,
      "test/local/up.test.ts": 130,
      "test/linear/on-etcd/linearizability.test.ts": 40,
      "test/local/scale.test.ts": 65,
      "test/local/restore-in-place.test.ts": 37,
      "test/etcd/tls.test.ts": 28,
      "test/etcd/hazards/h07-joining-lists.test.ts": 25,
      "test/local/peer-plane.test.ts": 40,
      "test/local/reading.test.ts": 35,
      "test/local/snapshots.test.ts": 35,
      "test/local/transitions.test.ts": 35,
      "test/local/restore-auth.test.ts": 35,
      "test/local/plan.test.ts": 30,
      "test/etcd/hazards/h13-downgrade.test.ts": 30,
    },
    // The program itself takes the first free ports of the machine.
    needs: {
      what: "the first free ports",
      files: ["test/local/{command,command-act,input,reach,reading,up,version-refusals}.test.ts"],
    },
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
    long: {
      "test/operator/input.test.ts": 270,
      "test/operator/outage.test.ts": 185,
      "test/operator/rest.test.ts": 110,
      "test/operator/in-place.test.ts": 85,
      "test/operator/known-faults.test.ts": 220,
      "test/operator/hazards.test.ts": 160,
      "test/operator/crash.test.ts": 200,
      "test/operator/heal.test.ts": 110,
      "test/operator/operations.test.ts": 60,
      "test/operator/certificates.test.ts": 85,
      "test/operator/restore.test.ts": 65,
      "test/operator/snapshots.test.ts": 120,
      "test/operator/followers.test.ts": 60,
      "test/operator/stores.test.ts": 40,
      "test/operator/lease.test.ts": 40,
      "test/operator/beside.test.ts": 25,
      "test/operator/scale.test.ts": 110,
      "test/operator/upgrade.test.ts": 75,
      "test/operator/storage.test.ts": 75,
      "test/operator/objects.test.ts": 100,
      "test/operator/rights.test.ts": 60,
      "test/operator/unreachable-etcd.test.ts": 85,
      "test/operator/refused.test.ts": 65,
      "test/operator/clocks.test.ts": 45,
      "test/operator/command-act.test.ts": 85,
      "test/kube/credentials.test.ts": 50,
      "test/operator/adopt.test.ts": 100,
      "test/operator/given-rotation.test.ts": 65,
      "test/operator/command.test.ts": 55,
      "test/operator/recover.test.ts": 50,
      "test/operator/scenarios.test.ts": 45,
      "test/testbed/stand-in-faults.test.ts": 40,
      "test/testbed/pods.test.ts": 40,
      "test/testbed/testbed.test.ts": 35,
      "test/testbed/stand-in-pods.test.ts": 35,
      "test/operator/ready.test.ts": 30,
      "test/operator/screens.test.ts": 60,
    },
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
    long: {
      "test/operator/on-nodes/faults.test.ts": 215,
      "test/operator/on-nodes/empty-start.test.ts": 85,
      "test/testbed/on-nodes/nodes.test.ts": 90,
      "test/testbed/on-nodes/killed.test.ts": 35,
      "test/operator/on-nodes/dns.test.ts": 65,
      "test/operator/on-nodes/install.test.ts": 65,
      "test/operator/on-nodes/reach.test.ts": 50,
      "test/operator/on-nodes/rendered-members.test.ts": 50,
    },
    // Some of them compare the machine before and after.
    needs: { what: "real nodes", files: ["test/**/on-nodes/*.test.ts"] },
    testLimitMs: 5 * MINUTE,
    processLimitMs: 15 * MINUTE,
    prepare: prepareNodes,
  },
];

/** Stores for snapshots: S3, and stand-ins of Google and Azure. */
async function prepareStores(tell: (text: string) => void): Promise<void> {
  const { ensureAzurite } = await import("../../testbed/nodes/azurite.ts");
  const { ensureUpstream } = await import("../../testbed/nodes/programs.ts");
  await ensureUpstream("versitygw", tell);
  await ensureUpstream("fakegcs", tell);
  await ensureAzurite(tell);
}

/** The newest patch of each minor (a test that needs another installs it itself), and stores. */
/** What tests upgrade from by a patch, beside the newest of each minor. Any other would be built while a test waits. */
const FORMER_PATCH = "3.6.14";

async function prepareVersions(tell: (text: string) => void, signal: AbortSignal): Promise<void> {
  const { ensureEtcd } = await import("../../src/etcd/install/ensure.ts");
  const { etcdPins } = await import("../../src/etcd/versions.ts");
  const newest = etcdPins.filter(({ role }) => role === "newest").map(({ version }) => version);
  for (const version of [...newest, FORMER_PATCH]) {
    const progress = ({ text }: { text: string }) => tell(`etcd ${version}: ${text}`);
    await ensureEtcd(version, { env: process.env, clock: systemClock, progress, signal });
  }
}

async function prepareEtcd(tell: (text: string) => void, signal: AbortSignal): Promise<string | undefined> {
  const { EtcdInstallError } = await import("../../src/etcd/install/errors.ts");
  const { ToolMissing } = await import("../../testbed/kubernetes-build.ts");
  try {
    await prepareVersions(tell, signal);
    await prepareStores(tell);
    return undefined;
  } catch (error) {
    if (error instanceof EtcdInstallError || error instanceof ToolMissing) return error.message;
    throw error;
  }
}

async function prepareApiServer(
  tell: (text: string) => void,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { missing, prepare } = await import("../../testbed/prepare.ts");
  const { ToolMissing } = await import("../../testbed/kubernetes-build.ts");
  const lacking = missing();
  if (lacking.length > 0) return lacking.join("; ");
  await prepare({ progress: tell });
  try {
    await prepareVersions(tell, signal);
    await prepareStores(tell);
    return undefined;
  } catch (error) {
    if (error instanceof ToolMissing) return error.message;
    throw error;
  }
}

async function prepareNodes(tell: (text: string) => void): Promise<string | undefined> {
  const { missingNodes, prepareNodes: prepare } = await import("../../testbed/prepare.ts");
  const lacking = missingNodes();
  if (lacking.length > 0) return lacking.join("; ");
  await prepare({ progress: tell });
  return undefined;
}
