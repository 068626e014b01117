/**
 * One Pod's life on its node: volumes, init containers, containers, status, and its end.
 */
import { closeSync, mkdirSync, openSync, rmSync, writeFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Container, ContainerStatus, Pod, PodStatus } from "kubernetes-types/core/v1.d.ts";
import { isCode, STRATEGIC_PATCH } from "../client.ts";
import { marks } from "../processes.ts";
import { ContainerLife, StartFailure } from "./container.ts";
import type { ContainerHost, RestartPolicy, Started } from "./container.ts";
import { containerCommand, containerEnvironment } from "./environment.ts";
import type { Image } from "./images.ts";
import { writeHosts, writePodFiles } from "./pod-files.ts";
import type { PodFiles } from "./pod-files.ts";
import { forgetTokens, NotThere } from "./projected.ts";
import { sandboxCommand } from "./sandbox.ts";
import { podStatus } from "./status.ts";
import { containerMounts, prepareVolumes } from "./volumes.ts";
import { emitEvent, identity, podDir } from "./world.ts";
import type { World } from "./world.ts";

const RETRY_MS = 250;
/** How late the files of a Pod follow that nothing happens to: as late as on the testbed's nodes. Kubelets wait a minute. */
const SYNC_MS = 10_000;

/** The API server writes maps in the order of their keys. */
function sameMetadata({ metadata: a }: Pod, { metadata: b }: Pod): boolean {
  const text = (metadata: typeof a) => JSON.stringify([metadata?.labels, metadata?.annotations]);
  return text(a) === text(b);
}

export class PodWorker {
  pod: Pod;
  readonly podIP: string;
  readonly init: ContainerLife[];
  readonly main: ContainerLife[];
  /** Resolves when everything of the Pod is over on this node. */
  readonly done: Promise<void>;
  readonly #world: World;
  readonly #hostIP: string;
  readonly #startTime: string;
  readonly #ending = new AbortController();
  #volumes = new Map<string, string>();
  #files: PodFiles;
  #writing: Promise<void> | undefined;
  #dirty = false;
  #nextSync: NodeJS.Timeout | undefined;
  /** The node has lost its power: it says nothing any more. */
  #silent = false;
  #ended: Promise<void> | undefined;

  constructor(world: World, pod: Pod, podIP: string, hostIP: string) {
    this.#world = world;
    this.pod = pod;
    this.podIP = podIP;
    this.#hostIP = hostIP;
    this.#startTime = pod.status?.startTime ?? new Date().toISOString();
    const life = (spec: Container, statuses: ContainerStatus[] | undefined) =>
      new ContainerLife(
        this.#containerHost(spec.name),
        statuses?.find((s) => s.name === spec.name),
      );
    this.init = (pod.spec?.initContainers ?? []).map((c) => life(c, pod.status?.initContainerStatuses));
    this.main = (pod.spec?.containers ?? []).map((c) => life(c, pod.status?.containerStatuses));
    this.#files = writePodFiles(world, pod, podIP);
    this.done = this.#run().catch((error: unknown) => {
      if (!this.#ending.signal.aborted) this.#log(`gave up: ${(error as Error).stack}`);
    });
  }

  /** A newer version of the object. */
  update(pod: Pod): void {
    const before = this.pod;
    this.pod = pod;
    for (const [index, container] of (pod.spec?.containers ?? []).entries()) {
      // Of a Pod that lives, other resources are simply there; another image is another process.
      if (container.image !== before.spec?.containers[index]?.image) {
        void this.main[index]?.kill(
          this.#grace(),
          `Container ${container.name} definition changed, will be restarted`,
        );
      }
    }
    const isOther = pod.metadata?.generation !== before.metadata?.generation;
    if (pod.spec?.readinessGates || isOther) this.changed();
    // A kubelet syncs a Pod at once when it changes. Its own reports are no change.
    if (isOther || !sameMetadata(pod, before)) this.#syncSoon();
  }

  /** Stops everything within the grace period and deletes the object; `force` when it is already gone. */
  end(force = false): Promise<void> {
    const grace = force ? 0 : (this.pod.metadata?.deletionGracePeriodSeconds ?? this.#grace());
    const stopped = this.#stop(grace);
    this.#ended ??= stopped.then(() => this.#finish());
    return this.#ended;
  }

  /** Power loss: every process is killed, nothing is reported, memory is forgotten. */
  async crash(): Promise<void> {
    this.#silent = true;
    await this.#stop(0);
    await this.done;
    rmSync(join(podDir(this.#world, identity(this.pod).uid), "memory"), { recursive: true, force: true });
  }

  /** Something that its names or files come from may have changed: names follow at once, files at the next sync. */
  refresh(): void {
    if (this.#ending.signal.aborted) return;
    writeHosts(this.#world, this.pod, this.podIP, this.#files);
    this.#nextSync ??= setTimeout(() => this.#syncSoon(), SYNC_MS).unref();
  }

  #syncSoon(): void {
    this.#sync().catch((error: unknown) => this.#log(`sync: ${(error as Error).message}`));
  }

  /** Writes its projected files anew. */
  async #sync(): Promise<void> {
    clearTimeout(this.#nextSync);
    this.#nextSync = undefined;
    if (this.#ending.signal.aborted) return;
    await prepareVolumes(this.#world, this.pod, this.podIP).catch((error: unknown) => {
      if (!(error instanceof NotThere)) throw error; // deleted: the Pod keeps what it has
    });
  }

  container(name?: string): ContainerLife | undefined {
    if (!name) return this.main[0];
    const index = this.pod.spec?.containers.findIndex((c) => c.name === name) ?? -1;
    return this.main[index];
  }

  volumeDir(name: string): string | undefined {
    return this.#volumes.get(name);
  }

  changed(): void {
    this.#dirty = true;
    this.#writing ??= this.#writeStatus().finally(() => {
      this.#writing = undefined;
      if (this.#dirty && !this.#silent) this.changed();
    });
  }

  async #run(): Promise<void> {
    this.changed();
    await this.#mount();
    const policy = (this.pod.spec?.restartPolicy ?? "Always") as RestartPolicy;
    for (const [index, life] of this.init.entries()) {
      if (this.#ending.signal.aborted) return;
      if (this.pod.spec?.initContainers?.[index]?.restartPolicy === "Always") {
        void life.run("Always");
        while (!life.started && !this.#ending.signal.aborted) await sleep(20);
        continue;
      }
      const code = await life.run(policy === "Never" ? "Never" : "OnFailure");
      if (code !== 0) return;
      life.ready = true;
    }
    if (this.#ending.signal.aborted) return;
    await Promise.all(this.main.map((life) => life.run(policy)));
    // Of a Pod that runs to its end: its sidecars serve the others, and nobody else.
    if (policy !== "Always") await Promise.all(this.init.map((life) => life.end(this.#grace())));
  }

  async #mount(): Promise<void> {
    let told = "";
    while (!this.#ending.signal.aborted) {
      try {
        this.#volumes = await prepareVolumes(this.#world, this.pod, this.podIP);
        return;
      } catch (error) {
        const { message } = error as Error;
        if (told !== message) emitEvent(this.#world, this.pod, "Warning", "FailedMount", message);
        told = message;
      }
      for (const life of [...this.init, ...this.main])
        life.state = { waiting: { reason: "ContainerCreating" } };
      this.changed();
      await sleep(RETRY_MS, undefined, { signal: this.#ending.signal }).catch(() => {});
    }
  }

  #containerHost(name: string): ContainerHost {
    const spec = () => {
      const all = [...(this.pod.spec?.initContainers ?? []), ...(this.pod.spec?.containers ?? [])];
      const found = all.find((c) => c.name === name);
      if (!found) throw new Error(`container ${name} is no longer in the Pod`);
      return found;
    };
    return {
      spec,
      podIP: () => this.podIP,
      graceSeconds: () => this.#grace(),
      backoff: this.#world.bed.options.backoffMs,
      start: (container, attempt) => this.#start(container, attempt),
      changed: () => this.changed(),
      event: (type, reason, message) => emitEvent(this.#world, this.pod, type, reason, message),
    };
  }

  async #start(container: Container, attempt: number): Promise<Started> {
    const world = this.#world;
    // The end of a container makes a kubelet sync too, and the files are new when it starts again (docs/start.md).
    if (attempt > 0) await this.#sync();
    const { namespace, name, uid } = identity(this.pod);
    const image = await world.images.pull(container.image ?? "").catch((error: unknown): Image => {
      throw new StartFailure("ErrImagePull", (error as Error).message);
    });
    let env: Record<string, string>;
    let command: string[];
    let mounts;
    try {
      env = containerEnvironment(world, this.pod, container, image, {
        podIP: this.podIP,
        hostIP: this.#hostIP,
      });
      command = containerCommand(container, image, env, this.podIP);
      mounts = containerMounts(container, this.#volumes, env);
    } catch (error) {
      throw new StartFailure("CreateContainerConfigError", (error as Error).message);
    }
    if (command.length === 0) throw new StartFailure("RunContainerError", "no command specified");
    const own = podDir(world, uid);
    const terminationMessage = join(own, `${container.name}.termination`);
    writeFileSync(terminationMessage, "");
    const { file, args } = sandboxCommand({
      ...this.#files,
      rootfs: join(world.dir, "rootfs"),
      mounts: [
        ...Object.entries(image.mounts).map(([target, source]) => ({ source, target, readOnly: true })),
        ...mounts,
        {
          source: terminationMessage,
          target: container.terminationMessagePath ?? "/dev/termination-log",
          readOnly: false,
        },
      ],
      ...(container.workingDir && { workingDir: container.workingDir }),
      command,
    });
    const logs = join(world.dir, "logs", `${namespace}_${name}_${uid}`, container.name);
    mkdirSync(logs, { recursive: true });
    const log = join(logs, `${attempt}.log`);
    const output = openSync(log, "a");
    try {
      const mark = marks({
        dir: world.bedDir,
        role: `container ${namespace}/${name}/${container.name}`,
        spec: uid,
      });
      const child = spawn(file, args, {
        detached: true,
        cwd: "/",
        stdio: ["ignore", output, output],
        env: { ...env, ...mark },
      });
      if (child.pid === undefined) {
        const why = await new Promise<Error>((resolve) => child.once("error", resolve));
        throw new StartFailure("RunContainerError", why.message);
      }
      return { child, pid: child.pid, imageID: image.id, log, terminationMessage };
    } finally {
      closeSync(output);
    }
  }

  async #stop(grace: number): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.main.map((life) => life.end(grace)));
    // Sidecars serve the others to the last.
    await Promise.all(this.init.map((life) => life.end(grace)));
  }

  async #finish(): Promise<void> {
    if (this.#silent) return;
    await this.done;
    this.changed();
    await this.#writing;
    const { namespace, name, uid } = identity(this.pod);
    for (;;) {
      try {
        await this.#world.client.delete(`/api/v1/namespaces/${namespace}/pods/${name}`, {
          gracePeriodSeconds: 0,
          preconditions: { uid },
        });
        break;
      } catch (error) {
        if (isCode(error, 409)) break; // another Pod has the name now
        this.#log(`cannot delete the object yet: ${(error as Error).message}`);
        await sleep(RETRY_MS);
        if (this.#silent) return;
      }
    }
    forgetTokens(uid);
    rmSync(podDir(this.#world, uid), { recursive: true, force: true });
  }

  async #writeStatus(): Promise<void> {
    const { namespace, name, uid } = identity(this.pod);
    while (this.#dirty && !this.#silent) {
      this.#dirty = false;
      const seen = {
        podIP: this.podIP,
        hostIP: this.#hostIP,
        startTime: this.#startTime,
        init: this.init.map((life) => life.status()),
        main: this.main.map((life) => life.status()),
      };
      const status = podStatus(this.pod, seen, new Date().toISOString());
      const patch = { metadata: { uid }, status: mergeable(status) };
      try {
        const path = `/api/v1/namespaces/${namespace}/pods/${name}/status`;
        const now = await this.#world.client.patch<Pod>(path, patch, STRATEGIC_PATCH);
        if (now.status) this.pod = { ...this.pod, status: now.status };
      } catch (error) {
        if (isCode(error, 404, 409)) return; // gone, or another Pod of the same name
        this.#log(`status: ${(error as Error).message}`);
        this.#dirty = true;
        await sleep(RETRY_MS);
      }
    }
  }

  #grace(): number {
    return this.pod.spec?.terminationGracePeriodSeconds ?? 30;
  }

  #log(line: string): void {
    this.#world.log(`${this.pod.metadata?.namespace}/${this.pod.metadata?.name}: ${line}`);
  }
}

/** A strategic merge keeps what a patch does not name: reasons that are over are named, and addresses replaced. */
function mergeable(status: PodStatus): object {
  const only = (list: object[] | undefined) => [...(list ?? []), { $patch: "replace" }];
  return {
    ...status,
    conditions: status.conditions?.map((condition) => ({ reason: null, message: null, ...condition })),
    podIPs: only(status.podIPs),
    hostIPs: only(status.hostIPs),
  };
}
