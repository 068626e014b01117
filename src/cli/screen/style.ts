/** Colours by meaning, or none. */

export interface Style {
  readonly good: Paint;
  readonly bad: Paint;
  readonly doubtful: Paint;
  readonly strong: Paint;
  readonly quiet: Paint;
}

export type Paint = (text: string) => string;

const code =
  (on: number, off: number): Paint =>
  (text) =>
    text === "" ? text : `\x1b[${on}m${text}\x1b[${off}m`;

const COLOURED: Style = {
  good: code(32, 39),
  bad: code(31, 39),
  doubtful: code(33, 39),
  strong: code(1, 22),
  quiet: code(2, 22),
};

const same: Paint = (text) => text;
const PLAIN: Style = { good: same, bad: same, doubtful: same, strong: same, quiet: same };

export function styleFor(coloured: boolean): Style {
  return coloured ? COLOURED : PLAIN;
}
