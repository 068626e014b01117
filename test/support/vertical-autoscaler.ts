/**
 * The real VerticalPodAutoscaler on a testbed: its resource definitions, and its admission webhook and its updater as
 * processes beside the API server. What its recommender would write, which takes metrics of nodes, the test writes.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { parseAllDocuments } from "yaml";
import { API_VERSION } from "../../src/api/metadata.ts";
import { createPki } from "../../src/pki/issue.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemProcesses, type RunningProcess } from "../../src/seams/processes.ts";
import { systemRandom } from "../../src/seams/random.ts";
import type { KubeObject } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { ensureUpstream, filesOf } from "../../testbed/nodes/programs.ts";
import { freePorts } from "./free-ports.ts";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const AUTOSCALERS = "/apis/autoscaling.k8s.io/v1/namespaces/default/verticalpodautoscalers";
const WEBHOOK = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/vpa-webhook-config";
const HOUR = 3_600_000;

export interface Recommended {
  readonly cpu: string;
  readonly memory: string;
}

export class VerticalAutoscaler implements AsyncDisposable {
  readonly #bed: TestTestbed;
  readonly #folder = mkdtempSync(path.join(tmpdir(), "quorate-vpa-"));
  readonly #processes: RunningProcess[] = [];

  private constructor(bed: TestTestbed) {
    this.#bed = bed;
  }

  static async start(bed: TestTestbed): Promise<VerticalAutoscaler> {
    const [updater, admission] = [await ensureUpstream("vpa-updater"), await ensureUpstream("vpa-admission")];
    const started = new VerticalAutoscaler(bed);
    const definitions = readFileSync(path.join(filesOf("vpa-admission"), "vpa-v1-crd-gen.yaml"), "utf8");
    for (const document of parseAllDocuments(definitions))
      await bed.client.create(DEFINITIONS, document.toJS() as KubeObject);
    await eventually("its kinds are served", async () => await bed.client.get(AUTOSCALERS));
    const [port = 0, ...metrics] = await freePorts(3);
    const certificates = await started.#certificates();
    await started.#run(admission, [
      ...certificates,
      `--port=${port}`,
      `--address=127.0.0.1:${metrics[0]}`,
      "--register-by-url",
      "--webhook-address=https://127.0.0.1",
      `--webhook-port=${port}`,
    ]);
    await started.#run(updater, ["--updater-interval=2s", `--address=127.0.0.1:${metrics[1]}`]);
    try {
      await eventually("its webhook is registered", async () => await bed.client.get(WEBHOOK), {
        withinMs: 60_000,
      });
    } catch (error) {
      const story = started.story();
      await started[Symbol.asyncDispose]();
      throw new Error(`${(error as Error).message}\n${story}`, { cause: error });
    }
    return started;
  }

  /** As docs/kubernetes.md says it: one for each EtcdMember. */
  async recommend(member: string, updateMode: string, target: Recommended): Promise<void> {
    await this.#bed.client.create(AUTOSCALERS, {
      apiVersion: "autoscaling.k8s.io/v1",
      kind: "VerticalPodAutoscaler",
      metadata: { name: member },
      spec: {
        targetRef: { apiVersion: API_VERSION, kind: "EtcdMember", name: member },
        updatePolicy: { updateMode, minReplicas: 1 },
        resourcePolicy: { containerPolicies: [{ containerName: "etcd", controlledValues: "RequestsOnly" }] },
      },
    } as KubeObject);
    const bounds = { target, uncappedTarget: target, lowerBound: target, upperBound: target };
    await this.#bed.client.patch(`${AUTOSCALERS}/${member}/status`, {
      status: { recommendation: { containerRecommendations: [{ containerName: "etcd", ...bounds }] } },
    });
  }

  /** The end of what both wrote. */
  story(): string {
    return ["vpa-admission", "vpa-updater"]
      .map((name) => readFileSync(this.#log(name), "utf8").split("\n").slice(-15).join("\n"))
      .join("\n\n");
  }

  async #certificates(): Promise<string[]> {
    const pki = createPki(systemClock, systemRandom);
    const ca = await pki.issueCa({ commonName: "test CA", lifeMs: HOUR });
    const sans = { dns: [], ips: ["127.0.0.1"] };
    const leaf = { commonName: "test", sans, usages: ["serverAuth" as const], lifeMs: HOUR };
    const { certificate, key } = await pki.issueLeaf({ ca, leaf });
    const files = { "client-ca-file": ca.certificate, "tls-cert-file": certificate, "tls-private-key": key };
    return Object.entries(files).map(([flag, text]) => {
      const file = path.join(this.#folder, flag);
      writeFileSync(file, text);
      return `--${flag}=${file}`;
    });
  }

  #log(name: string): string {
    return path.join(this.#folder, `${name}.log`);
  }

  async #run(command: string, args: readonly string[]): Promise<void> {
    const name = path.basename(command).startsWith("vpa-updater") ? "vpa-updater" : "vpa-admission";
    this.#processes.push(
      await systemProcesses.spawn({
        command,
        args: [`--kubeconfig=${this.#bed.kubeconfig}`, "--v=4", ...args],
        env: { PATH: process.env["PATH"] },
        cwd: this.#folder,
        log: this.#log(name),
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const running of this.#processes) running.signal("SIGTERM");
    const isAlive = async () => {
      for (const running of this.#processes) if (await systemProcesses.isAlive(running)) return true;
      return false;
    };
    await eventually("the autoscaler has ended", async () => !(await isAlive()));
    await this.#bed.client.delete(WEBHOOK);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
