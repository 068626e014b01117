/**
 * What the operator serves: `/metrics` at one address, `/healthz` and `/readyz` at another, so that what a monitor
 * reaches need not be what the kubelet reaches. Open before the first call to the API server: a process that waits for
 * it is alive, and not ready.
 */
import type { Clock } from "../../seams/clock.ts";
import { ProgressMonitor, judgeLife, judgeReadiness, lifeFacts, type StoreFacts } from "./health.ts";
import type { OperatorMetrics, Sources } from "./metrics.ts";
import { CONTENT_TYPE } from "./metrics-registry.ts";
import type { CatchingUp } from "../cache/take-over.ts";
import { serve, verdictAnswer, type Address, type Protection, type Served } from "./serve.ts";

export interface EndpointsOptions {
  readonly clock: Clock;
  readonly metrics: OperatorMetrics;
  /** Absent: not served. */
  readonly metricsAddress?: Address | undefined;
  readonly healthAddress?: Address | undefined;
  /** Of the metrics; without it, whoever reaches them reads them. */
  readonly protection?: Protection | undefined;
}

/** What there is to look at once the operator has begun. */
export interface Subjects {
  readonly queue: NonNullable<Sources["queue"]>;
  readonly leads: () => boolean;
  readonly clockAheadMs?: () => number | undefined;
  readonly nodeClocksOff?: NonNullable<Sources["nodeClocksOff"]>;
  readonly clustersElsewhere?: NonNullable<Sources["clustersElsewhere"]>;
  readonly catchingUp?: () => CatchingUp | undefined;
  readonly stores: () => readonly StoreFacts[];
}

export interface Endpoints {
  readonly metricsPort: number | undefined;
  readonly healthPort: number | undefined;
  /** From now on these are what is reported and judged. */
  watch(subjects: Subjects): void;
  close(): Promise<void>;
}

export async function openEndpoints(options: EndpointsOptions): Promise<Endpoints> {
  const { clock, metrics, metricsAddress, healthAddress } = options;
  const progress = new ProgressMonitor(clock);
  let subjects: Subjects | undefined;
  const stores = () => subjects?.stores() ?? [];
  const catchingUp = () => subjects?.catchingUp?.();
  metrics.watch({ lagMs: () => progress.lagMs, leads: () => subjects?.leads() ?? false });
  const ended = () => stores().flatMap((store) => (store.ended ? [`the cache of ${store.resource}`] : []));
  const opened: Served[] = [];
  const open = async (
    address: Address | undefined,
    paths: Parameters<typeof serve>[1],
    protection?: Protection,
  ) => {
    if (address === undefined) return undefined;
    const served = await serve(address, paths, protection);
    opened.push(served);
    return served.port;
  };
  const close = async () => {
    progress.stop();
    await Promise.all(opened.map((served) => served.close()));
  };
  try {
    return {
      metricsPort: await open(
        metricsAddress,
        { "/metrics": () => ({ status: 200, type: CONTENT_TYPE, body: metrics.text() }) },
        options.protection,
      ),
      healthPort: await open(healthAddress, {
        "/healthz": () =>
          verdictAnswer(judgeLife(lifeFacts(progress, subjects?.queue, ended(), catchingUp()))),
        "/readyz": () =>
          verdictAnswer(judgeReadiness(stores(), subjects ? undefined : "starting", catchingUp())),
      }),
      watch(given) {
        subjects = given;
        metrics.watch({
          queue: given.queue,
          ...(given.clockAheadMs && { clockAheadMs: given.clockAheadMs }),
          ...(given.clustersElsewhere && { clustersElsewhere: given.clustersElsewhere }),
          ...(given.nodeClocksOff && { nodeClocksOff: given.nodeClocksOff }),
          stores: () => stores().map((one) => [one.resource, isInStep(one)]),
        });
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function isInStep({ synced, trouble, ended }: StoreFacts): boolean {
  return synced && trouble === undefined && !ended;
}
