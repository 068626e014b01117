/** Why a cluster does what it does, or nothing: the answer first, then each reason with what to do, then what follows. */
import type { Explanation } from "../../core/status/why.ts";
import { wrap } from "../help.ts";
import type { Style } from "./style.ts";

const SHOWN_STEPS = 10;

export function whyLines({ summary, reasons, then }: Explanation, width: number, style: Style): string[] {
  const steps = then.slice(0, SHOWN_STEPS);
  const more = then.length - steps.length;
  return [
    ...wrap(summary, width).split("\n"),
    ...reasons.flatMap(({ reason, message, next, inSummary }) => [
      "",
      style.strong(reason),
      ...(inSummary ? [] : indented(message, width)),
      ...(next === undefined ? [] : indented(`What to do: ${next}`, width)),
    ]),
    ...(steps.length === 0
      ? []
      : [
          "",
          style.strong("Then"),
          ...steps.flatMap((step, index) => indented(`${index + 1}. ${step}`, width)),
        ]),
    ...(more > 0 ? [style.quiet(`  and ${more} more`)] : []),
  ];
}

function indented(text: string, width: number): string[] {
  return wrap(text, width - 2)
    .split("\n")
    .map((line) => `  ${line}`);
}
