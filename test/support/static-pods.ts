/** Members that `quorate recover node --siblings` starts on real nodes, as Pods of the kubelet's own: no API server is there. */
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { ensureEtcd } from "../../src/etcd/install/ensure.ts";
import { createPki } from "../../src/pki/issue.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { eventually } from "../../testbed/eventually.ts";
import { nodeAddress } from "../../testbed/nodes/addresses.ts";
import { STATIC_PODS } from "../../testbed/nodes/node-files.ts";
import { onNode } from "../../testbed/nodes/node.ts";
import { bedPaths } from "../../testbed/paths.ts";
import { newestVersions } from "./etcd-versions.ts";

export interface Machine {
  readonly member: string;
  /** The number of its node. */
  readonly node: number;
}

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
/** On a node. */
const PKI = "/var/lib/kubelet/recovered-pki";
const HOUR = 3_600_000;
const PATIENCE = { withinMs: 120_000, everyMs: 500 };

export class StaticPods {
  readonly #bed: string;
  readonly #started: readonly Machine[];

  private constructor(bed: string, started: readonly Machine[]) {
    this.#bed = bed;
    this.#started = started;
  }

  /** As a person does it who goes from machine to machine: look, then approve what was shown. */
  static async start(
    bed: string,
    hostPath: string,
    started: readonly Machine[],
    all: readonly Machine[],
  ): Promise<StaticPods> {
    const pods = new StaticPods(bed, started);
    const pki = createPki(systemClock, systemRandom);
    const ca = await pki.issueCa({ commonName: "recovered peers", lifeMs: HOUR });
    for (const machine of started) {
      const others = all.filter((one) => one !== machine);
      const siblings = others.map(({ member, node }) => `${member}=${nodeAddress(node)}`).join(",");
      const asked = ["recover", "node", hostPath, "--siblings", siblings];
      const { plan } = JSON.parse(await pods.#quorate(machine, [...asked, "-o", "json"])) as {
        plan: { hash: string; peerURL: string };
      };
      const { certificate, key } = await pki.issueLeaf({
        ca,
        leaf: {
          commonName: machine.member,
          sans: { dns: [new URL(plan.peerURL).hostname], ips: [nodeAddress(machine.node)] },
          usages: ["serverAuth", "clientAuth"],
          lifeMs: HOUR,
        },
      });
      for (const [name, text] of Object.entries({ ca: ca.certificate, crt: certificate, key }))
        await pods.#write(machine, `${PKI}/peer.${name}`, text);
      const tls = ["--peer-cert-file", `${PKI}/peer.crt`, "--peer-key-file", `${PKI}/peer.key`];
      const trust = ["--peer-trusted-ca-file", `${PKI}/peer.ca`];
      const approved = ["--plan", plan.hash, "--manifests", STATIC_PODS];
      await pods.#quorate(machine, [...asked, ...approved, ...tls, ...trust]);
    }
    return pods;
  }

  /** What etcdctl gets on the machine of a member, where its client port is open for that machine alone. */
  async serve({ node }: Machine, command: readonly string[], answer: RegExp): Promise<void> {
    const version = newestVersions.find((one) => one.startsWith("3.6.")) ?? "";
    const { etcdctl } = await ensureEtcd(version, { env: process.env, clock: systemClock });
    const etcd = [etcdctl, "--endpoints=http://127.0.0.1:2379", ...command];
    await eventually(
      `etcdctl ${command.join(" ")} on node ${node}`,
      async () => answer.test(await onNode(bedPaths(this.#bed), node, etcd).catch(() => "")),
      PATIENCE,
    );
  }

  /** The manifests go, and with them the Pods; the directories are free again. */
  async remove(): Promise<void> {
    for (const { member, node } of this.#started)
      await onNode(bedPaths(this.#bed), node, ["rm", `${STATIC_PODS}/${member}-recovered.yaml`]);
  }

  async #quorate({ node }: Machine, args: readonly string[]): Promise<string> {
    return await onNode(bedPaths(this.#bed), node, [process.execPath, MAIN, ...args]);
  }

  async #write({ node }: Machine, file: string, text: string): Promise<void> {
    const script = `mkdir -p ${path.dirname(file)} && cat > ${file}`;
    await onNode(bedPaths(this.#bed), node, ["sh", "-c", script], Buffer.from(text));
  }
}
