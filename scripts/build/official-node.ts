/**
 * Which Node is put into what is built: the one that its own project built, from its distribution site or a copy of it,
 * if the SHA-256 of the archive is the one in the release's SHASUMS256.txt; or the npm package that package-lock.json
 * pins, where the site cannot be reached or npm is asked for.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { cacheDir } from "../../testbed/paths.ts";
import type { Machine } from "./elf.ts";
import { lockedNode, packagedNode, type PackagedNode } from "./packaged-node.ts";
import { sha256Of, type OfficialSource } from "./sbom.ts";

export const NODE_SITE = "https://nodejs.org/dist";
/** `any`: the project's own build where it can be had, else npm's. */
export const NODE_CHOICES = ["any", "official", "npm"] as const;
export type NodeChoice = (typeof NODE_CHOICES)[number];

const SUMS = "SHASUMS256.txt";
const ANSWER_MS = 10_000;
const ARCHIVE_MS = 10 * 60_000;
const MOST_BYTES = 256 << 20;

export interface ChosenNode extends PackagedNode {
  /** The npm package, or the archive of the project. */
  readonly source: string | OfficialSource;
}

export interface Wish {
  readonly choice: NodeChoice;
  /** The site, or a copy of it. */
  readonly site: string;
  readonly cache?: string;
}

/** It is not to be had there now, which says nothing against it. */
export class NodeUnavailable extends Error {
  override name = "NodeUnavailable";
}

export async function chosenNode(
  root: string,
  machine: Machine,
  { choice, site, cache = cacheDir() }: Wish,
  tell: (text: string) => void,
): Promise<ChosenNode> {
  const { name, version } = lockedNode(root, machine);
  if (choice !== "npm") {
    try {
      const official = await officialNode(version, machine, site, cache, tell);
      const packaged = join(root, "node_modules", name, "bin/node");
      if (existsSync(packaged))
        tell(`it is ${sha256Of(packaged) === sha256Of(official.path) ? "" : "not "}the binary of ${name}`);
      return official;
    } catch (error) {
      if (choice === "official" || !(error instanceof NodeUnavailable)) throw error;
      tell(`${error.message}: using ${name} from npm`);
    }
  }
  return { ...(await packagedNode(root, machine, tell)), source: name };
}

async function officialNode(
  version: string,
  machine: Machine,
  site: string,
  cache: string,
  tell: (text: string) => void,
): Promise<ChosenNode> {
  const folder = join(cache, "node", `official-${version}-linux-${machine}`);
  const told = join(folder, "source.json");
  if (!existsSync(told)) {
    const name = `node-v${version}-linux-${machine}`;
    tell(`fetching ${name} from ${site}`);
    await fetchOfficial(checkedSite(site), version, name, folder);
  }
  const source = JSON.parse(readFileSync(told, "utf8")) as OfficialSource;
  return { version, path: join(folder, "bin/node"), license: join(folder, "LICENSE"), source };
}

/** SHASUMS256.txt is worth as much as the way it came by. */
function checkedSite(site: string): string {
  const { protocol, hostname } = new URL(site);
  const isHere = ["127.0.0.1", "localhost", "[::1]"].includes(hostname);
  if (protocol !== "https:" && !isHere)
    throw new Error(`${site} is not https: checksums that come in plaintext prove nothing`);
  return site.replace(/\/$/, "");
}

async function fetchOfficial(site: string, version: string, name: string, target: string): Promise<void> {
  const archive = `${name}.tar.gz`;
  const at = `${site}/v${version}`;
  const sums = await (await answerOf(`${at}/${SUMS}`, ANSWER_MS)).text();
  const line = sums.split("\n").find((one) => one.endsWith(`  ${archive}`));
  const wanted = /^([0-9a-f]{64}) {2}/.exec(line ?? "")?.[1];
  if (wanted === undefined) throw new NodeUnavailable(`${at}/${SUMS} has no checksum of ${archive}`);
  mkdirSync(dirname(target), { recursive: true });
  const work = mkdtempSync(join(dirname(target), ".official-"));
  try {
    const url = `${at}/${archive}`;
    const file = join(work, archive);
    const found = await save(url, file);
    if (found !== wanted)
      throw new Error(`${url} has the SHA-256 ${found}, ${SUMS} says ${wanted}: not used`);
    const made = join(work, "made");
    mkdirSync(made);
    const members = [`${name}/bin/node`, `${name}/LICENSE`];
    await promisify(execFile)("tar", ["-xzf", file, "-C", made, "--strip-components=1", ...members]);
    const source: OfficialSource = { version, url, sha256: wanted };
    writeFileSync(join(made, "source.json"), JSON.stringify(source));
    rmSync(target, { recursive: true, force: true });
    renameSync(made, target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function answerOf(url: string, withinMs: number): Promise<Response> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(withinMs) });
    if (answer.ok) return answer;
    throw new NodeUnavailable(`${url} answers ${answer.status}`);
  } catch (error) {
    throw unavailable(url, error);
  }
}

/** With its SHA-256. */
async function save(url: string, file: string): Promise<string> {
  const answer = await answerOf(url, ARCHIVE_MS);
  const hash = createHash("sha256");
  let bytes = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      bytes += chunk.length;
      done(bytes > MOST_BYTES ? new NodeUnavailable(`${url} is larger than any Node`) : null, chunk);
    },
  });
  try {
    await pipeline(Readable.fromWeb(answer.body ?? new ReadableStream()), counted, createWriteStream(file));
  } catch (error) {
    throw unavailable(url, error);
  }
  return hash.digest("hex");
}

function unavailable(url: string, error: unknown): NodeUnavailable {
  if (error instanceof NodeUnavailable) return error;
  const { cause } = error as { cause?: unknown };
  const why = cause instanceof Error ? cause.message : String(error);
  return new NodeUnavailable(`${url} cannot be read (${why})`, { cause: error });
}
