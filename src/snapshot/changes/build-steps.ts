/**
 * A point in time built in steps that containers of one Pod take: the snapshot before it is fetched onto a scratch volume;
 * etcdutl restores it there; an etcd runs on the result; and the changes are replayed into it and saved.
 */
import path from "node:path";
import { minorOf } from "../../core/version/version.ts";
import { EtcdClient } from "../../etcd/client.ts";
import { GrpcTransport } from "../../etcd/grpc/transport.ts";
import type { Disk } from "../../seams/disk.ts";
import type { Pki } from "../../seams/pki.ts";
import { clearScratch, issueCertificates, readCertificates, type Scratch } from "../scratch.ts";
import { requireScratchSpace, untilServing } from "../verification.ts";
import { fetchBase, replayInto, type Built, type ReplayOptions } from "./build.ts";
import { ChangeLogError } from "./errors.ts";
import { findPoint, type Point, type PointOptions } from "./point.ts";

interface Step {
  readonly scratch: Pick<Scratch, "directory" | "clientURL">;
  readonly disk: Disk;
}

export interface BuildFetchStep extends Step, PointOptions, Pick<ReplayOptions, "random" | "progress"> {
  readonly pki: Pki;
  /** The etcd that the next steps run. */
  readonly etcdVersion: string;
}

const POINT = "point.json";

/** Finds the point, and leaves what the next steps need. What an earlier attempt left is removed. */
export async function fetchForBuild(options: BuildFetchStep): Promise<Point> {
  const { scratch, disk, etcdVersion } = options;
  const { directory } = scratch;
  await clearScratch(directory, disk);
  const point = await findPoint(options);
  const { etcdVersion: wrote } = point.base.manifest;
  if (minorOf(wrote) !== minorOf(etcdVersion))
    throw new ChangeLogError(
      "version",
      `etcd ${wrote} wrote ${point.base.name}, the snapshot before the point, and the changes would be replayed with ${etcdVersion}. Use a version of ${minorOf(wrote)}.`,
    );
  await requireScratchSpace(directory, point.base.manifest.size);
  await fetchBase({ ...options, directory, point });
  await issueCertificates(scratch, options);
  await disk.write(path.join(directory, POINT), JSON.stringify(point), { private: true });
  return point;
}

export interface BuildReplayStep extends Step, Omit<ReplayOptions, "point"> {}

/** Waits for the scratch etcd to answer, replays into it and saves the result. */
export async function replayScratch(options: BuildReplayStep): Promise<Built> {
  const { scratch, disk, clock, signal } = options;
  const { directory, clientURL } = scratch;
  const text = await disk.read(path.join(directory, POINT));
  if (text === undefined)
    throw new ChangeLogError(
      "differs",
      `nothing was fetched into ${directory}; run snapshot build-fetch first`,
    );
  const transport = new GrpcTransport({ clock, tls: await readCertificates(directory, disk) });
  try {
    const endpoint = { name: "scratch", url: clientURL };
    const client = new EtcdClient({ transport, clock, endpoints: [endpoint] });
    await untilServing(client, clock, signal);
    return await replayInto(client, endpoint, { ...options, point: JSON.parse(text) as Point });
  } finally {
    await transport.close();
  }
}
