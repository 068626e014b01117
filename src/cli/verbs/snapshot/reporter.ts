/** How a long command reports how far it is: in a file, and over HTTP. */
import { rename, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import path from "node:path";
import { CommandError, EXIT } from "../../exit.ts";
import type { Flags } from "../../flag.ts";
import { UsageError, type CliIo } from "../../io.ts";

export const REPORT_FLAGS = {
  "report-file": {
    kind: "text",
    value: "file",
    help: "write the progress to this file, as one line of JSON",
  },
  listen: {
    kind: "text",
    value: "address",
    help: "serve the progress as JSON over HTTP at this address, such as 127.0.0.1:2381",
  },
} as const satisfies Flags;

export interface ReportFlags {
  readonly "report-file"?: string | undefined;
  readonly listen?: string | undefined;
}

export class Reporter<Report> implements AsyncDisposable {
  readonly #file: string | undefined;
  readonly #io: CliIo;
  #server: Server | undefined;
  #report: Report;
  /** One write after the other. */
  #writes: Promise<void> = Promise.resolve();

  private constructor(first: Report, file: string | undefined, io: CliIo) {
    this.#report = first;
    this.#file = file;
    this.#io = io;
  }

  static async start<Report>(
    first: Report,
    { "report-file": file, listen }: ReportFlags,
    io: CliIo,
  ): Promise<Reporter<Report>> {
    const reporter = new Reporter(first, file === undefined ? undefined : path.resolve(io.cwd, file), io);
    if (listen !== undefined) await reporter.#listen(listen);
    reporter.write();
    return reporter;
  }

  get last(): Report {
    return this.#report;
  }

  report(report: Report): void {
    this.keep(report);
    this.write();
  }

  /** For those who ask; `write` brings it into the file. */
  keep(report: Report): void {
    this.#report = report;
  }

  async #listen(address: string): Promise<void> {
    const [, host, port] = /^(.*):(\d+)$/.exec(address) ?? [];
    if (port === undefined) throw new UsageError(`--listen ${address}: expected host:port, or :port`);
    const server = createServer((_request, response) => {
      response.setHeader("content-type", "application/json");
      response.end(`${JSON.stringify(this.#report)}\n`);
    });
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error) =>
        reject(new CommandError(EXIT.failed, `--listen ${address}: ${error.message}`, { cause: error })),
      );
      // Every address is Node's own default: IPv4 alone where there is no IPv6.
      const at = host === "" || host === "[::]" ? {} : { host: host?.replace(/^\[|\]$/g, "") };
      server.listen({ port: Number(port), ...at }, resolve);
    });
  }

  /** It must never be what the work fails by. */
  write(): void {
    const file = this.#file;
    if (file === undefined) return;
    this.#writes = this.#writes
      // Whoever reads it meanwhile finds the whole of one or the other.
      .then(() => writeFile(`${file}.new`, `${JSON.stringify(this.#report)}\n`))
      .then(() => rename(`${file}.new`, file))
      .catch((error: unknown) => {
        this.#io.stderr.write(`cannot write --report-file ${file}: ${(error as Error).message}\n`);
      });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writes;
    const server = this.#server;
    if (server === undefined) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}
