/**
 * What a workload was started from: the one place that writes and reads its text, which Pods carry as an annotation and
 * processes on one machine in a file. The text is part of running clusters: `<process>.<resources>[/<peers>][~]` is
 * what every operator so far has written and understands, so that neither an upgrade nor a way back restarts anybody.
 */
export interface Start {
  /** Of everything in the template that only a restart changes, but for resources. */
  readonly process: string;
  /** Apart, because a platform may be able to change them while the member runs. */
  readonly resources: string;
  /** Of the list of the first start; absent for a workload that was made after its member had joined. */
  readonly peers?: string;
  /** Its resources were asked for while it runs, and are not confirmed so far. */
  readonly resizing?: boolean;
}

const FORM = /^(?<process>[^./~]+)\.(?<resources>[^./~]+)(?:\/(?<peers>[^./~]+))?(?<resizing>~)?$/;

export function writeStart({ process, resources, peers, resizing }: Start): string {
  return `${process}.${resources}${peers === undefined ? "" : `/${peers}`}${resizing ? "~" : ""}`;
}

/** Every pass asks of every member again, and texts are few. */
const known = new Map<string, Start | undefined>();
const MOST_KNOWN = 4_096;

/** Undefined for a text that no operator wrote: such a workload is out of date. */
export function readStart(text: string): Start | undefined {
  if (known.has(text)) return known.get(text);
  const start = parse(text);
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(text, start);
  return start;
}

function parse(text: string): Start | undefined {
  const found = FORM.exec(text)?.groups;
  if (!found) return undefined;
  const { process = "", resources = "", peers, resizing } = found;
  return {
    process,
    resources,
    ...(peers !== undefined && { peers }),
    ...(resizing !== undefined && { resizing: true }),
  };
}
