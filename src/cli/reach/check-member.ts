/**
 * Whether a member answers through its port-forward, with a certificate of its own name that the cluster's authority
 * signed. Done once before the way is used, so that a program that can only check 127.0.0.1 never talks to another Pod.
 */
import type { Duplex } from "node:stream";
import { checkServerIdentity, connect } from "node:tls";
import type { TlsCredentials } from "../../etcd/types.ts";
import { deadline } from "../../seams/clock.ts";
import type { CliIo } from "../io.ts";

const WITHIN_MS = 15_000;

interface Check {
  readonly serverName: string;
  /** Another name, which the certificate may have or not. */
  readonly also: string;
  readonly credentials: TlsCredentials | undefined;
  readonly io: CliIo;
}

/** Whether the certificate has the other name too. Rejects where the member cannot be reached or trusted. */
export async function checkedMember(open: () => Promise<Duplex>, check: Check): Promise<boolean> {
  const { serverName, also, credentials, io } = check;
  using limit = deadline(io.clock, WITHIN_MS, io.signal);
  const stream = await open();
  try {
    // Without TLS there is nothing to check: a call will show whether it answers.
    if (credentials === undefined) return true;
    const { ca, cert, key } = credentials;
    return await new Promise<boolean>((resolve, reject) => {
      const socket = connect({
        socket: stream,
        ca,
        cert,
        key,
        servername: serverName,
        minVersion: "TLSv1.2",
        ALPNProtocols: ["h2"],
      });
      const fail = (error: Error) => {
        socket.destroy();
        reject(error);
      };
      stream.once("error", fail);
      stream.once("close", () =>
        fail(new Error("the Pod closed the connection; etcd may not be running in it")),
      );
      socket.once("error", fail);
      socket.once("secureConnect", () => {
        resolve(checkServerIdentity(also, socket.getPeerCertificate()) === undefined);
        socket.destroy();
      });
      limit.signal.addEventListener(
        "abort",
        () => fail(new Error(`no answer within ${WITHIN_MS / 1_000} s`)),
        {
          once: true,
        },
      );
    });
  } finally {
    stream.destroy();
  }
}
