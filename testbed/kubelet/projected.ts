/**
 * Files of Secrets, ConfigMaps, the downward API and service account tokens, written as a kubelet does: into a
 * new directory that a symbolic link is then pointed to, so that readers see all of the old or all of the new.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { KeyToPath, Pod, ProjectedVolumeSource, Volume } from "kubernetes-types/core/v1.d.ts";
import { fieldValue, resourceValue } from "./environment.ts";
import { ownAddress } from "./loopback.ts";
import { identity } from "./world.ts";
import type { World } from "./world.ts";

export type Files = Map<string, { content: Buffer; mode: number }>;

/** Something the Pod refers to is not there (yet); the Pod waits for it. */
export class NotThere extends Error {}

/** The files of a volume of one of these kinds; undefined for other volumes. */
export async function projectedFiles(
  world: World,
  pod: Pod,
  volume: Volume,
  podIP: string,
): Promise<Files | undefined> {
  const files: Files = new Map();
  if (volume.secret) {
    const { secretName = "", items, optional, defaultMode = 0o644 } = volume.secret;
    addSecret(world, pod, files, { name: secretName, items, optional }, defaultMode);
  } else if (volume.configMap) {
    addConfigMap(world, pod, files, volume.configMap, volume.configMap.defaultMode ?? 0o644);
  } else if (volume.downwardAPI) {
    addDownward(pod, files, volume.downwardAPI.items ?? [], volume.downwardAPI.defaultMode ?? 0o644, podIP);
  } else if (volume.projected) {
    await addProjected(world, pod, files, volume.projected, podIP);
  } else return undefined;
  // In a Pod's own network every address is its own; here it has one, and wildcards would meet their neighbours'.
  for (const file of files.values()) {
    const text = file.content.toString("utf8");
    const own = ownAddress(text, podIP);
    if (own !== text) file.content = Buffer.from(own);
  }
  return files;
}

async function addProjected(
  world: World,
  pod: Pod,
  files: Files,
  volume: ProjectedVolumeSource,
  podIP: string,
): Promise<void> {
  const mode = volume.defaultMode ?? 0o644;
  for (const source of volume.sources ?? []) {
    if (source.secret) addSecret(world, pod, files, source.secret, mode);
    if (source.configMap) addConfigMap(world, pod, files, source.configMap, mode);
    if (source.downwardAPI) addDownward(pod, files, source.downwardAPI.items ?? [], mode, podIP);
    if (source.serviceAccountToken) {
      const { path, audience, expirationSeconds } = source.serviceAccountToken;
      files.set(path, { content: await serviceAccountToken(world, pod, audience, expirationSeconds), mode });
    }
  }
}

interface KeyedSource {
  name?: string | undefined;
  items?: KeyToPath[] | undefined;
  optional?: boolean | undefined;
}

function addSecret(world: World, pod: Pod, files: Files, source: KeyedSource, mode: number): void {
  const secret = world.secrets.get(`${identity(pod).namespace}/${source.name}`);
  if (!secret && !source.optional) throw new NotThere(`secret "${source.name}" not found`);
  const data = Object.entries((secret?.data ?? {}) as Record<string, string>);
  addKeys(
    files,
    new Map(data.map(([key, value]) => [key, Buffer.from(value, "base64")])),
    source,
    mode,
    "secret",
  );
}

function addConfigMap(world: World, pod: Pod, files: Files, source: KeyedSource, mode: number): void {
  const map = world.configMaps.get(`${identity(pod).namespace}/${source.name}`);
  if (!map && !source.optional) throw new NotThere(`configmap "${source.name}" not found`);
  const data = new Map<string, Buffer>();
  for (const [key, value] of Object.entries((map?.data ?? {}) as Record<string, string>))
    data.set(key, Buffer.from(value));
  for (const [key, value] of Object.entries((map?.binaryData ?? {}) as Record<string, string>)) {
    data.set(key, Buffer.from(value, "base64"));
  }
  addKeys(files, data, source, mode, "configmap");
}

function addKeys(
  files: Files,
  data: Map<string, Buffer>,
  source: KeyedSource,
  mode: number,
  kind: string,
): void {
  if (!source.items) {
    for (const [key, content] of data) files.set(key, { content, mode });
    return;
  }
  for (const item of source.items) {
    const content = data.get(item.key);
    if (content) files.set(item.path, { content, mode: item.mode ?? mode });
    else if (!source.optional) throw new NotThere(`${kind} "${source.name}" has no key "${item.key}"`);
  }
}

type DownwardItem = NonNullable<NonNullable<Volume["downwardAPI"]>["items"]>[number];

function addDownward(pod: Pod, files: Files, items: DownwardItem[], mode: number, podIP: string): void {
  for (const item of items) {
    const { containerName = "", resource = "" } = item.resourceFieldRef ?? {};
    const container = pod.spec?.containers.find((c) => c.name === containerName);
    const value = item.fieldRef
      ? fieldValue(pod, item.fieldRef.fieldPath, { podIP, hostIP: "" })
      : container && resourceValue(container, resource, item.resourceFieldRef?.divisor);
    files.set(item.path, { content: Buffer.from(value ?? ""), mode: item.mode ?? mode });
  }
}

const tokens = new Map<string, { content: Buffer; renewAt: number }>();

/** A token bound to this Pod, asked for again when four fifths of its life are over. */
async function serviceAccountToken(
  world: World,
  pod: Pod,
  audience?: string,
  expirationSeconds = 3600,
): Promise<Buffer> {
  const { namespace, name, uid } = identity(pod);
  const account = pod.spec?.serviceAccountName ?? "default";
  const key = `${uid}/${account}/${audience}/${expirationSeconds}`;
  const known = tokens.get(key);
  if (known && Date.now() < known.renewAt) return known.content;
  const answer = (await world.client.create(
    `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
    {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: {
        ...(audience && { audiences: [audience] }),
        expirationSeconds,
        boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid },
      },
    },
  )) as { status?: { token: string } };
  const content = Buffer.from(answer.status?.token ?? "");
  tokens.set(key, { content, renewAt: Date.now() + expirationSeconds * 800 });
  return content;
}

export function forgetTokens(uid: string): void {
  for (const key of tokens.keys()) if (key.startsWith(`${uid}/`)) tokens.delete(key);
}

/** Puts `files` in place; true when anything changed. */
export function writeFiles(dir: string, files: Files): boolean {
  mkdirSync(dir, { recursive: true });
  const data = join(dir, "..data");
  if (existsSync(data) && sameFiles(data, files)) return false;
  const old = existsSync(data) ? readlinkSync(data) : undefined;
  const fresh = `..${new Date().toISOString().replaceAll(":", "_")}.${process.hrtime.bigint() % 1_000_000n}`;
  for (const [path, { content, mode }] of files) {
    const file = join(dir, fresh, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content, { mode });
  }
  mkdirSync(join(dir, fresh), { recursive: true });
  rmSync(`${data}_tmp`, { force: true });
  symlinkSync(fresh, `${data}_tmp`);
  renameSync(`${data}_tmp`, data);
  const top = new Set([...files.keys()].map((path) => path.split("/")[0] ?? path));
  for (const name of top) {
    if (!readdirSync(dir).includes(name)) symlinkSync(join("..data", name), join(dir, name));
  }
  for (const name of readdirSync(dir)) if (!name.startsWith("..") && !top.has(name)) rmSync(join(dir, name));
  if (old) rmSync(join(dir, old), { recursive: true, force: true });
  return true;
}

function sameFiles(data: string, files: Files): boolean {
  const there = readdirSync(data, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  if (there.length !== files.size) return false;
  for (const [path, { content }] of files) {
    const file = join(data, path);
    if (!existsSync(file) || !readFileSync(file).equals(content)) return false;
  }
  return true;
}
