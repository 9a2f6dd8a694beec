import { formatCents } from './money.js'
import { addTax } from './tax.js'

/** What all lines cost together, without tax. */
export function subtotal(lines) {
  return lines.reduce((sum, line) => sum + line.quantity * line.unitCents, 0)
}

/** The total of an invoice with tax, as text. */
export function total(invoice) {
  return formatCents(addTax(subtotal(invoice.lines), invoice.taxPercent))
}
