/**
 * The bill of materials of what is shipped, as CycloneDX: the packages whose code is in the bundle, Node, and for the
 * image the libraries of the system that Node needs. From the lock and the bundler's own account, without a time or a
 * random number, so that the same sources give the same file.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { LockEntry } from "../lock/stubs.ts";

/** The build of Node's own project. */
export interface OfficialSource {
  readonly version: string;
  readonly url: string;
  /** Of the archive. */
  readonly sha256: string;
}

interface SbomLockEntry extends LockEntry {
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

interface Hash {
  readonly alg: "SHA-256" | "SHA-512";
  readonly content: string;
}

interface Component {
  readonly type: "application" | "library" | "platform" | "file";
  readonly "bom-ref": string;
  readonly group?: string;
  readonly name: string;
  readonly version?: string;
  readonly purl?: string;
  readonly hashes?: readonly Hash[];
  readonly licenses?: readonly object[];
}

export interface Sbom {
  readonly bomFormat: "CycloneDX";
  readonly specVersion: "1.6";
  readonly serialNumber: string;
  readonly version: 1;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

export interface Contents {
  /** Where the lock has the packages of the bundle: `node_modules/zod`. */
  readonly packages: readonly string[];
  /** The npm package that the binary of Node is from, or the archive of its own project. */
  readonly node: string | OfficialSource;
  /** Paths of further files that are shipped, where they are found here. */
  readonly files?: readonly string[];
  /** What is described. */
  readonly artifact: { readonly name: string; readonly sha256?: string };
}

/** Fails where something that is shipped is not in the lock, or is there without a checksum. */
export function sbomOf(root: string, { packages, node, files = [], artifact }: Contents): Sbom {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    version: string;
    packages: Record<string, SbomLockEntry>;
  };
  const entryOf = (location: string): SbomLockEntry => {
    const entry = lock.packages[location];
    if (!entry?.version || !entry.integrity)
      throw new Error(`${location} is shipped, and package-lock.json has no version and integrity of it`);
    return entry;
  };
  const platform = typeof node === "string" ? `node_modules/${node}` : undefined;
  const official = typeof node === "string" ? [] : [officialOf(node)];
  const locations = [...new Set([...packages, ...(platform ? [platform] : [])])].toSorted();
  const components = [
    ...locations.map((one) =>
      componentOf(nameOf(one), entryOf(one), one === platform ? "platform" : "library"),
    ),
    ...official,
    ...files.map(fileOf).toSorted((a, b) => (a["bom-ref"] < b["bom-ref"] ? -1 : 1)),
  ];
  const own: Component = {
    type: "application",
    "bom-ref": `quorate@${lock.version}/${artifact.name}`,
    name: artifact.name,
    version: lock.version,
    licenses: [{ license: { id: lock.packages[""]?.license ?? "Apache-2.0" } }],
    ...(artifact.sha256 !== undefined && { hashes: [{ alg: "SHA-256", content: artifact.sha256 }] }),
  };
  const refs = new Map(locations.map((one) => [one, refOf(nameOf(one), entryOf(one))]));
  const uses = (location: string) =>
    Object.keys(entryOf(location).dependencies ?? {}).flatMap(
      (name) =>
        placesOf(location, name)
          .map((place) => refs.get(place))
          .find((ref) => ref !== undefined) ?? [],
    );
  const dependencies = [
    { ref: own["bom-ref"], dependsOn: components.map((one) => one["bom-ref"]) },
    ...locations.map((one) => ({ ref: refs.get(one) ?? one, dependsOn: uses(one).toSorted() })),
    ...official.map((one) => ({ ref: one["bom-ref"], dependsOn: [] })),
  ];
  const body = { metadata: { component: own }, components, dependencies };
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(body))}`,
    version: 1,
    ...body,
  };
}

/** `@a/b` of `node_modules/c/node_modules/@a/b`. */
function nameOf(location: string): string {
  return location.slice(location.lastIndexOf("node_modules/") + "node_modules/".length);
}

/** Where Node looks for a package that the one at `location` imports: beside it first, then further up. */
function placesOf(location: string, name: string): string[] {
  const up = location.lastIndexOf("/node_modules/");
  const here = `${location}/node_modules/${name}`;
  return up < 0 ? [here, `node_modules/${name}`] : [here, ...placesOf(location.slice(0, up), name)];
}

/** Of an npm package, in the form that other tools look it up by. */
function refOf(name: string, { version }: SbomLockEntry): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function componentOf(name: string, entry: SbomLockEntry, type: "library" | "platform"): Component {
  const [group, rest] = name.startsWith("@") ? name.split("/") : [undefined, name];
  const [algorithm, value = ""] = (entry.integrity ?? "").split("-");
  if (algorithm !== "sha512") throw new Error(`${name}: integrity ${algorithm} where sha512 is expected`);
  return {
    type,
    "bom-ref": refOf(name, entry),
    ...(group !== undefined && { group }),
    name: rest ?? name,
    ...(entry.version !== undefined && { version: entry.version }),
    purl: refOf(name, entry),
    hashes: [{ alg: "SHA-512", content: Buffer.from(value, "base64").toString("hex") }],
    ...(entry.license !== undefined && { licenses: [licenseOf(entry.license)] }),
  };
}

/** An archive, in the form that package URLs have for what no registry holds. */
function officialOf({ version, url, sha256 }: OfficialSource): Component {
  const where = new URLSearchParams({ checksum: `sha256:${sha256}`, download_url: url });
  const purl = `pkg:generic/node@${version}?${where.toString()}`;
  return {
    type: "platform",
    "bom-ref": purl,
    name: "node",
    version,
    purl,
    hashes: [{ alg: "SHA-256", content: sha256 }],
    licenses: [licenseOf("MIT")],
  };
}

function licenseOf(license: string): object {
  return / (?:OR|AND|WITH) /.test(license) ? { expression: license } : { license: { id: license } };
}

function fileOf(path: string): Component {
  const content = sha256Of(path);
  return {
    type: "file",
    "bom-ref": `file:${path}`,
    name: basename(path),
    hashes: [{ alg: "SHA-256", content }],
  };
}

export function sha256Of(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

/** A UUID made from the content (version 8, RFC 9562). */
function uuidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  const variant = ((Number.parseInt(hex[16] ?? "0", 16) & 0x3) | 0x8).toString(16);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, variant + hex.slice(17, 20)];
  return [...parts, hex.slice(20, 32)].join("-");
}
