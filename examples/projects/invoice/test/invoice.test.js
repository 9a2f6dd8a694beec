import assert from 'node:assert/strict'
import { test } from 'node:test'
import { subtotal, total } from '../src/invoice.js'
import { formatCents } from '../src/money.js'
import { addTax } from '../src/tax.js'

const lines = [
  { quantity: 3, unitCents: 1999 },
  { quantity: 1, unitCents: 550 },
]

test('adds up quantities', () => {
  assert.equal(subtotal(lines), 6547)
})

test('rounds the tax to the nearest cent', () => {
  assert.equal(addTax(6547, 19), 7791)
})

test('writes an amount with two decimals', () => {
  assert.equal(formatCents(123456), '1,234.56')
})

test('writes the total without tax', () => {
  assert.equal(total({ lines, taxPercent: 0 }), '65.47')
})
