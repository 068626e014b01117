/** How far the reading of a snapshot is, in words. */

/** In tenths, so that a status does not change with every block. */
export function progressText(done: number, of: number | undefined): string {
  const tenth = of ? Math.min(10, Math.floor((10 * done) / of)) : undefined;
  return tenth === undefined ? "reading it" : `${tenth * 10} % read`;
}
