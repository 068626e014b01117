/** What came out of measuring two trees in turn, as lines for people. */
import { median, type Measured } from "../../test/bench/measure.ts";

/** What one turn measured on each of the trees. */
export interface Round {
  readonly here: readonly Measured[];
  readonly there: readonly Measured[];
}

/** Less than this is noise on a machine with other work; a figure that one of them lacks is never within it. */
export const SLOWER = 1.1;

export function compared(rounds: readonly Round[]): { readonly lines: string[]; readonly isSlower: boolean } {
  const [first] = rounds;
  const figures = (first?.here ?? []).map(({ what, unit }) => {
    const of = (tree: keyof Round, key: "own" | "reference") =>
      median(rounds.flatMap((round) => round[tree].flatMap((one) => (one.what === what ? [one[key]] : []))));
    const [here, there] = [of("here", "own"), of("there", "own")];
    return {
      what,
      unit,
      here,
      there,
      ratio: here / there,
      noise: of("here", "reference") / of("there", "reference"),
    };
  });
  const lines = figures.map(({ what, unit, here, there, ratio, noise }) => {
    const verdict = ratio > SLOWER ? "SLOWER" : ratio < 1 / SLOWER ? "faster" : "no slower";
    return `${what}: ${here.toFixed(1)} ${unit} here, ${there.toFixed(1)} ${unit} there: ${ratio.toFixed(2)} times, ${verdict} (the reference: ${noise.toFixed(2)} times)`;
  });
  return { lines, isSlower: figures.length === 0 || figures.some(({ ratio }) => !(ratio <= SLOWER)) };
}
