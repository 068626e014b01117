/** A plan as a table: the steps in order, what each is for, and what may fail meanwhile. */
import { wrap } from "../help.ts";
import type { PlanOf } from "../target/target.ts";
import type { Paint, Style } from "./style.ts";
import { tableLines } from "./table.ts";

export function planLines(plan: PlanOf, width: number, style: Style): string[] {
  const columns = [
    { title: "#", align: "right" as const },
    { title: "STEP" },
    { title: "MAY FAIL", align: "right" as const },
    { title: "RISK" },
    { title: "WHY", shrinks: true },
  ];
  const rows = plan.steps.map(({ step, reason, headroom, risk }, index) => [
    String(index + 1),
    step,
    headroom === undefined ? "-" : String(Math.max(0, headroom)),
    { text: risk, paint: riskPaint(risk, style) },
    reason,
  ]);
  return [
    ...(rows.length === 0 ? [] : [...tableLines(columns, rows, width), ""]),
    ...endOf(plan).flatMap((text) => wrap(text, width).split("\n")),
    ...legend(plan).flatMap((text) => [
      "",
      ...wrap(text, width)
        .split("\n")
        .map((line) => style.quiet(line)),
    ]),
  ];
}

function endOf({ steps, converged, waiting }: PlanOf): string[] {
  if (converged) return [steps.length === 0 ? "Nothing to do." : "The cluster then matches its spec."];
  return [
    steps.length === 0 ? "It waits:" : "It then waits:",
    ...waiting.map(({ message, next }) => `  ${message}${next === undefined ? "" : `. ${next}`}`),
  ];
}

function legend({ steps, assumes = [] }: PlanOf): string[] {
  const outage = steps.some(({ risk }) => risk === "outage");
  const elevated = steps.some(({ risk }) => risk === "elevated");
  return [
    ...(outage ? ["outage: quorum is lost while the step is carried out; clients cannot write."] : []),
    ...(elevated
      ? ["elevated: if one more voter fails during the step, quorum is lost until it is back."]
      : []),
    ...(assumes.length > 0 && steps.length > 0 ? [`Assumes that ${assumes.join("; ")}.`] : []),
  ];
}

function riskPaint(risk: string, style: Style): Paint {
  if (risk === "outage") return style.bad;
  return risk === "elevated" ? style.doubtful : style.quiet;
}
