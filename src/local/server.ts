/**
 * The controller's door: the operations as JSON over HTTP on a Unix socket in the cluster's directory.
 * Only its user may open it; there is no other door.
 */
import { createServer, type IncomingMessage, type Server } from "node:http";
import process from "node:process";
import { deadline, type Clock } from "../seams/clock.ts";
import { DiskError, type Disk } from "../seams/disk.ts";
import { InvalidInput } from "./change.ts";
import { operations, Refused } from "./operations.ts";
import type { Subject } from "./verb.ts";

/** A manifest is a few kilobytes. */
const LONGEST_REQUEST = 1024 * 1024;

/** An answer to somebody who still listens takes milliseconds. */
const LONGEST_FAREWELL_MS = 2_000;

export type OperationName = keyof typeof operations;

/** What a failed operation answers; the client makes an error of it again. */
export interface RemoteFailure {
  readonly name: string;
  readonly message: string;
}

export async function serve(
  socket: string,
  subject: Subject,
  { disk, clock }: { readonly disk: Disk; readonly clock: Clock },
): Promise<{ close(): Promise<void> }> {
  // What a killed controller left; we hold the lock, so nobody listens there.
  await disk.remove(socket);
  const answers = new Set<Promise<void>>();
  const server = createServer((request, response) => {
    const sent = new Promise<void>((resolve) => {
      response.once("close", resolve);
    });
    answers.add(sent);
    void sent.then(() => answers.delete(sent));
    void answer(request, subject).then(({ status, body }) => {
      response.writeHead(status, { "content-type": "application/json", connection: "close" });
      response.end(`${JSON.stringify(body)}\n`);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    // For this user only, whatever the mask: the directory may be one that others can enter.
    const mask = process.umask(0o177);
    server.listen(socket, resolve);
    process.umask(mask);
  });
  return { close: () => close(server, answers, clock) };
}

async function answer(
  request: IncomingMessage,
  subject: Subject,
): Promise<{ status: number; body: unknown }> {
  const name = (request.url ?? "/").slice(1);
  if (request.method !== "POST" || !isOperation(name)) {
    return failure(404, new Refused(`unknown operation ${JSON.stringify(name)}`));
  }
  try {
    const argument = await readArgument(request);
    const operation = operations[name] as (subject: Subject, argument: unknown) => Promise<unknown>;
    return { status: 200, body: await operation(subject, argument) };
  } catch (error) {
    const expected = error instanceof InvalidInput || error instanceof Refused || error instanceof DiskError;
    return failure(expected ? 400 : 500, error instanceof Error ? error : new Error(String(error)));
  }
}

function isOperation(name: string): name is OperationName {
  return Object.hasOwn(operations, name);
}

function failure(status: number, { name, message }: Error): { status: number; body: RemoteFailure } {
  return { status, body: { name, message } };
}

async function readArgument(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > LONGEST_REQUEST) throw new Refused("the request is too long");
  }
  return text === "" ? undefined : (JSON.parse(text) as unknown);
}

/** Whoever asked for the end hears that it was heard; who sends a request and never finishes it is not waited for. */
async function close(server: Server, answers: ReadonlySet<Promise<void>>, clock: Clock): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  using limit = deadline(clock, LONGEST_FAREWELL_MS);
  const late = new Promise<void>((resolve) => limit.signal.addEventListener("abort", () => resolve()));
  await Promise.race([Promise.all(answers), late]);
  server.closeAllConnections();
  await closed;
}
