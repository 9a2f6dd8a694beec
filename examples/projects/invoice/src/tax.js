/** An amount with its tax, in cents rounded to the nearest. */
export function addTax(cents, percent) {
  return cents + Math.floor((cents * percent) / 100)
}
