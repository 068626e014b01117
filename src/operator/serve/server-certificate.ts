/**
 * The certificate of the metrics endpoint: from a directory where a Secret is mounted, read again when it changes, or
 * one that this process issues for itself, which encrypts and proves nothing about who serves.
 */
import { join } from "node:path";
import { textOf, type Log } from "../../kube/log.ts";
import type { Clock, Timer } from "../../seams/clock.ts";
import type { Disk } from "../../seams/disk.ts";
import type { KeyPair, Pki } from "../../seams/pki.ts";

const DAY_MS = 86_400_000;
const LIFE_MS = 365 * DAY_MS;
/** A kubelet replaces the files of a Secret about once a minute. */
const READ_EVERY_MS = 60_000;
/** Far from the end of the life, and within what a timer can wait for. */
const RENEW_EVERY_MS = 20 * DAY_MS;

export interface CertificateOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly pki: Pki;
  readonly disk: Disk;
  /** With tls.crt and tls.key. Absent: the process issues one for itself. */
  readonly directory?: string | undefined;
  /** Of the certificate that it issues for itself. */
  readonly names: readonly string[];
}

/** Wherever it comes from: the one to begin with, and each that replaces it until `stop`. */
export interface ServerCertificate {
  readonly first: KeyPair;
  onChange(use: (pair: KeyPair) => void): void;
  stop(): void;
}

/** Rejects where there is none to begin with. */
export async function serverCertificate(options: CertificateOptions): Promise<ServerCertificate> {
  const { clock, log, directory } = options;
  const obtain = () => (directory === undefined ? issued(options) : read(options.disk, directory));
  const first = await obtain();
  let current = first;
  let use: ((pair: KeyPair) => void) | undefined;
  let timer: Timer | undefined;
  let stopped = false;
  const again = async () => {
    try {
      const next = await obtain();
      if (next.certificate === current.certificate && next.key === current.key) return;
      use?.(next);
      current = next;
    } catch (error) {
      log("warn", `the metrics endpoint keeps its certificate: ${textOf(error)}`);
    } finally {
      if (!stopped) schedule();
    }
  };
  const schedule = () => {
    const ms = directory === undefined ? RENEW_EVERY_MS : READ_EVERY_MS;
    timer = clock.timer(ms, () => void again(), { background: true });
  };
  schedule();
  return {
    first,
    onChange: (given) => void (use = given),
    stop: () => {
      stopped = true;
      timer?.cancel();
    },
  };
}

async function read(disk: Disk, directory: string): Promise<KeyPair> {
  const named = async (name: string) => {
    const text = await disk.read(join(directory, name));
    if (text === undefined)
      throw new Error(
        `${join(directory, name)}: there is no such file; mount a Secret with tls.crt and tls.key`,
      );
    return text;
  };
  // One after the other, so that the same one is named each time.
  const certificate = await named("tls.crt");
  return { certificate, key: await named("tls.key") };
}

async function issued({ pki, names }: CertificateOptions): Promise<KeyPair> {
  const ca = await pki.issueCa({ commonName: "quorate-metrics-ca", lifeMs: 2 * LIFE_MS });
  const leaf = await pki.issueLeaf({
    ca,
    leaf: {
      commonName: "quorate-metrics",
      sans: { dns: names, ips: ["127.0.0.1"] },
      usages: ["serverAuth"],
      lifeMs: LIFE_MS,
    },
  });
  return { certificate: `${leaf.certificate}\n${ca.certificate}`, key: leaf.key };
}
