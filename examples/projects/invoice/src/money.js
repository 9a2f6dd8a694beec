/** Cents as text: 123456 is '1,234.56'. */
export function formatCents(cents) {
  const whole = Math.trunc(cents / 100).toLocaleString('en-US')
  return `${whole}.${String(cents % 100).padStart(2, '0')}`
}
