/** The arguments by which a container of ours tells how far it is; who is asked is in reach/pod-reports.ts. */
import { PORTS } from "../names.ts";

export const REPORTING = ["--listen", `[::]:${PORTS.metrics}`] as const;
