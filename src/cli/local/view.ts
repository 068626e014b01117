/**
 * What `quorate local up` shows: on a terminal a picture of members and steps that is drawn anew, elsewhere
 * a line per step; for programs a JSON object per line. All begin with how to use the cluster.
 */
import { describeEntry, type TranscriptEntry } from "../../control/transcript.ts";
import type { InstalledEtcd } from "../../etcd/install/ensure.ts";
import type { LocalReport } from "../../local/operations.ts";
import { commandOf } from "../called.ts";
import type { CliIo } from "../io.ts";
import type { Place } from "./place.ts";
import { clientEnvironment, exportLines, renderReport, timeOf } from "./report.ts";

export interface View {
  begin(): void;
  /** A pass ended: something may look different. */
  refresh(): Promise<void>;
  step(entry: TranscriptEntry): void;
  trouble(error: unknown): void;
  stopping(): void;
  end(how: "stopped" | "gone"): void;
}

export function createView(
  io: CliIo,
  place: Place,
  etcd: InstalledEtcd,
  look: () => Promise<LocalReport>,
): View {
  return place.json
    ? new JsonView(io, look)
    : io.isTTY
      ? new ScreenView(io, etcd, look)
      : new LineView(io, etcd, look);
}

/** How to use the cluster, once it can be used. */
function instructions(report: LocalReport, etcd: InstalledEtcd, io: CliIo): string {
  return `The cluster ${report.cluster.metadata.name} is ready. To use it, paste:

${exportLines(clientEnvironment(report))}${etcd.etcdctl} put hello world
${etcd.etcdctl} endpoint status --write-out=table

Data and certificates are in ${report.dir}. To see it heal: ${commandOf(io)} local kill|wipe|corrupt <member>
`;
}

/** Ready once, from then on the same endpoints or more. */
function serves(report: LocalReport): boolean {
  const { status, spec } = report.cluster;
  return spec.replicas > 0 && (status?.readyReplicas ?? 0) >= spec.replicas;
}

class LineView implements View {
  readonly #io: CliIo;
  readonly #etcd: InstalledEtcd;
  readonly #look: () => Promise<LocalReport>;
  #message = "";
  #reported = false;

  constructor(io: CliIo, etcd: InstalledEtcd, look: () => Promise<LocalReport>) {
    this.#io = io;
    this.#etcd = etcd;
    this.#look = look;
  }

  begin(): void {
    this.#line("the controller is running; Ctrl-C stops it and the members");
  }
  async refresh(): Promise<void> {
    const report = await this.#look();
    const { phase, message } = report.cluster.status ?? {};
    const rest = report.converged ? `${phase}: ${message}` : undefined;
    const reported = report.waiting[0] ?? rest;
    if (reported !== undefined && reported !== this.#message) {
      this.#message = reported;
      this.#line(reported);
    }
    if (!this.#reported && serves(report)) {
      this.#reported = true;
      this.#io.stdout.write(`\n${instructions(report, this.#etcd, this.#io)}\n`);
    }
  }
  step(entry: TranscriptEntry): void {
    this.#line(describeEntry(entry), entry.at);
  }
  trouble(error: unknown): void {
    this.#line(`error: ${error instanceof Error ? error.message : String(error)}`);
  }
  stopping(): void {
    this.#line("stopping the members");
  }
  end(how: "stopped" | "gone"): void {
    this.#line(how === "gone" ? "cluster deleted" : "stopped; the data is retained");
  }

  #line(text: string, at: number = this.#io.clock.now()): void {
    this.#io.stdout.write(`${timeOf(at)}  ${text}\n`);
  }
}

class ScreenView implements View {
  readonly #io: CliIo;
  readonly #etcd: InstalledEtcd;
  readonly #look: () => Promise<LocalReport>;
  #drawn = 0;
  #text = "";
  #reported = false;
  #trouble = "";
  #closed = false;

  constructor(io: CliIo, etcd: InstalledEtcd, look: () => Promise<LocalReport>) {
    this.#io = io;
    this.#etcd = etcd;
    this.#look = look;
  }

  begin(): void {
    this.#io.stdout.write("Ctrl-C stops the cluster; its data is retained.\n\n");
  }
  async refresh(): Promise<void> {
    const report = await this.#look();
    if (this.#closed) return;
    if (!this.#reported && serves(report)) {
      this.#reported = true;
      this.#erase();
      this.#io.stdout.write(`${instructions(report, this.#etcd, this.#io)}\n`);
    }
    this.#draw(`${renderReport(report, 8)}${this.#trouble}`);
    this.#trouble = "";
  }
  step(): void {
    // The next picture has it.
  }
  trouble(error: unknown): void {
    this.#trouble = `\nError: ${error instanceof Error ? error.message : String(error)}\n`;
  }
  stopping(): void {
    this.#io.stdout.write("\nStopping the members …\n");
    this.#closed = true;
  }
  end(how: "stopped" | "gone"): void {
    this.#io.stdout.write(how === "gone" ? "Cluster deleted.\n" : "Stopped; the data is retained.\n");
  }

  #draw(text: string): void {
    if (text === this.#text && this.#drawn > 0) return;
    this.#text = text;
    const columns = this.#io.stdout.columns ?? 80;
    const lines = text.split("\n").map((line) => line.slice(0, columns - 1));
    this.#erase();
    this.#io.stdout.write(lines.join("\n"));
    this.#drawn = lines.length;
  }

  /** Goes back to where the picture began and clears from there. */
  #erase(): void {
    if (this.#drawn > 0)
      this.#io.stdout.write(`\r${this.#drawn > 1 ? `\x1b[${this.#drawn - 1}A` : ""}\x1b[J`);
    this.#drawn = 0;
  }
}

class JsonView implements View {
  readonly #io: CliIo;
  readonly #look: () => Promise<LocalReport>;
  #state = "";

  constructor(io: CliIo, look: () => Promise<LocalReport>) {
    this.#io = io;
    this.#look = look;
  }

  begin(): void {
    this.#write({ event: "started" });
  }
  async refresh(): Promise<void> {
    const report = await this.#look();
    const { phase, message, readyReplicas, leader } = report.cluster.status ?? {};
    const state = { converged: report.converged, phase, message, readyReplicas, leader };
    const text = JSON.stringify(state);
    if (text === this.#state) return;
    this.#state = text;
    this.#write({ event: "state", ...state, environment: clientEnvironment(report) });
  }
  step(entry: TranscriptEntry): void {
    this.#write({ event: "step", ...entry });
  }
  trouble(error: unknown): void {
    this.#write({ event: "trouble", message: error instanceof Error ? error.message : String(error) });
  }
  stopping(): void {
    this.#write({ event: "stopping" });
  }
  end(how: "stopped" | "gone"): void {
    this.#write({ event: how === "gone" ? "deleted" : "stopped" });
  }

  #write(event: Record<string, unknown>): void {
    this.#io.stdout.write(`${JSON.stringify({ at: this.#io.clock.now(), ...event })}\n`);
  }
}
