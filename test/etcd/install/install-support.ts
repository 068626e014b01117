/**
 * What the installer's tests stand on: a place of their own with a PATH that has only what they put there,
 * shell scripts that pass for etcd's programs and for `go`, and a release server on loopback that can be
 * made to misbehave.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  accessSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { archiveName } from "../../../src/etcd/install/release.ts";

export interface Place extends Disposable {
  readonly root: string;
  readonly cache: string;
  /** The only directory on PATH. */
  readonly bin: string;
  readonly env: Record<string, string>;
}

/** Tools the tests' scripts and the installer need; `go` and `apt-get` are left out on purpose. */
const TOOLS = ["sh", "tar", "gzip", "sleep", "cat", "chmod"];

export function makePlace(): Place {
  const root = mkdtempSync(path.join(os.tmpdir(), "quorate-install-"));
  const bin = path.join(root, "bin");
  mkdirSync(bin);
  for (const tool of TOOLS) symlinkSync(findTool(tool), path.join(bin, tool));
  const cache = path.join(root, "cache");
  return {
    root,
    bin,
    cache,
    env: { PATH: bin, HOME: root, QUORATE_CACHE: cache },
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

function findTool(tool: string): string {
  for (const dir of (process.env["PATH"] ?? "").split(path.delimiter)) {
    const file = path.join(dir, tool);
    try {
      accessSync(file);
      return file;
    } catch {
      // Not in this directory.
    }
  }
  throw new Error(`these tests need ${tool} on PATH`);
}

/** A script that says it is etcd's `program` of `version`. */
export function programScript(program: string, version: string): string {
  return `#!/bin/sh\necho "${program} ${program === "etcd" ? "Version" : "version"}: ${version}"\n`;
}

export function writePrograms(dir: string, version: string, programs = ["etcd", "etcdctl", "etcdutl"]): void {
  mkdirSync(dir, { recursive: true });
  for (const program of programs) {
    writeFileSync(path.join(dir, program), programScript(program, version), { mode: 0o755 });
  }
}

/** A release archive as etcd packs it. `says` is the version its programs tell. */
export function makeArchive(place: Place, version: string, says = version): Buffer {
  const name = archiveName(version, process.platform, process.arch);
  const dir = path.join(place.root, "pack", name.replace(/\.tar\.gz$/, ""));
  writePrograms(dir, says);
  const file = path.join(place.root, name);
  execFileSync("tar", ["-czf", file, "-C", path.dirname(dir), path.basename(dir)]);
  rmSync(path.join(place.root, "pack"), { recursive: true });
  return readFileSync(file);
}

/**
 * Puts a `go` on PATH that "builds" scripts: each build is written down, takes `seconds`, and its process
 * id (that of a child, as a compiler would be) can be read.
 */
export function fakeGo(
  place: Place,
  version: string,
  seconds: number,
  failWith?: string,
): { builds(): string[] } {
  const log = path.join(place.root, "builds");
  writeFileSync(log, "");
  const build = failWith
    ? `echo "${failWith}" >&2; exit 1`
    : `sleep ${seconds} & echo "$! $program" >> ${log}; wait $!
printf '#!/bin/sh\\necho "%s version: ${version}"\\n' "$program" > "$out"; chmod 755 "$out"`;
  const script = `#!/bin/sh
if [ "$1" = env ]; then echo go1.26.8; exit 0; fi
while [ $# -gt 0 ]; do if [ "$1" = -o ]; then out=$2; fi; shift; done
program=\${out##*/}
${build}
`;
  writeFileSync(path.join(place.bin, "go"), script, { mode: 0o755 });
  return { builds: () => readFileSync(log, "utf8").split("\n").filter(Boolean) };
}

/** Everything in the cache that an installation made or left, the memory of the server's state aside. */
export function leftIn(cache: string): string[] {
  try {
    return readdirSync(path.join(cache, "etcd")).filter((name) => name !== ".release-server.json");
  } catch {
    return [];
  }
}

export interface ReleaseServer extends AsyncDisposable {
  readonly url: string;
  /** "GET /v3.6.16/SHA256SUMS" and so on, as they came. */
  readonly requests: string[];
  /** Serves `archive` with a true SHA256SUMS, or with `sum`. */
  offer(version: string, archive: Buffer, sum?: string): void;
  /** Answers the archive of `version` in another way. */
  onArchive(version: string, answer: (request: IncomingMessage, response: ServerResponse) => void): void;
}

export async function startReleaseServer(): Promise<ReleaseServer> {
  const requests: string[] = [];
  const routes = new Map<string, (request: IncomingMessage, response: ServerResponse) => void>();
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const route = routes.get(request.url ?? "");
    if (route) route(request, response);
    else response.writeHead(404).end("not found");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address() as { port: number };
  const archivePath = (version: string) =>
    `/v${version}/${archiveName(version, process.platform, process.arch)}`;
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    offer(version, archive, sum = createHash("sha256").update(archive).digest("hex")) {
      const name = path.basename(archivePath(version));
      const sums = `${"0".repeat(64)}  etcd-v${version}-other.zip\n${sum}  ${name}\n`;
      routes.set(`/v${version}/SHA256SUMS`, (_, response) => void response.end(sums));
      routes.set(archivePath(version), (_, response) => {
        response.writeHead(200, { "content-length": archive.length }).end(archive);
      });
    },
    onArchive: (version, answer) => void routes.set(archivePath(version), answer),
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
