/** A cluster on this machine: its members listen here, and its certificates are files that the user owns. */
import { clientURLOf } from "../../core/config/flags.ts";
import { systemDisk } from "../../seams/disk.ts";
import { CommandError, EXIT } from "../exit.ts";
import type { CliIo } from "../io.ts";
import { clientEnvironment } from "../local/report.ts";
import { call } from "../local/session.ts";
import type { LocalTarget } from "../target/local.ts";
import type { ClusterObject } from "../target/target.ts";
import { endpointsOf, type Reached } from "./reached.ts";

export async function reachLocally(
  target: LocalTarget,
  { metadata: { name } }: ClusterObject,
  io: CliIo,
): Promise<Reached> {
  const report = await call(await target.placeOf(name), io, "status");
  const members = report.cluster.status?.members ?? [];
  const urls = await target.members(report.cluster);
  const endpoints = urls.flatMap(({ metadata, spec }) => {
    const status = members.find((one) => one.name === metadata.name);
    if (status?.healthy !== true) return [];
    const learner = status.role === "Learner";
    return [{ name: metadata.name, url: clientURLOf(spec), ...(learner && { learner }) }];
  });
  if (endpoints.length === 0)
    throw new CommandError(
      EXIT.failed,
      `no member of ${name} is healthy, so there is nothing to connect to. See: ${target.command} local status${target.flags.replace(" --local", "")}`,
    );
  const { files } = report;
  const read = async (file: string | undefined) =>
    file === undefined ? undefined : await systemDisk.read(file);
  const [ca, cert, key] = await Promise.all([read(files?.ca), read(files?.cert), read(files?.key)]);
  return {
    name,
    endpoints,
    credentials: ca && cert && key ? { ca, cert, key } : undefined,
    environment: () =>
      Promise.resolve({ ...clientEnvironment(report), ETCDCTL_ENDPOINTS: endpointsOf({ endpoints }) }),
    close: () => Promise.resolve(),
  };
}
