/**
 * Images, without images: a reference stands for programs of this machine.
 *
 * `…/etcd:v3.6.16` is the etcd of that version, installed if need be. A few well-known names (busybox) stand
 * for the machine's own tools. Others are registered in a file, so that a test can run its own build.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/seams/clock.ts";
import { ensureEtcd } from "../../src/etcd/install/ensure.ts";
import { bedPaths } from "../paths.ts";

export interface Image {
  id: string;
  /** Directories of this machine by their path in the container. */
  mounts: Record<string, string>;
  entrypoint: string[];
  cmd: string[];
  env: Record<string, string>;
}

export interface Images {
  /** Rejects when there is no such image, as a pull would. */
  pull(reference: string): Promise<Image>;
}

const HOST_TOOLS = new Set(["busybox", "debian", "alpine", "ubuntu"]);

export function images(bedName: string): Images {
  return {
    async pull(reference) {
      const registered = readRegistered(bedName)[reference];
      if (registered) return { ...EMPTY, id: `process://${reference}`, ...registered };
      const { repository, tag } = parseReference(reference);
      const base = repository.split("/").at(-1) ?? "";
      if (base === "etcd") return await etcdImage(reference, tag);
      if (HOST_TOOLS.has(base)) return { ...EMPTY, id: `process://${base}`, cmd: ["/bin/sh"] };
      throw new Error(
        `no image "${reference}" here: the stand-in kubelet knows …/etcd:v<version>, ${[...HOST_TOOLS].join(", ")}, and registered images`,
      );
    },
  };
}

const EMPTY: Image = { id: "", mounts: {}, entrypoint: [], cmd: [], env: {} };

async function etcdImage(reference: string, tag: string): Promise<Image> {
  const version = /^v?(\d+\.\d+\.\d+)(-\d+)?$/.exec(tag)?.[1];
  if (!version) throw new Error(`"${reference}": the tag names no etcd version (as in etcd:v3.6.16)`);
  const installed = await ensureEtcd(version, { env: process.env, clock: systemClock });
  return {
    ...EMPTY,
    id: `process://etcd@${installed.version}`,
    mounts: { "/usr/local/bin": installed.dir },
    cmd: ["/usr/local/bin/etcd"],
  };
}

export function parseReference(reference: string): { repository: string; tag: string } {
  const undigested = reference.split("@")[0] ?? "";
  const colon = undigested.lastIndexOf(":");
  // A colon before a slash belongs to a registry's port.
  if (colon === -1 || undigested.indexOf("/", colon) !== -1) return { repository: undigested, tag: "latest" };
  return { repository: undigested.slice(0, colon), tag: undigested.slice(colon + 1) };
}

type Registered = Record<string, Partial<Omit<Image, "id">>>;

function registryFile(bedName: string): string {
  return join(bedPaths(bedName).dir, "images.json");
}

function readRegistered(bedName: string): Registered {
  const file = registryFile(bedName);
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Registered) : {};
}

/** Makes `reference` stand for directories and a command of this machine. */
export function registerImage(bedName: string, reference: string, image: Partial<Omit<Image, "id">>): void {
  const file = registryFile(bedName);
  writeFileSync(`${file}.new`, JSON.stringify({ ...readRegistered(bedName), [reference]: image }, null, 2));
  renameSync(`${file}.new`, file);
}
