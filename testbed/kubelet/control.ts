/**
 * The stand-in's own interface, for tests: faults that a real cluster would suffer, and a look inside.
 * On loopback, behind the stand-in's token.
 */
import { readdirSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { IncomingMessage, Server } from "node:http";
import { join } from "node:path";
import type { PodWorker } from "./pod-worker.ts";
import type { StandIn } from "./stand-in.ts";

export interface PodView {
  node: string;
  podIP: string;
  containers: { name: string; pid?: number; restartCount: number; frozen: boolean; log: string }[];
}

class NotFound extends Error {}

export function serveControl(
  standIn: StandIn,
  token: string,
  port: number,
  address: string,
): Promise<Server> {
  const server = createServer((request, response) => {
    const send = (code: number, body: unknown) => {
      response.writeHead(code, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    };
    const url = new URL(request.url ?? "/", "http://stand-in");
    if (url.pathname === "/healthz") {
      send(200, { ok: true });
      return;
    }
    if (request.headers.authorization !== `Bearer ${token}`) {
      send(401, { message: "a token is needed" });
      return;
    }
    handle(standIn, request, url).then(
      (answer) => send(200, answer ?? {}),
      (error: unknown) => send(error instanceof NotFound ? 404 : 500, { message: (error as Error).message }),
    );
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, address, () => resolve(server));
  });
}

async function handle(standIn: StandIn, request: IncomingMessage, url: URL): Promise<unknown> {
  const [kind, ...rest] = url.pathname.slice(1).split("/");
  const query = (name: string) => url.searchParams.get(name) ?? undefined;
  if (kind === "pods") {
    const [namespace = "", name = "", action] = rest;
    const worker = standIn.worker(namespace, name);
    if (!worker) throw new NotFound(`no Pod ${namespace}/${name} runs here`);
    if (request.method === "GET") return view(worker);
    return await podFault(worker, action ?? "", query);
  }
  if (kind === "nodes") {
    const node = standIn.nodes.get(rest[0] ?? "");
    if (!node) throw new NotFound(`no node ${rest[0]}; there are: ${[...standIn.nodes.keys()].join(", ")}`);
    if (rest[1] === "crash") return await standIn.crash(node);
    if (rest[1] === "start") return await standIn.powerOn(node);
  }
  throw new NotFound(`no such thing: ${url.pathname}`);
}

async function podFault(
  worker: PodWorker,
  action: string,
  query: (name: string) => string | undefined,
): Promise<void> {
  const life = worker.container(query("container"));
  if (!life) throw new NotFound("no such container");
  switch (action) {
    case "kill":
      life.signal((query("signal") ?? "SIGKILL") as NodeJS.Signals);
      return;
    case "freeze":
      life.signal("SIGSTOP");
      return;
    case "thaw":
      life.signal("SIGCONT");
      return;
    case "lose-volume": {
      const dir = worker.volumeDir(query("volume") ?? "");
      if (!dir) throw new NotFound(`the Pod has no volume ${query("volume")}`);
      // As when a disk is swapped: the process does not survive it, and finds an empty one.
      for (const entry of readdirSync(dir)) rmSync(join(dir, entry), { recursive: true, force: true });
      await life.kill(0);
      for (const entry of readdirSync(dir)) rmSync(join(dir, entry), { recursive: true, force: true });
      return;
    }
    default:
      throw new NotFound(`no such fault: ${action}`);
  }
}

function view(worker: PodWorker): PodView {
  return {
    node: worker.pod.spec?.nodeName ?? "",
    podIP: worker.podIP,
    containers: worker.main.map((life) => ({
      name: life.status().name,
      ...(life.pid !== undefined && { pid: life.pid }),
      restartCount: life.restartCount,
      frozen: life.frozen,
      log: life.log,
    })),
  };
}
