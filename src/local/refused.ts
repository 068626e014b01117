/** Refused because of what was asked, not because something broke. */
export class Refused extends Error {
  override name = "Refused";
}
