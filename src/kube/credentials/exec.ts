/**
 * Credentials from a plugin (client.authentication.k8s.io): a program that prints a token or a client certificate.
 * What it gave is used until it expires; shortly before, the next is fetched while calls go on with the old one. At
 * most one run at a time, and none twice within seconds: a server that refuses everything, or a plugin that cannot log
 * in, must not become a loop of logins.
 */
import { deadline, type Clock } from "../../seams/clock.ts";
import type { Disk } from "../../seams/disk.ts";
import type { ProgramResult, Programs } from "../../seams/programs.ts";
import { KubeConfigError, type ExecPlugin } from "../kubeconfig/types.ts";
import { issuedBy } from "./exec-credential.ts";
import type { CredentialSource, Issued } from "./source.ts";

/** A program that asks nobody; and one behind which a person logs in with a browser. */
const ALONE_MS = 60_000;
const INTERACTIVE_MS = 300_000;
/** Fetched anew this long before the end, or in the last tenth of a shorter life. */
const BEFORE_END_MS = 60_000;
const RUN_AGAIN_MS = 3_000;

export interface ExecWorld {
  readonly clock: Clock;
  readonly disk: Disk;
  readonly programs: Programs;
}

export class ExecCredentials implements CredentialSource {
  readonly #plugin: ExecPlugin;
  readonly #world: ExecWorld;
  #issued: Issued | undefined;
  /** From when on others are fetched although these still hold. */
  #renewAt = Infinity;
  #refused = false;
  #running: Promise<Issued> | undefined;
  #ranAt = -Infinity;
  #failure: Error | undefined;

  constructor(plugin: ExecPlugin, world: ExecWorld) {
    this.#plugin = plugin;
    this.#world = world;
  }

  async current(): Promise<Issued> {
    const issued = this.#issued;
    const { clock } = this.#world;
    const now = clock.now();
    const holds = issued !== undefined && !this.#refused && now < (issued.expiresAt ?? Infinity);
    if (holds && now < this.#renewAt) return issued;
    const justRan = clock.monotonic() - this.#ranAt < RUN_AGAIN_MS;
    if (this.#running === undefined && justRan) {
      if (this.#failure !== undefined && !holds) throw this.#failure;
      if (issued !== undefined) return issued;
    }
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    if (!holds) return await this.#running;
    // It is kept, and told by `current` once these have expired.
    this.#running.catch(() => undefined);
    return issued;
  }

  refused(used: Issued): void {
    if (this.#issued === used) this.#refused = true;
  }

  async #run(): Promise<Issued> {
    const { clock } = this.#world;
    try {
      const issued = issuedBy(this.#plugin, await this.#output());
      const now = clock.now();
      const life = (issued.expiresAt ?? Infinity) - now;
      if (life <= 0)
        throw problem(this.#plugin, `gave credentials that expired at ${timeOf(issued.expiresAt)}`);
      this.#renewAt = (issued.expiresAt ?? Infinity) - Math.min(BEFORE_END_MS, life / 10);
      // The same again is the same object: whoever was refused with it need not try once more.
      const same = this.#issued !== undefined && sameCredentials(this.#issued, issued);
      if (!same || this.#issued?.expiresAt !== issued.expiresAt) this.#issued = issued;
      this.#refused = false;
      this.#failure = undefined;
      return this.#issued ?? issued;
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      throw this.#failure;
    } finally {
      this.#ranAt = clock.monotonic();
    }
  }

  async #output(): Promise<string> {
    const { clock, programs } = this.#world;
    const { command, args, env, interactiveMode } = this.#plugin;
    if (interactiveMode === "Always" && !programs.terminal)
      throw problem(this.#plugin, "needs a terminal to ask you (interactiveMode: Always), and there is none");
    const interactive = interactiveMode !== "Never" && programs.terminal;
    const timeoutMs = interactive ? INTERACTIVE_MS : ALONE_MS;
    using limit = deadline(clock, timeoutMs);
    const info = { KUBERNETES_EXEC_INFO: JSON.stringify(await this.#info(interactive)) };
    const result = await programs.run({
      command,
      args,
      env: { ...env, ...info },
      interactive,
      signal: limit.signal,
    });
    return outputOf(this.#plugin, result, timeoutMs);
  }

  /** What the plugin is given. The CA goes along as data, wherever the kubeconfig has it. */
  async #info(interactive: boolean): Promise<object> {
    const { apiVersion, cluster } = this.#plugin;
    const { "certificate-authority": file, ...rest } = cluster ?? {};
    const ca =
      typeof file === "string" && rest["certificate-authority-data"] === undefined
        ? await this.#world.disk.read(file)
        : undefined;
    const given = {
      ...rest,
      ...(ca !== undefined && { "certificate-authority-data": Buffer.from(ca).toString("base64") }),
    };
    return { apiVersion, kind: "ExecCredential", spec: { interactive, ...(cluster && { cluster: given }) } };
  }
}

function outputOf(plugin: ExecPlugin, result: ProgramResult, timeoutMs: number): string {
  if (result.kind === "not-found")
    throw problem(plugin, `could not be started: ${result.message}`, plugin.installHint);
  if (result.kind === "aborted")
    throw problem(plugin, `gave no credentials within ${timeoutMs / 1_000} seconds`);
  if (result.code === 0) return result.stdout;
  const said = result.stderr.trim().split("\n").slice(-5).join("\n");
  const hint = result.code === 127 ? plugin.installHint : undefined;
  throw problem(plugin, `exited with code ${result.code}${said === "" ? "" : `: ${said}`}`, hint);
}

function problem({ command }: ExecPlugin, what: string, hint?: string): KubeConfigError {
  const next = hint === undefined ? "run it by hand, or log in again" : `\n${hint.trim()}`;
  return new KubeConfigError("plugin", `the credential plugin ${command} ${what}; ${next}`);
}

function sameCredentials(a: Issued, b: Issued): boolean {
  return a.token === b.token && a.cert === b.cert && a.key === b.key;
}

function timeOf(ms: number | undefined): string {
  return ms === undefined ? "an unknown time" : new Date(ms).toISOString();
}
