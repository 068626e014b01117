/**
 * Images without a container engine: one layer, a configuration and a manifest, as OCI says, in a directory of
 * blobs named by their digest. `imageTar` packs one into an archive that `image load` and other tools take.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tar } from "./tar.ts";
import type { Entry } from "./tar.ts";

export const MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json";
const CONFIG_TYPE = "application/vnd.oci.image.config.v1+json";
const LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar";
const INDEX_TYPE = "application/vnd.oci.image.index.v1+json";

export interface ImageSpec {
  files: Entry[];
  entrypoint?: string[];
  cmd?: string[];
  env?: string[];
  user?: string;
}

interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
}

export function blobPath(store: string, digest: string): string {
  return join(store, digest.replace(":", "-"));
}

/** Puts the image's blobs into `store` and returns the digest of its manifest. */
export function writeImage(store: string, spec: ImageSpec): string {
  mkdirSync(store, { recursive: true });
  const layer = put(store, LAYER_TYPE, tar(withParents(spec.files)));
  const json = (value: object) => Buffer.from(JSON.stringify(value));
  const config = put(
    store,
    CONFIG_TYPE,
    json({
      architecture: process.arch === "x64" ? "amd64" : process.arch,
      os: "linux",
      config: {
        Env: spec.env ?? ["PATH=/usr/local/bin:/usr/bin:/bin"],
        ...(spec.entrypoint && { Entrypoint: spec.entrypoint }),
        ...(spec.cmd && { Cmd: spec.cmd }),
        ...(spec.user && { User: spec.user }),
      },
      rootfs: { type: "layers", diff_ids: [layer.digest] },
    }),
  );
  const manifest = { schemaVersion: 2, mediaType: MANIFEST_TYPE, config, layers: [layer] };
  return put(store, MANIFEST_TYPE, json(manifest)).digest;
}

/** An OCI layout as a tar: what `ctr images import`, `docker load` and `skopeo` read. */
export function imageTar(store: string, digest: string, name: string): Buffer {
  const manifest = readFileSync(blobPath(store, digest));
  const { config, layers } = JSON.parse(manifest.toString()) as { config: Descriptor; layers: Descriptor[] };
  const index = {
    schemaVersion: 2,
    mediaType: INDEX_TYPE,
    manifests: [
      {
        mediaType: MANIFEST_TYPE,
        digest,
        size: manifest.length,
        annotations: {
          "io.containerd.image.name": name,
          "org.opencontainers.image.ref.name": name.split(":").at(-1) ?? "latest",
        },
      },
    ],
  };
  const blobs = [digest, config.digest, ...layers.map((layer) => layer.digest)];
  return tar([
    { path: "oci-layout", kind: "file", content: '{"imageLayoutVersion":"1.0.0"}', mode: 0o644 },
    { path: "index.json", kind: "file", content: JSON.stringify(index), mode: 0o644 },
    { path: "blobs", kind: "directory" },
    { path: "blobs/sha256", kind: "directory" },
    ...blobs.map((one): Entry => ({
      path: `blobs/sha256/${one.split(":")[1]}`,
      kind: "copy",
      from: blobPath(store, one),
      mode: 0o644,
    })),
  ]);
}

/** Directories that files lie in, each before what it holds. */
function withParents(files: Entry[]): Entry[] {
  const known = new Set(files.filter((f) => f.kind === "directory").map((f) => f.path));
  const result: Entry[] = [];
  for (const file of files) {
    const parts = file.path.split("/").slice(0, -1);
    for (let depth = 1; depth <= parts.length; depth++) {
      const path = parts.slice(0, depth).join("/");
      if (known.has(path)) continue;
      known.add(path);
      result.push({ path, kind: "directory" });
    }
    result.push(file);
  }
  return result;
}

function put(store: string, mediaType: string, content: Buffer): Descriptor {
  const digest = `sha256:${createHash("sha256").update(content).digest("hex")}`;
  const path = blobPath(store, digest);
  if (!existsSync(path)) {
    const work = `${path}.${process.pid}`;
    writeFileSync(work, content);
    renameSync(work, path);
  }
  return { mediaType, digest, size: content.length };
}
