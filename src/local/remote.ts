/** The other side of the controller's door: calls an operation of a running controller. */
import { request } from "node:http";
import type { operations } from "./operations.ts";
import type { OperationName, RemoteFailure } from "./server.ts";

type Result<N extends OperationName> = Awaited<ReturnType<(typeof operations)[N]>>;

/** The controller refused or failed; its own words. */
export class RemoteError extends Error {
  override name = "RemoteError";
  /** The name of the error on the other side. */
  readonly kind: string;
  constructor({ name, message }: RemoteFailure) {
    super(message);
    this.kind = name;
  }
}

export async function callController<N extends OperationName>(
  socket: string,
  operation: N,
  argument: unknown,
  signal: AbortSignal,
): Promise<Result<N>> {
  const { status, body } = await post(socket, operation, argument, signal);
  if (status !== 200) throw new RemoteError(body as RemoteFailure);
  return body as Result<N>;
}

function post(
  socketPath: string,
  operation: string,
  argument: unknown,
  signal: AbortSignal,
): Promise<{ status: number; body: unknown }> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath, path: `/${operation}`, method: "POST", signal });
    outgoing.on("error", reject);
    outgoing.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("error", reject);
      response.on("end", () => {
        try {
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as unknown });
        } catch (cause) {
          reject(new Error("the controller exited before it answered", { cause }));
        }
      });
    });
    outgoing.end(argument === undefined ? undefined : JSON.stringify(argument));
  });
}
