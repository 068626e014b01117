/**
 * The registry that nodes pull from: it makes an image when it is first asked for it, so that a Pod's usual
 * image names work and nothing is imported that no Pod runs. A process of its own, outside the nodes' network
 * (building an etcd may need the internet); the gate carries its port in.
 */
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { controlAddress, readBed } from "../state.ts";
import { imageStore, resolveImage } from "./images.ts";
import { blobPath, MANIFEST_TYPE } from "./oci.ts";

const bed = readBed(process.argv[2] ?? "");
if (bed?.kind !== "own") throw new Error(`there is no testbed ${process.argv[2]}`);

const making = new Map<string, Promise<string | undefined>>();

/** Three nodes ask at once; it is made once. */
function resolveOnce(repository: string, tag: string): Promise<string | undefined> {
  const key = `${repository}:${tag}`;
  const running = making.get(key);
  if (running) return running;
  const work = resolveImage(repository, tag).finally(() => making.delete(key));
  making.set(key, work);
  return work;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? "/", "http://registry");
  if (pathname === "/v2/" || pathname === "/healthz") return void response.writeHead(200).end();
  const asked = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(pathname);
  if (!asked) return void response.writeHead(404).end();
  const [, repository = "", kind, reference = ""] = asked;
  let digest: string | undefined = reference;
  if (!reference.startsWith("sha256:")) {
    digest = await resolveOnce(repository, reference);
    console.log(`${repository}:${reference} is ${digest ?? "unknown"}`);
  }
  const path = digest && blobPath(imageStore(), digest);
  if (!digest || !path || !existsSync(path)) return void response.writeHead(404).end();
  response.writeHead(200, {
    "content-type": kind === "manifests" ? MANIFEST_TYPE : "application/octet-stream",
    "content-length": statSync(path).size,
    "docker-content-digest": digest,
  });
  if (request.method === "HEAD") return void response.end();
  createReadStream(path).pipe(response);
}

createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    console.log(`${request.url}: ${(error as Error).message}`);
    if (!response.headersSent) response.writeHead(500);
    response.end();
  });
}).listen(bed.ports.registry, controlAddress(bed.slot));
